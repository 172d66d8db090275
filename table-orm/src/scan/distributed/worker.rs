//! A worker: claims ranges as messages come, reads them, and splits them for idle workers.
//!
//! Invariant: a page is noted as done after its handler has returned, and before the next page of its
//! range is read.

use super::control::Control;
use super::lease::{Lease, LeaseLost};
use super::page::{PageId, WorkPage};
use super::polling::{Polled, Polling};
use super::reader::{RangeReader, ReadPage};
use super::report::WorkerReport;
use super::retry::is_transient;
use super::rows::error_text;
use super::scan::DistributedScan;
use super::split_policy::{IdleChecks, SplitPolicy};
use crate::entity::{ReadRow, RowHead};
use crate::error::{Error, Result};
use crate::scan::engine::Shared;
use crate::sync::Random;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::fmt::Display;
use std::future::pending;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, RwLock, watch};

/// The wait of a range after its first failed page, doubled for each later one.
const FIRST_RETRY: Duration = Duration::from_secs(1);

impl<T: ReadRow + Send + 'static, R> DistributedScan<T, R> {
    /// Works on the scan until it is complete, including the ranges of other workers. Hands each page to
    /// `handle`: pages of several ranges at a time, those of one range in key order.
    ///
    /// A page is done when `handle` has returned and the control table has noted it. Before that it may
    /// be delivered again, to any worker: see [`PageId`]. If the range is lost to another worker, the
    /// future of `handle` is dropped. That happens when a handler does not await for a minute; a long
    /// handler that awaits keeps its range. Handlers run on the task that awaits this call: spawn long
    /// computations.
    ///
    /// When `handle` fails, the call releases its range, to be tried again some seconds later, and
    /// all other ranges at once, and returns the error. With
    /// [`continue_on_failure`](Self::continue_on_failure) it continues instead. A range that fails in
    /// five claims without a handled page is put aside and the others are completed;
    /// [`status`](Self::status) counts it as poisoned and shows the start of its last error's text. A
    /// table that cannot be reached does not count as a failure of the range.
    ///
    /// Dropping the future is safe: its ranges wait for at most a minute, and the pages in flight are
    /// delivered again. [`work_until`](Self::work_until) stops without either.
    ///
    /// # Errors
    /// [`DistributedScanError`](super::DistributedScanError) if an option does not fit, or the scan was
    /// not started or was started with other options; any error of `handle`; an unreadable row; any
    /// error of a store or the queue. Transient faults are retried for 15 s first.
    pub async fn work<E, F>(&self, handle: impl FnMut(WorkPage<T>) -> F) -> Result<WorkerReport, E>
    where
        E: From<Error> + Display,
        F: Future<Output = Result<(), E>>,
    {
        self.work_until(pending(), handle).await
    }

    /// Works on the scan as [`work`](Self::work) does, until `stop` is ready, as for Ctrl-C. Then it
    /// finishes the pages being handled, reads no more, and releases the ranges to other workers.
    ///
    /// # Errors
    /// As [`work`](Self::work).
    pub async fn work_until<E, F>(
        &self,
        stop: impl Future<Output = ()>,
        handle: impl FnMut(WorkPage<T>) -> F,
    ) -> Result<WorkerReport, E>
    where
        E: From<Error> + Display,
        F: Future<Output = Result<(), E>>,
    {
        let (rules, row) = self.rules()?;
        let control = self.control()?;
        let started = control.started().await?;
        started
            .check_queue(&control.queue)
            .and_then(|()| row.check(&started))
            .map_err(Error::from)?;
        let concurrency = rules.workers;
        let random = Random::seeded(control.random.next());
        let skip = self.scan.skip.clone();
        let shared =
            Shared::new(self.scan.source(), rules, self.scan.reader.read.clone(), skip, random);
        let worker = Worker {
            shared,
            splits: row.splits,
            split_policy: SplitPolicy::default(),
            continues: self.continues,
            handle: Mutex::new(handle),
            report: Mutex::default(),
            stopping: watch::Sender::new(false),
            isolation: RwLock::new(()),
            split_off: Notify::new(),
            control,
        };
        worker.run(stop, concurrency).await
    }
}

struct Worker<T, H> {
    control: Control,
    shared: Shared<T>,
    splits: bool,
    split_policy: SplitPolicy,
    continues: bool,
    handle: Mutex<H>,
    report: Mutex<WorkerReport>,
    stopping: watch::Sender<bool>,
    /// Held shared by pages that are handled side by side, and exclusively by the first page of a range
    /// that may have ended other workers.
    isolation: RwLock<()>,
    /// A message was sent that this worker may receive too.
    split_off: Notify,
}

/// What one of a worker's tasks has done.
enum Event<'a, E> {
    Polled(Polling, Result<Polled<'a>>),
    /// A range was finished, lost or released, or has failed.
    Ended(Result<(), E>),
}

/// Why a worker stops reading a range.
enum RangeFailure<E> {
    LeaseLost(LeaseLost),
    /// The error of a page, and whether it counts as a stall of the range.
    Page(E, bool),
    Stopped,
}

impl<E: From<Error>> RangeFailure<E> {
    /// The error of a read. A table that cannot be reached is no fault of the range.
    fn reading(error: Error) -> Self {
        let counts = !is_transient(&error);
        Self::Page(error.into(), counts)
    }
}

impl<E> From<LeaseLost> for RangeFailure<E> {
    fn from(gone: LeaseLost) -> Self {
        Self::LeaseLost(gone)
    }
}

impl<T, H, E, F> Worker<T, H>
where
    T: Send + 'static,
    H: FnMut(WorkPage<T>) -> F,
    E: From<Error> + Display,
    F: Future<Output = Result<(), E>>,
{
    async fn run(
        &self,
        stop: impl Future<Output = ()>,
        concurrency: usize,
    ) -> Result<WorkerReport, E> {
        let mut stop = pin!(stop);
        let mut failed = None;
        let mut leases = 0;
        let mut tasks = FuturesUnordered::new();
        let mut idle = Some(Polling::new(&self.control));
        loop {
            let stopping = *self.stopping.borrow();
            if leases < concurrency
                && !stopping
                && let Some(polling) = idle.take()
            {
                tasks.push(Either::Left(self.poll(polling)));
            }
            let event = if stopping {
                tasks.next().await
            } else {
                match select(stop.as_mut(), tasks.next()).await {
                    Either::Left(((), _)) => {
                        self.stop();
                        continue;
                    }
                    Either::Right((event, _)) => event,
                }
            };
            match event {
                None => break,
                Some(Event::Polled(polling, Ok(Polled::Leased(lease)))) => {
                    idle = Some(polling);
                    self.report().claims += 1;
                    leases += 1;
                    tasks.push(Either::Right(self.range(*lease)));
                }
                Some(Event::Polled(polling, Ok(Polled::Duplicate))) => {
                    idle = Some(polling);
                    self.report().duplicates += 1;
                }
                Some(Event::Polled(polling, Ok(Polled::Poisoned))) => {
                    idle = Some(polling);
                    self.report().poisoned += 1;
                }
                Some(Event::Polled(polling, Ok(Polled::Nothing))) => idle = Some(polling),
                Some(Event::Polled(_, Ok(Polled::Complete))) => self.report().complete = true,
                Some(Event::Polled(_, Ok(Polled::Removed))) => {}
                Some(Event::Polled(_, Err(error))) => {
                    failed.get_or_insert(error.into());
                    self.stop();
                }
                Some(Event::Ended(ended)) => {
                    leases -= 1;
                    if let Err(error) = ended {
                        failed.get_or_insert(error);
                        self.stop();
                    }
                }
            }
        }
        match failed {
            Some(error) => Err(error),
            None => {
                let read = self.shared.report();
                let (requests, throttled) = (read.requests, read.throttled);
                Ok(WorkerReport { requests, throttled, ..self.report().clone() })
            }
        }
    }

    /// Waits, then checks for a range to read.
    async fn poll(&self, mut polling: Polling) -> Event<'_, E> {
        let mut stopping = self.stopping.subscribe();
        let stopped = pin!(stopping.wait_for(|stopping| *stopping));
        polling.wait(select(stopped, pin!(self.split_off.notified()))).await;
        let polled = if *self.stopping.borrow() {
            Ok(Polled::Nothing)
        } else {
            polling.look(&self.control).await
        };
        Event::Polled(polling, polled)
    }

    /// Reads a range to its end.
    async fn range(&self, mut lease: Lease<'_>) -> Event<'_, E> {
        let ended = match self.pages(&mut lease).await {
            Ok(last) => {
                let page = last.as_ref().map(|(last, rows)| (last, *rows));
                lease.finish(page).await.map(|()| {
                    self.report().finished += 1;
                    if let Some((_, rows)) = page {
                        self.count(rows);
                    }
                })
            }
            Err(RangeFailure::LeaseLost(gone)) => Err(gone),
            Err(RangeFailure::Stopped) => lease.give_back().await,
            Err(RangeFailure::Page(error, counts)) => {
                self.report().failures += 1;
                let delay = FIRST_RETRY * (1 << lease.row.stalls.clamp(0, 5));
                let released = lease.fail(error_text(&error), counts, delay).await;
                if !self.continues {
                    return Event::Ended(Err(error));
                }
                released
            }
        };
        Event::Ended(match ended {
            Ok(()) => Ok(()),
            Err(LeaseLost::Lost) => {
                self.report().lost += 1;
                Ok(())
            }
            Err(LeaseLost::Failed(error)) => Err(error.into()),
        })
    }

    /// Handles a range's pages. Returns the last key and the rows of the last page, which is
    /// handled, and not noted yet.
    async fn pages(
        &self,
        lease: &mut Lease<'_>,
    ) -> Result<Option<(RowHead, usize)>, RangeFailure<E>> {
        let mut reader = RangeReader::new(
            &self.shared,
            &self.control.random,
            lease.row.start(),
            lease.row.end(),
        );
        let mut exclusive = None;
        if lease.is_suspicious() {
            exclusive = Some(lease.keep(self.isolation.write()).await?);
            if *self.stopping.borrow() {
                return Err(RangeFailure::Stopped);
            }
            lease.count_stall().await?;
        }
        let mut checks = IdleChecks::default();
        for page in 0_u32.. {
            let _shared = match exclusive {
                Some(_) => None,
                None => Some(lease.keep(self.isolation.read()).await?),
            };
            let read = self.unless_stopped(lease.keep(reader.next())).await??;
            let read = read.map_err(RangeFailure::reading)?;
            let Some(ReadPage { rows, first, last, is_last }) = read else { break };
            // A range that has stalled is not split until a page is handled.
            let is_first_try = lease.row.stalls <= 1;
            if self.splits && is_first_try && checks.is_due(page) && reader.is_long() {
                let split = self.share(lease, &mut reader).await?;
                checks.checked(page, split);
            }
            lease.check().await?;
            let (scan, range) = (self.control.scan.clone(), lease.row.range.clone());
            let (id, count) = (PageId { scan, range, first }, rows.len());
            let handled = {
                let page = WorkPage { id, rows, last: last.clone() };
                (self.handle.lock().unwrap_or_else(PoisonError::into_inner))(page)
            };
            lease.keep(handled).await?.map_err(|error| RangeFailure::Page(error, true))?;
            if is_last {
                return Ok(Some((last, count)));
            }
            lease.advance(&last, count).await?;
            self.count(count);
            drop(exclusive.take());
        }
        Ok(None)
    }

    /// Splits a range with enough left if no message waits for an idle worker; returns whether it did.
    async fn share(
        &self,
        lease: &mut Lease<'_>,
        reader: &mut RangeReader<'_, T>,
    ) -> Result<bool, RangeFailure<E>> {
        let waiting = self.control.has_waiting().await.map_err(LeaseLost::from)?;
        let split = lease.keep(reader.split(self.split_policy.parts(waiting)));
        let parts = self.unless_stopped(split).await??.map_err(RangeFailure::reading)?;
        if parts.is_empty() {
            return Ok(false);
        }
        lease.split(&parts).await?;
        self.report().splits += parts.len() as u64;
        self.split_off.notify_one();
        Ok(true)
    }

    /// Runs some work, or drops it when the worker stops.
    async fn unless_stopped<W: Future>(&self, work: W) -> Result<W::Output, RangeFailure<E>> {
        let mut stopping = self.stopping.subscribe();
        let stopped = pin!(stopping.wait_for(|stopping| *stopping));
        match select(stopped, pin!(work)).await {
            Either::Left(_) => Err(RangeFailure::Stopped),
            Either::Right((done, _)) => Ok(done),
        }
    }

    /// A page was handled, and noted as done.
    fn count(&self, rows: usize) {
        let mut report = self.report();
        report.pages += 1;
        report.rows += rows as u64;
    }

    fn stop(&self) {
        self.stopping.send_replace(true);
    }

    fn report(&self) -> MutexGuard<'_, WorkerReport> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
