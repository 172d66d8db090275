//! A scan under way, as its consumer sees it: pages, then the end.

use super::checkpoint::Saver;
use super::place::{Place, ScanKey};
use super::range::Batch;
use super::report::ScanReport;
use super::worker::{Shared, work};
use crate::error::Result;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Invariant: a page counts as delivered when the next one is asked for, not before.
#[derive(Debug)]
pub(super) struct Run<T> {
    pub shared: Arc<Shared<T>>,
    saver: Option<Saver>,
    /// Aborted when this is dropped.
    workers: JoinSet<()>,
    phase: Phase,
    taken: Option<(Place, ScanKey)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    New,
    Started,
    Ended,
}

impl<T: Send + 'static> Run<T> {
    pub fn new(shared: Arc<Shared<T>>, saver: Option<Saver>) -> Self {
        Self { shared, saver, workers: JoinSet::new(), phase: Phase::New, taken: None }
    }

    /// The next page.
    pub async fn next(&mut self) -> Result<Option<Batch<T>>> {
        match self.phase {
            Phase::New => self.start()?,
            Phase::Started => self.settle()?,
            Phase::Ended => return Ok(None),
        }
        loop {
            {
                let mut state = self.shared.lock();
                if let Some(batch) = state.take() {
                    self.taken = Some((batch.range.clone(), batch.last.clone()));
                    drop(state);
                    self.shared.work.notify_waiters();
                    return Ok(Some(batch));
                }
                if let Some(error) = state.failed.take() {
                    state.stopped = true;
                    drop(state);
                    self.end()?;
                    return Err(error);
                }
                if state.is_over() {
                    drop(state);
                    self.end()?;
                    return Ok(None);
                }
            }
            self.shared.pages.notified().await;
        }
    }

    fn start(&mut self) -> Result<()> {
        // Without one, nothing is sent, and the next call fails alike.
        let runtime = Handle::try_current().map_err(|_| super::ScanError::NoRuntime)?;
        let rules = self.shared.rules();
        let saved = self.saver.as_ref().map(Saver::load).transpose()?.flatten();
        {
            let mut state = self.shared.lock();
            state.started = Instant::now();
            match saved {
                Some(ranges) => {
                    ranges.into_iter().for_each(|(start, end)| state.seed(start, end));
                }
                None => state.begin(),
            }
        }
        self.phase = Phase::Started;
        for _ in 0..rules.workers {
            self.workers.spawn_on(work(Arc::clone(&self.shared)), &runtime);
        }
        Ok(())
    }

    /// The consumer is done with the page it took.
    fn settle(&mut self) -> Result<()> {
        if let Some((place, last)) = self.taken.take() {
            let mut state = self.shared.lock();
            state.settle(&place, last);
            if let Some(saver) = &mut self.saver {
                saver.settled(&state)?;
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.phase = Phase::Ended;
        self.workers.abort_all();
        let mut state = self.shared.lock();
        state.report.elapsed = state.started.elapsed();
        state.stopped = true;
        self.saver.as_mut().map_or(Ok(()), |saver| Ok(saver.save(&state)?))
    }
}

impl<T> Shared<T> {
    /// What the scan has done so far.
    pub fn report(&self) -> ScanReport {
        let state = self.lock();
        let mut report = state.report.clone();
        if !state.stopped {
            report.elapsed = state.started.elapsed();
        }
        report.hot_partitions = state.limiter.hot();
        report
    }
}

/// A scan given up leaves its checkpoint, without the page its consumer has not asked beyond.
impl<T> Drop for Run<T> {
    fn drop(&mut self) {
        self.workers.abort_all();
        if self.phase == Phase::Started {
            let mut state = self.shared.lock();
            state.stopped = true;
            if let Some(saver) = &mut self.saver {
                // There is nobody to tell; the file still holds what was saved before.
                drop(saver.save(&state));
            }
        }
    }
}
