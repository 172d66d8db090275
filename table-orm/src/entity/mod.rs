//! What an app stores: typed entities, their rows, names and versions.

mod dynamic;
mod key_mismatch;
mod loaded;
mod query;
mod read;
mod row_head;
mod row_templates;
mod rows;
mod skip;
mod stored_keys;
mod template;
#[cfg(test)]
mod tests;
mod union;

pub use crate::codec::Members;
pub use dynamic::DynamicEntity;
pub use key_mismatch::KeyMismatch;
pub use loaded::{AsLoaded, Loaded};
pub use query::{CanonicalKeyOf, CompleteKey, Query, Row, RowOf, WholePartition};
#[doc(hidden)]
pub use query::{Field, Stores};
pub use read::{FromRow, ReadRow};
pub use row_head::RowHead;
pub use rows::{EntityRow, EntityRows, Invalid};
pub use union::{MemberOf, TableUnion, UnionMember};

pub(crate) use key_mismatch::{ReadBackError, read_entity};
pub(crate) use query::{canonical_rows, keys_of};
pub(crate) use read::{read_etag, read_page, read_row, read_row_in_context, split_page};
pub(crate) use row_templates::{canonical, name_of, rows_of, template_of};
pub(crate) use rows::{body, partition_key, row_key};
pub(crate) use skip::{SkipUnreadable, read_rows};

use crate::key::{Escape, KeyError, KeyText};
use crate::model::ETag;
use crate::property::{PropertiesWriter, PropertyError};

/// How much of the entity a row stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyKind {
    /// Every property.
    Full,
    /// The properties named by `include`, or all but those named by `exclude`.
    Partial,
}

/// One of the rows an entity is stored in, as its `#[row(..)]` attribute declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowTemplate {
    /// The row's name, such as `by_bib`.
    pub name: &'static str,
    /// The RowKey's template, such as `BIB:{bib:05}__{name}`.
    pub key: &'static str,
    /// The literal that every such RowKey starts with, such as `BIB:`; no other row's starts so.
    pub start: &'static str,
    /// How much it stores.
    pub copy: CopyKind,
    /// How many ASCII digits surely follow the start, where that is empty: what tells its keys from
    /// those of other types in the same partition.
    pub digits: usize,
}

impl RowTemplate {
    /// A row with every property.
    #[must_use]
    pub const fn full(name: &'static str, key: &'static str, start: &'static str) -> Self {
        Self { name, key, start, copy: CopyKind::Full, digits: 0 }
    }

    /// A row with some of the properties.
    #[must_use]
    pub const fn partial(name: &'static str, key: &'static str, start: &'static str) -> Self {
        Self { name, key, start, copy: CopyKind::Partial, digits: 0 }
    }
}

/// The guard row of a `unique(..)`: while it is there, no other entity of the partition has the same
/// values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardTemplate {
    /// What is unique: fields and components, joined by `_`.
    pub name: &'static str,
    /// The RowKey's template, such as `UNQ:bib:{bib}`.
    pub key: &'static str,
    /// The literal that every such RowKey starts with, such as `UNQ:bib:`; no other row's starts so.
    pub start: &'static str,
}

impl GuardTemplate {
    /// The only property of a guard row: the RowKey of the canonical row that it belongs to.
    pub const REFERENCE: &'static str = "Canonical";

    /// A guard of those values.
    #[must_use]
    pub const fn new(name: &'static str, key: &'static str, start: &'static str) -> Self {
        Self { name, key, start }
    }
}

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
    /// What happens to text that a key cannot hold.
    const ESCAPE: Escape = Escape::Reject;
    /// The rows of an entity.
    const ROWS: &'static [RowTemplate];
    /// The guard rows of its `unique(..)`s.
    const GUARDS: &'static [GuardTemplate] = &[];
    /// The most UTF-16 units of the PartitionKey, then of each RowKey in the order of
    /// [`ROWS`](Self::ROWS) and [`GUARDS`](Self::GUARDS): at most 512 (1 KiB, the service's limit), or the entity does not
    /// compile. `None` where a component is text without `max_len`, or escaped, whose keys are
    /// checked as they are written.
    const LONGEST_KEYS: &'static [Option<usize>];
    /// Whether every row key tells the canonical row's key, and is told by it. Then a blind write
    /// (`upsert`, `force_replace`, `force_delete`) touches no other entity's rows and leaves none
    /// of its own behind, and is one request; else it reads first. Never so with a `unique(..)`.
    const KEYS_FOLLOW_CANONICAL: bool = false;

    /// Whether a patch is written to one row alone, without a look at it: the entity has no other
    /// row, and its keys are made of fields that no patch sets.
    const PATCHES_ONE_ROW: bool = false;

    /// The canonical row: it holds the whole entity, and its ETag guards all rows.
    type Canonical: Row<Entity = Self>;

    /// Appends the entity's PartitionKey.
    ///
    /// # Errors
    /// When a component has no text that a key can hold.
    fn encode_partition_key(&self, key: &mut KeyText) -> Result<(), KeyError>;

    /// Appends the RowKey of that row, and says whether the entity has it; sparse rows may not be.
    /// Guards follow the rows.
    ///
    /// # Errors
    /// When a component has no text that a key can hold.
    fn encode_row_key(&self, row: usize, key: &mut KeyText) -> Result<bool, KeyError>;

    /// Writes the properties that row stores.
    ///
    /// # Errors
    /// When the service could not store one of them.
    fn encode_properties(
        &self,
        row: usize,
        out: &mut PropertiesWriter,
    ) -> Result<(), PropertyError>;

    /// Takes over the version that a write has given it, where fields hold it: the ETag, and no
    /// timestamp, for the service does not tell that of a write.
    fn set_version(&mut self, _etag: &ETag) {}
}
