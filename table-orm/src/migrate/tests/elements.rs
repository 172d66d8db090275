//! Types with a row for each element of a field: one moves to another table, one stays in its partition, where one of
//! its entities has more rows in both forms than a transaction takes.

use super::history::{ENTITIES, History, Rows};
use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit, stamps};
use super::watch::keys;
use crate as table_orm;
use crate::TableEntity;
use crate::error::Result;
use crate::migrate::{Migrate, Migrating};
use crate::model::Edm;
use crate::plan::CanonicalKey;
use crate::repo::{EntityPatch as _, Patch};
use std::collections::BTreeSet;

macro_rules! tagged {
    ($new:ident, $old:ident, $patch:ident, $tables:expr, [$($old_keys:tt)*], [$($keys:tt)*]) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*)]
        #[row(by_number, key = "ROW:{number:04}")]
        #[row(by_tag, key = "TAG:{tag}__{number:04}", each(tag in tags), include())]
        pub(super) struct $old {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            #[table(json)]
            tags: Vec<String>,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, migrate_from = $old)]
        #[row(by_number, key = "NEW:{number:04}")]
        #[row(by_tag, key = "NEWTAG:{tag}__{number:04}", each(tag in tags))]
        pub(super) struct $new {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            #[table(json)]
            tags: Vec<String>,
        }

        both_ways!($new, $old { room, number, stamp, base, tags });

        impl Subject for $new {
            const TABLES: &'static [&'static str] = &$tables;
            const OPERATIONS: usize = 7;

            fn of(number: u64, stamp: &str, base: &str) -> Self {
                let (stamp, base) = (stamp.to_owned(), base.to_owned());
                let mut tagged = Self { room: 1, number, stamp, base, tags: Vec::new() };
                tagged.touch();
                tagged
            }

            stamps!($patch);

            // Entity 0 has three rows, entity 1 has four.
            fn touch(&mut self) {
                self.tags = vec!["x".to_owned(), self.stamp.clone()];
                self.tags.extend((self.number == 1).then(|| "y".to_owned()));
            }

            fn check(rows: &Rows, _: &mut History) -> std::result::Result<(), String> {
                let [new, old] = [(Self::TABLE, "NEWTAG:"), ($old::TABLE, "TAG:")];
                (0..ENTITIES).try_for_each(|number| {
                    let keys = keys::<Self>(number);
                    check(rows, new, &keys.0, number)?;
                    check(rows, old, &keys.1, number)
                })
            }

            in_one_partition!(Self::partition(1_u64).by_tag().tag("x"));
        }
    };
}

/// Checks that the rows for tags are those of the canonical row.
fn check(
    rows: &Rows,
    (table, start): (&str, &str),
    key: &CanonicalKey,
    number: u64,
) -> std::result::Result<(), String> {
    let at = |row_key: &str| (table.to_owned(), key.partition_key.clone(), row_key.to_owned());
    let tags = rows.get(&at(&key.row_key)).and_then(|row| match row.properties.get("Tags") {
        Some(Edm::String(tags)) => serde_json::from_str::<Vec<String>>(tags).ok(),
        _ => None,
    });
    let tags = tags.unwrap_or_default();
    let expected: BTreeSet<_> =
        tags.iter().map(|tag| format!("{start}{tag}__{number:04}")).collect();
    let (end, partition) = (format!("__{number:04}"), &key.partition_key);
    let stored = rows.keys().filter(|(in_table, in_partition, row_key)| {
        in_table == table
            && in_partition == partition
            && row_key.starts_with(start)
            && row_key.ends_with(&end)
    });
    let stored: BTreeSet<_> = stored.map(|(.., row_key)| row_key.clone()).collect();
    if stored == expected {
        return Ok(());
    }
    Err(format!("entity {number} has the rows {stored:?}, and not {expected:?}"))
}

tagged!(
    TaggedAway,
    TaggedAwayV1,
    TaggedAwayPatch,
    ["tags", "tags2"],
    [name = "tags", partition = "{room}"],
    [name = "tags2", partition = "N{room}"]
);

tagged!(
    TaggedWithin,
    TaggedWithinV1,
    TaggedWithinPatch,
    ["notes"],
    [name = "notes", partition = "{room}"],
    [name = "notes", partition = "{room}"]
);
