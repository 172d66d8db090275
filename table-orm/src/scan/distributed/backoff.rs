//! Waits that double, each a little different from machine to machine, and requests tried again.

use crate::error::{Error, Result};
use crate::queue::QueueErrorKind;
use crate::sync::Random;
use std::time::Duration;
use tokio::time::sleep;

/// The first wait before a request is tried again.
const FIRST: Duration = Duration::from_millis(500);
/// How often a request is tried in all: for some 15 seconds, well below a lease.
const TRIES: u32 = 6;

#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    most: Duration,
    doublings: u32,
}

impl Backoff {
    pub const fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, doublings: 0 }
    }

    pub const fn reset(&mut self) {
        self.doublings = 0;
    }

    /// The next wait, between 0.8 and 1.2 times what it is by count.
    pub fn next(&mut self, random: &Random) -> Duration {
        let wait = self.first.saturating_mul(1 << self.doublings.min(16)).min(self.most);
        self.doublings += 1;
        wait.mul_f64(0.4f64.mul_add(random.unit(), 0.8))
    }
}

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
        if !passes(&error) || self.backoff.doublings + 1 >= TRIES {
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
