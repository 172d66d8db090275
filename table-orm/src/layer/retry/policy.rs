//! The policy of retries: what is sent again, and when.

use crate::store::StoreError;
use std::fmt;
use std::time::Duration;

/// Decides what is tried again, and when. [`RetryStrategy`](super::RetryStrategy) has the usual ones.
///
/// It decides nothing else. The layer itself finds out whether a write took effect, as the
/// [module](super) says. These limits hold for every policy: [`MAX_RETRIES`](super::MAX_RETRIES),
/// [`MAX_WAIT`](super::MAX_WAIT), the deadline, the budget, and a `Retry-After` that is longer. The first
/// fault of the transport that it retries is retried at once.
///
/// ```
/// use std::time::Duration;
/// use table_orm::Tables;
/// use table_orm::layer::Retry;
/// use table_orm::layer::retry::{RetryPolicy, is_transient};
/// use table_orm::store::StoreError;
///
/// /// Retries timeouts of the service a hundred times, and nothing else.
/// #[derive(Debug)]
/// struct Stubborn;
///
/// impl RetryPolicy for Stubborn {
///     fn wait(&self, fault: &StoreError, _retry: u32, spread: f64) -> Option<Duration> {
///         let wait = Duration::from_secs(1).mul_f64(0.8 + 0.4 * spread);
///         (is_transient(fault) && fault.status == 504).then_some(wait)
///     }
/// }
///
/// # fn run() -> table_orm::Result<()> {
/// let tables = Tables::in_memory()?.layer(Retry::by(Stubborn))?;
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
pub trait RetryPolicy: fmt::Debug + Send + Sync {
    /// The wait before a retry, numbered from 1, of a request that failed with `fault`; `None` ends the
    /// call with that error. `spread` is a random number from 0 to 1, for waits that differ from call to
    /// call.
    fn wait(&self, fault: &StoreError, retry: u32, spread: f64) -> Option<Duration>;
}
