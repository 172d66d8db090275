//! What a type that migrates, and the one that it migrates from, must be. The compiler evaluates it.

use super::compare_types::{
    differ_in_shards, has_local_guards, same_across, same_guards, same_partition, same_table,
};
use super::determined_key::{determine, row_template};
use super::migrates::Migrates;
use crate::entity::{
    EventualTemplate, GuardTemplate, ReadRow as _, RowTemplate, TableEntity, has_across,
};
use crate::key::{Escape, same};

/// Fails to compile where entities could not move safely.
#[doc(hidden)]
#[track_caller]
pub const fn check<E: Migrates>() {
    assert!(
        same_periods::<E>(),
        "`migrate_from`: the two types differ in the periods of `bucket`, so an entity would need a table for each form \
         that no call knows; give both the same period, or give the new type another `name`, and copy the entities: \
         `table_orm::guide::run::cannot_migrate` says how"
    );
    assert!(
        has_each(E::EVENTUAL, <E::Old>::EVENTUAL),
        "`migrate_from`: the new type has an `eventual` row that the old type lacks, so a list by it would miss entities in \
         their old form; give both types one of that name, with `when` or an `Option` in the old one only if the new one has \
         it, or add the row after the migration"
    );
    assert!(
        !<E::Old>::MIGRATES,
        "`migrate_from`: the old type has `migrate_from` itself, and the rows of its own old form would not be seen; end \
         that migration first"
    );
    assert!(
        E::OUTBOX.is_some() == <E::Old>::OUTBOX.is_some(),
        "`migrate_from`: only one of the two types has `outbox`, so a write of an entity in the other form would add no \
         event; give it to both, or add or remove it before the migration, or after it"
    );
    assert!(
        E::EXPIRES.is_some() == <E::Old>::EXPIRES.is_some(),
        "`migrate_from`: only one of the two types has `expires`, so an entity would be gone in one form and there in the \
         other; give it to both, or add or remove it before the migration, or after it"
    );
    assert!(
        matches!(
            (E::ESCAPE, <E::Old>::ESCAPE),
            (Escape::Encode, Escape::Encode) | (Escape::Reject, Escape::Reject)
        ),
        "`migrate_from`: only one of the two types has `escape = encode`; set it on both or on neither"
    );
    let new = [E::PARTITION_KEY, row_template::<E>()];
    assert!(
        determine(&new, &<E::Old>::PARTITION_KEY) && determine(&new, &row_template::<E::Old>()),
        "`migrate_from`: the new canonical key lacks a field of the old one, so two entities could get the same \
         key; write each field of the old key in it, as `{{field}}`, `{{field:0N}}`, or a component with `asc`, \
         `desc` or `biased`. A function (`with`) may write the new key, but not the old one"
    );
    let one_table = same_table::<E>();
    assert!(
        same_guards(E::GUARDS, <E::Old>::GUARDS),
        "`migrate_from`: the two types differ in `unique`, so an entity of each could have one value; give both the same \
         ones in the same order, and add, change or remove one before the migration, or after it"
    );
    assert!(
        same_across::<E>(),
        "`migrate_from`: the two types write the values of a `unique(.., across)` differently, or keep them in different \
         tables, so an entity of each could have one value; give it the same fields with the same formats in both, and \
         the same table: `unique(.., across, table = \"..\")`"
    );
    assert!(
        !has_local_guards::<E>() && !has_local_guards::<E::Old>()
            || one_table && same_partition::<E>(),
        "`migrate_from`: `unique` is checked within a partition, but the partitions of the two types differ, so \
         two entities could get one value; keep the PartitionKey, or make it `unique(.., across)` in both types before \
         the migration: `table_orm::guide::run::cannot_migrate` says how"
    );
    assert!(
        !one_table
            || differ_in_shards::<E>()
            || !E::PARTITION_KEY.meets(&<E::Old>::PARTITION_KEY)
            || are_apart(E::ROWS, E::GUARDS, <E::Old>::ROWS, <E::Old>::GUARDS),
        "`migrate_from`: a row of the new type and one of the old type could have one key; begin the new rows' keys \
         with another literal, or store the new type in another table; types that differ in the number of shards alone, \
         with the same rows and properties and without `unique` and `eventual` rows, need neither"
    );
    // Intents have the name of their type.
    assert!(
        <E::Old>::EVENTUAL.is_empty() && !has_across::<E::Old>() || !same(E::NAME, <E::Old>::NAME),
        "`migrate_from`: the two types have one name, and `eventual` rows or `unique(.., across)`, so what is left to settle \
         of the one could be taken for that of the other; give one of them another name"
    );
    assert!(
        are_eventual_apart::<E>(),
        "`migrate_from`: an `eventual` row of the one type could have the key of a row of the other type; begin the key or \
         the PartitionKey of the new row with another literal, or store it in another table; the row of `purge_index` has \
         the name of its type in its keys"
    );
}

/// Whether both types have one table, or a table for each period of the same length.
const fn same_periods<E: Migrates>() -> bool {
    match (E::BUCKET, <E::Old>::BUCKET) {
        (Some(new), Some(old)) => new.bucket() as u8 == old.bucket() as u8,
        (None, None) => true,
        _ => false,
    }
}

/// Whether no row of the one type has a key that a row of the other may have. The guards may be the same: they go
/// along.
const fn are_apart(
    rows: &[RowTemplate],
    guards: &[GuardTemplate],
    old_rows: &[RowTemplate],
    old_guards: &[GuardTemplate],
) -> bool {
    let mut at = 0;
    while at < rows.len() {
        let mut old = 0;
        while old < old_rows.len() {
            if rows[at].template().meets(&old_rows[old].template()) {
                return false;
            }
            old += 1;
        }
        if meets_guard(&rows[at], old_guards) {
            return false;
        }
        at += 1;
    }
    let mut old = 0;
    while old < old_rows.len() {
        if meets_guard(&old_rows[old], guards) {
            return false;
        }
        old += 1;
    }
    true
}

const fn meets_guard(row: &RowTemplate, guards: &[GuardTemplate]) -> bool {
    let mut at = 0;
    while at < guards.len() {
        if row.template().meets(&guards[at].row().template()) {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether each of these rows has a row of its name in the other type, which an entity has whenever it has the new one.
const fn has_each(rows: &[EventualTemplate], old_rows: &[EventualTemplate]) -> bool {
    let mut at = 0;
    while at < rows.len() {
        let (mut old, mut has_one) = (0, false);
        while old < old_rows.len() {
            let (row, old_row) = (&rows[at].row, &old_rows[old].row);
            // A collection may have no elements.
            let old_always = !old_row.sparse && old_row.each.is_none();
            let may_lack = row.sparse || row.each.is_some();
            has_one = has_one || same(row.name, old_row.name) && (may_lack || old_always);
            old += 1;
        }
        if !has_one {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether no row in another partition of the one type has a key that a row of the other may have.
const fn are_eventual_apart<E: Migrates>() -> bool {
    let mut at = 0;
    while at < E::EVENTUAL.len() {
        if !is_apart::<E, E::Old>(&E::EVENTUAL[at]) {
            return false;
        }
        at += 1;
    }
    let mut old = 0;
    while old < <E::Old>::EVENTUAL.len() {
        if !is_apart::<E::Old, E>(&<E::Old>::EVENTUAL[old]) {
            return false;
        }
        old += 1;
    }
    true
}

/// Whether such a row of the one type has no key that a row of the other type may have.
const fn is_apart<T: TableEntity, O: TableEntity>(row: &EventualTemplate) -> bool {
    let table = table_of::<T>(row);
    let mut at = 0;
    while at < O::EVENTUAL.len() {
        let other = &O::EVENTUAL[at];
        if table.eq_ignore_ascii_case(table_of::<O>(other))
            && row.partition_key.meets(&other.partition_key)
            && row.row.template().meets(&other.row.template())
        {
            return false;
        }
        at += 1;
    }
    if !table.eq_ignore_ascii_case(O::TABLE) || !row.partition_key.meets(&O::PARTITION_KEY) {
        return true;
    }
    at = 0;
    while at < O::ROWS.len() {
        if row.row.template().meets(&O::ROWS[at].template()) {
            return false;
        }
        at += 1;
    }
    !meets_guard(&row.row, O::GUARDS)
}

/// The table of such a row, as the types declare it.
const fn table_of<T: TableEntity>(row: &EventualTemplate) -> &'static str {
    match row.table {
        Some(table) => table,
        None => T::TABLE,
    }
}
