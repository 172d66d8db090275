//! Types whose entities expire: one moves to another table, one stays in its partition. An entity either never expires,
//! or has expired as soon as it is written.

use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit, stamps};
use crate as table_orm;
use crate::TableEntity;
use crate::error::Result;
use crate::migrate::{Migrate, Migrating};
use crate::model::DateTime;
use crate::repo::{EntityPatch as _, Patch};

macro_rules! pass {
    ($new:ident, $old:ident, $patch:ident, $tables:expr, [$($old_keys:tt)*], [$($keys:tt)*]) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*, expires = until)]
        pub(super) struct $old {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            until: Option<DateTime>,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, expires = until, migrate_from = $old)]
        pub(super) struct $new {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            until: Option<DateTime>,
        }

        both_ways!($new, $old { room, number, stamp, base, until });

        impl Subject for $new {
            const TABLES: &'static [&'static str] = &$tables;
            const CALLS: u64 = 40;

            fn of(number: u64, stamp: &str, base: &str) -> Self {
                let (stamp, base) = (stamp.to_owned(), base.to_owned());
                Self { room: 1, number, stamp, base, until: None }
            }

            stamps!($patch);

            fn expire(&mut self) {
                self.until = Some(DateTime::MIN);
            }

            fn has_expired(&self) -> bool {
                self.until.is_some()
            }

            in_one_partition!(Self::partition(1_u64));
        }
    };
}

pass!(
    PassAway,
    PassAwayV1,
    PassAwayPatch,
    ["passes", "passes2"],
    [name = "passes", partition = "{room}", row = "ROW:{number:04}"],
    [name = "passes2", partition = "N{room}", row = "ROW:{number:08}"]
);

pass!(
    PassWithin,
    PassWithinV1,
    PassWithinPatch,
    ["visits"],
    [name = "visits", partition = "{room}", row = "ROW:{number:04}"],
    [name = "visits", partition = "{room}", row = "NEW:{number:04}"]
);
