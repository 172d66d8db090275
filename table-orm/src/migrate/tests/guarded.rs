//! A type with a unique value, which stays in its partition: each value has one holder, in either form.

use super::history::{ENTITIES, History, Rows};
use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit, stamps};
use super::watch::keys;
use crate as table_orm;
use crate::TableEntity;
use crate::entity::GuardTemplate;
use crate::error::Result;
use crate::migrate::{Migrate, Migrating};
use crate::model::Edm;
use crate::repo::{EntityPatch as _, Patch};
use std::collections::BTreeMap;

#[derive(Debug, Clone, TableEntity)]
#[table(crate = table_orm, name = "desks", partition = "{room}", row = "ROW:{number:04}", unique(code))]
pub(super) struct DeskV1 {
    room: u64,
    number: u64,
    stamp: String,
    base: String,
    code: u8,
}

#[derive(Debug, Clone, TableEntity)]
#[table(crate = table_orm, name = "desks", partition = "{room}", row = "NEW:{number:04}", unique(code), migrate_from = DeskV1)]
pub(super) struct Desk {
    room: u64,
    number: u64,
    stamp: String,
    base: String,
    code: u8,
}

both_ways!(Desk, DeskV1 { room, number, stamp, base, code });

impl Subject for Desk {
    const TABLES: &'static [&'static str] = &["desks"];

    fn of(number: u64, stamp: &str, base: &str) -> Self {
        let (stamp, base) = (stamp.to_owned(), base.to_owned());
        let mut desk = Self { room: 1, number, stamp, base, code: 0 };
        desk.touch();
        desk
    }

    stamps!(DeskPatch);

    // So few codes that the entities want each other's.
    fn touch(&mut self) {
        self.code = self.stamp.bytes().fold(0, |sum: u8, byte| sum.wrapping_add(byte)) % 4;
    }

    fn check(rows: &Rows, _: &mut History) -> std::result::Result<(), String> {
        let at = |row_key: &str| ("desks".to_owned(), "1".to_owned(), row_key.to_owned());
        let mut expected = BTreeMap::new();
        for number in 0..ENTITIES {
            let (new, old) = keys::<Self>(number);
            for row_key in [new.row_key, old.row_key] {
                let row = rows.get(&at(&row_key));
                if let Some(Edm::Int32(code)) = row.and_then(|row| row.properties.get("Code")) {
                    let guard = format!("UNQ:code:{code:03}");
                    if let Some(other) = expected.insert(guard, row_key.clone()) {
                        return Err(format!("{other} and {row_key} have the code {code}"));
                    }
                }
            }
        }
        let guards = rows.iter().filter(|((.., row_key), _)| row_key.starts_with("UNQ:"));
        let guards = guards.map(|((.., row_key), row)| {
            let holder = match row.properties.get(GuardTemplate::REFERENCE) {
                Some(Edm::String(holder)) => holder.clone(),
                other => format!("{other:?}"),
            };
            (row_key.clone(), holder)
        });
        let guards: BTreeMap<_, _> = guards.collect();
        if guards == expected {
            return Ok(());
        }
        Err(format!("the guards are {guards:?}, and not {expected:?}"))
    }

    in_one_partition!(Self::partition(1_u64));
}
