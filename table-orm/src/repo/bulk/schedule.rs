//! Which chunk is sent next.
//!
//! Invariant: a chunk is sent after the answer to each earlier one that writes a row of it.

use super::busy_rows::BusyRows;
use super::chunk::Chunk;
use super::open::Open;
use crate::store::Batch;
use slab::Slab;
use std::collections::VecDeque;

/// The chunks of a bulk write. They hold the numbers of its entities, so they are of one type for all.
#[derive(Default)]
pub(super) struct Schedule {
    /// Chunks that take more entities.
    pub open: Open,
    /// Chunks to be sent, oldest first.
    ready: VecDeque<Chunk<usize>>,
    /// Chunks in flight, without their operations.
    sent: Slab<Chunk<usize>>,
    /// The RowKeys of the requests in flight, by partition.
    busy: BusyRows,
}

impl Schedule {
    /// How many chunks are to be sent.
    pub fn waiting(&self) -> usize {
        self.ready.len()
    }

    /// Adds a chunk to be sent after the others.
    pub fn append(&mut self, chunk: Chunk<usize>) {
        self.ready.push_back(chunk);
    }

    /// Adds chunks to be sent before the others.
    pub fn prepend(&mut self, mut chunks: VecDeque<Chunk<usize>>) {
        chunks.append(&mut self.ready);
        self.ready = chunks;
    }

    /// The oldest chunk without a row that is on the way, or that an older chunk writes.
    pub fn next(&mut self) -> Option<Chunk<usize>> {
        let position = (0..self.ready.len()).find(|&position| {
            let chunk = &self.ready[position];
            !self.busy.delays(&chunk.batch)
                && !self.ready.range(..position).any(|earlier| chunk.overlaps(earlier))
        })?;
        self.ready.remove(position)
    }

    /// Takes the operations of a chunk that is about to be sent. Its rows are on the way from now on.
    pub fn begin(&mut self, chunk: &mut Chunk<usize>) -> Batch {
        chunk.keys = self.busy.begin(&chunk.batch);
        chunk.take_batch()
    }

    /// Keeps a chunk that was sent. Returns its number.
    pub fn sent(&mut self, chunk: Chunk<usize>) -> usize {
        self.sent.insert(chunk)
    }

    /// The chunk of that number, which is answered.
    pub fn answered(&mut self, number: usize) -> Option<Chunk<usize>> {
        let chunk = self.sent.try_remove(number)?;
        self.busy.end(chunk.partition_key(), &chunk.keys);
        Some(chunk)
    }

    /// The numbers of the entities that were not sent, in the order of their chunks.
    pub fn unsent(self) -> impl Iterator<Item = usize> {
        self.ready.into_iter().chain(self.open.into_chunks()).flat_map(|chunk| chunk.entities)
    }
}
