//! Keys as numbers, learned from the keys seen: where to split a range of text.
//!
//! Each position of a key is a digit whose alphabet is the characters seen there, and one more
//! above them. Invariant: a split key holds only characters below U+D800 that keys may hold, so
//! UTF-8, UTF-16 and code-point order agree on every comparison with it.

use super::page_keys::PageKeys;
use crate::key::is_forbidden;
use crate::model::order;
use crate::property::PropertyError;

/// How many positions of a key are learned.
const POSITIONS: usize = 40;
/// How many positions after the common prefix a distance is measured on.
const DEPTH: usize = 14;
/// Keys of a page that are learned.
const SAMPLES: usize = 32;
/// Numbers stop growing here, so that products with the longest alphabet still fit.
const LONGEST: u128 = 1 << 100;

/// What a scan has learned of its keys.
#[derive(Debug, Default)]
pub(in crate::scan) struct KeyModels {
    pub partition: KeyModel,
    pub row: KeyModel,
}

impl KeyModels {
    /// Learns some of the keys of a page's first rows.
    pub fn learn(&mut self, page: &PageKeys<'_>, rows: usize) -> Result<(), PropertyError> {
        for index in samples(rows) {
            let key = page.at(index)?;
            self.partition.learn(&key.partition_key);
            self.row.learn(&key.row_key);
        }
        Ok(())
    }
}

/// The rows of a page whose keys are learned.
pub(super) fn samples(rows: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by((rows / SAMPLES).max(1)).chain(rows.checked_sub(1))
}

/// The characters seen at each position of a PartitionKey or RowKey.
#[derive(Debug, Default)]
pub(in crate::scan) struct KeyModel {
    seen: Vec<Vec<char>>,
}

impl KeyModel {
    /// Notes a key's characters.
    pub fn learn(&mut self, key: &str) {
        for (position, c) in key.chars().take(POSITIONS).enumerate() {
            if self.seen.len() == position {
                self.seen.push(Vec::new());
            }
            if !is_split_char(c) {
                continue;
            }
            let Some(seen) = self.seen.get_mut(position) else { continue };
            if let Err(at) = seen.binary_search(&c) {
                seen.insert(at, c);
            }
        }
    }

    /// How much of the line from `first` to `hi` lies before `current`, and how much after it.
    pub fn distance(&self, first: &str, current: &str, hi: Option<&str>) -> (f64, f64) {
        let (first, current) = (letters(first), letters(current));
        let hi = hi.map(letters);
        let common = common(&first, hi.as_deref());
        if current.get(..common) != first.get(..common) {
            return (1.0, 0.0);
        }
        let (mut from, mut at, mut to) = (0_u128, 0_u128, 0_u128);
        for position in common..common + DEPTH {
            let [a, b] = [first.get(position), hi.as_ref().and_then(|hi| hi.get(position))];
            let digits = self.alphabet(position, a.copied(), b.copied());
            let base = digits.len() as u128;
            from = from * base + digits.rank(a.copied());
            at = at * base + digits.rank(current.get(position).copied());
            to = to * base + digits.upper(hi.is_some(), position == common, b.copied());
            if to > LONGEST {
                break;
            }
        }
        (at.saturating_sub(from) as f64, to.saturating_sub(at) as f64)
    }

    /// The shortest key at that fraction of the line from `a` to `b`, strictly between them.
    pub fn point(&self, a: &str, b: Option<&str>, fraction: f64) -> Option<String> {
        let (lower, upper) = (letters(a), b.map(letters));
        let common = common(&lower, upper.as_deref());
        let prefix = lower.get(..common)?;
        if !prefix.iter().all(|c| is_split_char(*c)) {
            return None;
        }
        let mut line: Vec<(Alphabet<'_>, u128)> = Vec::new();
        let mut length = 0_u128;
        for position in common..common + 2 * DEPTH {
            let low = lower.get(position).copied();
            let high = upper.as_ref().and_then(|upper| upper.get(position)).copied();
            let digits = self.alphabet(position, low, high);
            let rank = digits.rank(low);
            let top = digits.upper(upper.is_some(), position == common, high);
            length = (length * digits.len() as u128 + top).checked_sub(rank)?;
            line.push((digits, rank));
            if length < 4 {
                continue;
            }
            let offset = ((length as f64 * fraction) as u128).max(1);
            if let Some(tail) = decode(&line, offset) {
                let key: String = prefix.iter().copied().chain(tail).collect();
                let above = order::compare(&key, a).is_gt();
                if above && b.is_none_or(|b| order::compare(&key, b).is_lt()) {
                    return Some(key);
                }
            }
            if length > LONGEST {
                return None;
            }
        }
        None
    }

    fn alphabet(&self, position: usize, a: Option<char>, b: Option<char>) -> Alphabet<'_> {
        let seen = self.seen.get(position).map_or(&[][..], Vec::as_slice);
        let mut extra: Vec<char> = [a, b]
            .into_iter()
            .flatten()
            .filter(|c| is_split_char(*c) && seen.binary_search(c).is_err())
            .collect();
        extra.sort_unstable();
        extra.dedup();
        if seen.is_empty() && extra.is_empty() {
            extra.push('0');
        }
        let last = seen.last().max(extra.last()).copied();
        extra.extend(last.and_then(|last| (last..='\u{D7FF}').skip(1).find(|c| is_split_char(*c))));
        Alphabet { seen, extra }
    }
}

/// The digits of one position: the characters seen, and a few more, both in order.
#[derive(Debug)]
struct Alphabet<'a> {
    seen: &'a [char],
    extra: Vec<char>,
}

impl Alphabet<'_> {
    const fn len(&self) -> usize {
        self.seen.len() + self.extra.len()
    }

    /// A character's digit; the end of a key is the smallest one.
    fn rank(&self, c: Option<char>) -> u128 {
        let Some(c) = c else { return 0 };
        let below = self.seen.partition_point(|seen| *seen < c)
            + self.extra.partition_point(|extra| *extra < c);
        below.min(self.len().saturating_sub(1)) as u128
    }

    /// The digit of an upper bound; without a bound, one above all digits.
    fn upper(&self, bounded: bool, first: bool, c: Option<char>) -> u128 {
        match (bounded, first) {
            (true, _) => self.rank(c),
            (false, true) => self.len() as u128,
            (false, false) => 0,
        }
    }

    fn digit(&self, rank: usize) -> Option<char> {
        let mut skipped = 0;
        for extra in &self.extra {
            let place = self.seen.partition_point(|seen| seen < extra) + skipped;
            match rank.cmp(&place) {
                std::cmp::Ordering::Less => break,
                std::cmp::Ordering::Equal => return Some(*extra),
                std::cmp::Ordering::Greater => skipped += 1,
            }
        }
        self.seen.get(rank - skipped).copied()
    }
}

/// The characters of the number that lies `offset` above that of `line`.
fn decode(line: &[(Alphabet<'_>, u128)], mut offset: u128) -> Option<Vec<char>> {
    let mut tail = Vec::with_capacity(line.len());
    for (digits, rank) in line.iter().rev() {
        let base = digits.len() as u128;
        let sum = rank + offset % base;
        offset = offset / base + sum / base;
        tail.push(digits.digit(usize::try_from(sum % base).ok()?)?);
    }
    tail.reverse();
    (offset == 0).then_some(tail)
}

/// Whether a split key may hold `c`.
pub(in crate::scan) const fn is_split_char(c: char) -> bool {
    c <= '\u{D7FF}' && !is_forbidden(c)
}

fn letters(key: &str) -> Vec<char> {
    key.chars().collect()
}

fn common(a: &[char], b: Option<&[char]>) -> usize {
    b.map_or(0, |b| a.iter().zip(b).take_while(|(a, b)| a == b).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_point_lies_at_its_fraction_of_the_keys_seen() {
        let mut model = KeyModel::default();
        for index in 0..256 {
            model.learn(&format!("{index:02x}"));
        }
        let half = model.point("00", Some("80"), 0.5);
        assert_eq!(half.as_deref(), Some("4"));
        let (used, left) = model.distance("00", "40", Some("80"));
        assert!((used / left - 1.0).abs() < 0.1, "{used} {left}");
    }

    proptest! {
        #[test]
        fn a_point_lies_strictly_between_and_below_the_surrogates(
            seen in prop::collection::vec("\\PC{0,4}", 0..20),
            a in "\\PC{0,4}",
            b in prop::option::of("\\PC{0,4}"),
            fraction in 0.0..1.0,
        ) {
            let mut model = KeyModel::default();
            for key in &seen {
                model.learn(key);
            }
            if b.as_ref().is_some_and(|b| order::compare(&a, b).is_ge()) {
                return Ok(());
            }
            if let Some(point) = model.point(&a, b.as_deref(), fraction) {
                prop_assert!(order::compare(&a, &point).is_lt() && a < point);
                prop_assert!(b.is_none_or(|b| order::compare(&point, &b).is_lt() && point < b));
                prop_assert!(point.chars().all(is_split_char));
            }
        }

        #[test]
        fn distances_grow_along_a_range(keys in prop::collection::vec("[a-f0-9]{1,6}", 3)) {
            let mut keys = keys;
            keys.sort();
            let mut model = KeyModel::default();
            keys.iter().for_each(|key| model.learn(key));
            let (used, left) = model.distance(&keys[0], &keys[1], Some(&keys[2]));
            let (all, none) = model.distance(&keys[0], &keys[2], Some(&keys[2]));
            prop_assert!(used <= all && used >= 0.0 && left >= 0.0 && none == 0.0);
        }
    }
}
