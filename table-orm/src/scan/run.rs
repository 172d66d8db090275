//! A scan under way, as its consumer sees it: pages, then the end.

use super::checkpoint::Saver;
use super::place::{Place, ScanKey};
use super::range::QueuedPage;
use super::report::ScanReport;
use super::worker::{Shared, work};
use crate::error::Result;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Invariant: a page counts as delivered when its consumer says so, in the order they were taken.
#[derive(Debug)]
pub(super) struct Run<T> {
    pub shared: Arc<Shared<T>>,
    saver: Option<Saver>,
    /// Aborted when this is dropped.
    workers: JoinSet<()>,
    phase: Phase,
    /// The ranges and last keys of the pages that the consumer is at work on, oldest first.
    taken: VecDeque<(Place, ScanKey)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    New,
    Started,
    Ended,
}

impl<T: Send + 'static> Run<T> {
    pub fn new(shared: Arc<Shared<T>>, saver: Option<Saver>) -> Self {
        let (workers, taken) = (JoinSet::new(), VecDeque::new());
        Self { shared, saver, workers, phase: Phase::New, taken }
    }

    /// The next page, for a consumer that is done with all before it.
    pub async fn next(&mut self) -> Result<Option<QueuedPage<T>>> {
        while !self.taken.is_empty() {
            self.settle().await?;
        }
        let page = self.take().await;
        if matches!(page, Ok(Some(_))) {
            return page;
        }
        let ended = self.end().await;
        page.and_then(|page| ended.map(|()| page))
    }

    /// The next page, for a consumer that may be at work on others.
    pub async fn take(&mut self) -> Result<Option<QueuedPage<T>>> {
        match self.phase {
            Phase::New => self.start().await?,
            Phase::Started => {}
            Phase::Ended => return Ok(None),
        }
        loop {
            {
                let mut state = self.shared.lock();
                if let Some(batch) = state.take() {
                    self.taken.push_back((batch.range.clone(), batch.last.clone()));
                    drop(state);
                    self.shared.work.notify_waiters();
                    return Ok(Some(batch));
                }
                if let Some(error) = state.failed.take() {
                    state.stopped = true;
                    return Err(error);
                }
                if state.is_over() {
                    return Ok(None);
                }
            }
            self.shared.pages.notified().await;
        }
    }

    async fn start(&mut self) -> Result<()> {
        // Without one, nothing is sent, and the next call fails alike.
        let runtime = Handle::try_current().map_err(|_| super::ScanError::NoRuntime)?;
        let rules = self.shared.rules();
        let saved = match &mut self.saver {
            Some(saver) => saver.load().await?,
            None => None,
        };
        let is_new = saved.is_none();
        {
            let mut state = self.shared.lock();
            state.started = Instant::now();
            match saved {
                Some(ranges) => {
                    state.report.already_complete = ranges.is_empty();
                    ranges.into_iter().for_each(|(start, end)| state.seed(start, end));
                }
                None => state.begin(),
            }
        }
        if is_new && let Some(saver) = &mut self.saver {
            saver.save(&self.shared).await?;
        }
        self.phase = Phase::Started;
        for _ in 0..rules.workers {
            self.workers.spawn_on(work(Arc::clone(&self.shared)), &runtime);
        }
        Ok(())
    }

    /// The consumer is done with the oldest page it took.
    pub async fn settle(&mut self) -> Result<()> {
        let Some((place, last)) = self.taken.pop_front() else { return Ok(()) };
        self.shared.lock().settle(&place, last);
        let Some(saver) = &mut self.saver else { return Ok(()) };
        if saver.is_due() { saver.save(&self.shared).await } else { Ok(()) }
    }

    /// Stops the workers, and saves what is left to read.
    pub async fn end(&mut self) -> Result<()> {
        if self.phase != Phase::Started {
            return Ok(());
        }
        self.phase = Phase::Ended;
        self.stop();
        match &mut self.saver {
            Some(saver) => saver.save(&self.shared).await,
            None => Ok(()),
        }
    }
}

impl<T> Run<T> {
    fn stop(&mut self) {
        self.workers.abort_all();
        let mut state = self.shared.lock();
        state.report.elapsed = state.started.elapsed();
        state.stopped = true;
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

/// A scan given up leaves its checkpoint file, without the pages its consumer was at work on.
impl<T> Drop for Run<T> {
    fn drop(&mut self) {
        self.workers.abort_all();
        if self.phase == Phase::Started {
            self.stop();
            if let Some(saver) = &mut self.saver {
                saver.give_up(&self.shared);
            }
        }
    }
}
