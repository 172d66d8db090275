//! Whole keys as places on a line: how far apart two keys are, and which key lies at a distance.
//!
//! A place has a digit for each position of a key. The alphabet of a position is the characters seen
//! there, the others of their classes seen anywhere (digits, lower-case and upper-case letters), and
//! one more above them. So a key that no page has shown can be a place, too. Invariant: a key made
//! from a place holds only characters below U+D800 that keys may hold.

use super::key_model::{is_split_char, samples};
use super::page_keys::PageKeys;
use crate::model::order;
use crate::property::PropertyError;

/// How many positions of a key are learned.
const POSITIONS: usize = 64;
/// How many positions a made key has after what it shares with its lower bound, if that is enough.
const DETAIL: usize = 5;

/// The lines of the PartitionKeys and RowKeys of a scan.
#[derive(Debug, Default)]
pub(super) struct KeyLines {
    pub partition: KeyLine,
    pub row: KeyLine,
}

impl KeyLines {
    /// Learns some of the keys of a page's first rows.
    pub fn learn(&mut self, page: &PageKeys<'_>, rows: usize) -> Result<(), PropertyError> {
        for index in samples(rows) {
            let key = page.at(index)?;
            self.partition.learn(&key.partition_key);
            self.row.learn(&key.row_key);
        }
        Ok(())
    }

    /// Changes with every distance on one of the lines.
    pub const fn version(&self) -> u64 {
        self.partition.version + self.row.version
    }
}

/// The characters seen at each position of a PartitionKey or RowKey.
#[derive(Debug, Default)]
pub(super) struct KeyLine {
    positions: Vec<Alphabet>,
    /// The characters seen anywhere, by class.
    classes: [Vec<char>; 3],
    version: u64,
}

#[derive(Debug, Default)]
struct Alphabet {
    seen: Vec<char>,
    digits: Vec<char>,
    /// How many places share the digits up to this position.
    weight: f64,
}

/// A place on a line. Its digits are those of the line's positions.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub(super) struct LinePlace(Vec<u64>);

impl KeyLine {
    /// Notes a key's characters.
    fn learn(&mut self, key: &str) {
        let mut changed = false;
        for (position, c) in key.chars().take(POSITIONS).enumerate() {
            if self.positions.len() == position {
                self.positions.push(Alphabet::default());
                changed = true;
            }
            let Some(alphabet) = self.positions.get_mut(position) else { continue };
            if !is_split_char(c) || !insert(&mut alphabet.seen, c) {
                continue;
            }
            changed = true;
            if let Some(class) = class(c).and_then(|class| self.classes.get_mut(class)) {
                insert(class, c);
            }
        }
        if changed {
            self.rebuild();
        }
    }

    fn rebuild(&mut self) {
        let mut weight = 1.0;
        for alphabet in self.positions.iter_mut().rev() {
            alphabet.rebuild(&self.classes);
            alphabet.weight = weight;
            weight *= alphabet.digits.len() as f64;
        }
        self.version += 1;
    }

    /// The place of a key.
    pub fn place(&self, key: &str) -> LinePlace {
        let mut chars = key.chars();
        LinePlace(self.positions.iter().map(|at| chars.next().map_or(0, |c| at.digit(c))).collect())
    }

    /// The first place after all keys that start with `prefix`.
    pub fn behind(&self, prefix: &str) -> LinePlace {
        let LinePlace(mut digits) = self.place(prefix);
        let last = prefix.chars().take(digits.len()).count().saturating_sub(1);
        if prefix.is_empty() {
            if let Some(first) = digits.first_mut() {
                *first = self.positions.first().map_or(1, |at| at.digits.len() as u64);
            }
        } else if let Some(digit) = digits.get_mut(last) {
            *digit += 1;
        }
        self.carried(digits)
    }

    /// How far `to` lies after `from`; negative if it lies before.
    pub fn distance(&self, from: &LinePlace, to: &LinePlace) -> f64 {
        let digits = self.positions.iter().zip(from.0.iter().zip(&to.0));
        digits.map(|(at, (from, to))| (*to as f64 - *from as f64) * at.weight).sum()
    }

    /// The place that far after another.
    pub fn forward(&self, from: &LinePlace, distance: f64) -> LinePlace {
        let mut rest = distance.max(0.0);
        let mut digits = from.0.clone();
        for (digit, at) in digits.iter_mut().zip(&self.positions) {
            let steps = (rest / at.weight).floor();
            rest -= steps * at.weight;
            *digit = digit.saturating_add(steps as u64);
        }
        self.carried(digits)
    }

    /// The same place, where only the first digit may be larger than its alphabet.
    fn carried(&self, mut digits: Vec<u64>) -> LinePlace {
        let mut carry = 0;
        for (position, (digit, at)) in digits.iter_mut().zip(&self.positions).enumerate().rev() {
            *digit = digit.saturating_add(carry);
            if position > 0 {
                let base = at.digits.len() as u64;
                carry = *digit / base;
                *digit %= base;
            }
        }
        LinePlace(digits)
    }

    /// A short key near a place, strictly between two keys; `None` if there is none.
    pub fn key(&self, place: &LinePlace, lo: &str, hi: Option<&str>) -> Option<String> {
        let chars: Option<Vec<char>> =
            self.positions.iter().zip(&place.0).map(|(at, digit)| at.char(*digit)).collect();
        let chars = chars?;
        let shared = chars.iter().zip(lo.chars()).take_while(|(a, b)| **a == *b).count();
        let is_above = |key: &str| order::compare(key, lo).is_gt() && key > lo;
        let is_below = |key: &str| hi.is_none_or(|hi| order::compare(key, hi).is_lt() && key < hi);
        let keys = (shared + DETAIL..chars.len()).chain([chars.len()]);
        let mut keys = keys.map(|length| chars.iter().take(length).collect::<String>());
        keys.find(|key| is_above(key)).filter(|key| is_below(key))
    }
}

impl Alphabet {
    fn rebuild(&mut self, classes: &[Vec<char>; 3]) {
        self.digits.clone_from(&self.seen);
        if self.seen.len() > 1 {
            for (index, chars) in classes.iter().enumerate() {
                if self.seen.iter().any(|c| class(*c) == Some(index)) {
                    self.digits.extend(chars);
                }
            }
            self.digits.sort_unstable();
            self.digits.dedup();
        }
        // A position may have only characters that no split key holds.
        let last = *self.digits.last().unwrap_or(&'0');
        if self.digits.is_empty() {
            self.digits.push(last);
        }
        self.digits.extend((last..='\u{D7FF}').skip(1).find(|c| is_split_char(*c)));
    }

    fn digit(&self, c: char) -> u64 {
        let below = self.digits.partition_point(|digit| *digit < c);
        below.min(self.digits.len().saturating_sub(1)) as u64
    }

    fn char(&self, digit: u64) -> Option<char> {
        self.digits.get(usize::try_from(digit).ok()?).copied()
    }
}

/// Adds a character to those in order; returns whether it is new.
fn insert(chars: &mut Vec<char>, c: char) -> bool {
    let at = chars.binary_search(&c);
    if let Err(at) = at {
        chars.insert(at, c);
    }
    at.is_err()
}

const fn class(c: char) -> Option<usize> {
    match c {
        '0'..='9' => Some(0),
        'a'..='z' => Some(1),
        'A'..='Z' => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(keys: &[String]) -> KeyLine {
        let mut line = KeyLine::default();
        keys.iter().for_each(|key| line.learn(key));
        line
    }

    #[test]
    fn a_position_knows_the_letters_seen_at_others() {
        let line = line(&["ax".to_owned(), "by".to_owned(), "1-".to_owned()]);
        let digits: Vec<String> =
            line.positions.iter().map(|at| at.digits.iter().collect()).collect();
        assert_eq!(digits, ["1abxyz", "-abxyz"]);
        let all = line.distance(&line.place(""), &line.behind(""));
        assert_eq!(all, 36.0);
        let half = line.forward(&line.place(""), all / 2.0);
        assert_eq!(line.key(&half, "", None).as_deref(), Some("x-"));
        assert_eq!(line.key(&line.behind(""), "", None), None, "behind all keys");
    }

    proptest! {
        #[test]
        fn a_key_lies_strictly_between_its_bounds_and_below_the_surrogates(
            seen in prop::collection::vec("\\PC{0,4}", 0..20),
            lo in "\\PC{0,4}",
            hi in prop::option::of("\\PC{0,4}"),
            fraction in 0.0..1.2,
        ) {
            let line = line(&seen);
            let all = line.distance(&line.place(&lo), &line.behind(""));
            let place = line.forward(&line.place(&lo), all * fraction);
            if let Some(key) = line.key(&place, &lo, hi.as_deref()) {
                prop_assert!(order::compare(&lo, &key).is_lt() && lo < key);
                prop_assert!(hi.is_none_or(|hi| order::compare(&key, &hi).is_lt() && key < hi));
                prop_assert!(key.chars().all(is_split_char));
            }
        }

        #[test]
        fn distances_add_up(mut keys in prop::collection::vec("[a-f0-9]{0,6}", 3)) {
            keys.sort();
            let line = line(&keys);
            let [a, b, c] = [0, 1, 2].map(|at: usize| line.place(&keys[at]));
            let (near, far) = (line.distance(&a, &b), line.distance(&a, &c));
            prop_assert!(0.0 <= near && near <= far);
            prop_assert_eq!(near + line.distance(&b, &c), far);
            prop_assert_eq!(line.forward(&a, far), c);
            let prefix: String = keys[1].chars().take(2).collect();
            prop_assert!(prefix.is_empty() || line.behind(&prefix) > b);
        }
    }
}
