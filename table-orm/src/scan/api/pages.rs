//! Scans as pages, for clients that request them one by one.

use super::scan::Scan;
use crate::error::ScanError;
use crate::plan::{Connection, TableClient};
use crate::repo::Pages;
use std::sync::Arc;

impl<T, R> Scan<T, R> {
    /// The rows in key order, in pages of at most `size` rows, 1 to 1000, each resumed by a token.
    /// Sends one request after the other, and ignores the scan's workers and checkpoint.
    pub fn pages(self, size: usize) -> Pages<T> {
        let connection = Connection::new(Arc::clone(&self.store));
        let connection = match self.alive.clock() {
            Some(clock) => connection.with_clock(clock.clone()),
            None => connection,
        };
        let mut client =
            TableClient::untyped(Arc::new(connection), self.table.clone(), self.entity);
        client.expiry = self.alive.expiry();
        let (own, limit, skip) = (self.own, self.limit, self.skip.clone());
        let select = self.selected();
        let reader = self.reader.clone().of_pages(own);
        let query = self.rules(select, false).and_then(|rules| match rules.after {
            None => Ok(rules.query),
            Some(_) => Err(ScanError::PagesAfter.into()),
        });
        Pages::read_by(client, reader, query, limit, Some(size)).skipping(skip)
    }
}
