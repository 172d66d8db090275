//! Requests that are sent again after transient faults.

use crate::error::{Error, Result};
use crate::queue::QueueErrorKind;
use crate::sync::{Backoff, Random};
use std::time::Duration;
use tokio::time::sleep;

/// The first wait before a request is tried again.
const FIRST: Duration = Duration::from_millis(500);
/// How often a request is tried in all: for some 15 seconds, well below a lease.
const TRIES: u32 = 6;

/// The tries of one request.
#[derive(Debug)]
pub(super) struct Tries<'a> {
    backoff: Backoff,
    random: &'a Random,
}

impl<'a> Tries<'a> {
    pub const fn new(random: &'a Random) -> Self {
        Self { backoff: Backoff::new(FIRST, Duration::from_secs(8)), random }
    }

    /// Waits, to try again after that error; gives it back where that is pointless.
    pub async fn again(&mut self, error: Error, passes: impl Fn(&Error) -> bool) -> Result<()> {
        if !passes(&error) || self.backoff.waits() + 1 >= TRIES {
            return Err(error);
        }
        sleep(self.backoff.next(self.random)).await;
        Ok(())
    }
}

/// A request that changes nothing, tried again after faults that pass.
pub(super) async fn patiently<T, F>(random: &Random, mut request: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut tries = Tries::new(random);
    loop {
        match request().await {
            Ok(answer) => return Ok(answer),
            Err(error) => tries.again(error, passes).await?,
        }
    }
}

/// Whether the same request may succeed later.
pub(super) fn passes(error: &Error) -> bool {
    match error {
        Error::Throttled(_) | Error::Unavailable(_) => true,
        Error::Queue(error) => error.kind == QueueErrorKind::Unavailable,
        _ => false,
    }
}
