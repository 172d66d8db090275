//! A sum as data.

use super::declaration::{Adds, Sum};
use serde::{Serialize, Serializer};
use std::fmt;

/// A sum of a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SumSchema {
    /// Its name, which is part of the keys of its totals.
    pub name: &'static str,
    /// What it adds up.
    #[serde(serialize_with = "as_text")]
    pub counts: Counts,
    /// The number of rows of each total.
    pub shards: u8,
    /// Whether its totals have copies, for the sum over all partitions.
    pub over_partitions: bool,
}

/// What a sum adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Counts {
    /// Each entity counts as 1.
    Entities,
    /// A number of each entity.
    Numbers,
    /// A number of each entity, with a total for each group.
    NumbersByGroup,
}

impl SumSchema {
    pub(in crate::entity) const fn of<E>(sum: &Sum<E>) -> Self {
        let counts = match sum.adds() {
            Adds::One => Counts::Entities,
            Adds::Value(_) => Counts::Numbers,
            Adds::InGroup(_) => Counts::NumbersByGroup,
        };
        let (name, shards) = (sum.name(), sum.rows_of_a_total());
        Self { name, counts, shards, over_partitions: sum.is_over_partitions() }
    }
}

fn as_text<T: fmt::Display, S: Serializer>(value: &T, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(value)
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Entities => "entities",
            Self::Numbers => "a number of each entity",
            Self::NumbersByGroup => "a number of each entity by group",
        })
    }
}

impl fmt::Display for SumSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.name, self.counts)?;
        if self.shards > 1 {
            write!(f, ", in {} rows", self.shards)?;
        }
        if self.over_partitions { f.write_str(", over partitions") } else { Ok(()) }
    }
}
