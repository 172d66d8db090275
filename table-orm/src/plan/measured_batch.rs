//! A transaction with its size, to be joined with others of its partition.

use super::table_client::TableClient;
use crate::model::MAX_TRANSACTION_BYTES;
use crate::store::Batch;

/// The operations of one entity, and how much of a request they take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MeasuredBatch {
    pub batch: Batch,
    /// The bytes that they add to a request.
    pub bytes: usize,
    /// The bytes that the operations of one request can have together.
    pub room: usize,
    /// The most operations that one request can have together.
    pub most: usize,
    /// The operations that a request needs for it beside its own: for totals, events and large values.
    pub more: usize,
    /// The UTF-16 units that they add to the text of a row that the request has once, as an intent.
    pub units: usize,
    /// The units that such a text can have.
    pub units_room: usize,
}

/// More than the bytes of an operation that changes a total, or of an event without values.
const TOTAL_BYTES: usize = 8 * 1024;

impl TableClient {
    /// Measures operations as the store will send them.
    pub fn measure(&self, batch: Batch) -> MeasuredBatch {
        let Batch { partition_key, operations } = &batch;
        let bytes = |operations| self.store().commit_bytes(&self.table, partition_key, operations);
        let frame = bytes(&[]);
        let bytes = bytes(operations).saturating_sub(frame);
        let of_all = self.following_all();
        let values = self.value_operations(&batch).map_or(0, |values| values.len());
        let more = values + self.following_each(&batch);
        let room = MAX_TRANSACTION_BYTES.saturating_sub(frame + of_all * TOTAL_BYTES);
        let bytes = bytes + more * TOTAL_BYTES + self.most_value_bytes(&batch);
        let most = self.store().transaction_operations().saturating_sub(of_all);
        MeasuredBatch { batch, bytes, room, most, more, units: 0, units_room: usize::MAX }
    }
}
