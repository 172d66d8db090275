//! Rows of earlier versions, from a text of the lock.

use super::text::{Entity, FORMER_NAME, Item, parse};
use crate::property::series_names;
use crate::repo::{FormerMarks, FormerProperties, FormerRow, FormerRowError};

impl FormerRow {
    /// The row of that name of an entity type, as a text of the [lock](crate::schema_lock) has it: the file of a version
    /// that had the row, such as by `git show v1:tables.lock`.
    ///
    /// # Errors
    /// [`FormerRowError::NotInLock`] when the text has no such row, [`FormerRowError::MalformedLock`] when it is no
    /// lock, [`FormerRowError::Canonical`] and [`FormerRowError::InOtherPartitions`] for a row that is no index row of the
    /// entity's partition.
    ///
    /// ```
    /// use table_orm::repo::FormerRow;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tables.lock");
    /// # {
    /// #     use table_orm::{TableEntity, schema_lock::SchemaLock};
    /// #     #[derive(TableEntity)]
    /// #     #[table(name = "runners", partition = "{race}")]
    /// #     #[row(by_bib, key = "BIB:{bib:05}")]
    /// #     #[row(by_state, key = "STATE:{state}__{bib:05}")]
    /// #     struct Runner { race: String, bib: u32, state: String }
    /// #     let ann = Runner { race: "Boston".into(), bib: 7, state: "MA".into() };
    /// #     SchemaLock::new(&path).with([ann]).update().check()?;
    /// # }
    /// # let lock = std::fs::read_to_string(path)?;
    /// let by_state = FormerRow::in_lock(&lock, "Runner", "by_state")?;
    /// assert_eq!(by_state.name(), "by_state");
    /// assert!(FormerRow::in_lock(&lock, "Runner", "by_bib").is_err()); // canonical
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_lock(lock: &str, entity: &str, row: &str) -> Result<Self, FormerRowError> {
        let names = || (entity.to_owned(), row.to_owned());
        let absent = || {
            let (entity, row) = names();
            FormerRowError::NotInLock { entity, row }
        };
        let entities = parse(lock).map_err(FormerRowError::MalformedLock)?;
        let of_type = entities.iter().find(|one| one.name == entity).ok_or_else(absent)?;
        let item = of_type.item("row", row).ok_or_else(absent)?;
        let template = item.get("template").ok_or_else(absent)?;
        let (entity, row) = names();
        match item.get("place") {
            Some("canonical") => return Err(FormerRowError::Canonical { entity, row }),
            Some("in the partition") => {}
            _ => return Err(FormerRowError::InOtherPartitions { entity, row }),
        }
        let mut former = Self::with_key(row, template, item.template(template))?;
        if let Some(keys) = of_type.items("keys").next() {
            let (kind, escape) = (keys.get("kind").map(str::to_owned), keys.escape());
            former = former.marked(FormerMarks { kind, escape });
        }
        Ok(former.storing(properties(of_type, item.get("stores").unwrap_or_default())))
    }
}

/// What the row stores that the lock describes so.
fn properties(entity: &Entity, stores: &str) -> FormerProperties {
    let all = stores == "all";
    let open = all && entity.items("open").next().is_some();
    let mut properties = FormerProperties { open, ..FormerProperties::default() };
    let is_stored = |item: &&Item| all || stores.split(", ").any(|name| name == item.name);
    for item in entity.items("property").filter(is_stored) {
        let formerly = item.facts.iter().filter(|(label, _)| label == FORMER_NAME);
        let formerly: Vec<_> = formerly.map(|(_, name)| name.clone()).collect();
        match item.get("slots").and_then(|slots| slots.parse().ok()) {
            Some(slots) => {
                let stamps = item.get("stamps") == Some("yes");
                properties.names.extend(series_names(&item.name, slots, stamps));
                // The length of a chunked value.
                properties.names.insert(item.name.clone());
            }
            None if formerly.is_empty() && item.get("in every row") == Some("yes") => {
                properties.required.insert(item.name.clone());
                properties.names.insert(item.name.clone());
            }
            None => properties.names.extend(formerly.into_iter().chain([item.name.clone()])),
        }
    }
    properties
}
