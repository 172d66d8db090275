//! How far an import is.
//!
//! Invariant: each row up to the line of a checkpoint was written or refused, and the checkpoint is used
//! only for the text and the table of which it says so.

use super::ImportFailure;
use crate::manifest::replace;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::{fs, io};
use table_orm::transfer::ImportReport;

/// Which import it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    pub store: String,
    pub table: String,
    /// The length of the text, before compression, and its hash.
    pub bytes: u64,
    pub sha256: String,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Position {
    pub line: u64,
    pub rows: u64,
    pub refused: u64,
}

impl Position {
    /// The position after more was imported after this one.
    pub fn and(self, done: ImportReport) -> Self {
        let (rows, refused) = (self.rows + done.rows, self.refused + done.refused);
        Self { line: done.line.max(self.line), rows, refused }
    }
}

/// The file of the progress.
#[derive(Debug)]
pub(super) struct Checkpoint {
    path: PathBuf,
    job: Job,
}

#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    job: Job,
    #[serde(flatten)]
    position: Position,
}

impl Checkpoint {
    /// Reads how far the import is; at the beginning if there is no file.
    pub fn resume(path: PathBuf, job: Job) -> Result<(Self, Position), ImportFailure> {
        let text = match fs::read(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(ImportFailure::Checkpoint { path, source }),
        };
        let saved = text.map(|text| serde_json::from_slice::<Saved>(&text));
        match saved {
            None => Ok((Self { path, job }, Position::default())),
            Some(Ok(saved)) if saved.job == job => Ok((Self { path, job }, saved.position)),
            Some(_) => Err(ImportFailure::OtherImport(path)),
        }
    }

    pub fn save(&self, position: Position) -> Result<(), ImportFailure> {
        replace(&self.path, &Saved { job: self.job.clone(), position })
            .map_err(|source| self.failed(source))
    }

    /// Removes the file of an import that is whole.
    pub fn remove(self) -> Result<(), ImportFailure> {
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(ImportFailure::CheckpointLeft { path: self.path, source })
            }
            _ => Ok(()),
        }
    }

    fn failed(&self, source: io::Error) -> ImportFailure {
        ImportFailure::Checkpoint { path: self.path.clone(), source }
    }
}
