//! Behaviour added to a store by wrapping it: a layer is a [`Store`] around a `Store`.
//!
//! | Layer | What it adds |
//! |---|---|
//! | `Faults` | fails on purpose, by a seed (by the feature `testing`) |
//! | [`Limit`] | bounds how many requests are under way at once |
//! | `Observe` | spans for `tracing`, counters for `metrics` (by the features of those names) |
//! | [`Rate`] | bounds how many entities a second are read and written; slows down when throttled |
//! | [`Retry`] | tries again after faults that pass, and finds out what became of a write whose answer was lost |
//!
//! [`Tables::layer`](crate::Tables::layer) adds one. Requests pass the layer added last first.
//! What must see every single request stands next to the store, below `Retry`.
//!
//! Timers are tokio's: calls through a layer need a tokio runtime with its time driver.

mod error;
#[cfg(any(test, feature = "testing"))]
pub mod faults;
pub mod limit;
mod middleware;
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub mod observe;
pub mod rate;
pub mod retry;
mod tally;
#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests;
#[cfg(all(test, feature = "distributed"))]
mod writes;

pub use error::LayerError;
#[cfg(any(test, feature = "testing"))]
pub use faults::{FaultStore, Faults};
pub use limit::Limit;
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub use observe::Observe;
pub use rate::Rate;
pub use retry::{Retry, Strategy};
#[cfg(all(test, feature = "distributed"))]
pub(crate) use writes::Writes;

use crate::store::Store;
use std::sync::Arc;

/// Settings that become a store around a store. The guide shows
/// [one of an app's own](crate::guide::faults#a-layer-of-your-own).
pub trait Layer {
    /// Puts the layer around a store.
    ///
    /// # Errors
    /// When a setting makes no sense; a layer of an app's own says so by [`LayerError::Own`].
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError>;
}
