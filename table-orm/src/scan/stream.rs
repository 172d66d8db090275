//! The rows of a scan as a stream, and its pages.

use super::place::ScanKey;
use super::report::ScanReport;
use super::run::Run;
use super::worker::Shared;
use crate::error::{Error, Result};
use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Rows of one range, in key order; never none.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanPage<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The key of the first one: names the page, for handlers that must notice a repeated one.
    pub first: ScanKey,
    /// The key of the last one.
    pub last: ScanKey,
}

/// The rows of a scan. Nothing is sent before it is polled; dropping it cancels the scan.
pub struct ScanStream<T> {
    rows: BoxStream<'static, Result<T>>,
    shared: Option<Arc<Shared<T>>>,
}

impl<T: Send + 'static> ScanStream<T> {
    pub(super) fn new(run: Result<Run<T>>) -> Self {
        let run = match run {
            Ok(run) => run,
            Err(error) => {
                return Self { rows: stream::iter([Err(error)]).boxed(), shared: None };
            }
        };
        let shared = Some(Arc::clone(&run.shared));
        let pages = stream::try_unfold(run, |mut run| async move {
            Ok::<_, Error>(run.next().await?.map(|page| (page.rows, run)))
        });
        let rows = pages.flat_map(|page| {
            let (rows, error) = match page {
                Ok(rows) => (rows, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            stream::iter(rows.into_iter().map(Ok).chain(error.map(Err)))
        });
        Self { rows: rows.boxed(), shared }
    }
}

impl<T> ScanStream<T> {
    /// The next row; `None` at the end, or after an error.
    ///
    /// # Errors
    /// When the scan cannot be started, the store fails, or a row cannot be read. The stream has
    /// ended then.
    pub async fn next(&mut self) -> Result<Option<T>> {
        self.rows.next().await.transpose()
    }

    /// What the scan has done so far.
    #[must_use]
    pub fn report(&self) -> ScanReport {
        self.shared.as_ref().map(|shared| shared.report()).unwrap_or_default()
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
        self.rows.poll_next_unpin(cx)
    }
}
