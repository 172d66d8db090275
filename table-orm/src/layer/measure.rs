//! What the calls of an app's access patterns need, counted while they run.
//!
//! Invariants:
//! - A request counts for the pattern of the task that sends it, whether or not it succeeds. Without a pattern it
//!   counts for none.
//! - A call counts when it has returned, in the `Measure` that saw its first request.

use super::measurements::{MeasuredPattern, Measurements};
use super::pattern::measured_in;
use super::{Layer, LayerError};
use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use std::sync::Arc;

/// Measures the calls that the app makes [`as_pattern`](super::as_pattern): how many there are, their requests, rows
/// and bytes, and how long they take. [`Book::measured`](crate::book::Book::measured) shows them beside what was planned.
///
/// Clones share what they measure. Add the layer above the retries, as [`Tables::layer`](crate::Tables::layer)
/// does: then a request that is tried again counts once. Work that other tasks do for a call is not counted,
/// such as bringing rows in other partitions in step. Memory is about 32 KiB for each pattern.
///
/// ```
/// use table_orm::layer::{Measure, as_pattern};
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, PartialEq, TableEntity)]
/// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
/// # struct Track { album: String, number: u8, title: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// let measure = Measure::new();
/// let tracks = Tables::in_memory()?.layer(measure.clone())?.repo::<Track>();
/// # tracks.create_table().await?;
/// for number in 1..=3 {
///     let track = Track { album: "Blue".into(), number, title: "-".into() };
///     as_pattern("a new track", tracks.insert(&track)).await?;
/// }
/// let [inserts] = &measure.patterns()[..] else { panic!("one pattern") };
/// assert_eq!((inserts.name, inserts.calls, inserts.rows_written), ("a new track", 3, 3));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Measure(Arc<Measurements>);

impl Measure {
    /// Has measured nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what was measured until now, by the patterns' names.
    #[must_use]
    pub fn patterns(&self) -> Vec<MeasuredPattern> {
        self.0.patterns()
    }
}

impl Layer for Measure {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(MeasuringStore { inner: store, measurements: self.0 }))
    }
}

#[derive(Debug)]
struct MeasuringStore {
    inner: Arc<dyn Store>,
    measurements: Arc<Measurements>,
}

impl Middleware for MeasuringStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let Some(pattern) = measured_in(&self.measurements) else { return next.await };
        self.measurements.sent(pattern, request.bytes);
        let answer = next.await?;
        let counts = match answer.rows_returned() {
            Some(rows) => [rows, 0, answer.bytes()],
            None => [0, request.entities, 0],
        };
        self.measurements.answered(pattern, counts);
        Ok(answer)
    }
}
