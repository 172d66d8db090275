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
    /// The operations that a request needs beside those: for all its entities, and for each.
    pub more: (usize, usize),
}

/// More than the bytes of an operation that changes a total.
const TOTAL_BYTES: usize = 8 * 1024;

impl TableClient {
    /// Measures operations as the store will send them.
    pub fn measure(&self, batch: Batch) -> MeasuredBatch {
        let Batch { partition_key, operations } = &batch;
        let bytes = |operations| self.store().commit_bytes(&self.table, partition_key, operations);
        let frame = bytes(&[]);
        let bytes = bytes(operations).saturating_sub(frame);
        let of_all = self.summed.iter().map(|summed| summed.shared).sum::<usize>();
        let of_each = self.summed.iter().map(|summed| summed.each).sum::<usize>();
        let room = MAX_TRANSACTION_BYTES.saturating_sub(frame + of_all * TOTAL_BYTES);
        let bytes = bytes + of_each * TOTAL_BYTES;
        MeasuredBatch { batch, bytes, room, more: (of_all, of_each) }
    }
}
