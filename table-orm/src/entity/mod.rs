//! Entities: typed values that are stored as rows, and what is read from rows.

mod across;
mod blind;
mod borrowed;
mod bucket;
mod dynamic;
mod elements;
mod event;
mod eventual_row;
mod expiry;
mod key_mismatch;
mod key_query;
mod keys;
mod large;
mod loaded;
mod marker;
mod own_rows;
mod page_range;
mod projection;
mod query;
mod raw_row;
mod read;
mod row_head;
mod rows;
mod schema;
mod skip;
mod sum;
mod template;
#[cfg(test)]
mod tests;
mod union;
mod unique_key;

pub use crate::codec::{Alias, Members};
#[doc(hidden)]
pub use borrowed::BorrowedText;
pub use borrowed::{BorrowedFrom, BorrowedRow};
pub use bucket::{Bucketed, Bucketing, PeriodMismatch};
pub use dynamic::DynamicEntity;
#[doc(hidden)]
pub use elements::Elements;
pub use elements::{Excess, TooManyElements};
pub use event::{Change, EventValues};
pub use eventual_row::{EventualRow, eventual_rows};
#[doc(hidden)]
pub use expiry::{ExpiryTime, expiry_shard};
pub use key_mismatch::KeyMismatch;
pub use keys::{EntityKey, EntityKeys, EntityPartition};
pub use loaded::{AsLoaded, Loaded};
pub use own_rows::MovedRow;
#[doc(hidden)]
pub use projection::{ChunksOf, Field, FromKeys, SeriesOf, Stores};
pub use query::{CanonicalKeyOf, CompleteKey, Query, Row, RowOf, UnionScope, WholePartition};
pub use raw_row::RawRow;
pub use read::{FromRow, ReadRow, WholeRows};
pub(crate) use row_head::EventualHead;
pub use row_head::RowHead;
pub use rows::{EntityRow, EntityRows, InvalidEntity};
pub use schema::{PeriodsSchema, PropertySchema, QueryMethod, RowSchema, Schema, UniqueSchema};
pub use sum::{Counts, Sum, SumSchema};
pub use template::{CopyKind, EventualTemplate, GuardTemplate, RowTemplate};
pub use union::{MemberOf, TableUnion, UnionMember};
pub use unique_key::UniqueKey;

pub(crate) use across::{
    across_keys, has_across, has_eventual_rows, reaches_across, stays_in_partition,
};
pub(crate) use blind::{merges_blind, patches_blind, writes_blind};
pub(crate) use borrowed::MapRows;
pub(crate) use bucket::check_period;
pub(crate) use elements::{has_element_rows, too_many_elements};
pub(crate) use event::{EVENTS, EventContent, EventRowKey, HEAD, Head, LEASE, ReportedType};
pub(crate) use eventual_row::{eventual_rows_from, home_key, is_of_table, keys_of_rows};
pub(crate) use expiry::{
    ExpiryProperty, expires_at, expiry_keys, expiry_row, has_expiry_row, is_alive, is_alive_in,
};
pub(crate) use key_mismatch::{ReadBackError, has_row, read_entity};
pub(crate) use large::{LargeType, has_large, refers_to};
pub(crate) use marker::{Marked, Marker};
pub(crate) use own_rows::{OwnRowError, OwnRows, Ownership, index_of, template_of};
pub(crate) use page_range::cut_page;
pub(crate) use query::{canonical, canonical_rows, keys_of, row_span};
pub(crate) use read::{
    PageRows, first_head, read_etag, read_keys, read_own, read_page, read_row, read_row_in_context,
    read_timestamp, split_page,
};
pub(crate) use rows::{body, check_references, mark, partition_key, row_key};
pub(crate) use skip::{SkipUnreadable, read_rows};
pub(crate) use sum::{
    COPIES, Contributions, SummedType, TOTAL, Total, TotalRow, changed_copies, copied_total,
    copies_partition, copy_of_total, differences, has_sum_copies, is_canonical_or_total, is_total,
};
#[doc(hidden)]
pub use sum::{check_names, sum_names};
pub(crate) use template::{
    eventual_at, first_eventual, has_own_table, name_of, partition_at, rows_of, table_at,
    template_at,
};

use crate::key::{Escape, KeyError, KeyTemplate, KeyText, StoredKeys};
use crate::model::ETag;
use crate::property::{Declared, PropertiesWriter, PropertyError};
use std::time::Duration;

/// A type that is stored as one or more rows of a table: `#[derive(TableEntity)]`.
///
/// The derive writes this implementation; apps use it through [`Repo`](crate::Repo).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    label = "not an entity",
    note = "derive it: `#[derive(TableEntity)]`"
)]
pub trait TableEntity: ReadRow + FromRow<Self::Canonical> + Send + Sync {
    /// The table's name.
    const TABLE: &'static str;
    /// The PartitionKey's template.
    const PARTITION: &'static str;
    /// The PartitionKey's template as data.
    const PARTITION_KEY: KeyTemplate<'static>;
    /// What happens to text that keys cannot hold.
    const ESCAPE: Escape = Escape::Reject;
    /// The text that every row has in the property `Entity_Kind`, if the type has a `kind`. Rows
    /// without it are not the type's.
    const KIND: Option<&'static str> = None;
    /// The rows of an entity.
    const ROWS: &'static [RowTemplate];
    /// The guard rows of its `unique(..)`s. Those of a `unique(.., across)` are in other partitions.
    const GUARDS: &'static [GuardTemplate] = &[];
    /// The rows in other partitions and tables, which follow a write of the entity.
    const EVENTUAL: &'static [EventualTemplate] = &[];
    /// The properties of its fields with `overflow`: values whose bytes may be in rows of their own.
    const OVERFLOW: &'static [&'static str] = &[];
    /// The properties of its fields.
    #[doc(hidden)]
    const PROPERTIES: &'static [Declared] = &[];
    /// Whether the canonical row's key and every other row key determine each other. Then a blind
    /// write (`upsert`, `force_replace`, `force_delete`) is one request: it touches no other
    /// entity's rows and leaves no old row behind. Else it reads first. Always `false` with a
    /// `unique(..)`, and with a row in another partition.
    const KEYS_FOLLOW_CANONICAL: bool = false;

    /// Whether a patch writes one row without reading it: the entity has no other row, a patch sets no field of
    /// its key, and no field has an `alias`.
    const PATCHES_ONE_ROW: bool = false;

    /// What the events of its writes hold, if each write adds an event to the outbox.
    const OUTBOX: Option<EventValues> = None;

    /// Whether it has sums.
    #[doc(hidden)]
    const HAS_SUMS: bool = false;

    /// The names of its sums; empty for a generic type.
    #[doc(hidden)]
    const SUM_NAMES: &'static [&'static str] = &[];

    /// The greatest age of an entity that `get` returns without asking the store; with `None`, it always asks.
    /// Needs the feature `cache`.
    const CACHED_FOR: Option<Duration> = None;

    /// How its entities are spread over tables, if it has one for each period.
    const BUCKET: Option<Bucketing<Self>> = None;

    /// The property that says when an entity expires, which every row has. Without a value, the entity never
    /// expires.
    const EXPIRES: Option<&'static str> = None;
    /// Whether its entities are still stored under the keys of another type too:
    /// [`Migrates`](crate::migrate::Migrates).
    const MIGRATES: bool = false;

    /// The canonical row: it holds the whole entity, and its ETag guards all rows.
    type Canonical: Row<Entity = Self>;

    /// Appends the entity's PartitionKey, after the literal that it starts with.
    ///
    /// # Errors
    /// When a key cannot hold a component's value: [`KeyError`].
    fn encode_partition_key(&self, key: &mut KeyText) -> Result<(), KeyError>;

    /// Appends the RowKey of that row, without the literal that it starts with, and returns `true`. Returns
    /// `false` when the entity does not have this sparse row. The indices of rows come first, then those of
    /// guards, then those of rows in other partitions. The key of a guard of values that are unique over all
    /// partitions is a PartitionKey. For a row with `each(..)`, the key is that of the element
    /// [`KeyText::element`]; `false` says that there is no such element.
    ///
    /// # Errors
    /// When a key cannot hold a component's value: [`KeyError`].
    fn encode_row_key(&self, row: usize, key: &mut KeyText) -> Result<bool, KeyError>;

    /// Appends the PartitionKey of that row, which is in another partition or table, after the literal
    /// that it starts with, and returns `true`. Returns `false` when the entity does not have this sparse
    /// row.
    ///
    /// # Errors
    /// When a key cannot hold a component's value: [`KeyError`].
    fn encode_eventual_partition_key(
        &self,
        _row: usize,
        _key: &mut KeyText,
    ) -> Result<bool, KeyError> {
        Ok(false)
    }

    /// Appends the keys of the canonical row, made from those of its row in another partition, after the
    /// literals that they start with, and returns `true`. Returns `false` for the keys of another row.
    ///
    /// # Errors
    /// When the keys were not written from the row's templates: [`KeyError`].
    #[doc(hidden)]
    fn encode_home_key(
        _row: usize,
        _keys: &StoredKeys<'_, Self>,
        _partition: &mut KeyText,
        _key: &mut KeyText,
    ) -> Result<bool, KeyError> {
        Ok(false)
    }

    /// Writes the properties that the row stores.
    ///
    /// # Errors
    /// When the service cannot store one of them: [`PropertyError`].
    fn encode_properties(
        &self,
        row: usize,
        out: &mut PropertiesWriter,
    ) -> Result<(), PropertyError>;

    /// The sums over the entities of a partition.
    #[must_use]
    fn sums() -> Vec<Sum<Self>> {
        Vec::new()
    }

    /// Sets the fields that hold the version after a write: the ETag, and no timestamp, because the
    /// service does not return the timestamp of a write.
    fn set_version(&mut self, _etag: &ETag) {}
}

/// Does not compile for a type whose entities are still stored in another form too.
#[track_caller]
pub(crate) const fn has_one_form<E: TableEntity>() {
    assert!(
        !E::MIGRATES,
        "this type has `migrate_from`: its entities may still be stored under their old keys, which this call does \
         not see; use `Tables::migrating`, or remove `migrate_from` when the migration has ended"
    );
}
