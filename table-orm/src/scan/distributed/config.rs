//! The options of a scan, checked before the first request and against its row.

use super::DistributedScanError;
use super::rows::{ScanRow, VERSION};
use crate::model::MAX_PAGE_ROWS;
use crate::scan::engine::{LEAST_PAGES, Position, Ranges, Rules, Splitter};
use std::sync::Arc;

impl ScanRow {
    pub fn new(scan: &str, queue: &str, rules: &Rules, splits: bool) -> Self {
        let query = &rules.query;
        Self {
            scan: scan.to_owned(),
            version: VERSION,
            queue: Some(queue.to_owned()),
            table: query.table.as_str().to_owned(),
            query: query.filter_text(),
            select: query.select.as_ref().map(|names| names.join(",")),
            page_size: query.top.unwrap_or(MAX_PAGE_ROWS).into(),
            splits,
            least_pages: 1.0 + LEAST_PAGES,
        }
    }

    /// Refuses to work on a scan that was started with other options.
    pub fn check(&self, started: &Self) -> Result<(), DistributedScanError> {
        let whole = |text: &Option<String>| text.clone().unwrap_or_else(|| "all".to_owned());
        let parts = |row: &Self| {
            [
                ("table", row.table.to_ascii_lowercase()),
                ("range or filter", whole(&row.query)),
                ("selection", whole(&row.select)),
                ("page size", row.page_size.to_string()),
                ("splitter", if row.splits { "adaptive" } else { "serial" }.to_owned()),
            ]
        };
        for ((what, expected), (_, found)) in parts(self).into_iter().zip(parts(started)) {
            self.same(what, found, expected)?;
        }
        Ok(())
    }

    /// Refuses to work with another queue than the scan's.
    pub fn check_queue(&self, queue: &str) -> Result<(), DistributedScanError> {
        let found = self.queue.as_deref().unwrap_or(queue);
        self.same("queue", found.to_owned(), queue.to_owned())
    }

    fn same(
        &self,
        what: &'static str,
        found: String,
        expected: String,
    ) -> Result<(), DistributedScanError> {
        if found == expected {
            return Ok(());
        }
        let scan = self.scan.clone();
        Err(DistributedScanError::OtherScan { scan, what, found, expected })
    }
}

/// The ranges that a scan begins with.
///
/// `operations`: how many a transaction of the store can have.
pub(super) fn first_ranges(
    rules: &Rules,
    operations: usize,
) -> Result<Vec<(Position, Option<Position>)>, DistributedScanError> {
    let mut ranges = Ranges::new(Arc::new(rules.clone()));
    ranges.begin();
    let bounds = ranges.iter().map(|(start, range)| (start.clone(), range.end.clone()));
    let ranges: Vec<_> = bounds.collect();
    // One operation is the scan's own row.
    let most = operations.saturating_sub(2);
    match ranges.len() - 1 {
        found if found > most && matches!(rules.splitter, Splitter::Keys(_)) => {
            Err(DistributedScanError::TooManySplitKeys { found, most })
        }
        _ => Ok(ranges),
    }
}
