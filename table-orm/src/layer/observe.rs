//! Reports what calls do: spans for `tracing`, counters for `metrics`, each with the feature of that
//! name. As the last layer it sees calls as the app makes them, retries and waits included.
//!
//! # Spans
//!
//! One span for each call, named `table_orm.call`, at level INFO, in the target `table_orm`.
//! Fields follow OpenTelemetry's conventions for database clients where these define a name:
//!
//! | Field | What it is |
//! |---|---|
//! | `otel.kind` | `client` |
//! | `db.system.name` | `azure.table` |
//! | `db.collection.name` | the table |
//! | `db.operation.name` | `get`, `query`, `commit`, `create_table`, `delete_table`, `list_tables`, or the name of a single write, such as `insert-or-merge` |
//! | `db.operation.batch.size` | the operations of a `commit` |
//! | `db.response.returned_rows` | rows returned |
//! | `db.response.status_code` | the HTTP status of a failure, 0 when no answer came |
//! | `error.type` | the service's code of a failure |
//! | `table_orm.query.class` | point query, row range query, and so on |
//! | `table_orm.rows.scanned` | rows looked at, if the store reports it |
//! | `table_orm.requests` | requests sent, including retries and rows read back |
//! | `table_orm.retries` | requests after the first |
//! | `table_orm.throttles` | 429 and 503 answers |
//! | `table_orm.bytes.sent`, `table_orm.bytes.received` | the bytes of rows |
//!
//! Keys and values are never reported: they may be personal.
//!
//! # Events
//!
//! One event at the end of each call, in the same target and inside its span, so that a subscriber
//! that prints events shows what every call did. A call that is dropped has none. It is at level INFO,
//! and has one field of its own beside those of the span: `db.client.operation.duration`, the seconds
//! that the call took.
//!
//! A page that returns less than a tenth of at least [`MIN_SCANNED_ROWS`] rows looked at gets its event
//! at level WARN, with `db.response.returned_rows` and `table_orm.rows.scanned`: its query filters on a
//! property where it should use a key. This needs a store that reports how many rows it looked at; the
//! embedded store does, the service does not.
//!
//! # Counters
//!
//! `table_orm.calls`, `table_orm.errors`, `table_orm.requests`, `table_orm.retries`,
//! `table_orm.throttles`, `table_orm.rows.returned`, `table_orm.rows.scanned`,
//! `table_orm.bytes.sent`, `table_orm.bytes.received`, and the histogram
//! `db.client.operation.duration` in seconds; each with the labels `table` and `operation`.

use super::tally::{Tally, counting};
use super::{Layer, LayerError};
use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use std::future::Future;
use std::sync::Arc;

/// The fewest rows looked at from which a page can get a warning.
pub const MIN_SCANNED_ROWS: usize = 20;

/// Reports what calls do. The [module](self) lists the names.
///
/// ```
/// use table_orm::Tables;
/// use table_orm::layer::{Observe, Retry};
///
/// # fn run() -> table_orm::Result<()> {
/// let tables = Tables::in_memory()?.layer(Retry::interactive())?.layer(Observe)?;
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Observe;

impl Layer for Observe {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(Observed(store)))
    }
}

/// What a call did.
struct Done<'c> {
    requests: u64,
    throttles: u64,
    returned: Option<usize>,
    scanned: Option<usize>,
    received: usize,
    error: Option<&'c StoreError>,
}

impl<'c> Done<'c> {
    fn new<T: StoreAnswer>(tally: &Tally, answer: &'c Result<T, StoreError>) -> Self {
        let given = answer.as_ref().ok();
        let throttled = answer.as_ref().err().is_some_and(StoreError::is_throttling);
        Self {
            requests: tally.requests(),
            // If no layer below counts them, the answer does.
            throttles: tally.throttles().max(throttled.into()),
            returned: given.and_then(StoreAnswer::rows_returned),
            scanned: given.and_then(StoreAnswer::rows_scanned),
            received: given.map_or(0, StoreAnswer::bytes),
            error: answer.as_ref().err(),
        }
    }

    /// The rows returned and looked at, when these are less than a tenth.
    #[cfg(feature = "tracing")]
    fn sparse(&self) -> Option<(usize, usize)> {
        let (returned, scanned) = (self.returned?, self.scanned?);
        let sparse = scanned >= MIN_SCANNED_ROWS && returned.saturating_mul(10) < scanned;
        sparse.then_some((returned, scanned))
    }
}

/// Whether anybody may want to know. A recorder of metrics cannot be asked; without one, and without a
/// subscriber, a call costs one comparison.
fn is_observed() -> bool {
    #[cfg(feature = "tracing")]
    let is_traced = tracing::enabled!(target: "table_orm", tracing::Level::WARN);
    #[cfg(not(feature = "tracing"))]
    let is_traced = false;
    cfg!(feature = "metrics") || is_traced
}

#[derive(Debug)]
struct Observed(Arc<dyn Store>);

impl Middleware for Observed {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if !is_observed() {
            return next.await;
        }
        let tally = Arc::new(Tally::default());
        let call = counting(Arc::clone(&tally), next);
        let start = tokio::time::Instant::now();
        #[cfg(feature = "tracing")]
        let span = spans::open(&request);
        #[cfg(feature = "tracing")]
        let call = tracing::Instrument::instrument(call, span.clone());
        let answer = call.await;
        let done = Done::new(&tally, &answer);
        #[cfg(feature = "tracing")]
        spans::close(&span, &done, start.elapsed());
        #[cfg(feature = "metrics")]
        counters::count(&request, &done, start.elapsed());
        answer
    }
}

#[cfg(feature = "tracing")]
mod spans {
    use super::{Done, StoreRequest};
    use std::time::Duration;
    use tracing::Span;
    use tracing::field::{Empty, display};

    pub(super) fn open(request: &StoreRequest<'_>) -> Span {
        let span = tracing::info_span!(
            target: "table_orm",
            "table_orm.call",
            otel.kind = "client",
            db.system.name = "azure.table",
            db.collection.name = Empty,
            db.operation.name = request.operation,
            db.operation.batch.size = Empty,
            db.response.returned_rows = Empty,
            db.response.status_code = Empty,
            error.type = Empty,
            table_orm.query.class = Empty,
            table_orm.rows.scanned = Empty,
            table_orm.requests = Empty,
            table_orm.retries = Empty,
            table_orm.throttles = Empty,
            table_orm.bytes.sent = request.bytes,
            table_orm.bytes.received = Empty,
        );
        if let Some(table) = request.table {
            span.record("db.collection.name", table.as_str());
        }
        if let Some(class) = request.class {
            span.record("table_orm.query.class", display(class));
        }
        if request.operation == "commit" {
            span.record("db.operation.batch.size", request.entities);
        }
        span
    }

    pub(super) fn close(span: &Span, done: &Done<'_>, time: Duration) {
        span.record("table_orm.requests", done.requests);
        span.record("table_orm.retries", done.requests - 1);
        span.record("table_orm.throttles", done.throttles);
        span.record("table_orm.bytes.received", done.received);
        if let Some(returned) = done.returned {
            span.record("db.response.returned_rows", returned);
        }
        if let Some(scanned) = done.scanned {
            span.record("table_orm.rows.scanned", scanned);
        }
        if let Some(error) = done.error {
            span.record("db.response.status_code", error.status);
            span.record("error.type", error.code.as_str());
        }
        if let Some((returned, scanned)) = done.sparse() {
            tracing::event!(
                target: "table_orm",
                parent: span,
                tracing::Level::WARN,
                db.client.operation.duration = time.as_secs_f64(),
                db.response.returned_rows = returned,
                table_orm.rows.scanned = scanned,
                "the page returns less than a tenth of the rows looked at; query by a key instead of a filter"
            );
        } else {
            tracing::event!(
                target: "table_orm",
                parent: span,
                tracing::Level::INFO,
                db.client.operation.duration = time.as_secs_f64(),
                "the call ended"
            );
        }
    }
}

#[cfg(feature = "metrics")]
mod counters {
    use super::{Done, StoreRequest};
    use crate::model::TableName;
    use std::time::Duration;

    pub(super) fn count(request: &StoreRequest<'_>, done: &Done<'_>, time: Duration) {
        let table = request.table.map_or("", TableName::as_str);
        let labels = [("table", table.to_owned()), ("operation", request.operation.to_owned())];
        let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        metrics::counter!("table_orm.calls", &labels).increment(1);
        metrics::counter!("table_orm.errors", &labels).increment(done.error.is_some().into());
        metrics::counter!("table_orm.requests", &labels).increment(done.requests);
        metrics::counter!("table_orm.retries", &labels).increment(done.requests - 1);
        metrics::counter!("table_orm.throttles", &labels).increment(done.throttles);
        metrics::counter!("table_orm.rows.returned", &labels)
            .increment(wide(done.returned.unwrap_or_default()));
        metrics::counter!("table_orm.rows.scanned", &labels)
            .increment(wide(done.scanned.unwrap_or_default()));
        metrics::counter!("table_orm.bytes.sent", &labels).increment(wide(request.bytes));
        metrics::counter!("table_orm.bytes.received", &labels).increment(wide(done.received));
        metrics::histogram!("db.client.operation.duration", &labels).record(time);
    }
}
