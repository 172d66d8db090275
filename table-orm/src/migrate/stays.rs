//! Entities that keep their key, and the form to which a stored key belongs where both types write rows of one form:
//! more shards leave some entities where they are.
//!
//! Invariant: where a key of the one type may be one of the other, it is that of the same entity, and both types write
//! the same row under it. So it is in its new form, and nothing is sent for it.

use super::compare_types::differ_in_shards;
use super::determined_key::key_of;
use super::migrates::Migrates;
use crate::plan::CanonicalKey;

/// Whether the entity with these two keys has one row under both.
pub(super) fn keeps_key<E: Migrates>(old: &CanonicalKey, new: &CanonicalKey) -> bool {
    let same_form = const { differ_in_shards::<E>() };
    same_form && old == new
}

/// Whether the entity with that new key keeps its key: its one form is the new one.
pub(super) fn has_one_form<E: Migrates>(new: &CanonicalKey) -> bool {
    key_of::<E::Old, E>(new).is_some_and(|old| keeps_key::<E>(&old, new))
}

/// Whether a row under that key, which has the form of the old type, is that of an entity which has to move, or its
/// marker.
pub(super) fn is_old<E: Migrates>(key: &CanonicalKey) -> bool {
    let same_form = const { differ_in_shards::<E>() };
    !same_form || key_of::<E::Old, E>(key).as_ref() == Some(key) && !is_new::<E>(key)
}

/// Whether a row under that key, which has the form of the new type, is that of an entity which has moved, or which
/// keeps its key.
pub(super) fn is_new<E: Migrates>(key: &CanonicalKey) -> bool {
    let same_form = const { differ_in_shards::<E>() };
    !same_form || key_of::<E, E>(key).as_ref() == Some(key)
}
