//! What a writer took, in a file, until it is written.
//!
//! Invariants: an entry is in the file before its entity is taken, and until the entity is written or handed
//! back. Entries are read back in the order in which they were made. An entry without all its rows is one that
//! was not taken yet, or is being removed.

use crate::entity::{DynamicEntity, Row, RowHead, TableEntity, read_row, split_page};
use crate::error::{Error, Result, WriterError};
use crate::model::{Edm, TableName};
use crate::plan::Connection;
use crate::query::{KeyRange, RowQuery, Span};
use crate::repo::Table;
use crate::repo::create_table::create_table_if_not_exists;
use crate::store::Store;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The table of the file.
const TABLE: &str = "journal";
/// The bytes of an entity in one property: 64 KiB at most.
const PIECE: usize = 60_000;
/// The bytes of an entity in one row: 1 MiB at most.
const ROW_BYTES: usize = 16 * PIECE;
/// The name of the properties with the pieces of an entity, before their number.
const NAME: &str = "Row";
/// How many rows an entry has, if it has more than one.
const ROWS: &str = "Rows";
/// What separates the number of an entry from that of a row after its first. It sorts before digits.
const MORE: char = '+';

/// An entry of the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    number: u64,
    rows: usize,
}

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
        let journal = Self { rows, partition_key, next: AtomicU64::new(0) };
        let mut entries = Vec::new();
        for (entry, body) in journal.read().await? {
            let entity = read_row::<E>(<E::Canonical as Row>::INDEX, &body);
            entries.push((entry, entity.map_err(|error| journal.unusable(entry, error.into()))?));
        }
        Ok((journal, entries))
    }

    /// The tables whose entities of type `E` have entries in a file: one request for each.
    pub async fn tables<E: TableEntity>(store: Arc<dyn Store>) -> Result<Vec<TableName>> {
        let rows = Table::new(Arc::new(Connection::new(store)), TableName::checked(TABLE));
        create_table_if_not_exists(&rows.client).await?;
        let (mut tables, mut after) = (Vec::new(), Bound::Unbounded);
        loop {
            let partition = Span::Between(after, Bound::Unbounded);
            let query = rows.client.query(KeyRange { partition, row: Span::All });
            let mut pages = rows.client.pages(RowQuery { top: Some(1), ..query });
            let RowHead { partition_key, .. } = loop {
                let Some(page) = pages.next().await? else { return Ok(tables) };
                if let Some(row) = split_page(&page)?.into_iter().next() {
                    break read_row(0, row.get().as_bytes())?;
                }
            };
            let table = partition_key.strip_suffix(E::NAME).and_then(|key| key.strip_suffix("__"));
            tables.extend(table.and_then(|table| TableName::new(table).ok()));
            after = Bound::Excluded(partition_key);
        }
    }

    /// The entries that have all their rows. Removes the others.
    async fn read(&self) -> Result<Vec<(Entry, Vec<u8>)>> {
        let (mut found, mut torn) = (Vec::<(Entry, Vec<DynamicEntity>)>::new(), Vec::new());
        for row in self.rows.list(&*self.partition_key, ..).collect().await? {
            let number = row.row_key.split(MORE).next().and_then(|text| text.parse::<u64>().ok());
            let Some(number) = number else { continue };
            self.next.fetch_max(number.saturating_add(1), Ordering::Relaxed);
            match found.last_mut() {
                Some((entry, rows)) if entry.number == number => rows.push(row),
                // The first row of the entry is gone.
                _ if row.row_key.contains(MORE) => torn.push(row),
                _ => {
                    let rows = match row.properties.get(ROWS) {
                        Some(Edm::Int32(rows)) => usize::try_from(*rows).unwrap_or(usize::MAX),
                        _ => 1,
                    };
                    found.push((Entry { number, rows }, vec![row]));
                }
            }
        }
        let (whole, rest): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(entry, rows)| rows.len() == entry.rows);
        torn.extend(rest.into_iter().flat_map(|(_, rows)| rows));
        if !torn.is_empty() {
            self.rows.delete_many(torn).await.all()?;
        }
        let whole = whole.into_iter().map(|(entry, rows)| (entry, joined(rows)));
        Ok(whole.collect())
    }

    /// The error of an entry that cannot be written as an entity.
    pub fn unusable(&self, entry: Entry, reason: Error) -> Error {
        let (partition_key, row_key) = (self.partition_key.clone(), row_key(entry.number, 0));
        WriterError::Journal { partition_key, row_key, reason: reason.to_string() }.into()
    }

    fn row(&self, number: u64, row: usize) -> DynamicEntity {
        DynamicEntity::new(&*self.partition_key, row_key(number, row))
    }

    /// Adds the canonical row of an entity. It is on the disk when this returns.
    pub async fn add(&self, canonical: &[u8]) -> Result<Entry> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let parts = canonical.chunks(ROW_BYTES).enumerate().map(|(row, part)| {
            let pieces = part.chunks(PIECE).enumerate();
            pieces.fold(self.row(number, row), |row, (number, piece)| {
                row.with(format!("{NAME}{number:02}"), piece.to_vec())
            })
        });
        let mut rows: Vec<_> = parts.collect();
        let entry = Entry { number, rows: rows.len() };
        let added = match &mut *rows {
            [row] => self.rows.insert(row).await.map(drop),
            [first, ..] => {
                let count = i32::try_from(entry.rows).unwrap_or(i32::MAX);
                *first = std::mem::take(first).with(ROWS, count);
                self.rows.insert_many(rows).await.all().map(drop)
            }
            [] => Ok(()),
        };
        match added {
            Ok(()) => Ok(entry),
            Err(Error::AlreadyExists(_)) => Err(WriterError::JournalInUse.into()),
            Err(error) => Err(error),
        }
    }

    /// Removes entries. One that stays is sent once more by the next writer, so a failure costs no entity.
    pub async fn remove(&self, entries: impl Iterator<Item = Entry>) {
        let rows = entries.flat_map(|entry| (0..entry.rows).map(move |row| (entry.number, row)));
        let rows: Vec<_> = rows.map(|(number, row)| self.row(number, row)).collect();
        if !rows.is_empty() {
            drop(self.rows.delete_many(rows).await);
        }
    }
}

fn row_key(number: u64, row: usize) -> String {
    match row {
        0 => format!("{number:020}"),
        row => format!("{number:020}{MORE}{row:02}"),
    }
}

/// The bytes whose pieces the rows have: properties sort by name, so by number.
fn joined(rows: Vec<DynamicEntity>) -> Vec<u8> {
    let properties = rows.into_iter().flat_map(|row| row.properties);
    let pieces = properties.filter_map(|(_, piece)| match piece {
        Edm::Binary(bytes) => Some(bytes),
        _ => None,
    });
    pieces.flatten().collect()
}
