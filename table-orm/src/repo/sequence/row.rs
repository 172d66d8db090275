//! The row of a sequence: what it stores, and how it is read and written.
//!
//! Invariant: the row holds the last write of each of the last writers, latest first. So a writer whose
//! answer was lost finds out whether its write took effect, however many writes others have made since.

use crate::entity::{Members, ReadRow, body, read_row};
use crate::model::ETag;
use crate::plan::CanonicalKey;
use crate::property::{PropertiesWriter, PropertyError, PropertyFault, RowFault};
use crate::store::{Action, Operation, StoredRow};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fmt, iter};
use uuid::Uuid;

/// The next number, an `Int64`.
const NEXT: &str = "Next";
/// The last write of each of the last writers: `<writer>.<number>`, with a space between them.
const WRITES: &str = "Writes";
/// How many writers are kept.
const WRITERS_KEPT: usize = 64;

/// What the row of a sequence stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SequenceRow {
    next: u64,
    writes: Vec<WriteId>,
}

/// One write of one writer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WriteId {
    writer: String,
    number: u64,
}

/// Who writes the rows of sequences: one value of [`Sequence`](super::Sequence), and its clones.
#[derive(Debug)]
pub(super) struct Writer {
    id: String,
    writes: AtomicU64,
}

/// A sequence as it was read or written.
#[derive(Debug, Clone)]
pub(super) struct Version {
    row: SequenceRow,
    /// `None` where there is no row yet.
    etag: Option<ETag>,
}

/// A write that takes numbers.
#[derive(Debug, Clone)]
pub(super) struct Taking {
    /// The numbers that it takes.
    pub numbers: Range<u64>,
    /// The version that it replaces.
    base: Version,
    /// What it writes.
    row: SequenceRow,
    id: WriteId,
}

/// What a version shows of a write whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The write took effect.
    TookEffect,
    /// The version is the one that the write replaces, so that it may still take effect. A write under
    /// the same version excludes it.
    MayFollow,
    /// It had no effect, and can have none.
    NoEffect,
    /// So many writers came since, or another call of the same writer, that it is not known.
    Unknown,
}

impl WriteId {
    fn read(text: &str) -> Option<Self> {
        let (writer, number) = text.split_once('.')?;
        Some(Self { writer: writer.to_owned(), number: number.parse().ok()? })
    }
}

impl fmt::Display for WriteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.writer, self.number)
    }
}

impl Default for Writer {
    fn default() -> Self {
        let (random, _) = Uuid::new_v4().as_u64_pair();
        Self { id: format!("{random:016x}"), writes: AtomicU64::default() }
    }
}

impl Writer {
    fn next_id(&self) -> WriteId {
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        WriteId { writer: self.id.clone(), number }
    }
}

impl SequenceRow {
    /// The last write of a writer, if it is among those that are kept.
    fn last_of(&self, writer: &str) -> Option<&WriteId> {
        self.writes.iter().find(|write| write.writer == writer)
    }
}

impl ReadRow for SequenceRow {
    const NAME: &'static str = "Sequence";

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        let (mut next, mut writes) = (None::<i64>, None::<String>);
        while let Some(name) = members.next_name()? {
            match &*name {
                NEXT => members.read(NEXT, &mut next)?,
                WRITES => members.read(WRITES, &mut writes)?,
                name => members.other(name)?,
            }
        }
        let next = next.ok_or_else(|| RowFault::new(NEXT, PropertyFault::Missing))?;
        let negative = |_| PropertyFault::Unreadable(format!("{next} is less than 0"));
        let next = u64::try_from(next).map_err(negative);
        let writes = writes.unwrap_or_default();
        Ok(Self {
            next: next.map_err(|fault| RowFault::new(NEXT, fault))?,
            writes: writes.split_whitespace().filter_map(WriteId::read).collect(),
        })
    }
}

impl Version {
    /// A sequence without a row, whose first number that is.
    pub const fn absent(first: u64) -> Self {
        Self { row: SequenceRow { next: first, writes: Vec::new() }, etag: None }
    }

    pub fn read(stored: &StoredRow) -> Result<Self, PropertyError> {
        Ok(Self { row: read_row(0, &stored.body)?, etag: Some(stored.etag()?) })
    }

    /// A write that takes that many numbers; `None` where no `Int64` is left for them.
    pub fn take(self, count: u64, writer: &Writer) -> Option<Taking> {
        let next = self.row.next.checked_add(count).filter(|next| i64::try_from(*next).is_ok())?;
        let id = writer.next_id();
        let others = self.row.writes.iter().filter(|write| write.writer != id.writer);
        let writes = iter::once(&id).chain(others).take(WRITERS_KEPT).cloned().collect();
        let row = SequenceRow { next, writes };
        Some(Taking { numbers: self.row.next..next, base: self, row, id })
    }

    /// The numbers that are left before the largest `Int64`.
    pub fn left(&self) -> u64 {
        i64::MAX.unsigned_abs().saturating_sub(self.row.next)
    }
}

impl Taking {
    /// The write, under the version that it replaces.
    pub fn operation(&self, key: &CanonicalKey) -> Result<Operation, PropertyError> {
        let mut out = PropertiesWriter::new(SequenceRow::NAME);
        out.property(NEXT, &self.row.next)?;
        let writes: Vec<_> = self.row.writes.iter().map(WriteId::to_string).collect();
        out.property(WRITES, &writes.join(" "))?;
        let body = body(&key.partition_key, &key.row_key, &out)?;
        let action = Action::over(body, self.base.etag.clone());
        Ok(Operation { row_key: key.row_key.clone(), action })
    }

    /// The version that it has made, whose ETag that is.
    pub fn written(self, etag: ETag) -> Version {
        Version { row: self.row, etag: Some(etag) }
    }

    /// What a version that was read afterwards shows of it.
    pub fn shown_by(&self, later: &Version) -> Shown {
        let (base, row) = (&self.base.row, &later.row);
        // While one entry of the base is still kept, so is every writer since.
        let keeps_all = || {
            row.writes.len() < WRITERS_KEPT
                || row.writes.iter().any(|one| base.writes.contains(one))
        };
        match row.last_of(&self.id.writer) {
            Some(last) if *last == self.id => Shown::TookEffect,
            _ if later.etag == self.base.etag => Shown::MayFollow,
            None if keeps_all() => Shown::NoEffect,
            last if last.is_some() && last == base.last_of(&self.id.writer) => Shown::NoEffect,
            _ => Shown::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(version: Version, writer: &Writer, etag: &str) -> Version {
        version.take(1, writer).unwrap().written(ETag::new(etag))
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let key = CanonicalKey { partition_key: "p".into(), row_key: "SEQ:orders".into() };
        let (one, other) = (Writer::default(), Writer::default());
        let taking = written(Version::absent(1), &one, "a").take(41, &other).unwrap();
        let operation = taking.operation(&key).unwrap();
        let body = operation.action.body().unwrap().clone();
        assert_eq!(read_row::<SequenceRow>(0, &body).unwrap(), taking.row);
        assert_eq!((taking.numbers, taking.row.next, taking.row.writes.len()), (2..43, 43, 2));
        assert_eq!(operation.action.etag(), Some(&ETag::new("a")));
        for wrong in [r#"{"Next":"-1"}"#, "{}", r#"{"Next":"many"}"#] {
            assert!(read_row::<SequenceRow>(0, wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_end_before_the_largest_int64() {
        let (most, writer) = (i64::MAX.unsigned_abs(), Writer::default());
        let last = Version::absent(most - 1);
        assert_eq!(last.left(), 1);
        assert!(last.clone().take(2, &writer).is_none());
        assert_eq!(last.take(1, &writer).unwrap().numbers, most - 1..most);
        assert!(Version::absent(u64::MAX).take(1, &writer).is_none());
    }

    /// What is shown of a lost write of `mine` that took effect, and of one that did not, after ten
    /// writes of each of that many other writers.
    fn shown(base: &Version, mine: &Writer, others: usize) -> [Shown; 2] {
        let lost = base.clone().take(1, mine).unwrap();
        assert_eq!(lost.shown_by(base), Shown::MayFollow);
        let took = lost.clone().written(ETag::new("mine"));
        let not = written(base.clone(), &Writer::default(), "other");
        let writers: Vec<_> = (0..others).map(|_| Writer::default()).collect();
        [took, not].map(|mut later| {
            for round in 0..10 {
                for (at, writer) in writers.iter().enumerate() {
                    later = written(later, writer, &format!("{round}-{at}"));
                }
            }
            lost.shown_by(&later)
        })
    }

    #[test]
    fn the_last_writes_show_what_became_of_one() {
        use Shown::{NoEffect, TookEffect, Unknown};
        let mine = Writer::default();
        let absent = Version::absent(1);
        let after_mine = written(absent.clone(), &mine, "0");
        let after_other = written(absent.clone(), &Writer::default(), "0");
        for base in [&absent, &after_mine, &after_other] {
            for others in [0, 1, 10, WRITERS_KEPT - 2] {
                assert_eq!(shown(base, &mine, others), [TookEffect, NoEffect], "{others}");
            }
            assert_eq!(shown(base, &mine, WRITERS_KEPT + 1), [Unknown, Unknown]);
        }
    }

    #[test]
    fn another_call_of_the_same_writer_hides_a_lost_write() {
        let mine = Writer::default();
        let base = written(Version::absent(1), &mine, "0");
        let lost = base.clone().take(1, &mine).unwrap();
        let took = written(lost.clone().written(ETag::new("1")), &mine, "2");
        let not = written(base, &mine, "1");
        assert_eq!([lost.shown_by(&took), lost.shown_by(&not)], [Shown::Unknown; 2]);
    }
}
