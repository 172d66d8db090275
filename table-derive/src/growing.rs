//! How far the values of a PartitionKey spread writes, as far as the derive knows. What only the types know, generated
//! code asks them.
//!
//! Invariant: a value that grows with time keeps [`FEW`] servers busy or fewer where the components before it have no
//! more values than that together.

use crate::ast::Encoder;
use crate::kind::Kind;
use crate::model::{Model, Part};

/// As many values before one that grows do not spread it.
pub const FEW: u64 = 2;
/// As many partitions are too few for a table that grows, unless the user chose their number with `shard`.
pub const FEW_PARTITIONS: u64 = 4;

/// The last words of names of values that grow with time. A `second` comes again each minute, so it spreads.
pub const TIMES: &str = "year quarter month week day date hour minute seconds time timestamp at ts ms millis micros \
                         nanos yyyymmdd ticks epoch";
/// Words that name a time only beside a type that may hold one. The book, which knows no types, does not look for them.
const TIMES_OF_A_TYPE: &str = "created updated modified inserted recorded logged tick unix";
/// Words after a name that do not change what it means: units, time zones, and what says that it is a number or a day.
const SUFFIXES: &str = "secs sec s us ns utc gmt on no num number";
/// Those of numbers that count up.
const COUNTERS: &str = "n seq sequence serial ordinal counter";

/// How many values a component has; `None` where only the type knows.
pub type Values = Option<u64>;

fn values(part: &Part<'_>) -> Values {
    match (part.encoder, part.kind()) {
        // A value is in one shard.
        (Encoder::Shard(shards), Kind::Bool) => Some(u64::from(shards).min(2)),
        (Encoder::Shard(shards), _) => Some(shards.into()),
        (Encoder::Spread, _) => Some(u64::MAX),
        (_, Kind::Bool) => Some(2),
        (_, Kind::Other) => None,
        // So many that it is all one.
        _ => Some(u64::MAX),
    }
}

/// The fewest values that they have together, as far as they are known.
fn fewest(values: &[Values]) -> u64 {
    values.iter().flatten().fold(1, |all, values| all.saturating_mul(*values))
}

fn are_known(values: &[Values]) -> bool {
    values.iter().all(Option::is_some)
}

/// Whether a PartitionKey has few values.
pub enum Few {
    /// So many.
    Sure(u64),
    /// The values of its components. They are few up to that number.
    Unknown(Vec<Values>, u64),
    No,
}

pub fn few_partitions(model: &Model<'_>) -> Few {
    let values: Vec<_> = model.partition.parts.iter().map(values).collect();
    let is_sharded = model.partition.parts.iter().any(Part::is_shard);
    let limit = if is_sharded { FEW } else { FEW_PARTITIONS };
    match fewest(&values) {
        number if number > limit => Few::No,
        number if are_known(&values) => Few::Sure(number),
        _ => Few::Unknown(values, limit),
    }
}

/// A component that may grow, with few values before it.
pub struct Growing<'m, 'a> {
    pub part: &'m Part<'a>,
    pub growth: Growth,
    /// The values of the components before it.
    pub before: Vec<Values>,
}

/// How it is known that a component grows.
pub enum Growth {
    /// What its type or encoder says that it counts.
    ByType(&'static str),
    /// The name that says it.
    ByName(String),
    /// Only the type knows.
    Unknown,
}

impl Growing<'_, '_> {
    /// Whether the derive knows it.
    pub fn is_sure(&self) -> bool {
        !matches!(self.growth, Growth::Unknown) && are_known(&self.before)
    }
}

/// The components of a PartitionKey that may grow, and follow few values.
pub fn growing<'m, 'a>(model: &'m Model<'a>) -> Vec<Growing<'m, 'a>> {
    let parts = &model.partition.parts;
    let values: Vec<_> = parts.iter().map(values).collect();
    let follows_few = |at: &usize| fewest(&values[..*at]) <= FEW;
    let candidates = (0..parts.len()).take_while(follows_few).filter_map(|at| {
        let part = &parts[at];
        let by_name = || grows_by_name(part).map(Growth::ByName);
        let unknown = || {
            let is_unknown = matches!(part.kind(), Kind::Other | Kind::Uuid) && !part.is_shard();
            is_unknown.then_some(Growth::Unknown)
        };
        let growth = grows(part).map(Growth::ByType).or_else(by_name).or_else(unknown)?;
        Some(Growing { part, growth, before: values[..at].to_vec() })
    });
    candidates.collect()
}

/// What a component counts, as far as its type and encoder show. An integer in its plain form or with
/// a width may be an id, but one with `asc` or `desc` is a sequence.
fn grows(part: &Part<'_>) -> Option<&'static str> {
    let field = part.field().filter(|_| !part.is_shard())?;
    let ordered = part.encoder.is_ordered() || part.name != field.name;
    match part.kind() {
        Kind::Instant => Some("clock"),
        Kind::Date => Some("date"),
        Kind::Ulid => Some("ULID"),
        Kind::Unsigned(_) if ordered => Some("counter"),
        Kind::Signed(_) if part.encoder.is_ordered() => Some("counter"),
        _ => None,
    }
}

/// The name that says that a component grows.
fn grows_by_name(part: &Part<'_>) -> Option<String> {
    let field = part.field().filter(|_| !part.is_shard())?;
    let is_number = matches!(part.kind(), Kind::Unsigned(_) | Kind::Signed(_));
    let grows = |name: &String| {
        let mut words = name.rsplit('_').skip_while(|word| has(SUFFIXES, word));
        let Some(last) = words.next() else { return false };
        // A serial number names a device.
        let counts = has(COUNTERS, last) && (last != "serial" || name.ends_with(last));
        is_time(last) && (is_number || part.kind() == Kind::Text) || counts && is_number
    };
    // A component has a name of its own, and the field's value.
    let names = [part.name.to_string(), field.name.to_string()];
    names.into_iter().find(grows)
}

/// Whether the last word of a name says that the value is a time.
fn is_time(word: &str) -> bool {
    // `ymd`, `yyyymm`: the form of a date.
    let is_form = ["ym", "yy"].iter().any(|start| word.starts_with(start))
        && word.chars().all(|letter| matches!(letter, 'y' | 'm' | 'd' | 'h' | 's'));
    is_form || has(TIMES, word) || has(TIMES_OF_A_TYPE, word)
}

fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|own| own == word)
}
