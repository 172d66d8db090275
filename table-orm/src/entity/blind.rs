//! Which writes need no read.

use super::TableEntity;
use super::sum::has_sum_copies;

/// Whether an entity can be written over a stored one without a read: its rows have the same keys, and no copy of
/// a total follows.
pub(crate) fn writes_blind<E: TableEntity>() -> bool {
    E::KEYS_FOLLOW_CANONICAL && !has_sum_copies::<E>()
}

/// Whether an entity can be merged into a stored one without a read: no row has to be replaced because it has
/// a former name of a property.
pub(crate) fn merges_blind<E: TableEntity>() -> bool {
    writes_blind::<E>() && E::ALIASES.is_empty() && E::EXPIRES.is_none()
}

/// Whether a patch is a write of one row without a read.
pub(crate) fn patches_blind<E: TableEntity>() -> bool {
    E::PATCHES_ONE_ROW && E::EXPIRES.is_none() && !has_sum_copies::<E>()
}
