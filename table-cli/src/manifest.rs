//! What an export was: a file beside it, by which an import is checked.

use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The version of the format.
const VERSION: u32 = 1;

/// What an export was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub version: u32,
    /// The table that was exported.
    pub table: String,
    /// The options that selected its rows and properties; empty for all.
    pub selection: String,
    /// `jsonl` or `csv`.
    pub form: String,
    pub rows: u64,
    pub partitions: u64,
    /// The length of the text, before compression.
    pub bytes: u64,
    /// The hash of the text, before compression, in hex.
    pub sha256: String,
    /// When the export ended, in UTC.
    pub finished: String,
}

/// A manifest that cannot be read or written, or of another format.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    #[error("there is no file `{}`; name an export", .0.display())]
    NoExport(PathBuf),
    #[error("there is no manifest `{}`; give --no-manifest to import without a check", .0.display())]
    Missing(PathBuf),
    #[error("the manifest `{}` cannot be read", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "`{}` is not the manifest of an export, or a later version of this program wrote it", .path.display()
    )]
    Malformed { path: PathBuf, source: Option<serde_json::Error> },
}

impl Manifest {
    /// The file of the manifest of an export.
    pub(crate) fn path(export: &Path) -> PathBuf {
        beside(export, ".manifest.json")
    }

    /// Reads the manifest of an export.
    pub(crate) fn of(export: &Path) -> Result<Self, ManifestError> {
        let path = Self::path(export);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !export.exists() => {
                return Err(ManifestError::NoExport(export.to_owned()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ManifestError::Missing(path));
            }
            Err(source) => return Err(ManifestError::Read { path, source }),
        };
        match serde_json::from_slice::<Self>(&text) {
            Ok(manifest) if manifest.version == VERSION => Ok(manifest),
            Ok(_) => Err(ManifestError::Malformed { path, source: None }),
            Err(error) => Err(ManifestError::Malformed { path, source: Some(error) }),
        }
    }

    /// Whether its rows have some of their properties only. The names of these come last, and the values of all other
    /// options are in quotes.
    pub(crate) fn is_of_some_properties(&self) -> bool {
        let names = self.selection.rsplit_once("--select");
        names.is_some_and(|(_, names)| !names.contains('"'))
    }

    pub(crate) const fn version() -> u32 {
        VERSION
    }
}

/// A file whose name continues that of another one.
pub(crate) fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(extension);
    path.with_file_name(name)
}

/// Replaces a file of JSON whole: after a crash it has the old content or the new.
pub(crate) fn replace(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let new = beside(path, ".new");
    let mut file = File::create(&new)?;
    serde_json::to_writer_pretty(&mut file, content)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(new, path)
}
