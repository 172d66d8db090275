//! A scan by many machines and its options, and the calls that control it.

use super::config::first_ranges;
use super::control::{Control, may_have_changed};
use super::range_message::is_id;
use super::retry::{Tries, is_transient, retry_transient};
use super::rows::{RangeRow, RangeState, ScanRow, VERSION};
use super::rows_left::rows_left;
use super::{DistributedScanError, DistributedStatus, LEASE, MOST_LISTED, clock};
use crate::entity::{Loaded, ReadRow, TableEntity};
use crate::error::{Error, Result};
use crate::plan::TableClient;
use crate::queue::{QueueError, QueueErrorKind, Queues, check_name};
use crate::repo::{Repo, Table};
use crate::scan::api::Scan;
use crate::scan::engine::{Rules, Splitter};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A scan by workers on many machines. See the [module](super) for its guarantees.
///
/// Every machine builds it with the same options. One machine, or each, calls [`start`](Self::start);
/// each worker calls [`work`](Self::work). A worker whose options differ from those of `start` gets an
/// error.
#[must_use = "nothing is sent until `start`, `work` or another call"]
pub struct DistributedScan<T, R> {
    pub(super) scan: Scan<T, R>,
    id: String,
    control: Table,
    queues: Arc<dyn Queues>,
    queue: String,
    pub(super) continues: bool,
}

impl<T, R> Clone for DistributedScan<T, R> {
    fn clone(&self) -> Self {
        Self {
            scan: self.scan.clone(),
            id: self.id.clone(),
            control: self.control.clone(),
            queues: Arc::clone(&self.queues),
            queue: self.queue.clone(),
            ..*self
        }
    }
}

impl<T, R> fmt::Debug for DistributedScan<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, queue, .. } = self;
        let mut debug = f.debug_struct("DistributedScan");
        debug.field("id", id).field("queue", queue).finish_non_exhaustive()
    }
}

impl<T, R> Scan<T, R> {
    /// Shares the scan among workers on many machines, through the rows of a control table and the
    /// messages of a queue.
    ///
    /// `id` names the scan in both: 1 to 80 ASCII letters, digits, dashes, underscores and dots. The
    /// control table must exist; it may be any table of any account, and may hold other scans.
    /// [`start`](DistributedScan::start) creates the queue and its poison queue, `<queue>-poison`. Scans
    /// may share a queue if they share the control table. But a worker that receives the message of
    /// another scan hides it from that scan's workers for a minute, so use a queue for each scan that
    /// runs at a time.
    ///
    /// [`filter`](Self::filter), [`select`](Self::select), [`project`](Self::project),
    /// [`prefix`](Self::prefix), [`partition_range`](Self::partition_range) and
    /// [`page_size`](Self::page_size) work as in any scan. [`concurrency`](Self::concurrency) is the
    /// number of ranges that a worker has at a time, each with one page in memory.
    /// [`Splitter::Adaptive`] begins with one range, [`Splitter::Keys`] with those between at most 98
    /// keys, and [`Splitter::Serial`] never splits its one range.
    ///
    /// ```
    /// use table_orm::queue::MemoryQueues;
    /// use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # let [results, scans] = [TableName::new("results")?, TableName::new("scans")?];
    /// # tables.create(&results).await?;
    /// # tables.create(&scans).await?;
    /// # let rows = (0..2500).map(|at| DynamicEntity::new(format!("{:04}", at / 5), format!("{at:05}")));
    /// # tables.table(results.clone()).insert_or_replace_many(rows).await.all()?;
    /// # let queues = MemoryQueues::new();
    /// let scan = tables
    ///     .scan(results, ScanPermit::because("copy"))
    ///     .page_size(500)
    ///     .distributed("copy-2011-11-06", &tables.table(scans), queues, "copies");
    /// scan.start().await?; // by any machine, any number of times
    ///
    /// let worker = || {
    ///     scan.work(|page| async move {
    ///         println!("{} rows from {:?}", page.rows.len(), page.id);
    ///         Ok::<_, table_orm::Error>(())
    ///     })
    /// };
    /// let (one, other) = tokio::join!(worker(), worker()); // here, or on other machines
    /// assert_eq!(one?.rows + other?.rows, 2500);
    ///
    /// let status = scan.status().await?;
    /// assert!(status.is_whole() && status.rows == 2500);
    /// scan.remove().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn distributed(
        self,
        id: impl Into<String>,
        control: &Table,
        queues: impl Queues + 'static,
        queue: impl Into<String>,
    ) -> DistributedScan<T, R> {
        DistributedScan {
            scan: self,
            id: id.into(),
            control: control.clone(),
            queues: Arc::new(queues),
            queue: queue.into(),
            continues: false,
        }
    }
}

impl<T, R> DistributedScan<T, R> {
    /// Lets workers continue with other ranges after a page is unreadable or its handler fails;
    /// [`failures`](super::WorkerReport::failures) counts these pages. Without it,
    /// [`work`](Self::work) fails with the first such error. In both cases any worker may claim the range
    /// again.
    pub const fn continue_on_failure(mut self) -> Self {
        self.continues = true;
        self
    }

    /// Seeds the random choices of its calls.
    #[cfg(test)]
    pub(super) fn seeded(self, seed: u64) -> Self {
        Self { scan: self.scan.seed(seed), ..self }
    }

    pub(super) fn control(&self) -> Result<Control> {
        if !is_id(&self.id) {
            return Err(DistributedScanError::Id(self.id.clone()).into());
        }
        let poison_queue = format!("{}-poison", self.queue);
        check_name(&self.queue)?;
        if check_name(&poison_queue).is_err() {
            let message = "its name is too long to be followed by `-poison`, as that of the queue \
                           for ranges put aside is; use at most 56 characters";
            let error = QueueError::new(QueueErrorKind::Invalid, &self.queue, message);
            return Err(error.into());
        }
        Ok(Control {
            scan: self.id.clone(),
            scans: self.control.repo(),
            ranges: self.control.repo(),
            queues: Arc::clone(&self.queues),
            queue: self.queue.clone(),
            poison_queue,
            random: self.scan.random(),
        })
    }

    /// The control of a scan that was started with this queue.
    async fn started(&self) -> Result<Control> {
        let control = self.control()?;
        control.started().await?.check_queue(&self.queue)?;
        Ok(control)
    }

    /// Reports the progress of the scan. Reads a row for each range, open or done.
    ///
    /// # Errors
    /// [`DistributedScanError::NotStarted`] if the scan was not started; a bad id or queue name; any
    /// error of the store.
    pub async fn status(&self) -> Result<DistributedStatus> {
        let control = self.control()?;
        control.started().await?;
        let mut status = DistributedStatus::default();
        let mut ranges = Vec::new();
        for row in control.load_ranges().await? {
            match row.state {
                RangeState::Open => status.open += 1,
                RangeState::Done => status.done += 1,
                RangeState::Poisoned => {
                    status.poisoned += 1;
                    status.poisoned_ranges.push(row.poisoned());
                }
            }
            status.leased += u64::from(!row.lease_left().is_zero());
            status.rows += u64::try_from(row.rows).unwrap_or_default();
            status.pages += u64::try_from(row.pages).unwrap_or_default();
            ranges.push(row);
        }
        status.poisoned_ranges.sort_by(|left, right| left.from.cmp(&right.from));
        status.poisoned_ranges.truncate(MOST_LISTED);
        status.rows_left = rows_left(ranges);
        Ok(status)
    }

    /// Sends new messages for ranges whose lease is over, or whose message nobody has received for a
    /// minute. Returns the number of messages. Idle workers do this by themselves.
    ///
    /// # Errors
    /// [`DistributedScanError::NotStarted`] if the scan was not started, `OtherScan` if it was started
    /// with another queue; a bad id or queue name; any error of the store or the queue.
    pub async fn sweep(&self) -> Result<usize> {
        self.started().await?.sweep().await.map(|(_, sent)| sent)
    }

    /// Opens the ranges again that were put aside for lack of progress. Returns their number. They
    /// continue after the last row that was handled. Workers that have ended since must be started
    /// again.
    ///
    /// # Errors
    /// As [`sweep`](Self::sweep).
    pub async fn redrive(&self) -> Result<usize> {
        self.started().await?.redrive().await
    }

    /// Deletes the scan's rows, if there are any. Its workers end after the pages they are handling.
    /// Workers that receive one of its messages delete it. The queues are kept.
    ///
    /// # Errors
    /// A bad id or queue name; any error of the store. The call can be repeated.
    pub async fn remove(&self) -> Result<()> {
        self.control()?.remove().await
    }
}

impl<T: ReadRow, R> DistributedScan<T, R> {
    /// Creates the queues, the scan's row and its first ranges. A scan with this id and these options
    /// that exists already is kept, and its overdue messages are sent again.
    ///
    /// # Errors
    /// [`DistributedScanError`] if an option does not fit, or another scan has this id;
    /// [`Error::TableNotFound`] without a control table; any error of the store or the queue. The call
    /// can be repeated.
    pub async fn start(&self) -> Result<()> {
        let (rules, row) = self.rules()?;
        let control = self.control()?;
        let operations = self.control.client.store().transaction_operations();
        let ranges = first_ranges(&rules, operations)?;
        for queue in [&control.queue, &control.poison_queue] {
            retry_transient(&control.random, || async { Ok(control.queues.create(queue).await?) })
                .await?;
        }
        let due = clock::after(LEASE);
        let ranges = ranges.into_iter().map(|(from, to)| {
            RangeRow::new(&control.scan, control.new_id(), &from, to.as_ref(), due)
        });
        let ranges: Vec<_> = ranges.collect();
        let partition = ScanRow::partition(&control.scan);
        let mut tries = Tries::new(&control.random);
        loop {
            let transaction = control.scans.transaction(&partition).insert(&row);
            let transaction =
                ranges.iter().fold(transaction, |transaction, range| transaction.insert(range));
            let Err(error) = transaction.commit().await else { break };
            if !may_have_changed(&error) {
                return Err(error);
            }
            match control.started().await {
                Ok(started) => {
                    started.check_queue(&self.queue)?;
                    row.check(&started)?;
                    return control.sweep().await.map(drop);
                }
                Err(Error::DistributedScan(DistributedScanError::NotStarted(_))) => {
                    tries.again(error, is_transient).await?;
                }
                Err(other) => return Err(other),
            }
        }
        for range in ranges {
            control.send(&range.range, Duration::ZERO).await?;
        }
        Ok(())
    }

    /// The checked options, for the workers and for the scan's row.
    pub(super) fn rules(&self) -> Result<(Rules, ScanRow)> {
        let mut scan = self.scan.clone();
        let pages = "give each worker its pages by `concurrency`";
        let whole = "read the first rows with `Scan::take` in one process";
        let kept = "the control table keeps the progress";
        let order = "workers handle ranges in no order; sort the outcome";
        let ways = "use `Splitter::Adaptive`, `Keys` or `Serial`";
        for (given, option, help) in [
            (scan.ordered, "ordered", order),
            (scan.limit.is_some(), "take", whole),
            (scan.checkpoint.is_some(), "checkpoint", kept),
            (scan.after.is_some(), "after", kept),
            (scan.handlers > 1, "handlers", pages),
            (scan.splitter == Splitter::Prefix, "Splitter::Prefix", ways),
        ] {
            if given {
                return Err(DistributedScanError::Option { option, help }.into());
            }
        }
        let splits = scan.splitter != Splitter::Serial;
        if !splits {
            // It begins with one range, and a worker may still have several of a scan begun otherwise.
            scan.splitter = Splitter::Adaptive;
        }
        let select = scan.selected();
        let rules = scan.rules(select, false)?;
        let row = ScanRow::new(&self.id, &self.queue, &rules, splits);
        Ok((rules, row))
    }
}

impl Control {
    /// The scan's row, if this version can read it.
    pub async fn started(&self) -> Result<ScanRow> {
        let row = retry_transient(&self.random, || async {
            let row = self.scans.load(ScanRow::partition(&self.scan).row()).await?;
            Ok(row.optional()?.map(Loaded::into_inner))
        });
        match row.await? {
            None => Err(DistributedScanError::NotStarted(self.scan.clone()).into()),
            Some(ScanRow { version: found, .. }) if found != VERSION => {
                let scan = self.scan.clone();
                Err(DistributedScanError::Version { scan, found, expected: VERSION }.into())
            }
            Some(row) => Ok(row),
        }
    }
}

impl Table {
    /// The entities of type `E` in this table.
    fn repo<E: TableEntity>(&self) -> Repo<E> {
        let TableClient { connection, table, .. } = self.client.clone();
        Repo::new(connection, table)
    }
}
