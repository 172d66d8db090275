//! The file that an export writes, and how far it is.
//!
//! Invariant: what the checkpoint counts is on the disk, and ends with a whole row. What the file has
//! after it is cut off before the export goes on. The file gets its name when it is whole. One process
//! at a time writes it.

use super::ExportFailure;
use crate::manifest::{Manifest, beside, replace};
use crate::text_file::{Encoder, TextFile, digest, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use table_orm::entity::RowHead;
use table_orm::model::DateTime;
use table_orm::transfer::ExportPage;

/// The text and time after which progress is saved.
const SAVE: (u64, Duration) = (32 * 1024 * 1024, Duration::from_secs(10));

/// Which export it is: one with other options has another text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    pub store: String,
    pub table: String,
    pub selection: String,
    pub form: String,
}

/// How far an export is.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Checkpoint {
    job: Job,
    /// The header of a CSV text.
    columns: Option<String>,
    /// The length of the file.
    length: u64,
    /// The text in it, and its hash.
    bytes: u64,
    sha256: String,
    rows: u64,
    partitions: u64,
    /// The key of the last row.
    last: Option<(String, String)>,
}

/// The file of an export.
pub(super) struct Output {
    path: PathBuf,
    file: TextFile,
    checkpoint: Checkpoint,
    encoder: Option<Encoder>,
    hash: Sha256,
    /// The text, and when, at the last save.
    saved: (u64, Instant),
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ExportFailure {
    move |source| ExportFailure::File { path: path.to_owned(), source }
}

impl Output {
    /// Goes on with an export that ended early; `None` if there is none.
    pub fn resume(path: &Path, file: TextFile, job: &Job) -> Result<Option<Self>, ExportFailure> {
        let saved = checkpoint_path(path);
        let text = match fs::read(&saved) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&saved)(error)),
        };
        let other = || ExportFailure::Checkpoint(saved.clone());
        let checkpoint: Checkpoint = serde_json::from_slice(&text).map_err(|_| other())?;
        if checkpoint.job != *job {
            return Err(other());
        }
        let part = part_path(path);
        if !part.exists() {
            return Err(other());
        }
        let mut target = open(&part)?;
        let length = target.metadata().map_err(failed(&part))?.len();
        if length < checkpoint.length {
            return Err(other());
        }
        target.set_len(checkpoint.length).map_err(failed(&part))?;
        let text = target.try_clone().and_then(|part| file.read(part)).map_err(failed(&part))?;
        let (bytes, hash) = digest(text).map_err(failed(&part))?;
        if (bytes, hex(hash.clone())) != (checkpoint.bytes, checkpoint.sha256.clone()) {
            return Err(other());
        }
        target.seek(SeekFrom::End(0)).map_err(failed(&part))?;
        let encoder = Some(file.write(target).map_err(failed(&part))?);
        let saved = (bytes, Instant::now());
        Ok(Some(Self { path: path.to_owned(), file, checkpoint, encoder, hash, saved }))
    }

    /// Begins an export. Replaces what another one has left.
    pub fn create(
        path: &Path,
        file: TextFile,
        job: Job,
        columns: Option<String>,
    ) -> Result<Self, ExportFailure> {
        let (part, saved) = (part_path(path), checkpoint_path(path));
        let target = open(&part)?;
        // It would take what the new file has for the text of the old one.
        remove(&saved)?;
        target.set_len(0).map_err(failed(&part))?;
        let encoder = Some(file.write(target).map_err(failed(&part))?);
        let (length, bytes, rows, partitions, last) = (0, 0, 0, 0, None);
        let sha256 = String::new();
        let checkpoint = Checkpoint { job, columns, length, bytes, sha256, rows, partitions, last };
        let saved = (0, Instant::now());
        Ok(Self { path: path.to_owned(), file, checkpoint, encoder, hash: Sha256::new(), saved })
    }

    /// The header of a CSV text.
    pub fn columns(&self) -> Option<&str> {
        self.checkpoint.columns.as_deref()
    }

    /// The last row that the file has.
    pub fn last(&self) -> Option<RowHead> {
        let (partition_key, row_key) = self.checkpoint.last.clone()?;
        Some(RowHead { partition_key, row_key })
    }

    pub const fn rows(&self) -> u64 {
        self.checkpoint.rows
    }

    /// Writes a page, and now and then the progress.
    pub fn write(&mut self, page: ExportPage) -> Result<(), ExportFailure> {
        self.text(&page.text)?;
        self.checkpoint.rows += page.rows;
        self.checkpoint.partitions += page.partitions;
        self.checkpoint.last = Some((page.last.partition_key, page.last.row_key));
        let (bytes, when) = self.saved;
        match self.checkpoint.bytes - bytes >= SAVE.0 || when.elapsed() >= SAVE.1 {
            true => self.save(),
            false => Ok(()),
        }
    }

    /// Writes text that is no row.
    pub fn text(&mut self, text: &str) -> Result<(), ExportFailure> {
        let Some(encoder) = &mut self.encoder else { return Ok(()) };
        encoder.write_all(text.as_bytes()).map_err(failed(&part_path(&self.path)))?;
        self.hash.update(text);
        self.checkpoint.bytes += text.len() as u64;
        Ok(())
    }

    /// Saves how far the export is.
    pub fn save(&mut self) -> Result<(), ExportFailure> {
        let part = part_path(&self.path);
        let Some(encoder) = self.encoder.take() else { return Ok(()) };
        let target = encoder.finish().map_err(failed(&part))?;
        self.checkpoint.length = target.metadata().map_err(failed(&part))?.len();
        self.encoder = Some(self.file.write(target).map_err(failed(&part))?);
        self.checkpoint.sha256 = hex(self.hash.clone());
        let path = checkpoint_path(&self.path);
        replace(&path, &self.checkpoint).map_err(failed(&path))?;
        self.saved = (self.checkpoint.bytes, Instant::now());
        Ok(())
    }

    /// Removes what is of no use to a later run.
    pub fn discard(&mut self) -> Result<(), ExportFailure> {
        remove(&checkpoint_path(&self.path))?;
        remove(&part_path(&self.path))
    }

    /// Gives the file its name, and writes the manifest.
    pub fn finish(mut self) -> Result<Manifest, ExportFailure> {
        let part = part_path(&self.path);
        // Locked until the file has its name.
        let _file = self.encoder.take().map(Encoder::finish).transpose().map_err(failed(&part))?;
        let Checkpoint { job, bytes, rows, partitions, .. } = self.checkpoint;
        let Job { table, selection, form, .. } = job;
        let (version, sha256) = (Manifest::version(), hex(self.hash));
        let finished = DateTime::now().to_string();
        let manifest =
            Manifest { version, table, selection, form, rows, partitions, bytes, sha256, finished };
        let path = Manifest::path(&self.path);
        replace(&path, &manifest).map_err(failed(&path))?;
        fs::rename(&part, &self.path).map_err(failed(&self.path))?;
        remove(&checkpoint_path(&self.path))?;
        Ok(manifest)
    }
}

/// Opens the file of an export, for this process only.
fn open(part: &Path) -> Result<File, ExportFailure> {
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let file = options.open(part).map_err(failed(part))?;
    // File systems without locks have none to respect. The process that had it may have renamed it.
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ExportFailure::Busy(part.to_owned())),
        _ if !part.exists() => Err(ExportFailure::Busy(part.to_owned())),
        _ => Ok(file),
    }
}

/// Removes a file that may not exist.
fn remove(path: &Path) -> Result<(), ExportFailure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
        _ => Ok(()),
    }
}

/// The file while it is not whole.
pub(super) fn part_path(path: &Path) -> PathBuf {
    beside(path, ".part")
}

/// The file of the progress.
pub(super) fn checkpoint_path(path: &Path) -> PathBuf {
    beside(path, ".checkpoint.json")
}
