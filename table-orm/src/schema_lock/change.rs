//! A difference between a type and the lock.

use std::fmt;

/// Whether rows that are stored already can still be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reads {
    /// All of them.
    All,
    /// Not all of them, or not all of their values.
    NotAll,
    /// The lock cannot know. Whoever changed the type does.
    Unknown,
}

/// A change of a type since the lock was written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaChange {
    /// The type's name.
    pub entity: String,
    /// What changed.
    pub what: String,
    /// Whether stored rows can still be read.
    pub reads: Reads,
    /// Whether something must be done about stored rows before the change is made.
    pub breaking: bool,
    /// What to do about stored rows; empty where there is nothing to do.
    pub remedy: String,
}

pub(super) fn breaking(change: &SchemaChange) -> bool {
    change.breaking
}

impl fmt::Display for SchemaChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entity, what, reads, remedy, .. } = self;
        let reads = match reads {
            Reads::All => "stored rows are still read",
            Reads::NotAll => "stored rows are NOT read as they were written",
            Reads::Unknown => "stored rows may be read otherwise than they were written",
        };
        write!(f, "`{entity}`: {what}; {reads}")?;
        if remedy.is_empty() { Ok(()) } else { write!(f, "; {remedy}") }
    }
}
