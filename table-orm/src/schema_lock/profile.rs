//! Profiles that know the types of a lock, so that a tool without the types can tell their rows apart.
//!
//! Invariant: a profile that knows a type from the text that describes it tells its rows apart as one that knows
//! the type itself, but for texts that only the app can read: those of a hand-written `KeyPart`, and of codes with
//! quotes or other characters that the text escapes. There, any text will do.

use super::text::{ENTITY, Entity, FORMER_NAME, Item, parse};
use crate::key::{TextTemplate, TextTemplateFault};
use crate::model::{Bucket, Period, TableName};
use crate::profile::{KnownProperty, KnownRow, KnownType, Profile, RowPlace, RowRole};

/// Why a profile cannot know a type of a lock. Nothing was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockedTypeError {
    /// A line of the lock cannot be read.
    #[error("line {0} of the lock cannot be read: pass the text as it is in the file")]
    Malformed(usize),
    /// The text declares no entity type, as that of an empty file.
    #[error(
        "the lock has no entity type: pass the text of a file that `SchemaLock` wrote, such as that of `tables.lock`"
    )]
    NoTypes,
    /// No type of the lock declares rows for the table.
    #[error(
        "no type of the lock has rows in table `{table}`; name the type whose rows it has (`--type`, \
         `with_type_of_lock`): {}",
        types.join(", ")
    )]
    NoneOfTable {
        /// The table.
        table: String,
        /// The types of the lock.
        types: Vec<String>,
    },
    /// The lock has no such type.
    #[error("the lock has no entity type `{entity}`: it has {}", types.join(", "))]
    Absent {
        /// The name that was asked for.
        entity: String,
        /// The types of the lock.
        types: Vec<String>,
    },
    /// The lines of a type lack a key, or have one that no key can be read by.
    #[error(
        "the keys of `{item}` of `{entity}` cannot be read from the lock: {reason}; restore the file from its \
         repository"
    )]
    Keys {
        /// The entity's type name.
        entity: String,
        /// What has the keys, such as `row by_bib`.
        item: String,
        /// The reason.
        reason: String,
    },
}

impl Profile<'_> {
    /// Knows the rows of all types of a [lock](crate::schema_lock) that have rows in the table: `lock` is the text of
    /// the file, such as `tables.lock`. A type that the profile knows already counts once. The report is then that of
    /// a profile [with these types](Profile::with_type).
    ///
    /// A lock does not say which texts a hand-written [`KeyPart`](crate::KeyPart) reads. So a row of another program
    /// whose key differs only there counts as one of the type.
    ///
    /// # Errors
    /// [`LockedTypeError::NoneOfTable`] when no type of the lock declares rows for the table,
    /// [`LockedTypeError::NoTypes`] when it has no type, [`LockedTypeError::Malformed`] and [`LockedTypeError::Keys`] when the text is not as it was written.
    ///
    /// ```
    /// use table_orm::{ScanPermit, TableEntity, Tables, profile::RowRole, schema_lock::SchemaLock};
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "runners", partition = "{race}")]
    /// #[row(by_bib, key = "BIB:{bib:05}")]
    /// #[row(by_state, key = "STATE:{state}__{bib:05}")]
    /// struct Runner { race: String, bib: u32, state: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tables.lock");
    /// let ann = || Runner { race: "Boston".into(), bib: 7, state: "MA".into() };
    /// SchemaLock::new(&path).with([ann()]).update().check()?;
    ///
    /// let tables = Tables::in_memory()?;
    /// let runners = tables.repo::<Runner>();
    /// runners.create_table().await?;
    /// runners.insert(&ann()).await?;
    ///
    /// // What follows needs no type.
    /// let lock = std::fs::read_to_string(path)?;
    /// let untyped = tables.table("runners".parse()?);
    /// let permit = ScanPermit::because("how many rows are copies?");
    /// let report = untyped.profile(permit).with_lock(&lock)?.await?;
    /// assert_eq!((report.rows_of(RowRole::Entity), report.rows_of(RowRole::Copy)), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_lock(self, lock: &str) -> Result<Self, LockedTypeError> {
        let entities = entities(lock)?;
        let mut types = Vec::new();
        for entity in &entities {
            // A type of another table may be what cannot be read.
            if has_rows(entity, self.table())? {
                types.push(known_type(entity)?);
            }
        }
        if types.is_empty() {
            let table = self.table().as_str().to_owned();
            return Err(LockedTypeError::NoneOfTable { table, types: names(&entities) });
        }
        Ok(self.with_known_types(types))
    }

    /// Knows the rows of that type of a lock, whatever table it declares: for a table of another name.
    ///
    /// # Errors
    /// [`LockedTypeError::Absent`] when the lock has no such type, [`LockedTypeError::NoTypes`] when it has none,
    /// [`LockedTypeError::Malformed`] and [`LockedTypeError::Keys`] when the text is not as it was written.
    pub fn with_type_of_lock(self, lock: &str, entity: &str) -> Result<Self, LockedTypeError> {
        let entities = entities(lock)?;
        let Some(found) = entities.iter().find(|other| other.name == entity) else {
            let entity = entity.to_owned();
            return Err(LockedTypeError::Absent { entity, types: names(&entities) });
        };
        Ok(self.with_known_types([known_type(found)?]))
    }
}

/// The entity types of a lock.
fn entities(lock: &str) -> Result<Vec<Entity>, LockedTypeError> {
    let mut entities = parse(lock).map_err(LockedTypeError::Malformed)?;
    entities.retain(|entity| entity.what == ENTITY);
    if entities.is_empty() { Err(LockedTypeError::NoTypes) } else { Ok(entities) }
}

fn names(entities: &[Entity]) -> Vec<String> {
    entities.iter().map(|entity| entity.name.clone()).collect()
}

/// Whether a table has rows of a type: it is the one that the type declares, that of a period, or that of a row or
/// guard in other partitions.
fn has_rows(entity: &Entity, table: &TableName) -> Result<bool, LockedTypeError> {
    let is_this = |name: &str| name.eq_ignore_ascii_case(table.as_str());
    let keys = keys(entity)?;
    let home = home(entity, keys)?;
    let mut others = entity.items("row").filter_map(|row| row.get("place")?.rsplit_once(" on "));
    let mut guards = entity.items("unique").filter_map(|guard| guard.get("table"));
    let is_period = || {
        let bucket = keys.get("table for each")?.split(' ').next()?;
        let digits = table.as_str().get(home.len()..)?;
        let lengths = [Bucket::Hour, Bucket::Day, Bucket::Month, Bucket::Year];
        let of_length = lengths.into_iter().find(|length| length.name() == bucket)?;
        let start = table.as_str().get(..home.len())?;
        Some(start.eq_ignore_ascii_case(home) && Period::parse(of_length, digits).is_some())
    };
    Ok(is_this(home)
        || is_period().unwrap_or(false)
        || others.any(|(_, name)| is_this(name))
        || guards.any(is_this))
}

/// The item of the keys of a type.
fn keys(entity: &Entity) -> Result<&Item, LockedTypeError> {
    entity.items("keys").next().ok_or_else(|| fault(entity, "keys", "it has none".to_owned()))
}

/// The table that a type declares.
fn home<'e>(entity: &Entity, keys: &'e Item) -> Result<&'e str, LockedTypeError> {
    let table = keys.get("table");
    table.ok_or_else(|| fault(entity, &keys.title(), "it has no table".to_owned()))
}

fn known_type(entity: &Entity) -> Result<KnownType, LockedTypeError> {
    let keys = keys(entity)?;
    let table = home(entity, keys)?.to_owned();
    let rows = entity.items("row").map(|item| row(entity, item));
    let guards = entity.items("unique").map(|item| guard(entity, item));
    let rows = rows.chain(guards).map(|row| Ok(row?.of(&table)));
    let mut rows = rows.collect::<Result<Vec<_>, _>>()?;
    // The order of a type: rows in its partition, guards, and rows in other partitions.
    rows.sort_by_key(|row| match row.role {
        RowRole::Guard => 1,
        RowRole::Eventual => 2,
        _ => 0,
    });
    let properties = entity.items("property").flat_map(|item| {
        let is_series = item.get("slots").is_some();
        let former = item.facts.iter().filter(|(label, _)| label == FORMER_NAME);
        let names = former.map(|(_, name)| name).chain([&item.name]);
        names.map(move |name| KnownProperty { name: name.clone(), is_series })
    });
    Ok(KnownType {
        name: entity.name.clone(),
        kind: keys.get("kind").map(str::to_owned),
        escape: keys.escape(),
        partition: template(entity, keys)?,
        rows,
        properties: properties.collect(),
        home: table,
    })
}

fn row(entity: &Entity, item: &Item) -> Result<KnownRow, LockedTypeError> {
    let (role, place) = match item.get("place").unwrap_or_default() {
        "canonical" => (RowRole::Entity, RowPlace::Home),
        "in the partition" => (RowRole::Copy, RowPlace::Home),
        others => {
            let (partition, table) = others
                .rsplit_once(" on ")
                .ok_or_else(|| fault(entity, &item.title(), "it has no place".to_owned()))?;
            let partition = read(entity, item, item.partition_template(partition))?;
            (RowRole::Eventual, RowPlace::Eventual { partition, table: Some(table.to_owned()) })
        }
    };
    Ok(KnownRow { name: item.name.clone(), role, key: template(entity, item)?, place })
}

fn guard(entity: &Entity, item: &Item) -> Result<KnownRow, LockedTypeError> {
    let key = template(entity, item)?;
    Ok(match item.get("scope") {
        Some("all partitions") => KnownRow::guard_across(&item.name, key, item.get("table")),
        _ => KnownRow { name: item.name.clone(), role: RowRole::Guard, key, place: RowPlace::Home },
    })
}

/// The template of an item.
fn template(entity: &Entity, item: &Item) -> Result<TextTemplate, LockedTypeError> {
    let template = item.get("template");
    let template =
        template.ok_or_else(|| fault(entity, &item.title(), "it has none".to_owned()))?;
    read(entity, item, item.template(template))
}

fn read(
    entity: &Entity,
    item: &Item,
    template: Result<TextTemplate, TextTemplateFault>,
) -> Result<TextTemplate, LockedTypeError> {
    template.map_err(|reason| fault(entity, &item.title(), reason.to_string()))
}

fn fault(entity: &Entity, item: &str, reason: String) -> LockedTypeError {
    LockedTypeError::Keys { entity: entity.name.clone(), item: item.to_owned(), reason }
}
