//! The kinds of keys that tables have.

use super::keys::KeySet;
use super::random::Random;
use std::collections::BTreeMap;
use std::fmt;

/// A kind of keys that tables have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// 32 random hex digits, one row each.
    UniformHex,
    /// Dotted names, some prefixes far more common than others, with versions as rows.
    PackageIds,
    /// Ten rows a minute, under the minute in ticks.
    TimeTicks,
    /// All rows in one partition.
    OnePartition,
    /// Numbered partitions of one row.
    TinySequential,
    /// 2000 partitions, whose sizes fall as the inverse of their rank.
    ZipfTenants,
}

impl KeyKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::UniformHex,
        Self::PackageIds,
        Self::TimeTicks,
        Self::OnePartition,
        Self::TinySequential,
        Self::ZipfTenants,
    ];

    /// Generates about `rows` keys of this kind, the same for the same seed.
    #[must_use]
    pub fn generate(self, rows: usize, seed: u64) -> KeySet {
        let mut random = Random::new(seed);
        match self {
            Self::UniformHex => {
                KeySet::new((0..rows).map(|_| {
                    (format!("{:016x}{:016x}", random.bits(), random.bits()), String::new())
                }))
            }
            Self::PackageIds => package_ids(rows, &mut random),
            Self::TimeTicks => KeySet::new((0..rows).map(|row| {
                let ticks = 638_400_000_000_000_000 + (row as u64 / 10) * 600_000_000;
                (format!("{ticks:019}"), format!("{:08x}", random.bits() >> 32))
            })),
            Self::OnePartition => KeySet::new(
                (0..rows).map(|_| ("all".to_owned(), format!("{:016x}", random.bits()))),
            ),
            Self::TinySequential => {
                KeySet::new((0..rows).map(|row| (format!("user-{:010}", row * 7), String::new())))
            }
            Self::ZipfTenants => {
                let name = |random: &mut Random| format!("{:012x}", random.bits() >> 16);
                let tenants: Vec<_> = (0..2000).map(|_| name(&mut random)).collect();
                let shares = Shares::new((0..2000).map(|rank| 1.0 / f64::from(rank + 1)));
                KeySet::new((0..rows).map(|_| {
                    let tenant = tenants.get(shares.draw(&mut random)).cloned();
                    (tenant.unwrap_or_default(), name(&mut random))
                }))
            }
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::UniformHex => "uniform hex",
            Self::PackageIds => "package ids",
            Self::TimeTicks => "time ticks",
            Self::OnePartition => "one partition",
            Self::TinySequential => "tiny sequential",
            Self::ZipfTenants => "zipf tenants",
        })
    }
}

fn package_ids(rows: usize, random: &mut Random) -> KeySet {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
    let mut words: Vec<String> = (0..4000)
        .map(|_| {
            let letters = 2 + random.below(8);
            let letter = |_| LETTERS.get(random.below(LETTERS.len())).copied().map(char::from);
            (0..letters).filter_map(letter).collect()
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    for at in (1..words.len()).rev() {
        words.swap(at, random.below(at + 1));
    }
    let shares = Shares::new((0..words.len()).map(|rank| (rank as f64 + 1.0).powf(-1.05)));
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let mut packages: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..rows / 12 {
        let mut name = word(shares.draw(random)).to_owned();
        for _ in 0..random.below(4) {
            name.push('.');
            name.push_str(word(random.below(words.len())));
        }
        let versions = (2.0 + 1.2 * random.normal()).exp() as usize + 1;
        packages.entry(name).or_insert_with(|| versions.min(2000));
    }
    let mut keys = KeySet::default();
    for (name, versions) in packages {
        let mut versions: Vec<_> =
            (0..versions).map(|v| format!("{}.{}.{}", v / 40, v / 8 % 5, v % 8)).collect();
        versions.sort_unstable();
        for version in versions.iter().take(rows.saturating_sub(keys.len())) {
            keys.push(&name, version);
        }
    }
    keys
}

/// Draws numbers, each as often as its share says.
struct Shares {
    sums: Vec<f64>,
}

impl Shares {
    fn new(shares: impl Iterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        let sums = shares
            .map(|share| {
                sum += share;
                sum
            })
            .collect();
        Self { sums }
    }

    fn draw(&self, random: &mut Random) -> usize {
        let at = random.fraction() * self.sums.last().copied().unwrap_or_default();
        self.sums.partition_point(|sum| *sum <= at).min(self.sums.len().saturating_sub(1))
    }
}
