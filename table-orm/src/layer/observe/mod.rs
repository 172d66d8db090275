//! Reports what calls do: spans for `tracing`, counters for `metrics`, each with the feature of that
//! name. As the last layer it sees calls as the app makes them, retries and waits included.
//!
//! The names and values are those of OpenTelemetry's semantic conventions 1.44 for database clients, where
//! these define one. Keys and values are never reported: they may be personal.
//!
//! # Spans
//!
//! One span for each call, named `table_orm.call`, at level INFO, in the target `table_orm`. Fields that
//! a sampler may need are set when the span begins: those above the line in the table.
//!
//! | Field | What it is |
//! |---|---|
//! | `otel.name` | the name of the exported span: `db.query.summary`, else operation and table, such as `insert people` |
//! | `otel.kind` | `client`; `internal` for a store in this process |
//! | `db.system.name` | `azure.table`, `azure.cosmosdb`, `table_orm.embedded`, or what a store's [`Backend`] says |
//! | `db.namespace` | the account |
//! | `server.address`, `server.port` | the host, and its port unless that is 443 |
//! | `db.collection.name` | the table |
//! | `db.operation.name` | `get`, `query`, `create_table`, `delete_table`, `list_tables`, or the name of a single write, such as `insert-or-merge`. For a transaction of several operations `BATCH`, and the name that all of them share: `BATCH insert` |
//! | `db.operation.batch.size` | the operations of a transaction, if there are two or more |
//! | `db.query.summary` | the access pattern of a read: `get`, `list` (in one partition) or `scan`, the table and, unless it is the canonical one, the kind of row: `list registrations.by_age` |
//! | `db.query.text` | the condition on keys and properties, with `?` for each value |
//! | `table_orm.pattern` | the access pattern that the app names with [`as_pattern`](super::as_pattern) |
//! | `table_orm.query.class` | point query, row range query, and so on |
//! | `table_orm.bytes.sent` | the bytes of rows |
//! | | |
//! | `otel.status_code` | `ERROR` for a failure. A `get` that finds no row is no failure |
//! | `error.type` | the service's code of a failure, or this crate's where no answer came, such as `NoAnswer` |
//! | `db.response.status_code` | the HTTP status of a failure as text; absent when no answer came |
//! | `db.response.returned_rows` | rows returned |
//! | `azure.service.request.id` | the service's id of the last request, for its support |
//! | `table_orm.from_secondary` | `true` when the copy in another region answered, which is not at `server.address` |
//! | `table_orm.rows.scanned` | rows looked at, if the store reports it |
//! | `table_orm.requests` | requests sent, including retries and rows read back |
//! | `table_orm.retries` | requests after the first |
//! | `table_orm.throttles` | 429 and 503 answers |
//! | `table_orm.bytes.received` | the bytes of rows |
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
//! # Metrics
//!
//! The histogram `db.client.operation.duration`, in seconds, has the labels `db.system.name`,
//! `db.operation.name` and, where the span has them, `db.collection.name`, `db.namespace`,
//! `db.query.summary`, `table_orm.pattern`, `db.response.status_code`, `error.type`, `server.address` and
//! `server.port`.
//! Give your exporter its buckets: [`DURATION_BUCKETS`].
//!
//! The counters `table_orm.calls`, `table_orm.errors`, `table_orm.requests`, `table_orm.retries`,
//! `table_orm.throttles`, `table_orm.rows.returned`, `table_orm.rows.scanned`, `table_orm.bytes.sent` and
//! `table_orm.bytes.received` have the labels `table` and `operation`, and `pattern` where the app names it.
//! `operation` is `db.operation.name`, except for a transaction: there it is `commit`, whatever the transaction does.

mod call;
#[cfg(feature = "metrics")]
mod counters;
mod done;
#[cfg(feature = "tracing")]
mod spans;

use super::{Layer, LayerError};
use crate::store::tally::{Tally, counting};
use crate::store::{Backend, Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use done::Done;
pub use done::MIN_SCANNED_ROWS;
use std::future::Future;
use std::sync::Arc;
#[cfg(feature = "metrics")]
use std::sync::Once;

/// The upper bounds, in seconds, of the buckets of `db.client.operation.duration` that the conventions
/// name.
pub const DURATION_BUCKETS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

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
        Ok(Arc::new(Observed {
            backend: store.backend(),
            store,
            #[cfg(feature = "metrics")]
            described: Once::new(),
        }))
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
struct Observed {
    store: Arc<dyn Store>,
    backend: Backend,
    /// Recorders may be installed after the layer, so the first call describes the histogram to them.
    #[cfg(feature = "metrics")]
    described: Once,
}

impl Middleware for Observed {
    fn inner(&self) -> &dyn Store {
        &*self.store
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
        let span = spans::open(&self.backend, &request);
        #[cfg(feature = "tracing")]
        let call = tracing::Instrument::instrument(call, span.clone());
        let answer = call.await;
        let time = start.elapsed();
        let done = Done::new(&tally, &answer);
        #[cfg(feature = "tracing")]
        spans::close(&span, &done, time);
        #[cfg(feature = "metrics")]
        {
            self.described.call_once(counters::describe);
            counters::count(&self.backend, &request, &done, time);
        }
        answer
    }
}
