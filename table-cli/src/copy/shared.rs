//! A copy that several processes share: each writes the pages of the ranges that it has claimed.
//!
//! Invariant: as in `copy`, a page is done only after all its rows are written, so a page that is
//! delivered again changes nothing.

use table_orm::entity::RawRow;
use table_orm::queue::Queues;
use table_orm::repo::Table;
use table_orm::scan::Untyped;
use table_orm::scan::distributed::{DistributedScan, WorkPage, WorkerReport};
use table_orm::{Error, ScanPermit};

pub struct SharedCopy {
    pub scan: DistributedScan<RawRow, Untyped>,
    target: Table,
    /// Transactions of each page in flight.
    writers: usize,
}

impl SharedCopy {
    /// A copy of that id, whose progress is in `control`. Each worker reads and writes pages of
    /// several ranges at a time.
    pub fn new(
        [source, target, control]: [&Table; 3],
        queues: impl Queues + 'static,
        (id, queue): (&str, &str),
        ranges: usize,
        writers: usize,
    ) -> Self {
        let scan = source.scan(ScanPermit::because("copy of the table")).raw().concurrency(ranges);
        let scan = scan.distributed(id, control, queues, queue);
        Self { scan, target: target.clone(), writers: writers.div_ceil(ranges.max(1)) }
    }

    /// Works on it until it is complete, or until `stop`.
    pub async fn work(&self, stop: impl Future<Output = ()>) -> Result<WorkerReport, Error> {
        let page = |page: WorkPage<RawRow>| async {
            let writes = self.target.insert_or_replace_raw(page.rows);
            writes.parallelism(self.writers).await.all()?;
            Ok::<_, Error>(())
        };
        self.scan.work_until(stop, page).await
    }
}
