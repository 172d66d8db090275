//! How far the values of a PartitionKey spread writes, as far as the derive knows. What only the types know, generated
//! code asks them.
//!
//! Invariant: a value that grows with time keeps [`FEW`] servers busy or fewer where the components before it have no
//! more values than that together.

use crate::ast::Encoder;
use crate::kind::Kind;
use crate::model::{Model, Part};

/// As many partitions are too few for a table that grows.
pub const FEW: u64 = 2;

/// The last words of names of values that grow with time. A `second` comes again each minute, so it spreads.
const TIMES: [&str; 20] = [
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "date",
    "hour",
    "minute",
    "seconds",
    "time",
    "timestamp",
    "at",
    "ts",
    "ms",
    "millis",
    "micros",
    "nanos",
    "yyyymmdd",
    "ticks",
    "epoch",
];
/// Those of numbers that count up.
const COUNTERS: [&str; 6] = ["n", "seq", "sequence", "serial", "ordinal", "counter"];

/// How many values a component has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// So many, or so many that it is all one.
    Known(u64),
    /// Only the type knows.
    Unknown,
}

impl Values {
    fn of(part: &Part<'_>) -> Self {
        match (part.encoder, part.kind()) {
            (Encoder::Shard(shards), _) => Self::Known(shards.into()),
            (Encoder::Spread, _) => Self::Known(u64::MAX),
            (_, Kind::Bool) => Self::Known(2),
            (_, Kind::Other) => Self::Unknown,
            _ => Self::Known(u64::MAX),
        }
    }
}

/// Whether they may have few values together, as far as they are known.
fn may_be_few(values: &[Values]) -> bool {
    let known = values.iter().map(|values| match values {
        Values::Known(number) => *number,
        Values::Unknown => 1,
    });
    known.fold(1_u64, u64::saturating_mul) <= FEW
}

fn are_known(values: &[Values]) -> bool {
    values.iter().all(|values| matches!(values, Values::Known(_)))
}

/// Whether a PartitionKey has few values.
pub enum Few {
    Sure,
    /// The values of its components.
    Unknown(Vec<Values>),
    No,
}

pub fn few_partitions(model: &Model<'_>) -> Few {
    let values: Vec<_> = model.partition.parts.iter().map(Values::of).collect();
    match (may_be_few(&values), are_known(&values)) {
        (false, _) => Few::No,
        (true, true) => Few::Sure,
        (true, false) => Few::Unknown(values),
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
    let values: Vec<_> = parts.iter().map(Values::of).collect();
    let follows_few = |at: &usize| may_be_few(&values[..*at]);
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
        let last = name.rsplit('_').next().unwrap_or_default();
        let is_time = TIMES.contains(&last) && (is_number || part.kind() == Kind::Text);
        is_time || (COUNTERS.contains(&last) && is_number)
    };
    // A component has a name of its own, and the field's value.
    let names = [part.name.to_string(), field.name.to_string()];
    names.into_iter().find(grows)
}

#[cfg(test)]
mod tests {
    /// The words that the runtime's tests read too.
    const WORDS: [(&str, &[&str]); 4] = include!("../../tests/fixtures/words.rs");

    #[test]
    fn names_of_times_are_those_of_the_runtime() {
        assert_eq!(("times", &super::TIMES[..]), WORDS[0]);
    }
}
