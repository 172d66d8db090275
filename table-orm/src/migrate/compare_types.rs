//! What the old and the new type of a migration have in common: partitions, tables, rows, properties, guards.

use super::determined_key::{determine, row_template};
use super::migrates::Migrates;
use crate::entity::{GuardTemplate, RowTemplate, TableEntity};
use crate::key::{TemplatePart, same};
use crate::model::EdmType;
use crate::property::Declared;

/// Whether the two types write the same PartitionKey of each entity.
pub(super) const fn same_partition<E: Migrates>() -> bool {
    let (new, old) = (E::PARTITION_KEY, <E::Old>::PARTITION_KEY);
    same(new.start, old.start) && are_same(new.parts, old.parts, false)
}

/// Whether the two types are in one table, and differ only in the shards of the PartitionKey.
pub(super) const fn differ_in_shards<E: Migrates>() -> bool {
    let (new, old) = (E::PARTITION_KEY, E::Old::PARTITION_KEY);
    same_table::<E>()
        && E::GUARDS.is_empty()
        && <E::Old>::GUARDS.is_empty()
        && E::EVENTUAL.is_empty()
        && <E::Old>::EVENTUAL.is_empty()
        && same(new.start, old.start)
        && are_same(new.parts, old.parts, true)
        && determine(&[new, row_template::<E>()], &new)
        && same_name(E::KIND, <E::Old>::KIND)
        && same_name(E::EXPIRES, <E::Old>::EXPIRES)
        && same_texts(E::SUM_NAMES, <E::Old>::SUM_NAMES)
        && same_rows(E::ROWS, <E::Old>::ROWS)
        && same_properties(E::PROPERTIES, <E::Old>::PROPERTIES)
}

/// Whether the tables are one. Their names have no case.
pub(super) const fn same_table<E: Migrates>() -> bool {
    E::TABLE.eq_ignore_ascii_case(<E::Old>::TABLE)
}

const fn are_same(new: &[TemplatePart], old: &[TemplatePart], but_shards: bool) -> bool {
    let mut at = 0;
    while at < new.len() && at < old.len() {
        let both_shards = but_shards && new[at].is_shard() && old[at].is_shard();
        let alike = both_shards && same(new[at].separator, old[at].separator);
        if !alike && !new[at].is_like(&old[at]) {
            return false;
        }
        at += 1;
    }
    at == new.len() && at == old.len()
}

/// Whether the type has values that are unique within a partition.
pub(super) const fn has_local_guards<T: TableEntity>() -> bool {
    let mut at = 0;
    while at < T::GUARDS.len() {
        if !T::GUARDS[at].across {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether the two types write the values that are unique over all partitions alike, and keep their guards in one table.
pub(super) const fn same_across<E: Migrates>() -> bool {
    let (new, old) = (E::GUARDS, <E::Old>::GUARDS);
    let mut at = 0;
    while at < new.len() && at < old.len() {
        let is_same_table =
            guard_table::<E>(&new[at]).eq_ignore_ascii_case(guard_table::<E::Old>(&old[at]));
        if new[at].across && !(is_same_table && may_be_same(new[at].parts, old[at].parts)) {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether two keys may be the same text of the same values. What a function writes is compared for each entity.
const fn may_be_same(new: &[TemplatePart], old: &[TemplatePart]) -> bool {
    let mut at = 0;
    while at < new.len() && at < old.len() && new[at].may_be_like(&old[at]) {
        at += 1;
    }
    at == new.len() && at == old.len()
}

/// The table of such a guard, as the type declares it.
const fn guard_table<T: TableEntity>(guard: &GuardTemplate) -> &'static str {
    match guard.table {
        Some(table) => table,
        None => T::TABLE,
    }
}

/// Whether the two types have as many unique values, of one kind, whose guard rows begin alike.
pub(super) const fn same_guards(new: &[GuardTemplate], old: &[GuardTemplate]) -> bool {
    let mut at = 0;
    while at < new.len() && at < old.len() {
        if !same(new[at].start, old[at].start) || new[at].across != old[at].across {
            return false;
        }
        at += 1;
    }
    at == new.len() && at == old.len()
}

const fn same_rows(new: &[RowTemplate], old: &[RowTemplate]) -> bool {
    let mut at = 0;
    while at < new.len() && at < old.len() {
        let (one, other) = (&new[at], &old[at]);
        if !same(one.start, other.start)
            || !same(one.name, other.name)
            || !are_same(one.parts, other.parts, false)
            || one.copy as u8 != other.copy as u8
            || !same_name(one.each, other.each)
            || !same_texts(one.fields, other.fields)
        {
            return false;
        }
        at += 1;
    }
    at == new.len() && at == old.len()
}

const fn same_name(new: Option<&str>, old: Option<&str>) -> bool {
    match (new, old) {
        (Some(new), Some(old)) => same(new, old),
        (None, None) => true,
        _ => false,
    }
}

const fn same_properties(new: &[Declared], old: &[Declared]) -> bool {
    let mut at = 0;
    while at < new.len() && at < old.len() {
        let alike = match (&new[at], &old[at]) {
            (Declared::One(name, values, _), Declared::One(other, others, _)) => {
                same(name, other) && same_type(values.edm, others.edm)
            }
            (Declared::Series(name, slots, values), Declared::Series(other, others, types)) => {
                same(name, other)
                    && slots.most() == others.most()
                    && slots.has_stamps() == others.has_stamps()
                    && same_type(values.edm, types.edm)
            }
            (Declared::Chunked(name, edm), Declared::Chunked(other, others)) => {
                same(name, other) && *edm as u8 == *others as u8
            }
            (Declared::Group(_, group), Declared::Group(_, others)) => {
                same_properties(group, others)
            }
            (Declared::Open, Declared::Open) => true,
            _ => false,
        };
        if !alike {
            return false;
        }
        at += 1;
    }
    at == new.len() && at == old.len()
}

const fn same_type(new: Option<EdmType>, old: Option<EdmType>) -> bool {
    match (new, old) {
        (Some(new), Some(old)) => new as u8 == old as u8,
        (None, None) => true,
        _ => false,
    }
}

const fn same_texts(new: &[&str], old: &[&str]) -> bool {
    let mut at = 0;
    while at < new.len() && at < old.len() && same(new[at], old[at]) {
        at += 1;
    }
    at == new.len() && at == old.len()
}
