//! Raw redb with the bytes that the embedded store keeps for its rows.

use crate::finisher::Finisher;
use redb::{Database, ReadableDatabase, TableDefinition};
use table_orm::entity::EntityRows;
use time::OffsetDateTime;

pub const ROWS: u32 = 20_000;
pub const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");

pub fn finisher(bib: u32) -> Finisher {
    Finisher {
        event: "Marathon".to_owned(),
        bib,
        name: format!("Runner Number {bib}"),
        city: Some("New York".to_owned()),
        age: 55,
        rank: 12,
        seconds: 12_345.25,
        official: true,
        club: "Harriers of the Park".to_owned(),
        registered_at: OffsetDateTime::UNIX_EPOCH,
    }
}

/// The key and value that the store keeps for a row, made beforehand.
pub fn row(bib: u32) -> (Vec<u8>, Vec<u8>) {
    let rows = EntityRows::of(&finisher(bib)).unwrap();
    let key = format!("{}\0{}", rows.partition_key, rows.rows[0].row_key).into_bytes();
    let mut value = br#"{"Timestamp":"2011-11-06T14:10:00.1234567Z","#.to_vec();
    value.extend_from_slice(&rows.rows[0].body[1..]);
    (key, value)
}

pub fn filled(database: Database) -> Database {
    let write = database.begin_write().unwrap();
    {
        let mut table = write.open_table(TABLE).unwrap();
        for bib in 0..ROWS {
            let (key, value) = row(bib);
            table.insert(key.as_slice(), value.as_slice()).unwrap();
        }
    }
    write.commit().unwrap();
    database
}

/// A value as redb gives it, not decoded.
pub fn get(database: &Database, key: &[u8]) -> Vec<u8> {
    let read = database.begin_read().unwrap();
    let table = read.open_table(TABLE).unwrap();
    table.get(key).unwrap().unwrap().value().to_vec()
}
