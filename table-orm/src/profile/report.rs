//! What a profile has found.

use super::advice::Advice;
use crate::figures::{Percentiles, grouped};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a table stores. `Display` is a text of at most 100 columns, and [`json`](Self::json) is for programs. serde reads
/// that back.
///
/// It holds stored keys and constant values, so treat it as the table itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProfileReport {
    /// The table.
    pub table: String,
    /// Whether the profile is of all rows of the table.
    #[serde(default = "whole")]
    pub is_whole: bool,
    /// Rows that were read.
    pub rows: u64,
    /// Rows that could not be read, such as one with a value of an unknown type. No other number counts them.
    pub unreadable: u64,
    /// Requests, each of which the service bills.
    pub requests: u64,
    /// How long it took.
    pub seconds: f64,
    /// The oldest Timestamp of a row.
    pub oldest: Option<String>,
    /// The newest Timestamp of a row.
    pub newest: Option<String>,
    /// The partitions.
    pub partitions: PartitionProfile,
    /// The kinds of rows: those of each type in the order of its templates, then all others, those with most rows
    /// first.
    pub kinds: Vec<KindProfile>,
    /// How many different RowKeys there are in the table.
    pub row_keys: Distinct,
    /// The components of the keys of each known type, in the order of its templates. Those that no row has are
    /// left out.
    #[serde(default)]
    pub components: Vec<ComponentProfile>,
    /// The sizes of rows; `None` where [only keys](super::Profile::keys_only) were read.
    pub sizes: Option<SizeProfile>,
    /// The properties, those with most bytes first. Empty where only keys were read.
    pub properties: Vec<PropertyProfile>,
    /// Values under names beyond the first 504, which `properties` leaves out.
    pub other_properties: u64,
    /// Whether partitions were written in the order of their keys; `None` where the Timestamps do not
    /// show it.
    pub write_order: Option<WriteOrder>,
    /// What stands out.
    pub advice: Vec<Advice>,
}

/// A report of an earlier version does not say so.
const fn whole() -> bool {
    true
}

impl ProfileReport {
    /// Returns the property of that name, if any row has it.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&PropertyProfile> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// Returns the component of that name in the PartitionKey of an entity type, if the table has entities of it.
    #[must_use]
    pub fn partition_component(&self, entity: &str, name: &str) -> Option<&ComponentProfile> {
        self.components.iter().find(|component| {
            component.entity == entity && component.row.is_none() && component.name == name
        })
    }

    /// Counts the rows that play a part.
    #[must_use]
    pub fn rows_of(&self, role: RowRole) -> u64 {
        self.kinds.iter().filter(|kind| kind.role == role).map(|kind| kind.rows).sum()
    }

    /// The report as one JSON object.
    ///
    /// # Errors
    /// When a value has no JSON form. Every value of this version has one.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// The bytes of all rows, if they were read.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.sizes.as_ref().map(|sizes| sizes.bytes)
    }
}

/// The partitions of a table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PartitionProfile {
    /// How many there are.
    pub count: u64,
    /// Those that have rows only to [help](RowRole::is_helper), such as guards of values that are unique over
    /// all partitions.
    pub only_helpers: u64,
    /// Those with a single row, without those that only help.
    pub single_row: u64,
    /// Rows in a partition.
    pub rows: Percentiles,
    /// Bytes of a partition; `None` where only keys were read.
    pub bytes: Option<Percentiles>,
    /// The partitions with most rows, the largest first.
    pub most_rows: Vec<PartitionSize>,
    /// The partitions with most bytes, the largest first. Empty where only keys were read.
    pub most_bytes: Vec<PartitionSize>,
}

/// A partition and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PartitionSize {
    /// The PartitionKey.
    pub key: String,
    /// Its rows.
    pub rows: u64,
    /// Their bytes, as the service counts them; 0 where only keys were read.
    pub bytes: u64,
}

/// The rows of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KindProfile {
    /// The entity type; `None` for rows of no type that the profile knows.
    pub entity: Option<String>,
    /// The name of the row, such as `by_bib`. For rows of no type, how their RowKeys begin: their letters up to the
    /// first separator, as `BIB:`, or `(digits)`, `(digits..)`, `(GUID)`, `(text)`, `(empty)`. After 60 such
    /// beginnings, `(others)`.
    pub name: String,
    /// The part that the rows play.
    pub role: RowRole,
    /// How many there are.
    pub rows: u64,
    /// Their bytes; 0 where only keys were read.
    pub bytes: u64,
    /// The oldest Timestamp of such a row.
    pub oldest: Option<String>,
}

/// The part that a row plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RowRole {
    /// The canonical row of an entity.
    Entity,
    /// An index row in the partition of its entity.
    Copy,
    /// A row that follows an entity of another partition or table.
    #[serde(rename = "elsewhere")]
    Eventual,
    /// The guard of a unique value.
    Guard,
    /// An intent: says what a write has still to do in other partitions.
    Intent,
    /// The right to write in another partition once.
    Ticket,
    /// An event of the outbox.
    Event,
    /// A row that helps to hand events on: the number of the next one, or a lease.
    OutboxState,
    /// A total of a sum, or the copy of one.
    Total,
    /// The row of a sequence.
    Sequence,
    /// A mark that an entity was moved to another key.
    Moved,
    /// Bytes of a large value.
    LargeValue,
    /// A row of a type that the profile does not know.
    Other,
}

impl RowRole {
    /// Returns whether such rows only serve the rows of entities.
    #[must_use]
    pub const fn is_helper(self) -> bool {
        !matches!(self, Self::Entity | Self::Copy | Self::Eventual | Self::Other)
    }
}

impl fmt::Display for RowRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Entity => "entity",
            Self::Copy => "index row",
            Self::Eventual => "eventual row",
            Self::Guard => "guard",
            Self::Intent => "intent",
            Self::Ticket => "ticket",
            Self::Event => "event",
            Self::OutboxState => "outbox state",
            Self::Total => "total",
            Self::Sequence => "sequence",
            Self::LargeValue => "large value",
            Self::Moved => "moved",
            Self::Other => "",
        })
    }
}

/// The sizes of rows, as the service counts them: its documented formula, without the overhead of its storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SizeProfile {
    /// The bytes of all rows.
    pub bytes: u64,
    /// The bytes of the names of properties, which each row stores again.
    pub name_bytes: u64,
    /// Bytes of a row.
    pub row: Percentiles,
    /// The rows of each size, the smallest first.
    pub histogram: Vec<SizeBucket>,
}

/// The rows of one range of sizes: up to [`at_most`](Self::at_most) bytes, and more than half as many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SizeBucket {
    /// The most bytes: a power of two.
    pub at_most: u64,
    /// How many rows there are.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What rows store under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PropertyProfile {
    /// The name.
    pub name: String,
    /// Whether a type that the profile knows declares it.
    #[serde(default)]
    pub is_declared: bool,
    /// The rows that have it.
    pub rows: u64,
    /// All rows of the kinds that it occurs in.
    pub of_rows: u64,
    /// The bytes of all values, with their names.
    pub bytes: u64,
    /// The bytes of the largest value, with its name.
    pub largest: u64,
    /// The types of the values, such as `Edm.Int32`.
    pub types: Vec<String>,
    /// How many different values there are.
    pub values: Distinct,
    /// The value as in a filter, if every row that has the property stores the same. A long one is cut.
    pub constant: Option<String>,
}

/// A component of the keys of an entity type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ComponentProfile {
    /// The entity type.
    pub entity: String,
    /// The name of the row, such as `by_bib`; `None` for the PartitionKey that all rows in the entity's partition
    /// share.
    pub row: Option<String>,
    /// `PartitionKey` or `RowKey`.
    pub key: String,
    /// Its name.
    pub name: String,
    /// How many different values are stored: exact up to 100, then [`About`](Distinct::About).
    pub values: Distinct,
}

/// How many different values there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Distinct {
    /// This number, exactly.
    Exactly(u64),
    /// More than this number; the profile stopped counting there.
    MoreThan(u64),
    /// An estimate: within 5 % in 998 of 1,000 tables, by a sketch with a standard error of 1.6 %.
    About(u64),
}

impl Distinct {
    /// Whether there is one value only.
    pub(super) const fn is_one(self) -> bool {
        matches!(self, Self::Exactly(1))
    }

    /// Whether there is no value.
    pub(super) const fn is_none(self) -> bool {
        matches!(self, Self::Exactly(0))
    }
}

impl fmt::Display for Distinct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(values) => f.pad(&values.to_string()),
            Self::MoreThan(values) => f.pad(&format!("> {values}")),
            Self::About(values) => f.pad(&format!("about {}", grouped(*values))),
        }
    }
}

/// How the order of PartitionKeys compares with the order in which the partitions were first written.
///
/// A Timestamp is that of the last write of a row. So the oldest Timestamp of a partition counts as its first
/// write.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WriteOrder {
    /// The partitions of the sample.
    pub partitions: u64,
    /// Spearman's rank correlation: 1 where keys rise with time, -1 where they fall, about 0 where
    /// the orders have nothing in common.
    pub correlation: f64,
    /// When the first partition of the sample was written.
    pub from: String,
    /// When the last one was written.
    pub to: String,
}
