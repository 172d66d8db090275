//! A checkpoint in a row of a table, its text spread over properties `Part00`, `Part01` and on.
//!
//! Invariant: every save is guarded by the ETag of what was loaded or saved before, so no scan
//! overwrites another's progress.

use crate::entity::DynamicEntity;
use crate::error::{Error, Result, ScanError};
use crate::model::{ETag, Edm, order};
use crate::repo::Table;

/// UTF-16 units of one text property (service documentation, "Property types": 64 KiB).
const PART: usize = 32 * 1024;
/// Parts that fit in an entity of 1 MiB beside its keys and the properties' names.
const PARTS: usize = 15;

#[derive(Debug, Clone)]
pub(super) struct CheckpointRow {
    table: Table,
    partition_key: String,
    row_key: String,
    /// The version that was loaded or saved last; `None` without such a row.
    etag: Option<ETag>,
}

impl CheckpointRow {
    pub fn new(table: &Table, partition_key: String, row_key: String) -> Self {
        Self { table: table.clone(), partition_key, row_key, etag: None }
    }

    /// For error messages.
    pub fn name(&self) -> String {
        format!("the row {:?}, {:?}", self.partition_key, self.row_key)
    }

    /// The text; `None` without such a row.
    pub async fn load(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(row) = self.table.get(&self.partition_key, &self.row_key).await? else {
            return Ok(None);
        };
        self.etag = row.etag;
        let mut text = Vec::new();
        for part in 0..PARTS {
            match row.properties.get(&property(part)) {
                Some(Edm::String(part)) => text.extend_from_slice(part.as_bytes()),
                _ => break,
            }
        }
        Ok(Some(text))
    }

    pub async fn save(&mut self, text: &str) -> Result<()> {
        let mut row = DynamicEntity::new(&self.partition_key, &self.row_key);
        row.etag.clone_from(&self.etag);
        let parts = parts(text);
        if parts.len() > PARTS {
            let (units, most) = (order::len(text), PARTS * PART);
            return Err(ScanError::CheckpointTooLarge { units, most }.into());
        }
        for (at, part) in parts.into_iter().enumerate() {
            row = row.with(property(at), part);
        }
        let saved = match self.etag {
            None => self.table.insert(&row).await,
            Some(_) => self.table.replace(&row).await,
        };
        let etag = saved.map_err(|error| match error {
            Error::AlreadyExists(_) | Error::Conflict(_) | Error::NotFound(_) => self.taken(error),
            error => error,
        })?;
        self.etag = Some(etag);
        Ok(())
    }

    /// The error of a row that another scan has changed; `error` itself if the table is missing.
    fn taken(&self, error: Error) -> Error {
        match (&error, &self.etag) {
            (Error::NotFound(_), None) => error,
            _ => ScanError::CheckpointTaken(self.name()).into(),
        }
    }
}

fn property(part: usize) -> String {
    format!("Part{part:02}")
}

/// The text in parts, each as long as a property may be.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut units) = (0, 0);
    for (at, c) in text.char_indices() {
        if units + c.len_utf16() > PART {
            parts.extend(text.get(start..at));
            (start, units) = (at, 0);
        }
        units += c.len_utf16();
    }
    parts.extend(text.get(start..));
    parts
}

#[cfg(feature = "embedded")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableName;
    use crate::tables::Tables;

    async fn table() -> Table {
        let tables = Tables::in_memory().unwrap();
        let name = TableName::new("jobs").unwrap();
        tables.create(&name).await.unwrap();
        tables.table(name)
    }

    #[tokio::test]
    async fn a_long_text_is_spread_over_properties_and_comes_back() {
        let mut row = CheckpointRow::new(&table().await, "p".to_owned(), "r".to_owned());
        // Surrogate pairs that would straddle the end of a part.
        let long = "x".to_owned() + &"\u{1F3C3}".repeat(7 * PART);
        for text in ["{}", &long, "[]"] {
            row.save(text).await.unwrap();
            let mut again = CheckpointRow { etag: None, ..row.clone() };
            assert_eq!(again.load().await.unwrap().unwrap(), text.as_bytes());
        }
        let error = row.save(&"x".repeat(PARTS * PART + 1)).await.unwrap_err();
        let too_large = ScanError::CheckpointTooLarge { units: 491_521, most: 491_520 };
        assert_eq!(error.to_string(), too_large.to_string());
        row.save(&"x".repeat(PARTS * PART)).await.unwrap();
    }

    #[tokio::test]
    async fn a_row_that_another_scan_saves_is_not_overwritten() {
        let table = table().await;
        let row = || CheckpointRow::new(&table, "p".to_owned(), "r".to_owned());
        let (mut one, mut other) = (row(), row());
        one.save("1").await.unwrap();
        let taken = |error: Error| matches!(error, Error::Scan(ScanError::CheckpointTaken(_)));
        assert!(taken(other.save("2").await.unwrap_err()));
        other.load().await.unwrap();
        other.save("2").await.unwrap();
        assert!(taken(one.save("1").await.unwrap_err()));
        let stored = table.get("p", "r").await.unwrap().unwrap();
        table.delete(&stored).await.unwrap();
        assert!(taken(other.save("3").await.unwrap_err()));
    }

    #[tokio::test]
    async fn a_row_needs_its_table() {
        let table = Tables::in_memory().unwrap().table(TableName::new("jobs").unwrap());
        let mut row = CheckpointRow::new(&table, "p".to_owned(), "r".to_owned());
        assert!(matches!(row.load().await, Err(Error::TableNotFound(_))));
        assert!(matches!(row.save("1").await, Err(Error::TableNotFound(_))));
    }
}
