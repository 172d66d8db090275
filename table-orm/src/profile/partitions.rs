//! Rows and bytes of each partition.
//!
//! Invariant: rows come in key order, so a partition is whole when the next one begins, and only one is open
//! at a time. A row that comes after a later one is an error. So the counts and both lists are exact, in
//! memory for the lists and two sketches, however many partitions there are.

use super::report::{PartitionProfile, PartitionSize, WriteOrder};
use super::write_order::WriteOrderSample;
use crate::entity::DynamicEntity;
use crate::error::{Result, ScanError};
use crate::figures::Sketch;
use crate::model::{DateTime, order};

/// The partitions so far.
pub(super) struct Partitions {
    open: Option<OpenPartition>,
    count: u64,
    only_helpers: u64,
    single_row: u64,
    rows: Sketch,
    bytes: Sketch,
    most_rows: Largest,
    most_bytes: Largest,
    written: WriteOrderSample,
}

/// The partition of the last row.
struct OpenPartition {
    size: PartitionSize,
    last_row: String,
    first_written: Option<DateTime>,
    helpers: u64,
}

impl Partitions {
    /// Keeps `top` partitions in each list.
    pub fn new(top: usize) -> Self {
        Self {
            open: None,
            count: 0,
            only_helpers: 0,
            single_row: 0,
            rows: Sketch::new(),
            bytes: Sketch::new(),
            most_rows: Largest::new(top),
            most_bytes: Largest::new(top),
            written: WriteOrderSample::new(),
        }
    }

    /// The number of partitions so far.
    pub fn count(&self) -> u64 {
        self.count + u64::from(self.open.is_some())
    }

    /// Adds the next row in key order.
    ///
    /// # Errors
    /// [`ScanError::OutOfOrder`] when it comes after a later row.
    pub fn add(&mut self, row: &DynamicEntity, bytes: u64, is_helper: bool) -> Result<()> {
        let follows = |open: &OpenPartition| {
            order::compare(&open.size.key, &row.partition_key)
                .then_with(|| order::compare(&open.last_row, &row.row_key))
                .is_lt()
        };
        if self.open.as_ref().is_some_and(|open| !follows(open)) {
            let (partition_key, row_key) = (row.partition_key.clone(), row.row_key.clone());
            return Err(ScanError::OutOfOrder { partition_key, row_key }.into());
        }
        if self.open.as_ref().is_none_or(|open| open.size.key != row.partition_key) {
            self.close();
        }
        let open = self.open.get_or_insert_with(|| OpenPartition {
            size: PartitionSize { key: row.partition_key.clone(), rows: 0, bytes: 0 },
            last_row: String::new(),
            first_written: None,
            helpers: 0,
        });
        open.size.rows += 1;
        open.size.bytes += bytes;
        open.helpers += u64::from(is_helper);
        open.last_row.clone_from(&row.row_key);
        open.first_written = open.first_written.into_iter().chain(row.timestamp).min();
        Ok(())
    }

    fn close(&mut self) {
        let Some(OpenPartition { size, first_written, helpers, .. }) = self.open.take() else {
            return;
        };
        self.count += 1;
        if helpers == size.rows {
            self.only_helpers += 1;
        } else if size.rows == 1 {
            self.single_row += 1;
        }
        self.rows.add(size.rows);
        self.bytes.add(size.bytes);
        if let Some(written) = first_written {
            self.written.add(written);
        }
        self.most_rows.add(size.rows, &size);
        self.most_bytes.add(size.bytes, &size);
    }

    /// How many partitions are in the sample and in the lists.
    #[cfg(test)]
    pub fn kept(&self) -> (usize, usize) {
        (self.written.kept(), self.most_rows.found.len() + self.most_bytes.found.len())
    }

    /// The result; without bytes where they were not read.
    pub fn finish(mut self, has_bytes: bool) -> (PartitionProfile, Option<WriteOrder>) {
        self.close();
        let profile = PartitionProfile {
            count: self.count,
            only_helpers: self.only_helpers,
            single_row: self.single_row,
            rows: self.rows.percentiles(),
            bytes: has_bytes.then(|| self.bytes.percentiles()),
            most_rows: self.most_rows.found.into_iter().map(|(_, size)| size).collect(),
            most_bytes: if has_bytes {
                self.most_bytes.found.into_iter().map(|(_, size)| size).collect()
            } else {
                Vec::new()
            },
        };
        (profile, self.written.compare())
    }
}

/// The partitions with the largest number, the largest first; of equal ones the first in key order.
struct Largest {
    most: usize,
    found: Vec<(u64, PartitionSize)>,
}

impl Largest {
    const fn new(most: usize) -> Self {
        Self { most, found: Vec::new() }
    }

    fn add(&mut self, number: u64, size: &PartitionSize) {
        let place = self.found.partition_point(|(other, _)| *other >= number);
        if place < self.most {
            self.found.insert(place, (number, size.clone()));
            self.found.truncate(self.most);
        }
    }
}
