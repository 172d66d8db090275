//! Types with a value of any size: one moves to other partitions, one stays in its partition.

use super::history::{ENTITIES, History, Rows};
use super::subjects::{Subject, both_ways, by_page, in_one_partition, permit};
use super::watch::keys;
use crate as table_orm;
use crate::TableEntity;
use crate::entity::{DynamicEntity, Marker};
use crate::error::{Error, LargeValueError, Result};
use crate::migrate::{Migrate, Migrating};
use crate::model::{Edm, MOVED_FROM, MOVED_TO};
use crate::property::{Large, Reference, chunk_key, chunk_of};
use crate::repo::{EntityPatch as _, Patch, Upload, remove_all_unused};
use std::collections::BTreeSet;

macro_rules! overflowing {
    ($new:ident, $old:ident, $patch:ident, $table:literal, [$($old_keys:tt)*], [$($keys:tt)*]) => {
        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($old_keys)*)]
        pub(super) struct $old {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            /// The write whose film it has.
            of: String,
            #[table(overflow)]
            film: Large,
        }

        #[derive(Debug, Clone, TableEntity)]
        #[table(crate = table_orm, $($keys)*, migrate_from = $old)]
        pub(super) struct $new {
            room: u64,
            number: u64,
            stamp: String,
            base: String,
            of: String,
            #[table(overflow)]
            film: Large,
        }

        both_ways!($new, $old { room, number, stamp, base, of, film });

        impl Subject for $new {
            const TABLES: &'static [&'static str] = &[$table];
            const HAS_UPLOADS: bool = true;

            fn of(number: u64, stamp: &str, base: &str) -> Self {
                let (stamp, base) = (stamp.to_owned(), base.to_owned());
                Self { room: 1, number, stamp, base, of: String::new(), film: Large::default() }
            }

            fn number(&self) -> u64 {
                self.number
            }

            fn stamps(&mut self) -> (&mut String, &mut String) {
                (&mut self.stamp, &mut self.base)
            }

            async fn upload(&mut self, client: &Migrating<Self>, version: u64) -> Result<()> {
                // Some writes leave the film as it is.
                if sum(&self.stamp) % 3 == 0 {
                    return Ok(());
                }
                let (new, old) = keys::<Self>(self.number);
                let mut upload = match version {
                    0 | 1 => Upload::new(&client.old.client, old),
                    _ => Upload::new(&client.new.client, new),
                };
                self.of.clone_from(&self.stamp);
                upload.add(film(&self.of)).await?;
                self.film = upload.finish().await?;
                Ok(())
            }

            async fn read(&self, client: &Migrating<Self>) -> std::result::Result<(), String> {
                match client.read_large(self, |entity| &entity.film).await {
                    // It may be that of a later write.
                    Ok(Some(bytes)) if bytes == film(&of(&bytes)) => Ok(()),
                    Ok(Some(bytes)) => Err(format!("a film of {} bytes is of no write", bytes.len())),
                    Err(Error::LargeValue(damaged @ LargeValueError::Damaged { .. })) => {
                        Err(damaged.to_string())
                    }
                    Ok(None) | Err(_) => Ok(()),
                }
            }

            async fn sweep(client: &Migrating<Self>) -> Result<()> {
                for number in 0..ENTITIES {
                    let (new, old) = keys::<Self>(number);
                    remove_all_unused(&client.old.client, &old).await?;
                    remove_all_unused(&client.new.client, &new).await?;
                }
                Ok(())
            }

            fn patch(stamp: &str) -> Patch<Self> {
                $patch::default().stamp(stamp.to_owned()).into_patch()
            }

            fn check(rows: &Rows, _: &mut History) -> std::result::Result<(), String> {
                films(rows).map(drop)
            }

            fn check_settled(rows: &Rows) -> std::result::Result<(), String> {
                let used = films(rows)?;
                let ids = rows.keys().filter_map(|(.., row_key)| chunk_of(row_key));
                match ids.map(|(id, _)| id).find(|id| !used.contains(*id)) {
                    Some(id) => Err(format!("the film {id} is left, and nobody refers to it")),
                    None => Ok(()),
                }
            }

            in_one_partition!(Self::partition(1_u64));
        }
    };
}

fn sum(stamp: &str) -> usize {
    stamp.bytes().fold(0, |sum, byte| 7 * sum + usize::from(byte))
}

/// The film of that write: some in the entity, others in one row or two.
fn film(of: &str) -> Vec<u8> {
    const LENGTHS: [usize; 8] = [64, 64, 65_536, 65_537, 65_538, 65_539, 99_999, 720_897];
    if of.is_empty() {
        return Vec::new();
    }
    let frame = format!("{of}|");
    frame.bytes().cycle().take(LENGTHS[sum(of) / 3 % LENGTHS.len()]).collect()
}

/// The write whose film that seems to be.
fn of(film: &[u8]) -> String {
    let of = film.split(|byte| *byte == b'|').next().unwrap_or_default();
    String::from_utf8_lossy(of).into_owned()
}

/// The ids of the films to which what counts refers. Each is whole, and of the write that its entity names.
fn films(rows: &Rows) -> std::result::Result<BTreeSet<String>, String> {
    let mut used = BTreeSet::new();
    for ((table, partition_key, row_key), row) in rows {
        let text = |name: &str| match row.properties.get(name) {
            Some(Edm::String(text)) => Some(text.as_str()),
            _ => None,
        };
        let Some(reference) = text("Film").and_then(Reference::parse) else { continue };
        if text(MOVED_FROM).is_some() && !is_living(rows, row_key) {
            continue;
        }
        let chunk = |number| {
            let key = (table.clone(), partition_key.clone(), chunk_key(&reference.id, number));
            rows.get(&key).map(bytes)
        };
        let mut whole = Vec::new();
        for number in 0..reference.rows() {
            let missing =
                || format!("{row_key} refers to {}, which has no row {number}", reference.id);
            whole.extend(chunk(number).ok_or_else(missing)?);
        }
        if whole != film(text("Of").unwrap_or_default()) {
            return Err(format!("{row_key} refers to the film of another write"));
        }
        used.insert(reference.id);
    }
    Ok(used)
}

/// Whether a marker names the parcel.
fn is_living(rows: &Rows, parcel: &str) -> bool {
    rows.values().any(|row| match row.properties.get(MOVED_TO) {
        Some(Edm::String(to)) => {
            Marker::parse(to).is_some_and(|marker| marker.parcel.as_deref() == Some(parcel))
        }
        _ => false,
    })
}

/// The bytes in a row of a film.
fn bytes(row: &DynamicEntity) -> Vec<u8> {
    let data = row.properties.iter().filter(|(name, _)| name.starts_with("Data"));
    data.filter_map(|(_, value)| match value {
        Edm::Binary(bytes) => Some(bytes.clone()),
        _ => None,
    })
    .collect::<Vec<_>>()
    .concat()
}

overflowing!(
    OverflowingAway,
    OverflowingAwayV1,
    OverflowingAwayPatch,
    "films",
    [name = "films", partition = "{room:03}", row = "ROW:{number:04}"],
    [name = "films", partition = "N{room:03}", row = "ROW:{number:04}"]
);

overflowing!(
    OverflowingWithin,
    OverflowingWithinV1,
    OverflowingWithinPatch,
    "movies",
    [name = "movies", partition = "{room}", row = "ROW:{number:04}"],
    [name = "movies", partition = "{room}", row = "NEW:{number:04}"]
);
