//! Why a lock's check fails.

use super::change::SchemaChange;
use crate::entity::InvalidEntity;
use std::path::PathBuf;
use std::{fmt, io};

/// The types and the lock differ, or cannot be compared. `Debug` prints the message, as a failed test shows it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Rows that are stored already would not be read, or values in them be lost. Or a sample differs from a stored one
    /// of its keys, as when two fields have swapped their names.
    #[error(
        "{} does not fit the types: stored rows do not survive these changes, or may not:{}\nTo make such a change after \
         all, make sure that no stored row needs the lines that it contradicts, then delete them from the file",
        path.display(), list(changes)
    )]
    Breaking {
        /// The lock.
        path: PathBuf,
        /// The changes that stored rows do not survive.
        changes: Vec<SchemaChange>,
    },
    /// The lock lacks changes that stored rows survive, or of which it cannot say so: see [`SchemaChange::reads`].
    #[error(
        "{} lacks changes of the types:{}\nRun `TABLE_ORM_LOCK=update cargo test` to add them, and review \
         the difference",
        path.display(), list(changes)
    )]
    Outdated {
        /// The lock.
        path: PathBuf,
        /// The changes.
        changes: Vec<SchemaChange>,
    },
    /// There is no lock.
    #[error(
        "there is no {}: run `TABLE_ORM_LOCK=update cargo test` to write it, and commit it",
        path.display()
    )]
    Absent {
        /// Where it is expected.
        path: PathBuf,
    },
    /// A line of the lock is not as it was written.
    #[error("line {line} of {} cannot be read: restore the file from its repository", path.display())]
    Malformed {
        /// The lock.
        path: PathBuf,
        /// The number of the line.
        line: usize,
    },
    /// Two types have one name.
    #[error(
        "two types are called `{0}`: give all samples of one type to one `with`; check another type of that name against \
         a lock of its own; if one is the old form of a type that migrates, leave it out, because `with_migrating` adds it"
    )]
    SameName(String),
    /// A type that migrates was added without its old form.
    #[error(
        "`{0}` has `migrate_from`: add it by `with_migrating`, which adds its old form too, until the migration has \
         ended"
    )]
    OldFormMissing(&'static str),
    /// Each sample of a type that migrates is another one after it is converted to its old form and back.
    #[error(
        "each sample of `{0}` is another entity after it is converted to its old form and back: correct the `From` \
         implementations, or give a sample that the old form holds"
    )]
    Lossy(&'static str),
    /// Two types share a table, and a row of one can be taken for one of the other.
    #[error("`{}` and `{}` share a table: {reason}", types[0], types[1])]
    Alike {
        /// The names of the types.
        types: [&'static str; 2],
        /// What is alike, and what to do.
        reason: &'static str,
    },
    /// Two samples of one type have the same keys, and different values of a property. Two codes that are swapped would
    /// not be found.
    #[error(
        "two samples of `{entity}` have the keys {key}, and different values of the property {property}: give each of them \
         keys of its own, so that codes and names that are swapped are found"
    )]
    SameKeys {
        /// The type's name.
        entity: &'static str,
        /// The PartitionKey and the RowKey of the canonical row.
        key: String,
        /// The name of the property.
        property: String,
    },
    /// A type has no sample.
    #[error(
        "`{0}` has no sample, so nothing shows that its stored rows are read: give one to `with`"
    )]
    NoSample(&'static str),
    /// A sample cannot be stored.
    #[error("a sample of `{entity}` cannot be stored: {error}")]
    Sample {
        /// The type's name.
        entity: &'static str,
        /// The reason.
        error: Box<InvalidEntity>,
    },
    /// The lock cannot be read or written.
    #[error("{} cannot be read or written: {error}", path.display())]
    Io {
        /// The lock.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

impl fmt::Debug for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn list(changes: &[SchemaChange]) -> String {
    changes.iter().map(|change| format!("\n- {change}")).collect()
}
