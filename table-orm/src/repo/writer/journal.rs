//! What a writer took, in a file, until it is written.
//!
//! Invariants: an entry is in the file before its entity is taken, and until the entity is written or handed
//! back. Entries are read back in the order in which they were made.

use crate::entity::{DynamicEntity, Row, TableEntity, read_row};
use crate::error::Result;
use crate::model::{Edm, TableName};
use crate::plan::Connection;
use crate::repo::{Table, create_table_if_not_exists};
use crate::store::Store;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The table of the file.
const TABLE: &str = "journal";
/// The bytes of a row in one property: 64 KiB at most.
const PIECE: usize = 60_000;
/// The name of the properties with the pieces of a row, before their number.
const NAME: &str = "Row";

/// The number of an entry.
pub(super) type Entry = u64;

/// The file of a writer.
#[derive(Debug)]
pub(super) struct Journal {
    rows: Table,
    /// Names the table and the type of the entities.
    partition_key: String,
    next: AtomicU64,
}

impl Journal {
    /// The journal in a file for the entities of type `E` of that table. Returns the entries in it, in order.
    pub async fn open<E: TableEntity>(
        store: Arc<dyn Store>,
        table: &TableName,
    ) -> Result<(Self, Vec<(Entry, E)>)> {
        let rows = Table::new(Arc::new(Connection::new(store)), TableName::checked(TABLE));
        create_table_if_not_exists(&rows.client).await?;
        let partition_key = format!("{table}__{}", E::NAME);
        let mut entries = Vec::new();
        for row in rows.list(&*partition_key, ..).collect().await? {
            let Ok(entry) = row.row_key.parse::<Entry>() else { continue };
            entries.push((entry, read_row::<E>(<E::Canonical as Row>::INDEX, &joined(row))?));
        }
        let next = AtomicU64::new(entries.last().map_or(0, |(entry, _)| entry + 1));
        Ok((Self { rows, partition_key, next }, entries))
    }

    fn row(&self, entry: Entry) -> DynamicEntity {
        DynamicEntity::new(&*self.partition_key, format!("{entry:020}"))
    }

    /// Adds the canonical row of an entity. It is on the disk when this returns.
    pub async fn add(&self, canonical: &[u8]) -> Result<Entry> {
        let entry = self.next.fetch_add(1, Ordering::Relaxed);
        let pieces = canonical.chunks(PIECE).enumerate();
        let row = pieces.fold(self.row(entry), |row, (number, piece)| {
            row.with(format!("{NAME}{number:02}"), piece.to_vec())
        });
        self.rows.insert(&row).await?;
        Ok(entry)
    }

    /// Removes entries. One that stays is sent once more by the next writer, so a failure costs no entity.
    pub async fn remove(&self, entries: impl Iterator<Item = Entry>) {
        let rows: Vec<_> = entries.map(|entry| self.row(entry)).collect();
        if !rows.is_empty() {
            drop(self.rows.delete_many(rows).await);
        }
    }
}

/// The row whose pieces an entry has: properties sort by name, so by number.
fn joined(row: DynamicEntity) -> Vec<u8> {
    let pieces = row.properties.into_iter().filter(|(name, _)| name.starts_with(NAME));
    let bytes =
        pieces.map(|(_, piece)| if let Edm::Binary(bytes) = piece { bytes } else { Vec::new() });
    bytes.flatten().collect()
}
