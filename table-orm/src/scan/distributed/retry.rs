//! Requests that are sent again after transient faults.

use crate::error::{Error, Result};
use crate::queue::QueueErrorKind;
use crate::sync::{Backoff, Random};
use std::time::Duration;
use tokio::time::sleep;

/// The first wait before a request is sent again.
const FIRST: Duration = Duration::from_millis(500);
/// The attempts of a request. They take some 15 seconds in all, well below a lease.
const TRIES: u32 = 6;

/// The attempts of one request.
#[derive(Debug)]
pub(super) struct Tries<'a> {
    backoff: Backoff,
    random: &'a Random,
}

impl<'a> Tries<'a> {
    pub const fn new(random: &'a Random) -> Self {
        Self { backoff: Backoff::new(FIRST, Duration::from_secs(8)), random }
    }

    /// Waits before the next attempt. Returns the error when no attempt is left.
    pub async fn again(&mut self, error: Error, may_retry: impl Fn(&Error) -> bool) -> Result<()> {
        if !may_retry(&error) || self.backoff.waits() + 1 >= TRIES {
            return Err(error);
        }
        sleep(self.backoff.next(self.random)).await;
        Ok(())
    }
}

/// Sends a request that changes nothing, again after each transient fault.
pub(super) async fn retry_transient<T, F>(
    random: &Random,
    mut request: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut tries = Tries::new(random);
    loop {
        match request().await {
            Ok(answer) => return Ok(answer),
            Err(error) => tries.again(error, is_transient).await?,
        }
    }
}

/// Whether the same request may succeed later.
pub(super) fn is_transient(error: &Error) -> bool {
    match error {
        Error::Throttled(_) | Error::Unavailable(_) => true,
        Error::Queue(error) => error.kind == QueueErrorKind::Unavailable,
        _ => false,
    }
}
