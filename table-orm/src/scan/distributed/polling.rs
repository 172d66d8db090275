//! How an idle worker finds a range to read, or the end of the scan.

use super::control::Control;
use super::lease::{Claim, Lease};
use super::{DistributedScanError, LEASE};
use crate::error::{Error, Result};
use crate::sync::Backoff;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// An idle worker asks for messages after these waits.
const FIRST_POLL: Duration = Duration::from_secs(1);
const LAST_POLL: Duration = Duration::from_secs(15);

/// When a worker asks for messages, and looks for those that are overdue.
#[derive(Debug)]
pub(super) struct Polling {
    backoff: Backoff,
    wait: Duration,
    sweep: Instant,
}

/// The result of a search for work.
pub(super) enum Polled<'a> {
    Leased(Box<Lease<'a>>),
    /// A message of a range that is being worked on, or done; it is deleted.
    Duplicate,
    /// A range without progress; it was put aside.
    Poisoned,
    Nothing,
    Complete,
    Removed,
}

impl Polling {
    pub fn new(control: &Control) -> Self {
        let backoff = Backoff::new(FIRST_POLL, LAST_POLL);
        Self { backoff, wait: Duration::ZERO, sweep: next_sweep(control) }
    }

    /// Waits for the time that the last search requested, or until `wake` is ready.
    pub async fn wait(&mut self, wake: impl Future) {
        let time = std::mem::take(&mut self.wait);
        if !time.is_zero() {
            // Which of the two was first does not matter.
            drop(timeout(time, wake).await);
        }
    }

    /// Receives a message and claims its range. Without a message, finds out whether any can come.
    pub async fn look<'a>(&mut self, control: &'a Control) -> Result<Polled<'a>> {
        let Some(message) = control.receive().await? else { return self.idle(control).await };
        Ok(match control.claim(message).await? {
            Claim::Leased(lease) => {
                self.backoff.reset();
                Polled::Leased(lease)
            }
            Claim::Duplicate => Polled::Duplicate,
            Claim::Poisoned => Polled::Poisoned,
            Claim::Postponed => Polled::Nothing,
            Claim::NotOfScan => {
                self.wait = self.backoff.next(&control.random);
                Polled::Nothing
            }
        })
    }

    async fn idle<'a>(&mut self, control: &'a Control) -> Result<Polled<'a>> {
        let open = if self.sweep <= Instant::now() {
            self.sweep = next_sweep(control);
            control.sweep().await?.0 > 0
        } else {
            control.is_open().await?
        };
        if open {
            self.wait = self.backoff.next(&control.random);
            return Ok(Polled::Nothing);
        }
        // A scan that was removed has no open ranges either.
        match control.started().await {
            Ok(_) => Ok(Polled::Complete),
            Err(Error::DistributedScan(DistributedScanError::NotStarted(_))) => Ok(Polled::Removed),
            Err(error) => Err(error),
        }
    }
}

/// Some time in the second half of half a lease: workers do not sweep all at once.
fn next_sweep(control: &Control) -> Instant {
    Instant::now() + (LEASE / 2).mul_f64(f64::midpoint(1.0, control.random.unit()))
}
