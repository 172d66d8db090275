//! What stands out in a book: a design that costs more than its patterns need, or does not bear their load.

use super::units::number;
use crate::figures::{code, counted, grouped};
use crate::model::{ACCOUNT_TARGET, OLDER_PARTITION_TARGET, PARTITION_TARGET};
use serde::Serialize;
use std::fmt;

/// The service's targets in rows a second, as Microsoft documents them for rows of 1 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Target {
    /// 2,000 a second for one partition.
    Partition,
    /// 20,000 a second for a storage account.
    Account,
}

impl Target {
    /// The rows a second.
    #[must_use]
    pub const fn rows_per_second(self) -> f64 {
        match self {
            Self::Partition => PARTITION_TARGET as f64,
            Self::Account => ACCOUNT_TARGET as f64,
        }
    }
}

/// The rows a second up to which a partition needs no second look: what early papers on the service give.
pub(super) const CAREFUL: f64 = OLDER_PARTITION_TARGET as f64;
/// What a request takes at least, in milliseconds, where nothing else is known.
pub(super) const REQUEST_MS: u64 = 5;

/// What a finding is about. An app names it to [mark a finding as known](super::Book::known), together with the
/// finding's subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BookFindingKind {
    /// [`BookFinding::Scans`]. Its subject is the name of the pattern.
    Scans,
    /// [`BookFinding::BusyPartition`]. Its subject is the table and the PartitionKey: `orders/acme`.
    BusyPartition,
    /// [`BookFinding::HotPartition`]. Its subject is the table and the PartitionKey: `orders/acme`.
    HotPartition,
    /// [`BookFinding::HotAccount`]. Its subject is `account`.
    HotAccount,
    /// [`BookFinding::UnusedRow`]. Its subject is the type and the row: `Order.by_day`.
    UnusedRow,
    /// [`BookFinding::PartialServes`]. Its subject is the type and the row: `Order.by_state`.
    PartialServes,
    /// [`BookFinding::GrowsByName`]. Its subject is the type and the component: `Payment.year`.
    GrowsByName,
    /// [`BookFinding::Sparse`]. Its subject is the name of the pattern.
    Sparse,
    /// [`BookFinding::Slow`]. Its subject is the name of the pattern.
    Slow,
    /// [`BookFinding::NoSample`]. Its subject is the name of the pattern.
    NoSample,
    /// [`BookFinding::Unplanned`]. Its subject is the name of the pattern.
    Unplanned,
    /// [`BookFinding::InvalidRate`]. Its subject is the name of the pattern.
    InvalidRate,
    /// [`BookFinding::NoName`]. Its subject is the name of the pattern, without letters as it is.
    NoName,
    /// [`BookFinding::SameName`]. Its subject is the name of the patterns.
    SameName,
    /// [`BookFinding::SameType`]. Its subject is the type: `Order`.
    SameType,
    /// [`BookFinding::UnusedMark`]. It cannot be marked.
    UnusedMark,
    /// [`BookFinding::NoReason`]. It cannot be marked.
    NoReason,
}

impl fmt::Display for BookFindingKind {
    /// Writes the name of the variant.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Something that stands out. `Display` says what it is, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "finding")]
#[non_exhaustive]
pub enum BookFinding {
    /// A pattern reads a table, or a range of partitions.
    Scans {
        /// The pattern.
        pattern: String,
        /// Rows that a call reads.
        rows: u64,
    },
    /// Patterns together read and write more than 500 rows of one partition a second, and at most as many as the
    /// [service aims at](Target::Partition). Large rows reach its limit first.
    BusyPartition {
        /// The table.
        table: String,
        /// The PartitionKey.
        partition_key: String,
        /// Rows a second.
        rows_per_second: f64,
        /// The pattern with the most of them.
        most_by: String,
    },
    /// Patterns together read and write more rows of one partition than the [service aims at](Target::Partition).
    HotPartition {
        /// The table.
        table: String,
        /// The PartitionKey.
        partition_key: String,
        /// Rows a second.
        rows_per_second: f64,
        /// The pattern with the most of them.
        most_by: String,
    },
    /// Patterns together read and write more rows than the service aims at for an account.
    HotAccount {
        /// Rows a second.
        rows_per_second: f64,
    },
    /// No pattern reads an index row.
    UnusedRow {
        /// The type.
        entity: &'static str,
        /// The row.
        row: &'static str,
        /// Its bytes of storage, of all entities.
        stored_bytes: u64,
        /// Whether it is the row that `purge_index` adds.
        is_purge_index: bool,
    },
    /// Every pattern that reads a full copy asks for some of its properties only.
    PartialServes {
        /// The type.
        entity: &'static str,
        /// The row.
        row: &'static str,
        /// The properties that the patterns ask for.
        properties: Vec<String>,
    },
    /// A PartitionKey starts with a component that grows with time, as far as its name shows.
    GrowsByName {
        /// The type.
        entity: &'static str,
        /// The template of the PartitionKey.
        partition: &'static str,
        /// The component.
        component: &'static str,
    },
    /// Few of the rows that a pattern reads match its filter.
    Sparse {
        /// The pattern.
        pattern: String,
        /// Rows that a call reads.
        rows_read: u64,
        /// Rows of them that match.
        rows_matching: u64,
    },
    /// The requests of a call that are sent one after another may take longer than the time that the call has.
    Slow {
        /// The pattern.
        pattern: String,
        /// Its requests.
        requests: u64,
        /// Those of them that are sent one after another.
        rounds: u64,
        /// The time that it has, in milliseconds.
        within_ms: u64,
    },
    /// A pattern reads ranges of keys without a sample in them, so their rows, bytes and load count as none.
    NoSample {
        /// The pattern.
        pattern: String,
    },
    /// A pattern was measured that the book does not plan.
    Unplanned {
        /// The pattern.
        pattern: String,
    },
    /// A pattern's number of calls is below 0, infinite or not a number. It counts as 0.
    InvalidRate {
        /// The pattern.
        pattern: String,
        /// The number, as text.
        calls: String,
    },
    /// A pattern of the book, or one that was measured, has a name that says nothing: it is empty or blank.
    NoName {
        /// The name.
        pattern: String,
    },
    /// Several patterns have one name, so what is measured under it is that of all of them.
    SameName {
        /// The name.
        pattern: String,
    },
    /// A type was added more than once, so its entities and their storage count more than once.
    SameType {
        /// The type.
        entity: &'static str,
    },
    /// A finding is marked as known, and the book has no such finding.
    UnusedMark {
        /// What the mark says that the finding is about.
        kind: BookFindingKind,
        /// The subject that the mark names.
        subject: String,
    },
    /// A finding is marked as known with a reason that says nothing: it is empty or blank. The mark has no effect.
    NoReason {
        /// What the mark says that the finding is about.
        kind: BookFindingKind,
        /// The subject that the mark names.
        subject: String,
    },
}

impl BookFinding {
    /// Returns what it is about.
    #[must_use]
    pub const fn kind(&self) -> BookFindingKind {
        match self {
            Self::Scans { .. } => BookFindingKind::Scans,
            Self::BusyPartition { .. } => BookFindingKind::BusyPartition,
            Self::HotPartition { .. } => BookFindingKind::HotPartition,
            Self::HotAccount { .. } => BookFindingKind::HotAccount,
            Self::UnusedRow { .. } => BookFindingKind::UnusedRow,
            Self::PartialServes { .. } => BookFindingKind::PartialServes,
            Self::GrowsByName { .. } => BookFindingKind::GrowsByName,
            Self::Sparse { .. } => BookFindingKind::Sparse,
            Self::Slow { .. } => BookFindingKind::Slow,
            Self::NoSample { .. } => BookFindingKind::NoSample,
            Self::Unplanned { .. } => BookFindingKind::Unplanned,
            Self::InvalidRate { .. } => BookFindingKind::InvalidRate,
            Self::NoName { .. } => BookFindingKind::NoName,
            Self::SameName { .. } => BookFindingKind::SameName,
            Self::SameType { .. } => BookFindingKind::SameType,
            Self::UnusedMark { .. } => BookFindingKind::UnusedMark,
            Self::NoReason { .. } => BookFindingKind::NoReason,
        }
    }

    /// Returns the name of the pattern, row or partition that it is about, as [`Book::known`](super::Book::known)
    /// takes it. [`BookFindingKind`] lists its forms.
    #[must_use]
    pub fn subject(&self) -> String {
        match self {
            Self::Scans { pattern, .. }
            | Self::Sparse { pattern, .. }
            | Self::Slow { pattern, .. }
            | Self::NoSample { pattern }
            | Self::Unplanned { pattern }
            | Self::SameName { pattern }
            | Self::InvalidRate { pattern, .. }
            | Self::NoName { pattern } => pattern.clone(),
            Self::SameType { entity } => (*entity).to_owned(),
            Self::BusyPartition { table, partition_key, .. }
            | Self::HotPartition { table, partition_key, .. } => format!("{table}/{partition_key}"),
            Self::HotAccount { .. } => "account".to_owned(),
            Self::UnusedRow { entity, row, .. } | Self::PartialServes { entity, row, .. } => {
                format!("{entity}.{row}")
            }
            Self::GrowsByName { entity, component, .. } => format!("{entity}.{component}"),
            Self::UnusedMark { subject, .. } | Self::NoReason { subject, .. } => subject.clone(),
        }
    }
}

impl fmt::Display for BookFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scans { pattern, rows } => write!(
                f,
                "{} scans: each call reads {}. An index row would give it a range.",
                code(pattern),
                counted(*rows, "row")
            ),
            Self::BusyPartition { table, partition_key, rows_per_second, most_by } => write!(
                f,
                "Partition {} of `{table}` bears {} rows a second, most by {}. The target of \
                 {} is for rows of 1 KiB. Measure what yours sustains: `table_orm::stress`.",
                code(partition_key),
                number(*rows_per_second),
                code(most_by),
                number(Target::Partition.rows_per_second())
            ),
            Self::HotPartition { table, partition_key, rows_per_second, most_by } => write!(
                f,
                "Partition {} of `{table}` bears {} rows a second, most by {}; {} is the \
                 target. Read fewer rows, spread them over more PartitionKeys, or cache what is read often.",
                code(partition_key),
                number(*rows_per_second),
                code(most_by),
                number(Target::Partition.rows_per_second())
            ),
            Self::HotAccount { rows_per_second } => write!(
                f,
                "All patterns together read and write {} rows a second; {} is the target of an \
                 account. Spread them over several accounts.",
                number(*rows_per_second),
                number(Target::Account.rows_per_second())
            ),
            Self::UnusedRow { entity, row, stored_bytes: 0, .. } => write!(
                f,
                "No pattern reads the row `{row}` of `{entity}`, which no sample has. Remove the row, or add its \
                 pattern and a sample."
            ),
            Self::UnusedRow { entity, row, stored_bytes, is_purge_index: true } => write!(
                f,
                "No pattern reads the row `{row}` of `{entity}`, which takes {} bytes and is written with \
                 every change. `purge` reads it: add a pattern of the plan of `purge()`, or remove `purge_index`.",
                grouped(*stored_bytes)
            ),
            Self::UnusedRow { entity, row, stored_bytes, .. } => write!(
                f,
                "No pattern reads the row `{row}` of `{entity}`, which takes {} bytes and is \
                 written with every change. Remove the row, or add its pattern.",
                grouped(*stored_bytes)
            ),
            Self::PartialServes { entity, row, properties } => write!(
                f,
                "The patterns that read `{row}` of `{entity}` ask for {} only. A partial copy \
                 would serve them: `include(..)`.",
                properties.join(", ")
            ),
            Self::GrowsByName { entity, partition, component } => write!(
                f,
                "The PartitionKey `{partition}` of `{entity}` starts with `{component}`. If it grows with \
                 time, as its name says, all new rows go to one end of the table, and so to one server. Let \
                 `{component}` follow a value that spreads the rows, unless few are written at a time."
            ),
            Self::Sparse { pattern, rows_read, rows_matching } => write!(
                f,
                "{} reads {} and keeps {}. A key that starts with what its filter \
                 asks for, or a row with `when`, would read fewer.",
                code(pattern),
                counted(*rows_read, "row"),
                grouped(*rows_matching)
            ),
            Self::Slow { pattern, requests, rounds, within_ms } => {
                write!(f, "{} sends {}", code(pattern), counted(*requests, "request"))?;
                match (*requests, *rounds) {
                    (0 | 1, _) => {}
                    (_, 1) => f.write_str(" at once")?,
                    (requests, rounds) if rounds < requests => {
                        write!(f, ", {} of them one after another", grouped(rounds))?;
                    }
                    _ => f.write_str(" one after another")?,
                }
                write!(f, ", and has {within_ms} ms, which is too short at {REQUEST_MS} ms each.")
            }
            Self::NoSample { pattern } => write!(
                f,
                "{} reads keys that no sample has, so its rows, bytes and load count as none. Correct the values \
                 of the call, add a sample that it finds, or say how many rows it reads: `reading(..)`.",
                code(pattern)
            ),
            Self::Unplanned { pattern } => write!(
                f,
                "{} was measured, and the book has no pattern of that name. Add the pattern, or correct \
                 the name: `as_pattern` and `Pattern::new` take the same.",
                code(pattern)
            ),
            Self::InvalidRate { pattern, calls } => write!(
                f,
                "{} is called {calls} times, which is no number of calls, and counts as 0. Give a number \
                 from 0 up.",
                code(pattern)
            ),
            Self::NoName { .. } => f.write_str(
                "A pattern has no name. Give one to `Pattern::new` and `as_pattern` that says what the app asks.",
            ),
            Self::SameName { pattern } => write!(
                f,
                "Several patterns have the name {}, so what is measured under it is that of all of them. Give each \
                 a name of its own.",
                code(pattern)
            ),
            Self::SameType { entity } => write!(
                f,
                "`{entity}` was added to the book more than once, so its entities count more than once. Give all of \
                 its samples to one `Sample`."
            ),
            Self::UnusedMark { kind, subject } => write!(
                f,
                "{} is marked as known for `{kind}`, and the book finds no such thing. Remove the \
                 mark, or correct its name.",
                code(subject)
            ),
            Self::NoReason { kind, subject } => write!(
                f,
                "{} is marked as known for `{kind}` without a reason, so the mark has no effect. Say why the app \
                 accepts it.",
                code(subject)
            ),
        }
    }
}
