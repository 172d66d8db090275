//! The rows of a scan as a stream, and its pages.

use super::run::ScanRun;
use super::scan::Scan;
use crate::entity::{ReadRow, RowHead};
use crate::error::{Error, Result};
use crate::repo::until_error;
use crate::scan::engine::{QueuedPage, ScanReport};
use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::{fmt, iter};

/// Rows of one range, in key order. It is empty only if
/// [`skip_unreadable`](crate::scan::Scan::skip_unreadable) has left all of them out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanPage<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The key of the first row, left out or not. Handlers can recognize a repeated page by it.
    pub first: RowHead,
    /// The key of the last row.
    pub last: RowHead,
}

/// A stream of the rows of a scan, or of its pages. Sends nothing before the first poll. Dropping it
/// cancels the scan.
pub struct ScanStream<T> {
    items: BoxStream<'static, Result<T>>,
    report: Report,
}

/// What a scan has done so far.
type Report = Box<dyn Fn() -> ScanReport + Send + Sync>;

impl<T: ReadRow + Send + 'static> ScanStream<T> {
    /// The rows of several scans. Each starts when the one before has ended, and none after an error.
    pub(crate) fn one_after_another<R: 'static>(scans: Vec<Scan<T, R>>) -> Self {
        let reports = Arc::new(Mutex::new(Vec::<Report>::new()));
        let started = Arc::clone(&reports);
        let rows = stream::iter(scans).flat_map(move |scan| {
            let Self { items, report } = scan.stream();
            started.lock().unwrap_or_else(PoisonError::into_inner).push(report);
            items
        });
        let report = move || {
            let reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
            reports.iter().map(|report| report()).reduce(ScanReport::plus).unwrap_or_default()
        };
        Self { items: until_error(rows).boxed(), report: Box::new(report) }
    }

    /// A stream that fails before it sends anything.
    pub(crate) fn failed(error: Error) -> Self {
        Self { items: stream::iter([Err(error)]).boxed(), report: Box::new(ScanReport::default) }
    }
}

impl<T: Send + 'static> ScanStream<T> {
    pub(super) fn rows(run: Result<ScanRun<T>>) -> Self {
        Self::of(run, |page| page.rows.into_iter())
    }

    fn of<R, I>(run: Result<ScanRun<R>>, items: fn(QueuedPage<R>) -> I) -> Self
    where
        R: Send + 'static,
        I: Iterator<Item = T> + Send + 'static,
    {
        let run = match run {
            Ok(run) => run,
            Err(error) => {
                let items = stream::iter([Err(error)]).boxed();
                return Self { items, report: Box::new(ScanReport::default) };
            }
        };
        let shared = Arc::clone(&run.shared);
        let pages = stream::try_unfold(run, |mut run| async move {
            Ok::<_, Error>(run.next().await?.map(|page| (page, run)))
        });
        let items = pages.flat_map(move |page| {
            let (items, error) = match page {
                Ok(page) => (Some(items(page)), None),
                Err(error) => (None, Some(error)),
            };
            stream::iter(items.into_iter().flatten().map(Ok).chain(error.map(Err)))
        });
        Self { items: items.boxed(), report: Box::new(move || shared.report()) }
    }
}

impl<T: Send + 'static> ScanStream<ScanPage<T>> {
    pub(super) fn pages(run: Result<ScanRun<T>>) -> Self {
        Self::of(run, |page| iter::once(page.into()))
    }
}

impl<T> From<QueuedPage<T>> for ScanPage<T> {
    fn from(page: QueuedPage<T>) -> Self {
        let QueuedPage { rows, first, last, .. } = page;
        Self { rows, first, last }
    }
}

impl<T> ScanStream<T> {
    /// Returns the next row or page; `None` at the end, and after an error.
    ///
    /// # Errors
    /// [`Error::Scan`](crate::Error::Scan) if the scan cannot start; an unreadable row; any error of
    /// the store. The stream then ends.
    pub async fn next(&mut self) -> Result<Option<T>> {
        self.items.next().await.transpose()
    }

    /// Reports what the scan has done so far.
    #[must_use]
    pub fn report(&self) -> ScanReport {
        (self.report)()
    }
}

impl<T> fmt::Debug for ScanStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanStream").finish_non_exhaustive()
    }
}

impl<T> Stream for ScanStream<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.poll_next_unpin(cx)
    }
}
