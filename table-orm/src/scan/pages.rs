//! Scans as pages, for clients that come back for the next one.

use crate::entity::ReadRow;
use crate::plan::{Connection, TableClient};
use crate::repo::{PageReader, Pages};
use crate::scan::{Scan, Serial};
use std::sync::Arc;

impl<T: ReadRow, R> Scan<T, R> {
    /// The rows in key order, in pages of at most `size` rows, 1 to 1000, to be resumed by token:
    /// one request after the other, whatever else was said of workers and checkpoints.
    pub fn pages(self, size: usize) -> Pages<T> {
        let Serial { store, table, entity, row, query, limit, skip } = self.serial();
        let connection = Arc::new(Connection::new(store));
        let client = TableClient::untyped(connection, table, entity);
        Pages::read_by(client, PageReader::each(row), query, limit, Some(size)).skipping(skip)
    }
}
