//! Rows in other partitions and tables, as maintenance names them: by their keys, from which the entity
//! follows.

use crate::error::{Error, Result};
use crate::eventual::{DueEntry, EventualKey, EventualType, SettleError, settle_keys};
use crate::plan::{CanonicalKey, TableClient};
use crate::repo::maintenance::MaintainedType;

/// A row in another partition or table.
#[derive(Debug, Clone)]
pub(crate) struct EventualRowKeys {
    /// Which of the entity's templates it is written from.
    pub index: usize,
    pub key: EventualKey,
    /// The canonical row of the only entity that can have it.
    pub home: CanonicalKey,
}

impl EventualRowKeys {
    /// The row of these keys; `None` where they are not those of a row of the template.
    pub fn of(
        of: &'static MaintainedType,
        client: &TableClient,
        index: usize,
        (partition_key, row_key): (&str, &str),
    ) -> Option<Self> {
        let (home_partition, home_row) = (of.home_key)(index, partition_key, row_key)?;
        let table = of.eventual_at(index)?.table_of(&client.table);
        let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
        Some(Self {
            index,
            key: EventualKey { table, partition_key, row_key },
            home: CanonicalKey { partition_key: home_partition, row_key: home_row },
        })
    }

    /// The index of the template of that name.
    pub fn index_of(of: &'static MaintainedType, name: &str) -> Option<usize> {
        let at = of.eventual.iter().position(|template| template.row.name == name)?;
        Some(of.first_eventual + at)
    }
}

/// Brings rows in step with the canonical rows of one partition. `false` where other writers of an entity
/// were faster each time.
pub(crate) async fn settle(
    of: &'static MaintainedType,
    client: &TableClient,
    home: &str,
    rows: &[EventualRowKeys],
) -> Result<bool, Error> {
    settle_due(client, of.settled, home, due(rows, of.name_of)).await
}

fn due(rows: &[EventualRowKeys], name: fn(usize) -> &'static str) -> Vec<DueEntry> {
    let entry = |row: &EventualRowKeys| {
        let keys = vec![(name(row.index).to_owned(), row.key.clone())];
        DueEntry { canonical: row.home.row_key.clone(), keys, values: Vec::new() }
    };
    rows.iter().map(entry).collect()
}

async fn settle_due(
    client: &TableClient,
    of: EventualType,
    home: &str,
    due: Vec<DueEntry>,
) -> Result<bool, Error> {
    match settle_keys(client, of, home, &due).await {
        Ok(()) => Ok(true),
        Err(SettleError::Store(error)) => Err(error),
        Err(SettleError::Row { source, .. }) => Err(*source),
        Err(SettleError::Contended { .. } | SettleError::Unknown { .. }) => Ok(false),
    }
}
