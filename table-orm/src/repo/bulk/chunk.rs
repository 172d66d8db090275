//! Entities of one partition that share a transaction.

use crate::error::Result;
use crate::model::{MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS};
use crate::plan::MeasuredBatch;
use crate::store::{Batch, Operation};

/// Entities of one partition, with the transaction that writes them.
pub(in crate::repo) struct Chunk<E> {
    pub entities: Vec<E>,
    /// How many operations each entity has.
    pub sizes: Vec<usize>,
    pub batch: Batch,
    /// Where the operation with the greatest RowKey is.
    greatest: usize,
    bytes: usize,
    /// The operations that a request needs beside those of the batch.
    more: usize,
    /// The UTF-16 units of the text of its intent.
    units: usize,
    /// Whether it has as many operations as the store takes.
    is_full: bool,
    /// The RowKeys of the operations, once they are sent.
    pub keys: Vec<String>,
}

impl<E> Chunk<E> {
    pub fn new(partition_key: String) -> Self {
        let batch = Batch { partition_key, operations: Vec::new() };
        let (entities, sizes, keys) = (Vec::new(), Vec::new(), Vec::new());
        let (greatest, bytes, more, units, is_full) = (0, 0, 0, 0, false);
        Self { entities, sizes, batch, greatest, bytes, more, units, is_full, keys }
    }

    /// A chunk of one entity.
    pub fn of(entity: E, measured: MeasuredBatch) -> Self {
        let mut chunk = Self::new(measured.batch.partition_key.clone());
        chunk.push(entity, measured);
        chunk
    }

    /// The entities, and the transaction that writes them.
    pub fn split(self) -> (Vec<E>, Batch) {
        (self.entities, self.batch)
    }

    /// Takes the operations out, for the transaction that is to be sent.
    pub fn take_batch(&mut self) -> Batch {
        let Batch { partition_key, operations } = &mut self.batch;
        Batch { partition_key: partition_key.clone(), operations: std::mem::take(operations) }
    }

    pub fn partition_key(&self) -> &str {
        &self.batch.partition_key
    }

    pub fn operations(&self) -> usize {
        self.batch.operations.len()
    }

    /// The bytes of its operations in a request.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How much of a transaction it fills, by bytes or by operations, whichever is more. In bytes; an
    /// operation counts as its share of the largest transaction.
    pub fn fullness(&self) -> usize {
        const SHARE: usize = MAX_TRANSACTION_BYTES / MAX_TRANSACTION_OPERATIONS;
        self.bytes.max(self.operations() * SHARE)
    }

    /// Whether no entity fits beside those here.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether it writes a row that `other` writes too.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.partition_key() == other.partition_key() && !other.takes_rows(&self.batch.operations)
    }

    fn takes_rows(&self, operations: &[Operation]) -> bool {
        are_other_rows(operations, &self.batch.operations, self.greatest)
    }

    /// Whether the operations fit beside those here, and write other rows.
    pub fn takes(&self, measured: &MeasuredBatch) -> bool {
        let MeasuredBatch { batch, bytes, room, most, more, units, units_room } = measured;
        let (here, operations) = (&self.batch.operations, &batch.operations);
        let more = self.more + more;
        here.is_empty()
            || here.len() + operations.len() + more <= *most
                && self.bytes + bytes <= *room
                && self.units + units <= *units_room
                && self.takes_rows(operations)
    }

    pub fn push(&mut self, entity: E, measured: MeasuredBatch) {
        let MeasuredBatch { batch: Batch { operations, .. }, bytes, units, most, more, .. } =
            measured;
        self.bytes += bytes;
        self.units += units;
        self.more += more;
        self.sizes.push(operations.len());
        self.entities.push(entity);
        for operation in operations {
            let here = &mut self.batch.operations;
            if here.get(self.greatest).is_none_or(|last| last.row_key < operation.row_key) {
                self.greatest = here.len();
            }
            here.push(operation);
        }
        // One like the last does not fit.
        self.is_full = self.operations() + self.more + more >= most;
    }

    /// Makes the operations of its entities anew.
    pub fn refill(&mut self, measure: impl Fn(&E) -> Result<MeasuredBatch>) -> Result<()> {
        let measured: Vec<_> = self.entities.iter().map(measure).collect::<Result<_>>()?;
        let mut refilled = Self::new(self.batch.partition_key.clone());
        for (entity, measured) in self.entities.drain(..).zip(measured) {
            refilled.push(entity, measured);
        }
        *self = refilled;
        Ok(())
    }

    /// The entity that the operation of that index belongs to.
    pub fn owner(&self, operation: usize) -> Option<usize> {
        let mut end = 0;
        for (at, size) in self.sizes.iter().enumerate() {
            end += size;
            if operation < end {
                return Some(at);
            }
        }
        None
    }
}

/// Whether none of the rows is among those here, of which that one has the greatest RowKey.
fn are_other_rows(operations: &[Operation], here: &[Operation], greatest: usize) -> bool {
    // Rows mostly come in order, so one comparison is enough.
    let is_last =
        |new: &Operation| here.get(greatest).is_none_or(|greatest| greatest.row_key < new.row_key);
    !operations.iter().any(|new| !is_last(new) && here.iter().any(|old| old.row_key == new.row_key))
}
