//! Types with an outbox: one moves to another table, one stays in its partition. Nobody hands the events on.

use super::history::{History, Rows};
use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit, stamps};
use crate as table_orm;
use crate::TableEntity;
use crate::entity::{DynamicEntity, EventRowKey};
use crate::error::Result;
use crate::migrate::{Migrate, Migrating};
use crate::model::Edm;
use crate::repo::{EntityPatch as _, Patch};
use std::collections::BTreeSet;

macro_rules! reported {
    ($new:ident, $old:ident, $patch:ident, $tables:expr, [$($old_keys:tt)*], [$($keys:tt)*]) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*, outbox(before, after))]
        pub(super) struct $old {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, outbox(before, after), migrate_from = $old)]
        pub(super) struct $new {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
        }

        both_ways!($new, $old { room, number, stamp, base });

        impl Subject for $new {
            const TABLES: &'static [&'static str] = &$tables;
            const CALLS: u64 = 40;

            fn of(number: u64, stamp: &str, base: &str) -> Self {
                let (stamp, base) = (stamp.to_owned(), base.to_owned());
                Self { room: 1, number, stamp, base }
            }

            stamps!($patch);

            fn check(rows: &Rows, history: &mut History) -> std::result::Result<(), String> {
                check(rows, history)
            }

            in_one_partition!(Self::partition(1_u64));
        }
    };
}

/// Checks that each write has exactly one event, which says what it did.
fn check(rows: &Rows, history: &History) -> std::result::Result<(), String> {
    let (mut written, mut deleted) = (BTreeSet::new(), 0);
    for ((.., row_key), row) in rows {
        if EventRowKey::read(row_key).is_none() {
            continue;
        }
        let (before, after) = (stamp(row, "Before"), stamp(row, "After"));
        let is_right = match (text(row, "Change").as_deref(), before, after) {
            (Some("inserted"), None, Some(stamp)) | (Some("updated"), Some(_), Some(stamp)) => {
                written.insert(stamp)
            }
            (Some("deleted"), Some(_), None) => {
                deleted += 1;
                true
            }
            _ => false,
        };
        if !is_right {
            return Err(format!("event {row:?}"));
        }
    }
    let reported = (written, deleted);
    if reported == history.all() {
        return Ok(());
    }
    Err(format!("the events tell of {reported:?}, and not of {:?}", history.all()))
}

fn text(row: &DynamicEntity, name: &str) -> Option<String> {
    match row.properties.get(name) {
        Some(Edm::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// The stamp of the entity in an event.
fn stamp(event: &DynamicEntity, name: &str) -> Option<String> {
    let entity = DynamicEntity::from_json(&text(event, name)?).ok()?;
    text(&entity, "Stamp")
}

reported!(
    ReportedAway,
    ReportedAwayV1,
    ReportedAwayPatch,
    ["news", "news2"],
    [name = "news", partition = "{room}", row = "ROW:{number:04}"],
    [name = "news2", partition = "N{room}", row = "ROW:{number:08}"]
);

reported!(
    ReportedWithin,
    ReportedWithinV1,
    ReportedWithinPatch,
    ["posts"],
    [name = "posts", partition = "{room}", row = "ROW:{number:04}"],
    [name = "posts", partition = "{room}", row = "NEW:{number:04}"]
);
