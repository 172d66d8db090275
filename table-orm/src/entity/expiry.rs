//! Entities that expire: when, by what a row stores.
//!
//! Invariant: an entity is alive at an instant if its row stores a later instant, or none. Every reader decides by
//! this, so that all of them agree about a row at one instant.

use super::TableEntity;
use super::own_rows::OwnRows;
use super::query::canonical;
use super::read::read_head;
use super::rows::{partition_key, row_key};
use super::template::{eventual_at, first_eventual};
use crate::codec::Alias;
use crate::key::fnv;
use crate::model::DateTime;
use crate::property::{Property, PropertyError};
use crate::query::{Comparison, Filter, KeyRange, Span};
use std::ops::Bound;

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

/// Returns which of the partitions with an entity's expiry row, in two digits: by the hash of its key.
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
    while at < E::EVENTUAL.len() {
        if let [b'E', b'X', b'P', b':', ..] = E::EVENTUAL[at].row.start.as_bytes() {
            return Some(first_eventual::<E>() + at);
        }
        at += 1;
    }
    None
}

/// The keys of the rows that find what has expired until an instant, in each of their partitions.
pub(crate) fn expiry_keys<E: TableEntity>(until: DateTime) -> Vec<KeyRange> {
    let Some(row) = expiry_row::<E>().and_then(eventual_at::<E>) else { return Vec::new() };
    let (partition, start) = (row.partition_key.start, row.row.start);
    let next = DateTime::from_ticks(until.ticks() + 1).unwrap_or(DateTime::MAX);
    let row =
        Span::Between(Bound::Included(start.to_owned()), Bound::Excluded(format!("{start}{next}")));
    let keys = |shard| {
        let partition = Span::Exact(format!("{partition}{}", shard_text(shard)));
        KeyRange { partition, row: row.clone() }
    };
    (0..EXPIRY_SHARDS).map(keys).collect()
}

/// Whether the entity of a row is alive at that instant. Without an instant, expired entities are alive, too.
pub(crate) fn is_alive<E: TableEntity>(row: &[u8], now: Option<DateTime>) -> bool {
    is_alive_in(&OwnRows::canonical::<E>().at(now), row)
}

/// The instant at which the entity of a canonical row expires; `None` for one that never does.
pub(crate) fn expires_at<E: TableEntity>(row: &[u8]) -> Result<Option<DateTime>, PropertyError> {
    read_head(&OwnRows::canonical::<E>(), row).map(|row| row.expires_at)
}

/// The same for a row of these, at their instant.
pub(crate) fn is_alive_in(own: &OwnRows, row: &[u8]) -> bool {
    let asks = own.may_expire() && own.now.is_some();
    // A row that cannot be read has its own error.
    !asks || read_head(own, row).map_or(true, |row| own.is_alive(&row))
}

/// The property that says when an entity expires, with the former names that rows may have it under.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpiryProperty {
    name: &'static str,
    aliases: &'static [Alias],
}

impl ExpiryProperty {
    /// Returns the property of `E`, if its entities expire.
    pub fn of<E: TableEntity>() -> Option<Self> {
        E::EXPIRES.map(|name| Self { name, aliases: E::ALIASES })
    }

    /// The condition that the store finds rows by that may be alive at an instant: those without the property, and
    /// those with a later instant under one of its names. The reader decides which name counts.
    pub fn alive_filter(self, now: DateTime) -> Filter {
        let alive = !Filter::compare(self.name, Comparison::LessOrEqual, now);
        self.former().fold(alive, |filter, former| {
            filter.or(Filter::compare(former, Comparison::Greater, now))
        })
    }

    /// The condition of rows that may have expired at an instant. The reader decides which name counts.
    pub fn expired_filter(self, now: DateTime) -> Filter {
        let expired = |name| Filter::compare(name, Comparison::LessOrEqual, now);
        self.former().fold(expired(self.name), |filter, former| filter.or(expired(former)))
    }

    /// The number of comparisons in the condition of those that are alive.
    pub fn comparisons(self) -> usize {
        1 + self.former().count()
    }

    fn former(self) -> impl Iterator<Item = &'static str> {
        let former = self.aliases.iter().filter(move |(_, present)| *present == self.name);
        former.map(|(former, _)| *former)
    }
}
