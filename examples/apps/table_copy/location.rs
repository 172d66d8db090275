//! Where a table is, as the command line names it.

use crate::from_env::{self, NoText};
use std::path::PathBuf;
#[cfg(feature = "azure")]
use table_orm::azure::{ConnectError, ConnectionString};
use table_orm::{DynamicEntity, Error, TableName, Tables};

/// A store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// `memory`: lost at the end.
    Memory,
    /// `sample:ROWS`: rows made up in memory.
    Sample(usize),
    /// A connection string.
    Account(String),
    /// A database file.
    File(PathBuf),
}

/// A location that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    #[error("`sample:{0}` names no number of rows; write `sample:10000`")]
    Sample(String),
    #[error(
        "`env:{0}`: the environment variable names no store; set it to one, as --help lists them"
    )]
    Variable(String),
    #[cfg(not(feature = "azure"))]
    #[error("this build knows no storage accounts; run it with `--features azure`")]
    Account,
    #[error("there is no file `{}`; --from names a database file that is there", .0.display())]
    NoFile(PathBuf),
    #[error(transparent)]
    Store(#[from] Error),
}

impl Location {
    /// Reads a location, or with `env:NAME` the one in that environment variable.
    pub fn read(text: &str) -> Result<Self, LocationError> {
        Self::read_with(text, |name| std::env::var(name).ok())
    }

    fn read_with(
        text: &str,
        variable: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Self, LocationError> {
        let text = from_env::text(text, variable);
        Self::read_plain(&text.map_err(|NoText(name)| LocationError::Variable(name))?)
    }

    fn read_plain(text: &str) -> Result<Self, LocationError> {
        if let Some(rows) = text.strip_prefix("sample:") {
            let wrong = || LocationError::Sample(rows.to_owned());
            return rows.parse().map(Self::Sample).map_err(|_| wrong());
        }
        Ok(match text {
            "memory" => Self::Memory,
            text if text.contains('=') => Self::Account(text.to_owned()),
            path => Self::File(path.into()),
        })
    }

    /// Its tables. A store to read from must exist; a sample gets its rows in `table`.
    pub async fn open(&self, table: &TableName, is_source: bool) -> Result<Tables, LocationError> {
        match self {
            Self::Memory => Ok(Tables::in_memory()?),
            Self::Sample(rows) => Ok(sample(table, *rows).await?),
            #[cfg(feature = "azure")]
            Self::Account(text) => Ok(Tables::from_connection_string(text)?),
            #[cfg(not(feature = "azure"))]
            Self::Account(_) => Err(LocationError::Account),
            Self::File(path) if is_source && !path.exists() => {
                Err(LocationError::NoFile(path.clone()))
            }
            Self::File(path) => Ok(Tables::open(path)?),
        }
    }

    /// What distinguishes it from other stores and is not secret: keys may change while a copy runs.
    pub fn name(&self) -> Result<String, LocationError> {
        Ok(match self {
            Self::Memory => "memory".to_owned(),
            Self::Sample(rows) => format!("sample:{rows}"),
            #[cfg(feature = "azure")]
            Self::Account(text) => {
                let parsed = text.parse::<ConnectionString>().map_err(ConnectError::from);
                parsed.map_err(Error::from)?.endpoint
            }
            #[cfg(not(feature = "azure"))]
            Self::Account(_) => return Err(LocationError::Account),
            // Links are not followed, because a file to write does not exist at first.
            Self::File(path) => {
                std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
            }
        })
    }

    /// The connection string of a storage account; only processes that have one can share a store.
    pub fn account(&self) -> Option<&str> {
        match self {
            Self::Account(text) => Some(text),
            _ => None,
        }
    }

    /// Whether both are the same store.
    pub fn is(&self, other: &Self) -> bool {
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
}

/// Creates a table unless it exists.
pub async fn create(tables: &Tables, table: &TableName) -> Result<(), Error> {
    match tables.create(table).await {
        Err(Error::AlreadyExists(_)) => Ok(()),
        created => created,
    }
}

/// Invented results: a hundred runners in each race, with every tenth race a hundred times larger.
async fn sample(table: &TableName, rows: usize) -> Result<Tables, Error> {
    let tables = Tables::in_memory()?;
    tables.create(table).await?;
    let row = |at: usize| {
        let race = if at.is_multiple_of(2) { at / 20_000 * 10 } else { at / 200 };
        DynamicEntity::new(format!("race-{race:06}"), format!("{at:09}"))
            .with("Name", format!("Runner {at}"))
            .with("Rank", (at % 10_000) as i32)
            .with("Chip", at as i64)
            .with("Seconds", 9_000.0 + at as f64 / 8.0)
    };
    tables.table(table.clone()).insert_or_replace_many((0..rows).map(row)).await.all()?;
    Ok(tables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_distinguished() {
        assert_eq!(Location::read("memory").unwrap(), Location::Memory);
        assert_eq!(Location::read("sample:500").unwrap(), Location::Sample(500));
        assert_eq!(Location::read("race.redb").unwrap(), Location::File("race.redb".into()));
        let azurite = "UseDevelopmentStorage=true";
        assert_eq!(Location::read(azurite).unwrap(), Location::Account(azurite.to_owned()));
        let error = Location::read("sample:many").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`sample:many` names no number of rows; write `sample:10000`"
        );
    }

    #[test]
    fn an_environment_variable_may_have_the_location() {
        let azurite = "UseDevelopmentStorage=true";
        let read = |value: Option<&str>| {
            Location::read_with("env:STORE", |name| {
                assert_eq!(name, "STORE");
                value.map(str::to_owned)
            })
        };
        assert_eq!(read(Some(azurite)).unwrap(), Location::Account(azurite.to_owned()));
        assert_eq!(read(Some("race.redb")).unwrap(), Location::File("race.redb".into()));
        assert_eq!(read(Some("sample:5")).unwrap(), Location::Sample(5));
        for value in [None, Some(""), Some("env:STORE")] {
            let error = read(value).unwrap_err();
            assert!(matches!(&error, LocationError::Variable(name) if name == "STORE"), "{error}");
        }
        let error = Location::read("env:TABLE_COPY_NO_SUCH_VARIABLE").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`env:TABLE_COPY_NO_SUCH_VARIABLE`: the environment variable names no store; set it to \
             one, as --help lists them"
        );
    }

    #[test]
    fn two_ways_to_write_a_path_are_one_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.redb");
        std::fs::write(&path, "").unwrap();
        let file = |path: PathBuf| Location::File(path);
        assert!(file(path.clone()).is(&file(directory.path().join("./a.redb"))));
        assert!(!file(path).is(&file(directory.path().join("b.redb"))));
        assert!(!Location::Memory.is(&Location::Sample(1)));
    }

    #[test]
    fn names_distinguish_stores_and_not_keys() {
        let file = |path: &str| Location::File(path.into()).name().unwrap();
        assert_eq!(file("a.redb"), file("./a.redb"));
        assert_ne!(file("a.redb"), file("b.redb"));
        assert_ne!(Location::Sample(1).name().unwrap(), Location::Sample(2).name().unwrap());
        #[cfg(feature = "azure")]
        {
            let account = |name: &str, key: &str| {
                let text = format!("AccountName={name};AccountKey={key};EndpointSuffix=x.net");
                Location::Account(text).name().unwrap()
            };
            assert_eq!(account("runners", "c2VjcmV0"), account("runners", "b3RoZXI="));
            assert_ne!(account("runners", "c2VjcmV0"), account("walkers", "c2VjcmV0"));
        }
    }

    #[tokio::test]
    async fn a_source_that_is_not_there_is_not_created() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.redb");
        let name = TableName::new("results").unwrap();
        let source = Location::File(path.clone());
        assert!(matches!(source.open(&name, true).await, Err(LocationError::NoFile(_))));
        assert!(!path.exists());
        source.open(&name, false).await.unwrap();
    }
}
