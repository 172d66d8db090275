//! A worker: takes a range, reads it page by page to its end, then takes or steals the next.

use super::fetch::fetch;
use super::page_keys::PageKeys;
use super::position::Position;
use super::shared::Shared;
use super::state::{Admission, NextTask};
use crate::error::{Result, ScanError};
use std::mem;
use std::sync::Arc;

/// Works until nothing is left. An error ends the scan.
pub(in crate::scan) async fn work<T: Send>(shared: Arc<Shared<T>>) {
    let mut lost = Lost(Some(Arc::clone(&shared)));
    if let Err(error) = ranges(&shared).await {
        shared.lock().delivery.failed.get_or_insert(error);
    }
    lost.0 = None;
    shared.wake();
}

/// Ends the scan when a worker is lost, as by a panic in reading a row.
struct Lost<T>(Option<Arc<Shared<T>>>);

impl<T> Drop for Lost<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.lock().delivery.failed.get_or_insert(ScanError::WorkerLost.into());
            shared.wake();
        }
    }
}

async fn ranges<T: Send>(shared: &Shared<T>) -> Result<()> {
    loop {
        shared.lock().ranges.idle += 1;
        let next = shared.wait(|state| match state.next() {
            NextTask::Read(start) => Some(Some(start)),
            NextTask::End => Some(None),
            NextTask::Wait => None,
        });
        let Some(mut start) = next.await else { return Ok(()) };
        if !shared.lock().ranges.ready.is_empty() {
            shared.work.notify_waiters();
        }
        while let Some(then) = page(shared, &start).await? {
            start = then;
        }
    }
}

/// Reads one page of a range; returns the range to read next.
async fn page<T: Send>(shared: &Shared<T>, start: &Position) -> Result<Option<Position>> {
    let admitted = shared.wait(|state| match state.admit(start) {
        Admission::Go(request, partition) => Some(Some((request, partition))),
        Admission::Park => Some(None),
        Admission::Wait => None,
    });
    let Some((request, partition)) = admitted.await else {
        shared.wake();
        return Ok(None);
    };
    let page = fetch(shared, &request, partition.as_deref()).await?;
    let mut read = shared.read.page(&shared.source.own(), &page.body)?;
    let keys = PageKeys::new(&page.body, mem::take(&mut read.texts), read.unread());
    let committed = {
        let mut state = shared.lock();
        state.answered(partition.as_deref(), keys.len());
        state.commit(start, &keys, page.continuation)?
    };
    let bytes = page.body.len() + read.extra_bytes;
    let rows = read.first(committed.keep, usize::MAX, shared.skip.as_ref())?;
    let then = {
        let mut state = shared.lock();
        state.push(start, &committed, rows, bytes);
        if committed.ended { committed.then } else { Some(start.clone()) }
    };
    shared.wake();
    Ok(then)
}
