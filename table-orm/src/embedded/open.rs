//! Opening a database file, and what can be wrong with it.
//!
//! Invariant: a file that is not ours is never written, but for the recovery of another program's redb
//! database that was not closed, which redb makes before it lets anyone look. A file is first read
//! without write access; an absent or empty one becomes a database.

use super::apply::DatabaseWriter;
use super::layout;
use redb::backends::InMemoryBackend;
use redb::{
    Builder, Database, DatabaseError, MultimapTableHandle, ReadOnlyDatabase, ReadableDatabase,
    StorageError, TableHandle,
};
use std::io;
use std::panic::UnwindSafe;
use std::path::{Path, PathBuf};

/// Why a database file cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file is not a database at all.
    #[error(
        "`{path}` is not a database file; it was left as it is: give the path of a table-orm database, or of a file that does not exist yet"
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is a redb database of another program.
    #[error(
        "`{path}` is the redb database of another program; it was left as it is: give the path of a table-orm database, or of a file that does not exist yet"
    )]
    OtherProgram {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a version of table-orm or redb with another file format.
    #[error(
        "`{path}` has a file format that this version does not read: open it with the version of table-orm that wrote it"
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
    },
    /// The file is open already.
    #[error(
        "`{path}` is already open: close the other process, or share one store inside this one (a clone of it is the same store)"
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The directory of the file does not exist.
    #[error("the directory of `{path}` does not exist: create it first")]
    DirectoryMissing {
        /// The file.
        path: PathBuf,
    },
    /// The path is a directory.
    #[error("`{path}` is a directory: give the path of a file in it")]
    IsADirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The file or its directory cannot be written.
    #[error(
        "`{path}` cannot be written ({source}): give this process write permission on the file and its directory"
    )]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no space left on the disk.
    #[error("there is no space left for `{path}` ({source}): free some, then open it again")]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is a database, but damaged.
    #[error("`{path}` is damaged ({reason}): restore it from a backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is damaged.
        reason: String,
    },
    /// Reading or writing failed in another way.
    #[error("`{path}` cannot be opened ({source}): check the disk and try again")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Stands for the path of a database in memory, in messages.
const IN_MEMORY: &str = "(in memory)";

/// What the engine keeps of a database beside the file or the memory it lives in: enough for the
/// inner pages of a million rows, where redb's own default is 1 GiB.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// Opens or creates a database file.
pub(crate) fn file(path: &Path) -> Result<(Database, DatabaseWriter), OpenError> {
    caught(path, || {
        inspect(path)?;
        let database = builder().create(path).map_err(|error| database_error(path, error))?;
        start(path, database)
    })
}

/// Opens a database file that was open before, also after a crash; creates none.
pub(crate) fn existing(path: &Path) -> Result<(Database, DatabaseWriter), OpenError> {
    caught(path, || {
        let database = builder().open(path).map_err(|error| database_error(path, error))?;
        start(path, database)
    })
}

/// redb panics on some files that are damaged behind a sound header.
fn caught<T>(
    path: &Path,
    open: impl FnOnce() -> Result<T, OpenError> + UnwindSafe,
) -> Result<T, OpenError> {
    std::panic::catch_unwind(open).unwrap_or_else(|_| {
        let reason = "its pages do not hang together".to_owned();
        Err(OpenError::Damaged { path: path.to_owned(), reason })
    })
}

fn builder() -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Creates a database in memory.
pub(crate) fn in_memory() -> Result<(Database, DatabaseWriter), OpenError> {
    let path = Path::new(IN_MEMORY);
    let database = builder()
        .create_with_backend(InMemoryBackend::new())
        .map_err(|error| database_error(path, error))?;
    start(path, database)
}

fn start(path: &Path, database: Database) -> Result<(Database, DatabaseWriter), OpenError> {
    check_owner(path, &database)?;
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
        // After a crash, only an open for writing can recover the file; `start` checks it then.
        Err(DatabaseError::RepairAborted) => Ok(()),
        Err(error) => Err(database_error(path, error)),
    }
}

/// Whether the database is ours: it holds our tables of this version, or nothing yet.
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
        // How redb says that the file does not start as its files do.
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

/// Whether the system says that there is no space left.
pub(crate) fn is_full(error: &io::Error) -> bool {
    let full =
        [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    full.contains(&error.kind())
}
