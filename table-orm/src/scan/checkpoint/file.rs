//! A checkpoint in a file.

use super::super::ScanError;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub(super) struct CheckpointFile(pub PathBuf);

impl CheckpointFile {
    /// Its text; `None` where there is no such file.
    pub fn load(&self) -> Result<Option<Vec<u8>>, ScanError> {
        match std::fs::read(&self.0) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ScanError::CheckpointUnreadable { path: self.0.clone(), source }),
        }
    }

    pub fn save(&self, text: &str) -> Result<(), ScanError> {
        replace(&self.0, text.as_bytes())
            .map_err(|source| ScanError::CheckpointUnwritable { path: self.0.clone(), source })
    }
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
