//! The rows of the control table: one partition for each scan.
//!
//! Invariant: the open ranges never overlap, and hold all that is not delivered. Every change of a range is one
//! entity group transaction, guarded by its row's ETag.

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
    /// Where its messages are. Rows of earlier programs do not tell.
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

/// What has become of a range.
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
    /// Who works on it; `None` while a message waits for somebody.
    pub owner: Option<String>,
    /// When a new message is due: the end of its lease, or of the time given to its message.
    pub due: DateTime,
    /// Goes up with each claim. Who holds an older one has lost the range.
    pub generation: i64,
    /// Claims since the cursor has moved.
    pub stalls: i32,
    /// What the last of them that failed has said, cut short. Rows of earlier programs have none.
    pub error: Option<String>,
    pub rows: i64,
    pub pages: i64,
}

impl RangeRow {
    /// A range that nobody works on yet.
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

    /// Where the rows begin that are not handled.
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

    /// What its status tells, where it was put aside.
    pub fn poisoned(&self) -> PoisonedRange {
        PoisonedRange {
            range: self.range.clone(),
            from: key(&self.from),
            to: self.to.as_ref().map(key),
            last: self.cursor.as_ref().map(key),
            error: self.error.clone(),
        }
    }

    /// How long its worker has it still, as far as clocks tell; zero where nobody has it.
    pub fn lease_left(&self) -> Duration {
        let left = if self.owner.is_some() { clock::until(self.due) } else { Duration::ZERO };
        left.min(LEASE)
    }
}

/// The text of an error, as a row keeps it: in one line, and cut short.
pub(super) fn error_text(error: &impl Display) -> String {
    // Some tell what lies below them only so.
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
