//! The sample rows of a lock: those of the samples as they are now, whether those of earlier versions are still read,
//! and whether the samples of now are stored as those of the same keys were.

use super::change::{Reads, SchemaChange};
use super::error::LockError;
use super::text::Item;
use crate::codec::rename;
use crate::entity::{
    DynamicEntity, EntityRows, EventualRow, GuardTemplate, InvalidEntity, OwnRows, TableEntity,
    Total, across_keys, canonical, eventual_rows, first_eventual, index_of, name_of, read_own,
    read_row,
};
use crate::model::Edm;
use std::collections::{BTreeMap, BTreeSet};

/// What the item of sample rows is called.
pub(super) const STORED: &str = "stored";

const NEW_KEY: &str = "write them under a row of another name beside this one, `backfill` it, move queries \
                       to it, then `drop_row` or `drop_eventual_row` this one; for the canonical row, move the entities to the \
                       new keys with `migrate_from`";
const NEW_VALUE: &str = "keep how the value is stored, or store it in a property of another name";
const NEW_FIELD: &str =
    "if a value is missing, give its field a `default`, or an `alias` if it was renamed";
const OTHER_SAMPLE: &str = "if you have only changed the sample, give it keys of its own; if not, its value is stored \
                            under another name or code: keep how it was stored";
const GONE: &str = "if that is meant, run `repair` with this version, then delete the line of this row; guard rows \
                    may stay, and do no harm";
const OTHER_TOTAL: &str = "keep what an entity adds, or give the sum another name; if other totals are meant, run \
                           `repair_sums` in each partition with this version, then delete this line";
pub(super) const NEW_UNIQUE: &str = "keep it until a `unique` of another name beside it is filled by `backfill`, \
                                     for example over a component made by `with` from the same field";
const RESTORE: &str = "restore the file from its repository";

/// The rows of samples, those of one sample after each other and its canonical row first.
pub(super) fn stored<E: TableEntity>(samples: &[E]) -> Result<Item, LockError> {
    let mut item = Item::new(STORED, "rows");
    for sample in samples {
        for (index, row) in rows(sample).map_err(invalid::<E>)? {
            let row = row.to_json().map_err(|error| invalid::<E>(error.into()))?;
            item = item.fact(name_of::<E>(index), row);
        }
        for (label, value) in in_other_partitions(sample).map_err(invalid::<E>)? {
            item = item.fact(&label, value);
        }
    }
    Ok(item)
}

/// Checks that no two samples with the same keys have different values of a property. Of two codes that are swapped, each
/// would be found under these keys.
pub(super) fn check_keys<E: TableEntity>(stored: &Item) -> Result<(), LockError> {
    let rows = canonical_rows::<E>(stored);
    for (index, row) in rows.iter().enumerate() {
        let key = keys(row);
        let mut same = rows[..index].iter().filter(|other| keys(other) == key);
        let property = same.find_map(|other| differing(&other.properties, &row.properties).next());
        if let Some((property, _)) = property {
            let (entity, property) = (E::NAME, property.clone());
            return Err(LockError::SameKeys { entity, key, property });
        }
    }
    Ok(())
}

/// The keys of a row, as messages show them.
fn keys(row: &DynamicEntity) -> String {
    format!("{:?} / {:?}", row.partition_key, row.row_key)
}

/// The canonical rows of samples.
fn canonical_rows<E: TableEntity>(item: &Item) -> Vec<DynamicEntity> {
    let rows = item.facts.iter().filter_map(|(name, json)| {
        let row = DynamicEntity::from_json(json).ok()?;
        (template::<E>(name, &row)? == canonical::<E>()).then_some(row)
    });
    rows.collect()
}

/// What the lines begin with that say what a sample adds to a sum. No row has such a name.
const ADDS: &str = "adds to ";
/// What the lines begin with that say under which PartitionKey a sample has a value of all partitions.
pub(super) const TAKES: &str = "takes ";

/// What an entity adds to each sum, and the values that it has of all partitions, as text.
fn in_other_partitions<E: TableEntity>(entity: &E) -> Result<Vec<(String, String)>, InvalidEntity> {
    Ok(with_values(additions(entity), across_keys(entity)?))
}

/// What an entity adds to sums, then the values of these guards.
fn with_values(
    mut added: Vec<(String, String)>,
    guards: Vec<(&GuardTemplate, String)>,
) -> Vec<(String, String)> {
    let guards = guards.into_iter();
    added.extend(guards.map(|(guard, key)| (format!("{TAKES}{}", guard.name), format!("{key:?}"))));
    added
}

fn additions<E: TableEntity>(entity: &E) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for sum in E::sums() {
        let (total, number) = sum.contribution(entity);
        lines.push(addition(total, number));
    }
    lines
}

fn addition(Total { name, group, .. }: Total, number: i64) -> (String, String) {
    let added = match group {
        Some(group) => format!("{number} in {group:?}"),
        None => number.to_string(),
    };
    (format!("{ADDS}{name}"), added)
}

/// The error of a sample that cannot be stored.
pub(super) fn invalid<E: TableEntity>(error: InvalidEntity) -> LockError {
    LockError::Sample { entity: E::NAME, error: Box::new(error) }
}

/// The rows of an entity, in its own and other partitions, with the indices of their templates.
fn rows<E: TableEntity>(entity: &E) -> Result<Vec<(usize, DynamicEntity)>, InvalidEntity> {
    read_all(EntityRows::of(entity)?, eventual_rows(entity)?)
}

fn read_all(
    own: EntityRows,
    others: Vec<EventualRow>,
) -> Result<Vec<(usize, DynamicEntity)>, InvalidEntity> {
    let own = own.rows.into_iter().map(|row| (row.index, row.body));
    let others = others.into_iter().map(|row| (row.index, row.body));
    own.chain(others).map(|(index, body)| Ok((index, read_row(0, &body)?))).collect()
}

type Sample = (Vec<(usize, DynamicEntity)>, Vec<(String, String)>);

/// What came of the sample rows of earlier versions.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub changes: Vec<SchemaChange>,
    /// The properties whose stored values are read.
    pub properties: BTreeSet<String>,
}

/// Reads the sample rows of earlier versions, and compares the samples of now with them.
pub(super) fn read<E: TableEntity>(stored: &Item, now: &Item) -> Read {
    let mut read = Read::default();
    read.compare_samples::<E>(stored, now);
    // The rows of the sample, as they are written now, and what it has in other partitions.
    let (mut written, mut others) = (None, Vec::new());
    for (name, json) in &stored.facts {
        let now = others.iter().find(|(own, now)| own == name && now != json);
        let now = now.map(|(_, now)| now);
        if let Some(sum) = name.strip_prefix(ADDS) {
            let what = |now| format!("sum {sum}: a stored sample added {json}, and adds {now} now");
            read.lose::<E>(now.map(what), OTHER_TOTAL);
            continue;
        }
        if let Some(unique) = name.strip_prefix(TAKES) {
            let what = |now| {
                format!("unique {unique}: a stored sample has it as {json}, and as {now} now")
            };
            read.lose::<E>(now.map(what), NEW_UNIQUE);
            continue;
        }
        let Ok(row) = DynamicEntity::from_json(json) else {
            read.refuse::<E>(format!("a sample of row {name} is no row: {json}"), RESTORE);
            continue;
        };
        let Some(index) = template::<E>(name, &row) else { continue };
        if index == canonical::<E>() {
            let sample = entity::<E>(&row).map_err(|reason| {
                read.refuse::<E>(format!("a sample cannot be read: {reason}"), NEW_FIELD);
            });
            (written, others) =
                sample.map_or((None, Vec::new()), |(rows, others)| (Some(rows), others));
        }
        if let Some(written) = &written {
            let rows = written.iter().filter(|(other, _)| *other == index);
            read.compare::<E>(name, row, rows.map(|(_, row)| row).collect());
        }
    }
    read
}

/// The template of a stored row: the one of its name, or else the one that takes its key, because the name of
/// a row may change.
fn template<E: TableEntity>(name: &str, row: &DynamicEntity) -> Option<usize> {
    let all = first_eventual::<E>() + E::EVENTUAL.len();
    let named = (0..all).find(|index| name_of::<E>(*index) == name);
    named.or_else(|| index_of::<E>(&row.row_key))
}

impl Read {
    fn refuse<E: TableEntity>(&mut self, what: String, remedy: &str) {
        self.add::<E>(what, Reads::NotAll, remedy);
    }

    /// Notes a change that stored rows survive, and totals or unique values do not.
    fn lose<E: TableEntity>(&mut self, what: Option<String>, remedy: &str) {
        if let Some(what) = what {
            self.add::<E>(what, Reads::All, remedy);
        }
    }

    fn add<E: TableEntity>(&mut self, what: String, reads: Reads, remedy: &str) {
        let (entity, remedy) = (E::NAME.to_owned(), remedy.to_owned());
        let change = SchemaChange { entity, what, reads, breaking: true, remedy };
        if !self.changes.contains(&change) {
            self.changes.push(change);
        }
    }

    /// Compares each sample of now with the stored ones of its keys, which different versions wrote: it has to agree with
    /// one of them. A type that gives
    /// two properties each other's names, or two variants each other's codes, reads all rows, and each as it writes them:
    /// only this shows it.
    fn compare_samples<E: TableEntity>(&mut self, stored: &Item, now: &Item) {
        let mut stored = canonical_rows::<E>(stored);
        for row in &mut stored {
            rename(&mut row.properties, E::ALIASES);
        }
        for now in canonical_rows::<E>(now) {
            let key = keys(&now);
            let mut same = stored.iter().filter(|row| keys(row) == key);
            let differs =
                |row: &DynamicEntity| differing(&row.properties, &now.properties).next().is_some();
            if same.clone().any(|row| !differs(row)) {
                continue;
            }
            let Some(before) = same.next_back() else { continue };
            for (property, value) in differing(&before.properties, &now.properties) {
                let what = format!(
                    "property {property}: the sample {key} stored {value}, and stores {} now",
                    now.properties[property]
                );
                self.add::<E>(what, Reads::Unknown, OTHER_SAMPLE);
            }
        }
    }

    /// Compares a stored row with the rows that are written from its template now.
    fn compare<E: TableEntity>(
        &mut self,
        name: &str,
        mut stored: DynamicEntity,
        written: Vec<&DynamicEntity>,
    ) {
        let old = keys(&stored);
        let Some(now) = written.iter().find(|row| keys(row) == old) else {
            let (new, remedy) = match written.first() {
                Some(row) => (format!("is now {}", keys(row)), NEW_KEY),
                None => ("is not written any more".to_owned(), GONE),
            };
            return self.refuse::<E>(format!("keys of row {name}: {old} {new}"), remedy);
        };
        rename(&mut stored.properties, E::ALIASES);
        for (property, value) in differing(&stored.properties, &now.properties) {
            let what = format!("property {property}: the stored {value} is read as another value");
            self.refuse::<E>(what, NEW_VALUE);
        }
        self.properties.extend(stored.properties.into_keys());
    }
}

/// The rows of the entity that is read from a canonical row, and what it has in other partitions.
fn entity<E: TableEntity>(row: &DynamicEntity) -> Result<Sample, String> {
    let body = row.body().map_err(|error| error.to_string())?;
    let own = OwnRows::canonical::<E>();
    match read_own::<E>(&own, &body, None) {
        Ok(Some((entity, _))) => {
            let rows = rows(&entity).map_err(|error| error.to_string())?;
            Ok((rows, in_other_partitions(&entity).map_err(|error| error.to_string())?))
        }
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
