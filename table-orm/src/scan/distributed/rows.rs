//! The rows of the control table: one partition for each scan.
//!
//! Invariant: the open ranges never overlap, and hold all rows that are not handled. Every change of a
//! range is one entity group transaction, guarded by its row's ETag.

use super::{LEASE, PoisonedRange, clock};
use crate::entity::RowHead;
use crate::model::DateTime;
use crate::scan::engine::Position;
use std::fmt::Display;
use std::time::Duration;
use table_derive::{KeyPart, TableEntity};

/// The most characters of an error that a row keeps.
pub(super) const MAX_ERROR_CHARS: usize = 500;
/// The version of the rows' format.
pub(super) const VERSION: i32 = 1;

/// What a scan reads: the row `scan`.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "scans", partition = "{scan}", row = "scan", crate = crate)]
pub(super) struct ScanRow {
    #[table(key_only)]
    pub scan: String,
    pub version: i32,
    /// The queue of its messages; `None` in rows of earlier versions.
    pub queue: Option<String>,
    pub table: String,
    /// The filter of the whole scan, keys included.
    pub query: Option<String>,
    pub select: Option<String>,
    pub page_size: i32,
    /// Whether workers split ranges, and how many pages must be left for it.
    pub splits: bool,
    pub least_pages: f64,
}

/// The state of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
#[key(crate = crate)]
pub(super) enum RangeState {
    #[key("d")]
    Done,
    #[key("o")]
    Open,
    #[key("p")]
    Poisoned,
}

/// A PartitionKey and a RowKey.
pub(super) type Pair = (String, String);

/// A range of keys: the row `o:<range>` until it is done.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "scans", partition = "{scan}", row = "{state}:{range}", crate = crate)]
pub(super) struct RangeRow {
    #[table(key_only)]
    pub scan: String,
    #[table(key_only)]
    pub state: RangeState,
    #[table(key_only)]
    pub range: String,
    #[table(json)]
    pub from: Pair,
    /// `None` is the end of the table.
    #[table(json)]
    pub to: Option<Pair>,
    /// The last row that was handled.
    #[table(json)]
    pub cursor: Option<Pair>,
    /// The claim of its worker; `None` while a message waits for a worker.
    pub owner: Option<String>,
    /// When a new message is due: at the end of its lease, or when its message has waited for too
    /// long.
    pub due: DateTime,
    /// Rises with each claim. A worker with a lower one has lost the range.
    pub generation: i64,
    /// Claims since the cursor last moved.
    pub stalls: i32,
    /// The text of their last error, shortened; `None` in rows of earlier versions.
    pub error: Option<String>,
    pub rows: i64,
    pub pages: i64,
}

impl RangeRow {
    /// A range without a worker.
    pub fn new(
        scan: &str,
        range: String,
        from: &Position,
        to: Option<&Position>,
        due: DateTime,
    ) -> Self {
        Self {
            scan: scan.to_owned(),
            state: RangeState::Open,
            range,
            from: pair(from),
            to: to.map(pair),
            cursor: None,
            owner: None,
            due,
            generation: 0,
            stalls: 0,
            error: None,
            rows: 0,
            pages: 0,
        }
    }

    /// The start of the rows that are not handled.
    pub fn start(&self) -> Position {
        match &self.cursor {
            Some(cursor) => Position::after(&key(cursor)),
            None => self.begin(),
        }
    }

    pub fn begin(&self) -> Position {
        Position::new(&self.from.0, &self.from.1)
    }

    pub fn end(&self) -> Option<Position> {
        self.to.as_ref().map(|(pk, rk)| Position::new(pk, rk))
    }

    /// Its entry in the status of the scan.
    pub fn poisoned(&self) -> PoisonedRange {
        PoisonedRange {
            range: self.range.clone(),
            from: key(&self.from),
            to: self.to.as_ref().map(key),
            last: self.cursor.as_ref().map(key),
            error: self.error.clone(),
        }
    }

    /// The time left of its worker's lease, by this machine's clock; zero without a worker.
    pub fn lease_left(&self) -> Duration {
        let left = if self.owner.is_some() { clock::until(self.due) } else { Duration::ZERO };
        left.min(LEASE)
    }
}

/// The text of an error for a row: one line, shortened.
pub(super) fn error_text(error: &impl Display) -> String {
    // Some errors show their sources only in the alternate form.
    let text = format!("{error:#}").replace(char::is_control, " ");
    match text.char_indices().nth(MAX_ERROR_CHARS) {
        Some(_) => text.chars().take(MAX_ERROR_CHARS - 1).chain(['\u{2026}']).collect(),
        None => text,
    }
}

fn key((partition_key, row_key): &Pair) -> RowHead {
    RowHead { partition_key: partition_key.clone(), row_key: row_key.clone() }
}

pub(super) fn pair(place: &Position) -> Pair {
    (place.pk.clone(), place.rk.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_error_is_one_line_of_at_most_500_characters() {
        assert_eq!(error_text(&"two\nlines\0"), "two lines ");
        let longest = "ß".repeat(MAX_ERROR_CHARS);
        assert_eq!(error_text(&longest), longest);
        let cut = error_text(&format!("{longest}!"));
        assert_eq!(cut.chars().count(), MAX_ERROR_CHARS);
        assert!(cut.ends_with("ß\u{2026}"));
    }
}
