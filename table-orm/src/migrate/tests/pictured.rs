//! Types with a value over several properties: one moves to another table, one stays in its partition.

use super::history::{History, Rows};
use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit};
use crate as table_orm;
use crate::TableEntity;
use crate::entity::DynamicEntity;
use crate::error::Result;
use crate::migrate::{Migrate, Migrating};
use crate::model::Edm;
use crate::repo::{EntityPatch as _, Patch};

macro_rules! pictured {
    ($new:ident, $old:ident, $patch:ident, $tables:expr, [$($old_keys:tt)*], [$($keys:tt)*]) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*)]
        pub(super) struct $old {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            #[table(chunked)]
            picture: Vec<u8>,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, migrate_from = $old)]
        pub(super) struct $new {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            #[table(chunked)]
            picture: Vec<u8>,
        }

        both_ways!($new, $old { room, number, stamp, base, picture });

        impl Subject for $new {
            const TABLES: &'static [&'static str] = &$tables;

            fn of(number: u64, stamp: &str, base: &str) -> Self {
                let (picture, stamp, base) = (picture(stamp), stamp.to_owned(), base.to_owned());
                Self { room: 1, number, stamp, base, picture }
            }

            fn number(&self) -> u64 {
                self.number
            }

            /// What is read is whole, and of one write.
            fn stamps(&mut self) -> (&mut String, &mut String) {
                assert!(self.picture == picture(&self.stamp), "{}: another picture", self.stamp);
                (&mut self.stamp, &mut self.base)
            }

            fn touch(&mut self) {
                self.picture = picture(&self.stamp);
            }

            fn patch(stamp: &str) -> Patch<Self> {
                $patch::default().stamp(stamp.to_owned()).picture(picture(stamp)).into_patch()
            }

            fn check(rows: &Rows, _: &mut History) -> std::result::Result<(), String> {
                rows.values().try_for_each(check)
            }

            in_one_partition!(Self::partition(1_u64));
        }
    };
}

/// The picture of that write: in one, two or three properties, or empty.
fn picture(stamp: &str) -> Vec<u8> {
    const LENGTHS: [usize; 8] = [0, 9, 9, 99, 99, 65_536, 65_537, 131_073];
    let number = stamp.bytes().fold(0_usize, |sum, byte| 7 * sum + usize::from(byte));
    stamp.bytes().cycle().take(LENGTHS[number % LENGTHS.len()]).collect()
}

/// Checks that the picture of a row is whole, and of the write that its stamp says.
fn check(row: &DynamicEntity) -> std::result::Result<(), String> {
    let Some(Edm::String(stamp)) = row.properties.get("Stamp") else { return Ok(()) };
    let chunks = (0..16).map_while(|at| match row.properties.get(&*format!("Picture{at:02}")) {
        Some(Edm::Binary(bytes)) => Some(bytes.clone()),
        _ => None,
    });
    let mut stored = chunks.collect::<Vec<_>>().concat();
    // A merge leaves the chunks of a longer picture.
    if let Some(Edm::Int32(length)) = row.properties.get("Picture") {
        stored.truncate(*length as usize);
    }
    if stored == picture(stamp) {
        return Ok(());
    }
    Err(format!("{stamp} has a picture of {} bytes that is not its own", stored.len()))
}

pictured!(
    PicturedAway,
    PicturedAwayV1,
    PicturedAwayPatch,
    ["pictures", "pictures2"],
    [name = "pictures", partition = "{room}", row = "ROW:{number:04}"],
    [name = "pictures2", partition = "N{room}", row = "ROW:{number:08}"]
);

pictured!(
    PicturedWithin,
    PicturedWithinV1,
    PicturedWithinPatch,
    ["paintings"],
    [name = "paintings", partition = "{room}", row = "ROW:{number:04}"],
    [name = "paintings", partition = "{room}", row = "NEW:{number:04}"]
);
