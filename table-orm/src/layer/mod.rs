//! Behaviour added to a store by wrapping it: a layer is a [`Store`] around a `Store`.
//!
//! | Layer | What it adds |
//! |---|---|
//! | `Faults` | fails on purpose, by a seed or a script (feature `testing`) |
//! | [`ConcurrencyLimit`] | limits how many requests run at once, to a number or by how long they take |
//! | [`Measure`] | counts what the calls of each access pattern need, and how long they take |
//! | `Observe` | emits spans for `tracing` and counters for `metrics` (features of those names) |
//! | [`RateLimit`] | limits how many rows a second are read and written; warms up, slows down when throttled, reports hot partitions |
//! | [`ReadFrom`] | reads from the copy of the account in another region |
//! | [`Retry`] | retries after transient faults, and finds out whether a write whose answer was lost took effect |
//! | `Throttle` | rejects what exceeds a rate, as the service does (feature `testing`) |
//!
//! The tables of an account have `ConcurrencyLimit`, `RateLimit`, `Retry` and `Observe`:
//! [`TablesBuilder`](crate::TablesBuilder). [`Tables::layer`](crate::Tables::layer) adds one above the others: a request goes through the layer
//! added last first. A layer that must see every single request, such as [`RateLimit`], is added before
//! `Retry`. A layer of your own implements [`Middleware`](crate::store::Middleware).
//!
//! Timers are tokio's: calls through a layer need a tokio runtime with its time driver.

mod counted;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod faults;
pub mod limit;
mod measure;
mod measurements;
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub mod observe;
mod pattern;
pub mod rate;
pub mod read_from;
pub mod retry;
#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests;
#[cfg(all(test, any(feature = "distributed", feature = "embedded")))]
mod writes;

pub(crate) use counted::Counted;
pub use error::LayerError;
#[cfg(any(test, feature = "testing"))]
pub use faults::{Fault, FaultBlobs, FaultStore, Faults, Throttle};
pub use limit::ConcurrencyLimit;
pub use measure::Measure;
pub use measurements::MeasuredPattern;
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub use observe::Observe;
pub use pattern::as_pattern;
pub(crate) use pattern::in_this_call;
pub use rate::{HotPartition, RateLimit};
pub use read_from::ReadFrom;
pub use retry::{Retry, RetryStrategy};
#[cfg(all(test, any(feature = "distributed", feature = "embedded")))]
pub(crate) use writes::Writes;

use crate::store::Store;
use std::sync::Arc;

/// Settings that become a store around a store. The guide shows
/// [one of an app's own](crate::guide::run::own_layer).
pub trait Layer {
    /// Puts the layer around a store.
    ///
    /// # Errors
    /// A setting is refused; a layer of your own returns [`LayerError::Custom`].
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError>;
}
