//! An event as handlers get it.

use crate::entity::{Change, DynamicEntity, EventContent, OwnRows, TableEntity, read_own};
use crate::error::{DispatchError, Result};
use crate::model::{DateTime, TableName};

/// One write of one entity.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The entity's table.
    pub table: TableName,
    /// The entity's PartitionKey.
    pub partition_key: String,
    /// The number of the event in its partition: 1, 2, 3 and so on, in the order in which the writes took
    /// effect. An event that comes again has the same number.
    pub number: u64,
    /// The name of the entity's type.
    pub entity: String,
    /// What the write did.
    pub change: Change,
    /// The RowKey of the entity's canonical row: after the write, and before it for one that was deleted.
    pub row_key: String,
    /// The RowKey before the write, of an entity that was moved.
    pub moved_from: Option<String>,
    /// When the write took effect, by the service's clock; `None` where the store returns no timestamp. It is for
    /// people: [`number`](Self::number) is the order.
    pub time: Option<DateTime>,
    /// Whether the row before the write is left out because it is too long: its JSON has more than 32,768
    /// UTF-16 units, or its message more than 48 KiB.
    pub before_left_out: bool,
    /// Whether the row after the write is left out for that reason.
    pub after_left_out: bool,
    before: Option<String>,
    after: Option<String>,
}

impl Event {
    /// Reads the event of that number from its row.
    pub(super) fn read(
        table: &TableName,
        number: u64,
        row: DynamicEntity,
    ) -> Result<Self, DispatchError> {
        let (partition_key, time) = (row.partition_key.clone(), row.timestamp);
        let content = EventContent::read(row)
            .map_err(|property| DispatchError::Unknown { number, property })?;
        let (before_left_out, after_left_out) = content.leaves_out();
        let EventContent { entity, change, row_key, from: moved_from, before, after, .. } = content;
        Ok(Self {
            table: table.clone(),
            partition_key,
            number,
            entity,
            change,
            row_key,
            moved_from,
            time,
            before_left_out,
            after_left_out,
            before,
            after,
        })
    }

    /// The entity as it was before the write. `None` for one that was inserted, for an event that does not
    /// have it, and for an entity of another type.
    ///
    /// # Errors
    /// When the row can no longer be read as an `E`.
    pub fn before<E: TableEntity>(&self) -> Result<Option<E>> {
        self.read_as(self.before_json())
    }

    /// The entity as the write stored it. `None` for one that was deleted, for an event that does not have
    /// it, and for an entity of another type.
    ///
    /// # Errors
    /// When the row can no longer be read as an `E`.
    pub fn after<E: TableEntity>(&self) -> Result<Option<E>> {
        self.read_as(self.after_json())
    }

    /// The canonical row before the write, in the service's JSON form.
    #[must_use]
    pub fn before_json(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// The canonical row after the write, in the service's JSON form.
    #[must_use]
    pub fn after_json(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Returns whether the entity is an `E`.
    #[must_use]
    pub fn is<E: TableEntity>(&self) -> bool {
        self.entity == E::NAME
    }

    /// The same event without the rows, which are marked as left out.
    #[cfg(feature = "distributed")]
    pub(super) fn without_rows(mut self) -> Self {
        self.before_left_out |= self.before.take().is_some();
        self.after_left_out |= self.after.take().is_some();
        self
    }

    fn read_as<E: TableEntity>(&self, row: Option<&str>) -> Result<Option<E>> {
        let Some(row) = row.filter(|_| self.is::<E>()) else { return Ok(None) };
        let own = OwnRows::canonical::<E>();
        Ok(read_own::<E>(&own, row.as_bytes(), None)?.map(|(entity, _)| entity))
    }
}
