//! What stands out in a profile.

use crate::model::Printable;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that stands out, with what to do about it and the rule behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Advice {
    /// What it is about.
    pub kind: AdviceKind,
    /// What was found, with figures.
    pub finding: String,
    /// What to do.
    pub action: String,
    /// The rule of the service's documentation, and the page that has it.
    pub rule: String,
}

/// What advice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AdviceKind {
    /// All rows are in one partition.
    SinglePartition,
    /// One partition has a large share of the rows.
    HotPartition,
    /// All entities of a type share two partitions.
    TwoPartitions,
    /// A component of a PartitionKey that has one value in all rows, beside others.
    ConstantComponent,
    /// Nearly every row has a partition to itself.
    SingleRows,
    /// New partitions come after all others.
    AppendOnly,
    /// New partitions come before all others.
    PrependOnly,
    /// Large rows hold much of the bytes.
    LargeEntities,
    /// One property with long text holds much of the bytes.
    LargeProperty,
    /// The names of properties hold most of the bytes.
    LongNames,
    /// Properties that hardly any row has.
    RareProperties,
    /// Properties whose values have several types.
    MixedTypes,
    /// Properties whose values are all the same, in nearly every row.
    ConstantProperties,
    /// Index rows that store as much as their entity hold half of the bytes.
    FullCopies,
    /// Rows of no known type, in a table of known types.
    UnknownRows,
    /// Intents, tickets or events that were a day old when the newest row was written.
    Unfinished,
    /// Rows that could not be read.
    Unreadable,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { finding, action, rule, .. } = self;
        write!(f, "{} {action} {rule}", Printable(finding))
    }
}
