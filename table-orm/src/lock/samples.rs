//! The sample rows of a lock: those of the samples as they are now, and whether those of earlier versions are
//! still read.

use super::change::{Reads, SchemaChange};
use super::error::LockError;
use super::text::Item;
use crate::codec::rename;
use crate::entity::{
    DynamicEntity, EntityRows, Invalid, OwnRows, TableEntity, canonical, foreign_rows, name_of,
    read_own, read_row,
};
use crate::model::Edm;
use std::collections::{BTreeMap, BTreeSet};

/// What the item of sample rows is called.
pub(super) const STORED: &str = "stored";

const NEW_KEY: &str = "write them under a row of another name beside this one, `backfill` it, move queries \
                       to it, then `retire` this one; for the canonical row, use a new table";
const NEW_VALUE: &str = "give the property another name and read this one with an `alias` of a type that \
                         takes both, or keep its type";

/// The rows of samples, those of one sample behind each other and its canonical row first.
pub(super) fn stored<E: TableEntity>(samples: &[E]) -> Result<Item, LockError> {
    let mut item = Item::new(STORED, "rows");
    for sample in samples {
        for (index, row) in rows(sample).map_err(invalid::<E>)? {
            let row = row.to_json().map_err(|error| invalid::<E>(error.into()))?;
            item = item.fact(name_of::<E>(index), row);
        }
    }
    Ok(item)
}

/// The error of a sample that cannot be stored.
pub(super) fn invalid<E: TableEntity>(error: Invalid) -> LockError {
    LockError::Sample { entity: E::NAME, error: Box::new(error) }
}

/// The rows of an entity, in its partition and elsewhere, with the indices of their templates.
fn rows<E: TableEntity>(entity: &E) -> Result<Vec<(usize, DynamicEntity)>, Invalid> {
    let own = EntityRows::of(entity)?.rows.into_iter().map(|row| (row.index, row.body));
    let elsewhere = foreign_rows(entity)?.into_iter().map(|row| (row.index, row.body));
    let read = |(index, body): (usize, bytes::Bytes)| Ok((index, read_row(0, &body)?));
    own.chain(elsewhere).map(read).collect()
}

/// What came of the sample rows of earlier versions.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub changes: Vec<SchemaChange>,
    /// The properties whose stored values are read.
    pub properties: BTreeSet<String>,
}

/// Reads the sample rows of earlier versions.
pub(super) fn read<E: TableEntity>(stored: &Item) -> Read {
    let mut read = Read::default();
    let mut current: Vec<(usize, DynamicEntity)> = Vec::new();
    for (name, json) in &stored.facts {
        let mut broken = |what: String, remedy: &str| {
            let change = SchemaChange {
                entity: E::NAME.to_owned(),
                what,
                reads: Reads::Some,
                breaking: true,
                remedy: remedy.to_owned(),
            };
            if !read.changes.contains(&change) {
                read.changes.push(change);
            }
        };
        let Ok(mut row) = DynamicEntity::from_json(json) else {
            broken(format!("the sample row of `{name}` is no row: {json}"), "restore the file");
            continue;
        };
        if name == name_of::<E>(canonical::<E>()) {
            current.clear();
            match entity::<E>(&row) {
                Ok(rows) => current = rows,
                Err(reason) => {
                    broken(
                        format!("a sample row cannot be read: {reason}"),
                        "if a value is missing, give the \
                         field a `default`, or an `alias` if it was renamed",
                    );
                    continue;
                }
            }
        }
        let mut own = current.iter().filter(|(index, _)| name_of::<E>(*index) == name).peekable();
        if own.peek().is_none() {
            continue;
        }
        let here = |other: &&(usize, DynamicEntity)| {
            (&other.1.partition_key, &other.1.row_key) == (&row.partition_key, &row.row_key)
        };
        let first = own.peek().map(|(_, row)| (row.partition_key.clone(), row.row_key.clone()));
        let Some((_, now)) = own.find(here) else {
            let (partition_key, row_key) = first.unwrap_or_default();
            let what = format!(
                "keys of row {name}: {:?} / {:?} is now {partition_key:?} / {row_key:?}",
                row.partition_key, row.row_key
            );
            broken(what, NEW_KEY);
            continue;
        };
        rename(&mut row.properties, E::ALIASES);
        for (property, value) in differing(&row.properties, &now.properties) {
            broken(
                format!("property {property}: the stored {value} is read as another value"),
                NEW_VALUE,
            );
        }
        read.properties.extend(row.properties.into_keys());
    }
    read
}

/// The rows of the entity that is read from a canonical row.
fn entity<E: TableEntity>(row: &DynamicEntity) -> Result<Vec<(usize, DynamicEntity)>, String> {
    let body = row.body().map_err(|error| error.to_string())?;
    let own = OwnRows::canonical::<E>();
    match read_own::<E>(&own, &body, None) {
        Ok(Some((entity, _))) => rows(&entity).map_err(|error| error.to_string()),
        Ok(None) => Err(format!("the type has no row {:?}", row.row_key)),
        Err(_) => match read_row::<E>(own.index, &body) {
            Err(error) => Err(error.to_string()),
            Ok(_) => Err("it was moved".to_owned()),
        },
    }
}

/// The stored properties that the row has now with another value of the same type.
fn differing<'s>(
    stored: &'s BTreeMap<String, Edm>,
    now: &'s BTreeMap<String, Edm>,
) -> impl Iterator<Item = (&'s String, &'s Edm)> {
    stored.iter().filter(|(name, value)| {
        let now = now.get(*name);
        now.is_some_and(|now| now.edm_type() == value.edm_type() && now != *value)
    })
}
