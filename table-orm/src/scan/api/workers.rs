//! Queries of one partition that several workers read at once.

use super::scan::Scan;
use super::stream::ScanStream;
use crate::entity::{FromRow, OwnRows, ReadRow as _, Row};
use crate::error::Result;
use crate::query::{RowQuery, ScanPermit, Span};
use crate::repo::{List, ListParts};
use crate::scan::engine::Alive;
use std::marker::PhantomData;
use std::sync::Arc;

impl<R: Row, C, T: FromRow<R>> List<R, C, T> {
    /// Reads the rows by that many workers at once, 1 to [`MAX_CONCURRENCY`](super::MAX_CONCURRENCY), and
    /// returns them in key order: for queries of tens of thousands of rows.
    ///
    /// The workers divide the range of keys at keys guessed from those seen, as those of a
    /// [scan](crate::scan) do, and after a 503 keep to the rate that the service sustains. The answer is that
    /// of one worker, in less time. It takes up to 1.5 times as many requests, and one partition
    /// answers about 2,000 rows a second on the service, however many workers ask. With a
    /// [`take`](Self::take), one worker reads page after page, so that nothing is read beyond it.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
    /// # struct Reading { sensor: String, minute: u32, celsius: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// # for minute in 0..5 {
    /// #     readings.insert(&Reading { sensor: "roof".into(), minute, celsius: 20.0 }).await?;
    /// # }
    /// let mut rows = readings.list(Reading::partition("roof")).workers(8).stream();
    /// let mut minutes = Vec::new();
    /// while let Some(reading) = rows.next().await? {
    ///     minutes.push(reading.minute);
    /// }
    /// assert_eq!(minutes, [0, 1, 2, 3, 4]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn workers(self, workers: usize) -> ListByWorkers<R, T> {
        let ListParts { client, query, limit, skip } = self.into_parts();
        let rows = (R::Entity::NAME, const { OwnRows::of::<R>() });
        // The query is of one partition, so nobody needs to permit it.
        let permit = ScanPermit::because("a query of one partition");
        let store = Arc::clone(&client.connection.store);
        // That of rows in other partitions may be another one.
        let table = query.as_ref().map_or(&client.table, |query| &query.table).clone();
        let mut scan = Scan::<T, R>::with(store, table, rows, Span::All, &permit);
        scan.query =
            query.map(|query| RowQuery { metadata: T::METADATA, self_paced: true, ..query });
        (scan.limit, scan.skip, scan.alive) = (limit, skip, Alive::of(&client));
        ListByWorkers { scan: scan.ordered(true).concurrency(workers), read: PhantomData }
    }
}

/// A query of rows of kind `R` that several workers read as `T`.
#[must_use = "nothing is sent until `stream` or `collect`"]
#[derive(Debug)]
pub struct ListByWorkers<R, T> {
    scan: Scan<T, R>,
    read: PhantomData<fn() -> (R, T)>,
}

impl<R: Row, T: FromRow<R> + Send + 'static> ListByWorkers<R, T> {
    /// Limits the pages in memory to that many bytes, 64 MiB by default.
    pub fn buffer(self, bytes: usize) -> Self {
        Self { scan: self.scan.buffer(bytes), ..self }
    }

    /// Makes the random waits after a 503 those of a seed.
    #[cfg(any(test, feature = "testing"))]
    pub fn seed(self, seed: u64) -> Self {
        Self { scan: self.scan.seed(seed), ..self }
    }

    /// Returns the rows one after another, in key order. Dropping the stream ends all requests.
    ///
    /// The first row fails with [`Error::Scan`](crate::Error::Scan) if the number of workers is not 1 to
    /// [`MAX_CONCURRENCY`](super::MAX_CONCURRENCY), or no tokio runtime runs.
    #[must_use]
    pub fn stream(self) -> ScanStream<T> {
        self.scan.stream()
    }

    /// Reads all rows, in key order.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, the store rejects a request, or a row cannot be
    /// read; [`Error::Scan`](crate::Error::Scan) as [`stream`](Self::stream).
    pub async fn collect(self) -> Result<Vec<T>> {
        self.scan.collect().await
    }
}
