//! A checkpoint in a file.

use crate::error::ScanError;
use crate::sync::Random;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub(super) struct CheckpointFile(pub PathBuf);

impl CheckpointFile {
    /// The text; `None` without such a file.
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

/// Replaces a file whole: readers see the old content or the new, even if others replace it too.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{:016x}.new", Random::from_system().next()));
    let new = path.with_file_name(name);
    let replaced = write(&new, content).and_then(|()| std::fs::rename(&new, path));
    if replaced.is_err() {
        // Nobody else knows its name. The error of the replacement is more useful than an error of
        // this deletion.
        drop(std::fs::remove_file(&new));
    }
    replaced
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = std::fs::File::create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saves_side_by_side_leave_one_of_them_whole() {
        let directory = tempfile::tempdir().unwrap();
        let file = CheckpointFile(directory.path().join("export.json"));
        let texts = ["a", "b", "c"].map(|letter| letter.repeat(100_000));
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| (0..20).for_each(|_| file.save(text).unwrap()));
            }
            for _ in 0..20 {
                let found = file.load().unwrap();
                assert!(
                    found.is_none_or(|found| texts.iter().any(|text| text.as_bytes() == found))
                );
            }
        });
        assert!(file.load().unwrap().is_some());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn a_save_that_fails_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("export.json");
        std::fs::create_dir(&path).unwrap();
        CheckpointFile(path).save("text").unwrap_err();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
