//! How an idle worker comes by a range, or by the end of the scan.

use super::backoff::Backoff;
use super::control::Control;
use super::lease::{Claim, Lease};
use super::worker::{Event, Worker};
use super::{DistributedScanError, LEASE};
use crate::error::{Error, Result};
use futures_util::future::select;
use std::pin::pin;
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

/// What it has come by.
pub(super) enum Polled<'a> {
    Leased(Box<Lease<'a>>),
    Nothing,
    Complete,
    Removed,
}

impl Polling {
    pub fn new(control: &Control) -> Self {
        let backoff = Backoff::new(FIRST_POLL, LAST_POLL);
        Self { backoff, wait: Duration::ZERO, sweep: next_sweep(control) }
    }
}

/// Some time in the second half of half a lease: workers do not sweep all at once.
fn next_sweep(control: &Control) -> Instant {
    Instant::now() + (LEASE / 2).mul_f64(f64::midpoint(1.0, control.random.unit()))
}

impl<T, H> Worker<T, H> {
    /// Waits, then receives a message and takes on its range. Where there is none, looks whether
    /// there will be any more.
    pub async fn poll<E>(&self, mut polling: Polling) -> Event<'_, E> {
        self.wait(polling.wait).await;
        polling.wait = Duration::ZERO;
        let polled = if *self.stopping.borrow() {
            Ok(Polled::Nothing)
        } else {
            self.look(&mut polling).await
        };
        Event::Polled(polling, polled)
    }

    async fn look(&self, polling: &mut Polling) -> Result<Polled<'_>> {
        let Some(message) = self.control.receive().await? else {
            let open = if polling.sweep <= Instant::now() {
                polling.sweep = next_sweep(&self.control);
                self.control.sweep().await?.0 > 0
            } else {
                self.control.is_open().await?
            };
            if !open {
                // One that was removed has no open ranges either.
                return match self.control.started().await {
                    Ok(_) => Ok(Polled::Complete),
                    Err(Error::DistributedScan(DistributedScanError::NotStarted(_))) => {
                        Ok(Polled::Removed)
                    }
                    Err(error) => Err(error),
                };
            }
            polling.wait = polling.backoff.next(&self.control.random);
            return Ok(Polled::Nothing);
        };
        match self.control.claim(message).await? {
            Claim::Leased(lease) => {
                polling.backoff.reset();
                self.report().claims += 1;
                return Ok(Polled::Leased(lease));
            }
            Claim::Duplicate => self.report().duplicates += 1,
            Claim::Poisoned => self.report().poisoned += 1,
            Claim::Postponed => {}
            Claim::Foreign => polling.wait = polling.backoff.next(&self.control.random),
        }
        Ok(Polled::Nothing)
    }

    /// Waits, unless there is reason to look at once.
    async fn wait(&self, time: Duration) {
        if time.is_zero() {
            return;
        }
        let mut stopping = self.stopping.subscribe();
        let stopped = pin!(stopping.wait_for(|stopping| *stopping));
        let split_off = pin!(self.split_off.notified());
        // The time being over is as good as any other reason.
        drop(timeout(time, select(stopped, split_off)).await);
    }
}
