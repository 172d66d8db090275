//! The control table and the queues of one scan, as all calls use them.
//!
//! Invariant: rows first, messages second. A message only says where to look. A lost message costs one
//! lease; a repeated one costs one look at its row.

use super::range_message::RangeMessage;
use super::retry::{Tries, is_transient, retry_transient};
use super::rows::{RangeRow, RangeState, ScanRow};
use super::{LEASE, clock};
use crate::entity::Loaded;
use crate::error::{Error, Result};
use crate::queue::{Message, QueueError, QueueErrorKind, Queues, Receipt};
use crate::repo::Repo;
use crate::sync::Random;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Control {
    /// The scan's id.
    pub scan: String,
    pub scans: Repo<ScanRow>,
    pub ranges: Repo<RangeRow>,
    pub queues: Arc<dyn Queues>,
    pub queue: String,
    pub poison_queue: String,
    pub random: Random,
}

impl Control {
    /// An id for a range, or for one claim of it.
    pub fn new_id(&self) -> String {
        format!("{:016x}{:016x}", self.random.next(), self.random.next())
    }

    pub async fn load(
        &self,
        scan: &str,
        state: RangeState,
        range: &str,
    ) -> Result<Option<Loaded<RangeRow>>> {
        retry_transient(&self.random, || async {
            let key = RangeRow::partition(scan).row().state(state).range(range);
            self.ranges.load(key).await?.optional()
        })
        .await
    }

    pub async fn load_all(&self, state: RangeState) -> Result<Vec<Loaded<RangeRow>>> {
        retry_transient(&self.random, || async {
            let ranges = RangeRow::partition(&self.scan).row().state(state);
            Ok(self.ranges.load(ranges).await?.into_vec())
        })
        .await
    }

    /// All ranges, each once, as it was seen last.
    ///
    /// No range is missed if it changes its state between two queries: poisoned ranges are read before
    /// the open ones that they may become, and again after the open ones that may be put aside.
    pub async fn load_ranges(&self) -> Result<Vec<RangeRow>> {
        use RangeState::{Done, Open, Poisoned};
        let mut ranges = BTreeMap::new();
        for state in [Poisoned, Open, Done, Poisoned] {
            let rows = self.load_all(state).await?.into_iter().map(Loaded::into_inner);
            ranges.extend(rows.map(|row| (row.range.clone(), row)));
        }
        Ok(ranges.into_values().collect())
    }

    /// Whether any range is left to read.
    pub async fn is_open(&self) -> Result<bool> {
        retry_transient(&self.random, || async {
            let open = RangeRow::partition(&self.scan).row().state(RangeState::Open);
            self.ranges.list(open).from_primary().exists().await
        })
        .await
    }

    /// Sends a message for a range. A sweep replaces a lost one.
    pub async fn send(&self, range: &str, delay: Duration) -> Result<bool> {
        self.send_to(
            &self.queue,
            RangeMessage { scan: self.scan.clone(), range: range.to_owned() },
            delay,
        )
        .await
    }

    pub async fn send_to(
        &self,
        queue: &str,
        target: RangeMessage,
        delay: Duration,
    ) -> Result<bool> {
        Ok(survivable(self.queues.send(queue, &target.text(), delay).await)?.is_some())
    }

    /// Deletes a message that needs no more work.
    pub async fn forget(&self, receipt: &Receipt) -> Result<()> {
        survivable(self.queues.remove(&self.queue, receipt).await).map(drop)
    }

    pub async fn receive(&self) -> Result<Option<Message>> {
        let mut received = retry_transient(&self.random, || async {
            // One at a time: a message that waits in a worker's memory is hidden from idle ones.
            self.queues.receive(&self.queue, 1, LEASE).await.map_err(of_scan)
        })
        .await?;
        Ok(received.pop())
    }

    /// Whether a message waits for a worker. An unknown answer counts as yes.
    pub async fn has_waiting(&self) -> Result<bool> {
        Ok(survivable(self.queues.peek(&self.queue).await)?.unwrap_or(true))
    }

    /// Sends new messages for the open ranges that are overdue. Returns the number of open ranges, and
    /// of messages sent.
    pub async fn sweep(&self) -> Result<(usize, usize)> {
        let open = self.load_all(RangeState::Open).await?;
        let (count, mut sent) = (open.len(), 0);
        for mut row in open.into_iter().filter(|row| clock::until(row.due).is_zero()) {
            row.owner = None;
            row.due = clock::after(LEASE);
            // Another sweep, or the range's worker, may have been faster.
            match self.ranges.save(&mut row).await {
                Ok(row) => sent += usize::from(self.send(&row.range, Duration::ZERO).await?),
                Err(error) if may_have_changed(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok((count, sent))
    }

    /// Opens the poisoned ranges again; returns their number. Then deletes the scan's messages from the
    /// poison queue, 32 at a time, for one lease at most: after that the messages of other scans, which
    /// are kept, are visible again. A message that is left does no harm, because only rows decide what
    /// is poisoned.
    pub async fn redrive(&self) -> Result<usize> {
        let mut redriven = 0;
        for mut row in self.load_all(RangeState::Poisoned).await? {
            row.state = RangeState::Open;
            row.stalls = 0;
            row.due = clock::after(LEASE);
            let mut tries = Tries::new(&self.random);
            let saved = loop {
                match self.ranges.save(&mut row).await {
                    Ok(_) => break true,
                    // Another call has reopened it.
                    Err(Error::NotFound(_) | Error::Conflict(_)) => break false,
                    Err(error) => tries.again(error, may_have_changed).await?,
                }
            };
            if saved {
                redriven += 1;
                self.send(&row.range, Duration::ZERO).await?;
            }
        }
        let drained = Instant::now() + LEASE;
        while Instant::now() < drained {
            let messages = retry_transient(&self.random, || async {
                let most = crate::queue::MAX_RECEIVED;
                self.queues.receive(&self.poison_queue, most, LEASE).await.map_err(of_scan)
            });
            let messages = messages.await?;
            for message in &messages {
                let own = RangeMessage::read(&message.text)
                    .is_some_and(|target| target.scan == self.scan);
                if own {
                    survivable(self.queues.remove(&self.poison_queue, &message.receipt).await)?;
                }
            }
            if messages.is_empty() {
                break;
            }
        }
        Ok(redriven)
    }

    /// Deletes the scan's rows, starting with those that workers look for.
    pub async fn remove(&self) -> Result<()> {
        for state in [RangeState::Open, RangeState::Done, RangeState::Poisoned] {
            let rows = self.load_all(state).await?;
            self.ranges.delete_many(rows).await.all()?;
        }
        let scan = ScanRow::partition(&self.scan).row();
        match self.scans.load(scan).await?.optional()? {
            Some(row) => self.scans.delete(row).await,
            None => Ok(()),
        }
    }
}

/// Whether a write that failed with this error may have taken effect, or may have come too late. Its
/// row shows which.
pub(super) fn may_have_changed(error: &Error) -> bool {
    let late_or_ambiguous = matches!(
        error,
        Error::Conflict(_) | Error::NotFound(_) | Error::AlreadyExists(_) | Error::Ambiguous(_)
    );
    late_or_ambiguous || is_transient(error)
}

/// The answer of a queue; `None` if it failed in a way that does no harm. Rows decide what is left to
/// do, and a sweep replaces messages.
pub(super) fn survivable<T>(answer: Result<T, QueueError>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => match error.kind {
            QueueErrorKind::MessageLost | QueueErrorKind::Unavailable => Ok(None),
            _ => Err(of_scan(error)),
        },
    }
}

/// The error of a scan's queue. A missing queue is created by `start`, not by hand.
fn of_scan(mut error: QueueError) -> Error {
    if error.kind == QueueErrorKind::QueueNotFound {
        error.message += ": `start` of the scan does so";
    }
    error.into()
}
