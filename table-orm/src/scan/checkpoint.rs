//! Where a scan stands, in a file: to be gone on with after a crash or a cancellation.
//!
//! Invariant: the file is replaced whole, and what it leaves out was delivered. So after a crash
//! no row is missed; what was delivered after the last save is delivered again.

use super::ScanError;
use super::place::{Place, ScanKey};
use super::state::State;
use serde_json::{Value, json};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// The version of the format.
const VERSION: u64 = 1;

/// A file in which a scan keeps its progress. A scan with the checkpoint of an earlier one goes on
/// where that ended: keep the file until the work is done, then delete it.
///
/// It is saved after 100 pages or 30 seconds, when the scan is dropped, fails or ends. Pages
/// handed out are counted once the next one is asked for. So a scan that is dropped delivers again
/// only the page its consumer was working on; a process that is killed, what came after the last
/// save: [`every`](Self::every) with one page makes that one page too.
///
/// The file is written, a few kilobytes, on the consumer's task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    path: PathBuf,
    pages: u64,
    interval: Duration,
}

impl Checkpoint {
    /// A checkpoint in that file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), pages: 100, interval: Duration::from_secs(30) }
    }

    /// Saves after so many pages, or after that time.
    #[must_use]
    pub const fn every(mut self, pages: u64, interval: Duration) -> Self {
        self.pages = pages;
        self.interval = interval;
        self
    }
}

impl<P: Into<PathBuf>> From<P> for Checkpoint {
    fn from(path: P) -> Self {
        Self::file(path)
    }
}

/// What is left to read, from one place to another; `None` is the end of the table.
type Unread = (Place, Option<Place>);

/// The checkpoint of one scan.
#[derive(Debug)]
pub(super) struct Saver {
    checkpoint: Checkpoint,
    table: String,
    /// Of the keys, filter and selection.
    query: String,
    settled: u64,
    saved: Instant,
}

impl Saver {
    pub fn new(checkpoint: Checkpoint, table: &str, query: u64) -> Self {
        let (table, query) = (table.to_owned(), format!("{query:016x}"));
        Self { checkpoint, table, query, settled: 0, saved: Instant::now() }
    }

    /// The ranges left to read; `None` where there is no checkpoint yet.
    pub fn load(&self) -> Result<Option<Vec<Unread>>, ScanError> {
        let path = &self.checkpoint.path;
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(ScanError::CheckpointUnreadable { path: path.clone(), source });
            }
        };
        let malformed = || ScanError::CheckpointMalformed(path.clone());
        let value: Value = serde_json::from_slice(&text).map_err(|_| malformed())?;
        let found = value["version"].as_u64().ok_or_else(malformed)?;
        if found != VERSION {
            return Err(ScanError::CheckpointVersion { found, expected: VERSION });
        }
        let table = value["table"].as_str().ok_or_else(malformed)?;
        if !table.eq_ignore_ascii_case(&self.table) {
            let (found, expected) = (table.to_owned(), self.table.clone());
            return Err(ScanError::CheckpointTable { found, expected });
        }
        if value["query"].as_str().ok_or_else(malformed)? != self.query {
            return Err(ScanError::CheckpointQuery);
        }
        let ranges = value["ranges"].as_array().ok_or_else(malformed)?;
        ranges
            .iter()
            .map(|range| read_range(range).ok_or_else(malformed))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// A page was delivered.
    pub fn settled<T>(&mut self, state: &State<T>) -> Result<(), ScanError> {
        self.settled += 1;
        let due = self.settled >= self.checkpoint.pages
            || self.saved.elapsed() >= self.checkpoint.interval;
        if due { self.save(state) } else { Ok(()) }
    }

    pub fn save<T>(&mut self, state: &State<T>) -> Result<(), ScanError> {
        let keys_only = state.rules.keys_only;
        let ranges: Vec<Value> = state
            .ranges
            .iter()
            .filter(|(_, range)| !range.is_settled())
            .map(|(start, range)| {
                let last = range.delivered.as_ref().map(|last| match last {
                    ScanKey { partition_key, .. } if keys_only => json!([partition_key]),
                    ScanKey { partition_key, row_key } => json!([partition_key, row_key]),
                });
                let end = range.end.as_ref().map(|end| json!([end.pk, end.rk]));
                json!({ "from": [start.pk, start.rk], "to": end, "last": last })
            })
            .collect();
        let value = json!({
            "version": VERSION, "table": self.table, "query": self.query, "ranges": ranges,
        });
        self.settled = 0;
        self.saved = Instant::now();
        let path = &self.checkpoint.path;
        replace(path, value.to_string().as_bytes())
            .map_err(|source| ScanError::CheckpointUnwritable { path: path.clone(), source })
    }
}

fn read_range(range: &Value) -> Option<Unread> {
    let text = |key: &Value, at: usize| key.get(at).and_then(Value::as_str).map(str::to_owned);
    let place = |key: &Value| Some(Place::new(text(key, 0)?, text(key, 1)?));
    let end = match range.get("to")? {
        Value::Null => None,
        end => Some(place(end)?),
    };
    let start = match range.get("last")? {
        Value::Null => place(range.get("from")?)?,
        last => {
            let partition_key = text(last, 0)?;
            match text(last, 1) {
                Some(row_key) => Place::after(&ScanKey { partition_key, row_key }),
                None => Place::after_partition(&partition_key),
            }
        }
    };
    Some((start, end))
}

/// Replaces a file whole: readers see the old content or the new.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut file = std::fs::File::create(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}
