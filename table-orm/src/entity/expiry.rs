//! Entities that expire: when, by what a row stores.
//!
//! Invariant: an entity is alive at an instant if its row stores a later one, or none. Every reader decides by
//! this, so that all of them agree about a row at one instant.

use super::TableEntity;
use super::own_rows::OwnRows;
use super::query::canonical;
use super::rows::{partition_key, row_key};
use super::template::{first_foreign, foreign_at};
use crate::key::fnv;
use crate::model::DateTime;
use crate::property::Property;
use crate::query::{Comparison, Filter, KeyRange, Span};
use std::ops::Bound;

/// What the RowKeys, and the PartitionKeys, of the rows begin with that find expired entities.
const EXPIRY: &str = "EXP:";
/// The number of partitions that these rows are spread over.
const EXPIRY_SHARDS: u64 = 16;

/// A type of instants that an entity can expire at.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an instant, so no entity can expire at it",
    label = "not an instant",
    note = "`expires` names a field of type `DateTime` or `OffsetDateTime`, or an instant of the crate `chrono` \
            0.4 or `jiff` 0.2 with the feature of that name; an `Option` of it is `None` for an entity that \
            never expires"
)]
pub trait ExpiryTime {}

#[diagnostic::do_not_recommend]
impl<T: Property> ExpiryTime for T where DateTime: TryFrom<T> {}

/// Which of the partitions with an entity's expiry row, in two digits: by the hash of its key.
#[doc(hidden)]
pub fn expiry_shard<E: TableEntity>(entity: &E) -> String {
    // An entity whose keys cannot be written has its own error.
    let row = row_key(entity, canonical::<E>()).ok().flatten().unwrap_or_default();
    let partition = partition_key(entity).unwrap_or_default();
    shard_text(fnv(format!("{partition}\n{row}").as_bytes()) % EXPIRY_SHARDS)
}

fn shard_text(shard: u64) -> String {
    format!("{shard:02}")
}

/// Whether the type has the row that finds expired entities.
pub(crate) const fn has_expiry_row<E: TableEntity>() -> bool {
    expiry_row::<E>().is_some()
}

/// The index of the row that finds expired entities, if the type has it.
pub(crate) const fn expiry_row<E: TableEntity>() -> Option<usize> {
    let mut at = 0;
    while at < E::FOREIGN.len() {
        if let b"EXP:" = E::FOREIGN[at].row.start.as_bytes() {
            return Some(first_foreign::<E>() + at);
        }
        at += 1;
    }
    None
}

/// The keys of the rows that find what has expired until an instant, in each of their partitions.
pub(crate) fn expiry_keys<E: TableEntity>(until: DateTime) -> Vec<KeyRange> {
    let Some(row) = expiry_row::<E>().and_then(foreign_at::<E>) else { return Vec::new() };
    let start = row.partition_key.start;
    // Behind the last key of the instant: a key goes on with `~`.
    let row = Span::Between(
        Bound::Included(EXPIRY.to_owned()),
        Bound::Excluded(format!("{EXPIRY}{until}\u{7f}")),
    );
    let keys = |shard| {
        let partition = Span::Exact(format!("{start}{}", shard_text(shard)));
        KeyRange { partition, row: row.clone() }
    };
    (0..EXPIRY_SHARDS).map(keys).collect()
}

/// Whether the entity of a row is alive at that instant. Without an instant, expired entities are alive, too.
pub(crate) fn is_alive<E: TableEntity>(row: &[u8], now: Option<DateTime>) -> bool {
    now.is_none() || OwnRows::canonical::<E>().at(now).takes(row)
}

/// The condition that the store finds rows by that are alive at an instant. It is true for rows without the
/// property.
pub(crate) fn alive_filter(property: &'static str, now: DateTime) -> Filter {
    !Filter::compare(property, Comparison::LessOrEqual, now)
}
