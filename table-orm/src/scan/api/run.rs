//! A running scan, as its consumer sees it: pages, then the end.

use crate::entity::RowHead;
use crate::error::{Result, ScanError};
use crate::layer::in_this_call;
use crate::scan::checkpoint::Saver;
use crate::scan::engine::{Position, QueuedPage, Shared, work};
use futures_util::FutureExt as _;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::task::{JoinSet, yield_now};

/// A running scan.
///
/// Invariant: a page counts as delivered when its consumer says so. Pages are settled in the order they
/// were taken.
#[derive(Debug)]
pub(super) struct ScanRun<T> {
    pub shared: Arc<Shared<T>>,
    saver: Option<Saver>,
    /// Aborted when this is dropped.
    workers: JoinSet<()>,
    phase: RunPhase,
    /// The ranges and last keys of the pages that the consumer works on, oldest first.
    taken: VecDeque<(Position, RowHead)>,
}

#[derive(Debug, PartialEq, Eq)]
enum RunPhase {
    New,
    Started,
    Ended,
}

impl<T: Send + 'static> ScanRun<T> {
    pub fn new(shared: Arc<Shared<T>>, saver: Option<Saver>) -> Self {
        let (workers, taken) = (JoinSet::new(), VecDeque::new());
        Self { shared, saver, workers, phase: RunPhase::New, taken }
    }

    /// The next page, for a consumer that is done with all earlier ones.
    pub async fn next(&mut self) -> Result<Option<QueuedPage<T>>> {
        // Pages of a local file are read ahead of the consumer, so nothing else would let a task beside it run.
        if self.phase == RunPhase::Started {
            yield_now().await;
        }
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

    /// The next page, for a consumer that may still work on others.
    pub async fn take(&mut self) -> Result<Option<QueuedPage<T>>> {
        match self.phase {
            RunPhase::New => self.start().await?,
            RunPhase::Started => {}
            RunPhase::Ended => return Ok(None),
        }
        loop {
            {
                let mut state = self.shared.lock();
                if let Some(page) = state.take() {
                    self.taken.push_back((page.range.clone(), page.last.clone()));
                    drop(state);
                    self.shared.work.notify_waiters();
                    return Ok(Some(page));
                }
                if let Some(error) = state.take_error() {
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
        // Without a runtime nothing is sent, and the next call fails in the same way.
        let runtime = Handle::try_current().map_err(|_| ScanError::NoRuntime)?;
        let saved = match &mut self.saver {
            Some(saver) => saver.load().await?,
            None => None,
        };
        let is_new = saved.is_none();
        self.shared.lock().start(saved);
        if is_new && let Some(saver) = &mut self.saver {
            saver.save(&self.shared).await?;
        }
        self.phase = RunPhase::Started;
        for _ in 0..self.shared.rules.workers {
            let worker = work(Arc::clone(&self.shared)).boxed();
            self.workers.spawn_on(in_this_call(worker), &runtime);
        }
        Ok(())
    }

    /// The consumer is done with the oldest page it took.
    pub async fn settle(&mut self) -> Result<()> {
        let Some((start, last)) = self.taken.pop_front() else { return Ok(()) };
        self.shared.lock().settle(&start, last);
        let Some(saver) = &mut self.saver else { return Ok(()) };
        if saver.is_due() { saver.save(&self.shared).await } else { Ok(()) }
    }

    /// Stops the workers, waits until none of them holds the store any more, and saves what is left to read.
    pub async fn end(&mut self) -> Result<()> {
        if self.phase != RunPhase::Started {
            return Ok(());
        }
        self.phase = RunPhase::Ended;
        self.stop();
        while self.workers.join_next().await.is_some() {}
        match &mut self.saver {
            Some(saver) => saver.save(&self.shared).await,
            None => Ok(()),
        }
    }
}

impl<T> ScanRun<T> {
    fn stop(&mut self) {
        self.workers.abort_all();
        self.shared.lock().stop();
    }
}

/// A dropped scan saves its checkpoint file. The pages that its consumer worked on are not done.
impl<T> Drop for ScanRun<T> {
    fn drop(&mut self) {
        self.workers.abort_all();
        if self.phase == RunPhase::Started {
            self.stop();
            if let Some(saver) = &mut self.saver {
                saver.give_up(&self.shared);
            }
        }
    }
}
