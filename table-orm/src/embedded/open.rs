//! Opening a database file.
//!
//! Invariant: a file of another program is never written, with one exception: redb recovers a redb
//! database that was not closed before it can be read. A file is first opened without write access.
//! An absent or empty file becomes a database.

use super::apply::DatabaseWriter;
use super::database::Database;
use super::file::File;
use super::file_options::FileOptions;
use super::layout;
use super::memory::Memory;
use crate::model::Printable;
use redb::{
    Builder, DatabaseError, MultimapTableHandle, ReadOnlyDatabase, ReadableDatabase, StorageError,
    TableHandle,
};
use std::io;
use std::panic::UnwindSafe;
use std::path::{Path, PathBuf};

/// The reason why a database file cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file is not a database at all.
    #[error(
        "`{}` is not a database file and was not changed: use the path of a table-orm \
         database, or of a file that does not exist yet",
        Printable(path.display())
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is a redb database of another program.
    #[error(
        "`{}` is the redb database of another program and was not changed: use the path of a \
         table-orm database, or of a file that does not exist yet",
        Printable(path.display())
    )]
    OtherProgram {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a version of table-orm or redb with another file format.
    #[error(
        "`{}` has a file format that this version does not read: open it with the version of \
         table-orm that wrote it",
        Printable(path.display())
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
    },
    /// The file is already open.
    #[error(
        "`{}` is already open, in another process or elsewhere in this one: close it there first",
        Printable(path.display())
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The directory of the file does not exist.
    #[error("the directory of `{}` does not exist: create it first", Printable(path.display()))]
    DirectoryMissing {
        /// The file.
        path: PathBuf,
    },
    /// The path is a directory.
    #[error("`{}` is a directory: use the path of a file in it", Printable(path.display()))]
    IsADirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The file or its directory cannot be written.
    #[error(
        "`{}` cannot be written ({source}): give this process write permission on the file \
         and its directory",
        Printable(path.display())
    )]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file does not exist, and was to be opened for reading only.
    #[error("there is no file `{}`: use the path of a database file that exists", Printable(path.display()))]
    Absent {
        /// The file.
        path: PathBuf,
    },
    /// The file was not closed, as after a crash, and cannot be written. It can be read once it is recovered.
    #[error(
        "`{}` was not closed, as after a crash, and recovering it needs write permission ({source}): \
         open it once with write permission on the file and its directory, then it can be read without",
        Printable(path.display())
    )]
    Unrecovered {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk has no space left.
    #[error(
        "the disk has no space left for `{}` ({source}): free some space, then open it again",
        Printable(path.display())
    )]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is a database, but damaged.
    #[error("`{}` is damaged ({reason}): restore it from a backup", Printable(path.display()))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is damaged.
        reason: String,
    },
    /// Reading or writing failed for another reason.
    #[error("`{}` cannot be opened ({source}): check the disk and try again", Printable(path.display()))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The path of a database in memory in messages.
const IN_MEMORY: &str = "(in memory)";

/// Opens or creates a database file.
pub(crate) fn file(
    path: &Path,
    options: FileOptions,
) -> Result<(Database, DatabaseWriter), OpenError> {
    caught(path, || {
        inspect(path)?;
        let database =
            builder(options).create(path).map_err(|error| database_error(path, error))?;
        start(path, database, options)
    })
}

/// Opens a database file that was open before, even after a crash. Creates no file.
pub(crate) fn existing(
    path: &Path,
    options: FileOptions,
) -> Result<(Database, DatabaseWriter), OpenError> {
    caught(path, || {
        let database = builder(options).open(path).map_err(|error| database_error(path, error))?;
        start(path, database, options)
    })
}

/// Opens a database file for reading only, which needs no write permission. One that was not closed after a crash is
/// first opened for writing, because redb can recover it only then, and show whose it is.
pub(crate) fn read_only(
    path: &Path,
    options: FileOptions,
) -> Result<(Database, DatabaseWriter), OpenError> {
    if !path.exists() {
        return Err(OpenError::Absent { path: path.to_owned() });
    }
    caught(path, || {
        let database = match builder(options).open_read_only(path) {
            Err(DatabaseError::RepairAborted) => {
                recover(path, options)?;
                builder(options).open_read_only(path)
            }
            opened => opened,
        };
        let database = database.map_err(|error| match database_error(path, error) {
            // No write was tried.
            OpenError::NotWritable { path, source } => OpenError::Io { path, source },
            error => error,
        })?;
        check_owner(path, &database)?;
        started(path, Database::File(File::read_only(database)))
    })
}

fn recover(path: &Path, options: FileOptions) -> Result<(), OpenError> {
    let opened = builder(options).open(path).map_err(|error| database_error(path, error));
    opened.map(drop).map_err(|error| match error {
        OpenError::NotWritable { path, source } => OpenError::Unrecovered { path, source },
        error => error,
    })
}

/// Catches the panics of redb on files that are damaged after a valid header.
fn caught<T>(
    path: &Path,
    open: impl FnOnce() -> Result<T, OpenError> + UnwindSafe,
) -> Result<T, OpenError> {
    std::panic::catch_unwind(open).unwrap_or_else(|_| {
        let reason = "its pages are inconsistent".to_owned();
        Err(OpenError::Damaged { path: path.to_owned(), reason })
    })
}

fn builder(options: FileOptions) -> Builder {
    let mut builder = redb::Database::builder();
    builder.set_cache_size(options.cache_bytes);
    builder
}

/// Creates a database in memory.
pub(crate) fn in_memory() -> Result<(Database, DatabaseWriter), OpenError> {
    started(Path::new(IN_MEMORY), Database::Memory(Memory::default()))
}

fn start(
    path: &Path,
    database: redb::Database,
    options: FileOptions,
) -> Result<(Database, DatabaseWriter), OpenError> {
    check_owner(path, &database)?;
    started(path, Database::File(File::new(database, options.durability)))
}

fn started(path: &Path, database: Database) -> Result<(Database, DatabaseWriter), OpenError> {
    let writer = DatabaseWriter::start(&database).map_err(|error| redb_error(path, error))?;
    Ok((database, writer))
}

/// Refuses a file that is not ours before anything opens it for writing.
fn inspect(path: &Path) -> Result<(), OpenError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(OpenError::IsADirectory { path: path.to_owned() });
        }
        Ok(metadata) if metadata.len() == 0 => return Ok(()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(path, error)),
    }
    match ReadOnlyDatabase::open(path) {
        Ok(database) => check_owner(path, &database),
        // After a crash, only opening for writing can recover the file. `start` then checks it.
        Err(DatabaseError::RepairAborted) => Ok(()),
        Err(error) => Err(database_error(path, error)),
    }
}

/// Checks that the database is ours: it has our tables of this version, or is empty.
fn check_owner(path: &Path, database: &impl ReadableDatabase) -> Result<(), OpenError> {
    let fail = |error: redb::Error| redb_error(path, error);
    let transaction = database.begin_read().map_err(|error| fail(error.into()))?;
    let tables = transaction.list_tables().map_err(|error| fail(error.into()))?;
    let names: Vec<String> = tables.map(|table| table.name().to_owned()).collect();
    let multimaps = transaction.list_multimap_tables().map_err(|error| fail(error.into()))?;
    let multimap = multimaps.map(|table| table.name().to_owned()).next();
    if names.iter().any(|name| name == layout::CATALOG.name()) {
        return Ok(());
    }
    if names.iter().any(|name| name.starts_with(layout::MARK)) {
        return Err(OpenError::OtherFormat { path: path.to_owned() });
    }
    if names.is_empty() && multimap.is_none() {
        return Ok(());
    }
    Err(OpenError::OtherProgram { path: path.to_owned() })
}

fn database_error(path: &Path, error: DatabaseError) -> OpenError {
    match error {
        DatabaseError::UpgradeRequired(_) => OpenError::OtherFormat { path: path.to_owned() },
        DatabaseError::LockProtocolMismatch => OpenError::Locked { path: path.to_owned() },
        // redb's error for a file that does not start like its files.
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() == io::ErrorKind::InvalidData =>
        {
            OpenError::NotADatabase { path: path.to_owned() }
        }
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() == io::ErrorKind::UnexpectedEof =>
        {
            OpenError::Damaged { path: path.to_owned(), reason: "it ends too early".to_owned() }
        }
        error => redb_error(path, error.into()),
    }
}

fn redb_error(path: &Path, error: redb::Error) -> OpenError {
    let path_buf = || path.to_owned();
    match error {
        redb::Error::DatabaseAlreadyOpen => OpenError::Locked { path: path_buf() },
        redb::Error::Io(error) => io_error(path, error),
        error => OpenError::Damaged { path: path_buf(), reason: error.to_string() },
    }
}

fn io_error(path: &Path, source: io::Error) -> OpenError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            OpenError::DirectoryMissing { path }
        }
        io::ErrorKind::IsADirectory => OpenError::IsADirectory { path },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            OpenError::NotWritable { path, source }
        }
        _ if is_full(&source) => OpenError::DiskFull { path, source },
        _ => OpenError::Io { path, source },
    }
}

/// Returns whether the system reports that no space is left.
pub(crate) fn is_full(error: &io::Error) -> bool {
    let full =
        [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    full.contains(&error.kind())
}
