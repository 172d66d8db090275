//! Types with sums: one moves to another table, one stays in its partition.

use super::history::{ENTITIES, History, Rows};
use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit, stamps};
use super::watch::keys;
use crate as table_orm;
use crate::entity::TOTAL;
use crate::error::Result;
use crate::migrate::{Migrate, Migrating};
use crate::model::Edm;
use crate::plan::CanonicalKey;
use crate::repo::{EntityPatch as _, Patch};
use crate::{Sum, TableEntity};
use std::collections::BTreeMap;

macro_rules! weighed {
    ($ty:ident) => {
        impl $ty {
            const SUMS: [Sum<Self>; 2] =
                [Sum::count("all"), Sum::of("weight", |entity| weight(&entity.stamp))];
        }
    };
}

macro_rules! counted {
    ($new:ident, $old:ident, $patch:ident, $tables:expr, [$($old_keys:tt)*], [$($keys:tt)*]) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*, sums = $old::SUMS)]
        pub(super) struct $old {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
        }

        weighed!($old);

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, sums = $new::SUMS, migrate_from = $old)]
        pub(super) struct $new {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
        }

        weighed!($new);

        both_ways!($new, $old { room, number, stamp, base });

        impl Subject for $new {
            const TABLES: &'static [&'static str] = &$tables;
            const CALLS: u64 = 40;

            fn of(number: u64, stamp: &str, base: &str) -> Self {
                let (stamp, base) = (stamp.to_owned(), base.to_owned());
                Self { room: 1, number, stamp, base }
            }

            stamps!($patch);

            fn check(rows: &Rows, _: &mut History) -> std::result::Result<(), String> {
                check(rows, (0..ENTITIES).map(|number| {
                    let (new, old) = keys::<Self>(number);
                    [(Self::TABLE, new), ($old::TABLE, old)]
                }))
            }

            in_one_partition!(Self::partition(1_u64));
        }
    };
}

fn weight(stamp: &str) -> i64 {
    stamp.bytes().map(i64::from).sum()
}

/// Checks that the totals of each partition are what its rows add.
fn check(
    rows: &Rows,
    entities: impl Iterator<Item = [(&'static str, CanonicalKey); 2]>,
) -> std::result::Result<(), String> {
    let mut expected = BTreeMap::new();
    for (table, CanonicalKey { partition_key, row_key }) in entities.flatten() {
        let row = rows.get(&(table.to_owned(), partition_key.clone(), row_key));
        if let Some(Edm::String(stamp)) = row.and_then(|row| row.properties.get("Stamp")) {
            for (name, value) in [("SUM:all:00", 1), ("SUM:weight:00", weight(stamp))] {
                let total = (table.to_owned(), partition_key.clone(), name.to_owned());
                *expected.entry(total).or_insert(0) += value;
            }
        }
    }
    let stored = rows.iter().filter(|((.., row_key), _)| row_key.starts_with("SUM:"));
    let stored = stored.map(|(key, row)| match row.properties.get(TOTAL) {
        Some(Edm::Int64(total)) => (key.clone(), *total),
        other => panic!("{other:?}"),
    });
    let stored: BTreeMap<_, _> = stored.filter(|(_, total)| *total != 0).collect();
    if stored == expected {
        return Ok(());
    }
    Err(format!("the totals are {stored:?}, and not {expected:?}"))
}

counted!(
    CountedAway,
    CountedAwayV1,
    CountedAwayPatch,
    ["counts", "counts2"],
    [name = "counts", partition = "{room}", row = "ROW:{number:04}"],
    [name = "counts2", partition = "N{room}", row = "ROW:{number:08}"]
);

counted!(
    CountedWithin,
    CountedWithinV1,
    CountedWithinPatch,
    ["tills"],
    [name = "tills", partition = "{room}", row = "ROW:{number:04}"],
    [name = "tills", partition = "{room}", row = "NEW:{number:04}"]
);
