//! Where tables are, as the command line names it.

mod sample;

use crate::failure::{Failure, exit_code};
use crate::panic_report::quietly;
use crate::secret::{self, NoText};
use sample::sample;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use table_orm::azure::{AzureStore, ConnectError, ConnectionString};
use table_orm::embedded::EmbeddedStore;
use table_orm::store::Store;
use table_orm::{Error, TableName, Tables};

/// How `--help` explains the name of a store.
pub(crate) const STORES: &str = "\
A STORE is the path of a database file, `memory`, a connection string, or env:NAME for the connection string
in the environment variable NAME: it has the account's key, and everyone on the machine can see a command
line. UseDevelopmentStorage=true is `table-orm serve` or Azurite. `sample:ROWS` is that many made-up rows in
memory.";

/// A store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreName {
    /// `memory`: lost at the end.
    Memory,
    /// `sample:ROWS`: rows made up in memory.
    Sample(usize),
    /// A connection string.
    Account(String),
    /// A database file.
    File(PathBuf),
}

/// A name of no store, or a store that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreNameError {
    #[error("`sample:{0}` does not give a number of rows; write `sample:10000`")]
    Sample(String),
    #[error(transparent)]
    Variable(#[from] NoText),
    #[error("there is no file `{}`; name a database file that exists", .0.display())]
    NoFile(PathBuf),
    #[error("the file `{}` is empty, so it is no database, and it was not changed; name a database file", .0.display())]
    Empty(PathBuf),
    #[error(transparent)]
    Store(#[from] Error),
}

impl From<StoreNameError> for Failure {
    fn from(error: StoreNameError) -> Self {
        let code = error.exit_code();
        Self::new(error, code)
    }
}

impl StoreNameError {
    /// The exit code of a command that it ends.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Sample(_) | Self::Variable(_) => 2,
            Self::NoFile(_) | Self::Empty(_) => 1,
            Self::Store(error) => exit_code(error),
        }
    }
}

impl FromStr for StoreName {
    type Err = StoreNameError;

    fn from_str(text: &str) -> Result<Self, StoreNameError> {
        let text = secret::read(text)?;
        if let Some(rows) = text.strip_prefix("sample:") {
            let wrong = |_| StoreNameError::Sample(rows.to_owned());
            return rows.parse().map(Self::Sample).map_err(wrong);
        }
        Ok(match &*text {
            "memory" => Self::Memory,
            text if text.contains('=') => Self::Account(text.to_owned()),
            path => Self::File(path.into()),
        })
    }
}

impl StoreName {
    /// Opens it to read a table. The store must exist; a sample gets its rows in `table`. A file needs no write
    /// permission.
    pub(crate) async fn open_to_read(&self, table: &TableName) -> Result<Tables, StoreNameError> {
        let Self::File(path) = self else { return self.open_to_change(table).await };
        self.check_exists()?;
        let store = quietly(|| EmbeddedStore::open_read_only(path));
        Ok(Tables::new(store.map_err(Error::from)?))
    }

    /// Opens it to change a table. The store must exist; a sample gets its rows in `table`.
    pub(crate) async fn open_to_change(&self, table: &TableName) -> Result<Tables, StoreNameError> {
        if let Self::Sample(rows) = self {
            return Ok(sample(table, *rows).await?);
        }
        self.check_exists()?;
        Ok(self.open_to_write()?)
    }

    /// Opens it to write. A database file is created if it does not exist.
    pub(crate) fn open_to_write(&self) -> Result<Tables, Error> {
        match self {
            Self::Memory | Self::Sample(_) => Tables::in_memory(),
            Self::Account(text) => Tables::from_connection_string(text),
            Self::File(path) => quietly(|| Tables::open(path)),
        }
    }

    /// Opens it to write, without retries, limits or anything else around it. The store must exist.
    pub(crate) fn open_bare(&self) -> Result<Arc<dyn Store>, StoreNameError> {
        self.check_exists()?;
        Ok(self.bare()?)
    }

    fn bare(&self) -> Result<Arc<dyn Store>, Error> {
        Ok(match self {
            Self::Memory | Self::Sample(_) => Arc::new(EmbeddedStore::in_memory()?),
            Self::Account(text) => Arc::new(AzureStore::from_connection_string(text)?),
            Self::File(path) => Arc::new(quietly(|| EmbeddedStore::open(path))?),
        })
    }

    /// Refuses a file that does not exist, or that would become a database.
    fn check_exists(&self) -> Result<(), StoreNameError> {
        let Self::File(path) = self else { return Ok(()) };
        match path.metadata() {
            Err(_) => Err(StoreNameError::NoFile(path.clone())),
            Ok(file) if file.is_file() && file.len() == 0 => {
                Err(StoreNameError::Empty(path.clone()))
            }
            Ok(_) => Ok(()),
        }
    }

    /// What distinguishes it from other stores and is not secret: keys may change while a job runs.
    pub(crate) fn name(&self) -> Result<String, StoreNameError> {
        Ok(match self {
            Self::Memory => "memory".to_owned(),
            Self::Sample(rows) => format!("sample:{rows}"),
            Self::Account(text) => {
                let parsed = text.parse::<ConnectionString>().map_err(ConnectError::from);
                parsed.map_err(Error::from)?.endpoint
            }
            // Links are not followed, because a file to write does not exist at first.
            Self::File(path) => {
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
            }
        })
    }

    /// The connection string of a storage account; only processes that have one can share a store.
    pub(crate) fn account(&self) -> Option<&str> {
        match self {
            Self::Account(text) => Some(text),
            _ => None,
        }
    }

    /// Whether both are the same store.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => {
                match (one.canonicalize(), other.canonicalize()) {
                    (Ok(one), Ok(other)) => one == other,
                    _ => one == other,
                }
            }
            _ => self == other,
        }
    }

    /// Whether both are one account, with whatever credentials.
    pub(crate) fn is_account(&self, other: &Self) -> Result<bool, StoreNameError> {
        let accounts = self.account().and(other.account()).is_some();
        Ok(accounts && self.name()?.eq_ignore_ascii_case(&other.name()?))
    }
}

/// For messages: no secret.
impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().as_deref().unwrap_or("the account"))
    }
}

/// Creates a table unless it exists.
pub(crate) async fn create(tables: &Tables, table: &TableName) -> Result<(), Error> {
    tables.create_if_not_exists(table).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::read_with;

    fn store(text: &str) -> StoreName {
        text.parse().unwrap()
    }

    #[test]
    fn names_are_distinguished() {
        assert_eq!(store("memory"), StoreName::Memory);
        assert_eq!(store("sample:500"), StoreName::Sample(500));
        assert_eq!(store("race.redb"), StoreName::File("race.redb".into()));
        let azurite = "UseDevelopmentStorage=true";
        assert_eq!(store(azurite), StoreName::Account(azurite.to_owned()));
        let error = "sample:many".parse::<StoreName>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sample:many` does not give a number of rows; write `sample:10000`"
        );
    }

    #[test]
    fn an_environment_variable_may_have_the_name() {
        let read = |value: Option<&str>| {
            let text = read_with("env:STORE", |name| {
                assert_eq!(name, "STORE");
                value.map(str::to_owned)
            });
            text.map(std::borrow::Cow::into_owned)
        };
        assert_eq!(read(Some("race.redb")).unwrap(), "race.redb");
        for value in [None, Some(""), Some("env:STORE")] {
            assert_eq!(read(value).unwrap_err(), NoText("STORE".to_owned()));
        }
        let error = "env:TABLE_ORM_NO_SUCH_VARIABLE".parse::<StoreName>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the environment variable `TABLE_ORM_NO_SUCH_VARIABLE` has no text; set it"
        );
    }

    #[test]
    fn two_ways_to_write_a_path_are_one_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.redb");
        std::fs::write(&path, "").unwrap();
        let file = |path: PathBuf| StoreName::File(path);
        assert!(file(path.clone()).is(&file(directory.path().join("./a.redb"))));
        assert!(!file(path).is(&file(directory.path().join("b.redb"))));
        assert!(!StoreName::Memory.is(&StoreName::Sample(1)));
    }

    #[test]
    fn names_distinguish_stores_and_have_no_keys() {
        let file = |path: &str| StoreName::File(path.into()).name().unwrap();
        assert_eq!(file("a.redb"), file("./a.redb"));
        assert_ne!(file("a.redb"), file("b.redb"));
        assert_ne!(store("sample:1").name().unwrap(), store("sample:2").name().unwrap());
        let account = |name: &str, key: &str| {
            let text = format!("AccountName={name};AccountKey={key};EndpointSuffix=x.net");
            let store = StoreName::Account(text);
            assert!(!store.to_string().contains(key));
            store.name().unwrap()
        };
        assert_eq!(account("runners", "c2VjcmV0"), account("runners", "b3RoZXI="));
        assert_ne!(account("runners", "c2VjcmV0"), account("walkers", "c2VjcmV0"));
    }

    #[tokio::test]
    async fn a_store_to_read_that_is_not_there_is_not_created() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.redb");
        let name = TableName::new("results").unwrap();
        let source = StoreName::File(path.clone());
        let error = source.open_to_read(&name).await.unwrap_err();
        assert!(matches!(error, StoreNameError::NoFile(_)));
        assert!(!path.exists());
        source.open_to_write().unwrap();
        assert!(path.exists());
    }
}
