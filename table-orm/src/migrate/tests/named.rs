//! Types with a value that is unique over all partitions: one moves to another table, one to other partitions, one stays in
//! its partition. In either form, and on its way, each value has one holder, to which its guard leads.

use super::history::{ENTITIES, History, Rows};
use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit, stamps};
use super::watch::keys;
use crate as table_orm;
use crate::TableEntity;
use crate::entity::{DynamicEntity, Marker};
use crate::error::Result;
use crate::eventual::GUARD_ROW;
use crate::migrate::{Migrate, Migrating};
use crate::model::{Edm, MOVED_TO};
use crate::plan::CanonicalKey;
use crate::repo::{EntityPatch as _, Patch};
use futures_util::TryStreamExt as _;
use std::collections::{BTreeMap, BTreeSet};

/// So few codes that the entities want each other's.
const CODES: u8 = 3;
/// Those who take a code that is free have numbers from here on.
const TAKERS: u64 = 100;

macro_rules! named {
    (
        $new:ident, $old:ident, $patch:ident, $tables:expr, [$($old_keys:tt)*], [$($keys:tt)*],
        [$($unique:tt)*], { $($reads:tt)* }
    ) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*, $($unique)*)]
        pub(super) struct $old {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            code: u8,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, $($unique)*, migrate_from = $old)]
        pub(super) struct $new {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            code: u8,
        }

        both_ways!($new, $old { room, number, stamp, base, code });

        impl Subject for $new {
            const TABLES: &'static [&'static str] = &$tables;
            const CALLS: u64 = 30;

            fn of(number: u64, stamp: &str, base: &str) -> Self {
                let (stamp, base) = (stamp.to_owned(), base.to_owned());
                let mut entity = Self { room: 1, number, stamp, base, code: 0 };
                entity.touch();
                entity
            }

            fn touch(&mut self) {
                let sum = self.stamp.bytes().fold(0, |sum: u8, byte| sum.wrapping_add(byte));
                self.code = sum % CODES;
            }

            stamps!($patch);

            fn check(rows: &Rows, history: &mut History) -> std::result::Result<(), String> {
                check::<Self>(rows, history)
            }

            fn check_settled(rows: &Rows) -> std::result::Result<(), String> {
                check_settled::<Self>(rows)
            }

            async fn check_free(client: &Migrating<Self>, has_ended: bool) -> Result<()> {
                for code in 0..CODES {
                    if client.load_unique(Self::unique_code(code)).await?.is_some() {
                        continue;
                    }
                    let entity = Self { code, ..Self::of(TAKERS + u64::from(code), "", "") };
                    match has_ended {
                        true => client.new.insert(&entity).await.map(drop)?,
                        false => client.insert(&entity).await?,
                    }
                    let held = client.load_unique(Self::unique_code(code)).await?;
                    client.delete(held.expect("it has the code")).await?;
                }
                Ok(())
            }

            $($reads)*
        }
    };
}

/// Table, PartitionKey and RowKey.
type Key = (String, String, String);

/// What a guard says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Guarded {
    home: Key,
    ticket: String,
}

/// The guards so far.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// By PartitionKey, after the last write.
    before: BTreeMap<String, Guarded>,
    /// Those that were written when their ticket was gone: no one promises that they are named.
    late: BTreeSet<(String, Guarded)>,
}

fn text(row: &DynamicEntity, name: &str) -> Option<String> {
    match row.properties.get(name) {
        Some(Edm::String(text)) => Some(text.clone()),
        _ => None,
    }
}

fn at(table: &str, CanonicalKey { partition_key, row_key }: &CanonicalKey) -> Key {
    (table.to_owned(), partition_key.clone(), row_key.clone())
}

/// The keys of an entity, in its new form and in its old one.
fn homes<E: Subject>(number: u64) -> [Key; 2] {
    let (new, old) = keys::<E>(number);
    [at(E::TABLE, &new), at(E::Old::TABLE, &old)]
}

fn marker(rows: &Rows, key: &Key) -> Option<Marker> {
    Marker::parse(&text(rows.get(key)?, MOVED_TO)?)
}

/// The PartitionKey of the guard of an entity's code, wherever the entity is.
fn code<E: Subject>(rows: &Rows, number: u64) -> Option<String> {
    let [new, old] = homes::<E>(number);
    let of = |key: &Key| match rows.get(key)?.properties.get("Code") {
        Some(Edm::Int32(code)) => Some(format!("UNQ:code:{code:03}")),
        _ => None,
    };
    let parcel = marker(rows, &old)
        .and_then(|marker| Some((E::TABLE.to_owned(), marker.partition_key, marker.parcel?)));
    of(&new).or_else(|| of(&old)).or_else(|| of(&parcel?))
}

fn guards(rows: &Rows) -> BTreeMap<String, Guarded> {
    let guards = rows.iter().filter(|((.., row_key), _)| row_key == GUARD_ROW);
    guards
        .map(|((_, partition_key, _), row)| {
            let [table, partition, row_key, ticket] =
                ["Table", "Partition", "Row", "Ticket"].map(|name| text(row, name).unwrap());
            (partition_key.clone(), Guarded { home: (table, partition, row_key), ticket })
        })
        .collect()
}

/// Where a reader finds the entity that a guard names.
fn place(rows: &Rows, home: &Key) -> Key {
    match marker(rows, home) {
        Some(Marker { table, partition_key, row_key: Some(row_key), .. }) => {
            (table, partition_key, row_key)
        }
        _ => home.clone(),
    }
}

fn numbers() -> impl Iterator<Item = u64> {
    (0..ENTITIES).chain((0..CODES).map(|code| TAKERS + u64::from(code)))
}

/// The number of the entity that has each code.
fn holders<E: Subject>(rows: &Rows) -> std::result::Result<BTreeMap<String, u64>, String> {
    let mut holders = BTreeMap::new();
    for number in numbers() {
        let Some(code) = code::<E>(rows, number) else { continue };
        if let Some(other) = holders.insert(code.clone(), number) {
            return Err(format!("entities {other} and {number} have the code {code}"));
        }
    }
    Ok(holders)
}

fn check<E: Subject>(rows: &Rows, history: &mut History) -> std::result::Result<(), String> {
    let Named { before, late } = &mut history.named;
    let (holders, guards) = (holders::<E>(rows)?, guards(rows));
    for (code, number) in &holders {
        let [new, old] = homes::<E>(*number);
        let home = guards.get(code).map(|guard| &guard.home);
        let leads = home.is_some_and(|home| {
            let place = place(rows, home);
            place == new || place == old && rows.contains_key(&old) && marker(rows, &old).is_none()
        });
        if !leads {
            return Err(format!("entity {number} has {code} without its guard: {home:?}"));
        }
    }
    for (code, guard) in &guards {
        let (table, partition_key, _) = guard.home.clone();
        let has_ticket = rows.contains_key(&(table, partition_key, guard.ticket.clone()));
        if before.get(code) != Some(guard) && !has_ticket {
            late.insert((code.clone(), guard.clone()));
        }
        if has_ticket || holders.contains_key(code) || late.contains(&(code.clone(), guard.clone()))
        {
            continue;
        }
        // An intent of the entity lists the value.
        let value = code.trim_start_matches("UNQ:code:");
        let value = serde_json::json!(["unique", "code", value]).to_string();
        let homes = numbers().map(homes::<E>).find(|homes| homes.contains(&guard.home)).unwrap();
        let mut intents = rows.iter().filter(|((table, partition_key, row_key), _)| {
            row_key.starts_with("DUE:")
                && homes.iter().any(|home| (&home.0, &home.1) == (table, partition_key))
        });
        if !intents.any(|(_, row)| text(row, "Due").is_some_and(|due| due.contains(&value))) {
            return Err(format!("nobody names the guard {guard:?} of {code}"));
        }
    }
    *before = guards;
    Ok(())
}

/// Nothing is left to settle, and each guard of a code that an entity has names its new key.
fn check_settled<E: Subject>(rows: &Rows) -> std::result::Result<(), String> {
    let left = rows.keys().find(|(.., row_key)| {
        ["DUE:", "TKT:", "MOV:"].iter().any(|start| row_key.starts_with(start))
    });
    if let Some(left) = left {
        return Err(format!("{left:?} is left"));
    }
    let guards = guards(rows);
    for (code, number) in holders::<E>(rows)? {
        let [new, _] = homes::<E>(number);
        let home = guards.get(&code).map(|guard| &guard.home);
        if home != Some(&new) {
            return Err(format!("entity {number} has {code} without its guard: {home:?}"));
        }
    }
    Ok(())
}

named!(
    NamedAway,
    NamedAwayV1,
    NamedAwayPatch,
    ["names", "names2", "codes"],
    [name = "names", partition = "{room}", row = "ROW:{number:04}"],
    [name = "names2", partition = "N{room}", row = "ROW:{number:08}"],
    [unique(code, across, table = "codes")],
    {
        in_one_partition!(Self::partition(1_u64));
    }
);

named!(
    NamedWithin,
    NamedWithinV1,
    NamedWithinPatch,
    ["nooks"],
    [name = "nooks", partition = "{room}", row = "ROW:{number:04}"],
    [name = "nooks", partition = "{room}", row = "NEW:{number:04}"],
    [unique(code, across)],
    {
        in_one_partition!(Self::partition(1_u64));
    }
);

named!(
    NamedApart,
    NamedApartV1,
    NamedApartPatch,
    ["nests"],
    [name = "nests", partition = "{room}", row = "ROW:{number:04}"],
    [name = "nests", partition = "N{room}__{number}", row = "ROW:{number:04}"],
    [unique(code, across)],
    {
        async fn all(client: &Migrating<Self>) -> Result<Vec<Self>> {
            client.scan(&permit()).await
        }

        async fn paged(client: &Migrating<Self>) -> Result<Vec<Self>> {
            client.scan(&permit()).stream().try_collect().await
        }

        fn bulk_mover(client: &Migrating<Self>) -> Migrate<'static, Self> {
            client.migrate_partition(NamedApartV1::partition(1_u64)).in_bulk()
        }
    }
);
