//! Entities that wait for others of their partition.
//!
//! Invariants:
//! - A partition has at most one chunk.
//! - After [`Open::surplus`] has returned `None`, there are at most [`OPEN_OPERATIONS`] operations of at
//!   most [`OPEN_BYTES`].
//! - The input alone decides which chunk is sent next.

use super::chunk::Chunk;
use crate::model::{MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS};
use crate::plan::MeasuredBatch;
use slab::Slab;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// The most operations that a bulk write collects, over all partitions, before it sends a transaction that
/// is not full: those of 64 full transactions.
pub const OPEN_OPERATIONS: usize = 64 * MAX_TRANSACTION_OPERATIONS;
/// The most bytes of keys and bodies that a bulk write collects: 64 MiB. Rows of at most 10 KiB reach
/// [`OPEN_OPERATIONS`] first.
pub const OPEN_BYTES: usize = 16 * MAX_TRANSACTION_BYTES;

/// Chunks that take more entities.
#[derive(Default)]
pub(super) struct Open {
    /// The chunk of the entity before, which is in no map: an entity of the same partition costs no search.
    latest: Option<(Age, Chunk<usize>)>,
    chunks: Slab<Chunk<usize>>,
    /// The numbers of the chunks. The fullest is last; of equally full ones, the oldest.
    order: BTreeMap<(usize, Age), usize>,
    /// The place of each partition's chunk in `order`.
    places: HashMap<String, (usize, Age)>,
    begun: u64,
    operations: usize,
    bytes: usize,
}

/// The age of a chunk: more for older ones.
type Age = Reverse<u64>;

impl Open {
    /// Adds an entity to the chunk of its partition. If that chunk has no room, returns it and starts a
    /// new one.
    pub fn push(&mut self, entity: usize, measured: MeasuredBatch) -> Option<Chunk<usize>> {
        let partition_key = &measured.batch.partition_key;
        let is_latest = |(_, chunk): &(Age, Chunk<usize>)| chunk.partition_key() == partition_key;
        if !self.latest.as_ref().is_some_and(is_latest) {
            self.store_latest();
            self.latest = self.remove(partition_key);
        }
        let closed = match &self.latest {
            Some((_, chunk)) if !chunk.takes(&measured) => self.latest.take(),
            _ => None,
        };
        if let Some((_, chunk)) = &closed {
            self.operations -= chunk.operations();
            self.bytes -= chunk.bytes();
        }
        let (_, chunk) = self.latest.get_or_insert_with(|| {
            self.begun += 1;
            (Reverse(self.begun), Chunk::new(partition_key.clone()))
        });
        let (operations, bytes) = (chunk.operations(), chunk.bytes());
        chunk.push(entity, measured);
        self.operations += chunk.operations() - operations;
        self.bytes += chunk.bytes() - bytes;
        closed.map(|(_, chunk)| chunk)
    }

    /// Removes the fullest chunk while the bounds are exceeded.
    pub fn surplus(&mut self) -> Option<Chunk<usize>> {
        let over = self.operations > OPEN_OPERATIONS || self.bytes > OPEN_BYTES;
        if over { self.fullest() } else { None }
    }

    /// Removes the fullest chunk; of equally full ones, the oldest.
    pub fn fullest(&mut self) -> Option<Chunk<usize>> {
        self.store_latest();
        let (_, at) = self.order.pop_last()?;
        let chunk = self.chunks.try_remove(at)?;
        self.places.remove(chunk.partition_key());
        self.operations -= chunk.operations();
        self.bytes -= chunk.bytes();
        Some(chunk)
    }

    /// All chunks, oldest first.
    pub fn into_chunks(mut self) -> Vec<Chunk<usize>> {
        self.store_latest();
        let mut chunks = Vec::new();
        for at in by_age(&self.order) {
            chunks.extend(self.chunks.try_remove(at));
        }
        chunks
    }

    /// Puts the chunk of the entity before into the maps.
    fn store_latest(&mut self) {
        if let Some((age, chunk)) = self.latest.take() {
            let place = (chunk.fullness(), age);
            self.places.insert(chunk.partition_key().to_owned(), place);
            self.order.insert(place, self.chunks.insert(chunk));
        }
    }

    /// Takes the chunk of a partition out of the maps.
    fn remove(&mut self, partition_key: &str) -> Option<(Age, Chunk<usize>)> {
        let place = self.places.remove(partition_key)?;
        let at = self.order.remove(&place)?;
        Some((place.1, self.chunks.try_remove(at)?))
    }
}

/// The chunks with these numbers, the oldest first.
fn by_age(order: &BTreeMap<(usize, Age), usize>) -> Vec<usize> {
    let mut ages: Vec<_> = order.iter().map(|(&(_, age), &at)| (age, at)).collect();
    ages.sort_unstable_by_key(|&(age, _)| Reverse(age));
    ages.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Action, Batch, Operation};
    use bytes::Bytes;

    fn open() -> Open {
        Open::default()
    }

    /// A row of a partition, with a body of `bytes` bytes.
    fn row(partition: usize, row: u32, bytes: usize) -> MeasuredBatch {
        let action = Action::Insert(Bytes::from(vec![b' '; bytes]));
        let operation = Operation { row_key: row.to_string(), action };
        let batch = Batch { partition_key: partition.to_string(), operations: vec![operation] };
        let (room, most) = (MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS);
        MeasuredBatch { batch, bytes: bytes + 520, room, most, more: 0, units: 0, units_room: 0 }
    }

    #[test]
    fn the_fullest_chunk_is_sent_first_and_of_equals_the_oldest() {
        let mut open = open();
        for (number, partition) in [2, 1, 3, 1, 3].into_iter().enumerate() {
            assert!(open.push(0, row(partition, number as u32, 10)).is_none());
        }
        let partitions: Vec<_> = std::iter::from_fn(|| open.fullest())
            .map(|chunk| chunk.partition_key().to_owned())
            .collect();
        assert_eq!(partitions, ["1", "3", "2"]);
        assert_eq!((open.operations, open.bytes, open.places.len()), (0, 0, 0));
    }

    #[test]
    fn a_chunk_of_few_large_rows_is_fuller_than_one_of_many_small_ones() {
        let mut open = open();
        for number in 0..20 {
            assert!(open.push(number as usize, row(1, number, 10)).is_none());
        }
        assert!(open.push(0, row(2, 0, 1_000_000)).is_none());
        assert_eq!(open.fullest().unwrap().partition_key(), "2");
    }

    #[test]
    fn any_number_of_partitions_keeps_within_the_bounds() {
        for (bytes, kept) in [(10, OPEN_OPERATIONS), (100_000, OPEN_BYTES / 100_520)] {
            let mut open = open();
            let mut least = usize::MAX;
            for number in 0..20_000 {
                assert!(
                    open.push(number as usize, row(number as usize % 10_000, number, bytes))
                        .is_none()
                );
                while open.surplus().is_some() {
                    least = least.min(open.operations);
                }
                assert!(open.operations <= OPEN_OPERATIONS && open.bytes <= OPEN_BYTES);
            }
            assert!(least.abs_diff(kept) <= 2, "{least} of {kept} rows");
        }
    }
}
