//! A type whose new index key has fewer fields than the old one, so that two entities want one index row: each index row
//! is that of the entity that has it.

use super::history::{ENTITIES, History, Rows};
use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit, stamps};
use super::watch::keys;
use crate as table_orm;
use crate::TableEntity;
use crate::error::{Error, Result};
use crate::migrate::{Migrate, Migrating};
use crate::model::Edm;
use crate::repo::{EntityPatch as _, Patch};
use std::collections::BTreeMap;

#[derive(Debug, Clone, TableEntity)]
#[table(crate = table_orm, name = "stalls", partition = "{room}")]
#[row(by_number, key = "ROW:{number:04}")]
#[row(by_slot, key = "AT:{slot:03}__{number:04}")]
pub(super) struct StallV1 {
    room: u64,
    number: u64,
    stamp: String,
    base: String,
    slot: u8,
}

#[derive(Debug, Clone, TableEntity)]
#[table(crate = table_orm, name = "stalls2", partition = "N{room}", migrate_from = StallV1)]
#[row(by_number, key = "ROW:{number:08}")]
#[row(by_slot, key = "SLOT:{slot:03}", allow_key_conflict)]
pub(super) struct Stall {
    room: u64,
    number: u64,
    stamp: String,
    base: String,
    slot: u8,
}

both_ways!(Stall, StallV1 { room, number, stamp, base, slot });

impl Subject for Stall {
    const TABLES: &'static [&'static str] = &["stalls", "stalls2"];

    fn of(number: u64, stamp: &str, base: &str) -> Self {
        let (stamp, base) = (stamp.to_owned(), base.to_owned());
        let mut stall = Self { room: 1, number, stamp, base, slot: 0 };
        stall.touch();
        stall
    }

    stamps!(StallPatch);

    // So few slots that the entities want each other's.
    fn touch(&mut self) {
        self.slot = self.stamp.bytes().fold(0, |sum: u8, byte| sum.wrapping_add(byte)) % 3;
    }

    /// Gives each entity a slot of its own. One that cannot land leaves its parcel by that.
    async fn make_room(client: &Migrating<Self>) -> Result<()> {
        for number in 0..ENTITIES {
            let key = Self::partition(1_u64).by_number().number(number);
            let slot = 100 + number as u8;
            match client.update(key, |stall| stall.slot = slot).await {
                Ok(_) | Err(Error::NotFound(_) | Error::AlreadyExists(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn check(rows: &Rows, _: &mut History) -> std::result::Result<(), String> {
        let at = |row_key: &str| ("stalls2".to_owned(), "N1".to_owned(), row_key.to_owned());
        let mut expected = BTreeMap::new();
        for number in 0..ENTITIES {
            let row = rows.get(&at(&keys::<Self>(number).0.row_key));
            if let Some(Edm::Int32(slot)) = row.and_then(|row| row.properties.get("Slot")) {
                expected.insert(format!("SLOT:{slot:03}"), number);
            }
        }
        let slots = rows.iter().filter(|((.., row_key), _)| row_key.starts_with("SLOT:"));
        let slots: BTreeMap<_, _> = slots
            .map(|((.., row_key), row)| match row.properties.get("Number") {
                Some(Edm::Int64(number)) => (row_key.clone(), *number as u64),
                _ => (row_key.clone(), u64::MAX),
            })
            .collect();
        if slots == expected {
            return Ok(());
        }
        Err(format!("the index rows are {slots:?}, and not {expected:?}"))
    }

    in_one_partition!(Self::partition(1_u64));
}
