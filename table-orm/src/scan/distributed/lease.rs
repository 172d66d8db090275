//! A range that one worker has to itself, for a minute at a time.
//!
//! Invariant: a row is changed only under its ETag, and only by the claim with its generation. So a
//! worker that has lost a range never moves its cursor, whatever the clocks say. Clocks only decide when
//! another worker may claim it.

use super::control::{Control, may_have_changed, survivable};
use super::range_message::RangeMessage;
use super::retry::Tries;
use super::rows::{RangeRow, RangeState, pair};
use super::{LEASE, MOST_STALLS, SUSPICIOUS_STALLS, clock};
use crate::entity::{Loaded, RowHead};
use crate::error::{Error, Result};
use crate::queue::{MAX_MESSAGE_BYTES, Message, QueueError, QueueErrorKind, Receipt};
use crate::scan::engine::Position;
use futures_util::future::try_join_all;
use std::pin::pin;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

#[derive(Debug)]
pub(super) struct Lease<'a> {
    control: &'a Control,
    pub row: Loaded<RangeRow>,
    /// The receipt of its message; `None` once that was lost. A sweep replaces it.
    receipt: Option<Receipt>,
    renewal: Instant,
    /// No page was handled yet.
    fresh: bool,
    /// This claim counts as a stall until a page is handled.
    counted: bool,
}

/// The loss of a range to another worker, or an error.
#[derive(Debug)]
pub(super) enum LeaseLost {
    /// Another has claimed it, or it was removed.
    Lost,
    Failed(Error),
}

impl From<Error> for LeaseLost {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The outcome of a message.
#[derive(Debug)]
pub(super) enum Claim<'a> {
    Leased(Box<Lease<'a>>),
    /// Its range is being worked on, or done.
    Duplicate,
    /// It is delivered again when the lease of a silent worker is over.
    Postponed,
    Poisoned,
    /// It is not a message of a scan, or belongs to another scan that is running.
    NotOfScan,
}

impl Control {
    /// Claims the range of a message, unless another worker has it.
    pub async fn claim(&self, message: Message) -> Result<Claim<'_>> {
        let Some(target) = RangeMessage::read(&message.text) else {
            // The message of another program may be too long to be sent. Its start shows where it comes
            // from, and an error here would end every worker that receives it.
            let text = cut(&message.text, MAX_MESSAGE_BYTES);
            let sent = self.queues.send(&self.poison_queue, text, Duration::ZERO).await;
            if survivable(sent)?.is_some() {
                self.forget(&message.receipt).await?;
            }
            return Ok(Claim::NotOfScan);
        };
        let owner = self.new_id();
        let renewal = Instant::now() + LEASE / 2;
        let mut tries = Tries::new(&self.random);
        let mut counted = true;
        loop {
            let row = self.load(&target.scan, RangeState::Open, &target.range).await?;
            let Some(mut row) = row else {
                self.forget(&message.receipt).await?;
                return Ok(Claim::Duplicate);
            };
            if row.owner.as_ref() == Some(&owner) {
                // The answer of the last attempt was lost.
                return Ok(Lease::claimed(self, row, message.receipt, renewal, counted));
            }
            let left = row.lease_left();
            if !left.is_zero() {
                return self.turn_away(&message.receipt, left).await;
            }
            if target.scan != self.scan {
                // It is visible again after its time-out, for a worker of that scan.
                return Ok(Claim::NotOfScan);
            }
            let poisoned = row.stalls >= MOST_STALLS;
            if poisoned {
                row.state = RangeState::Poisoned;
                row.owner = None;
            } else {
                counted = row.stalls < SUSPICIOUS_STALLS;
                row.generation += 1;
                row.stalls += i32::from(counted);
                row.owner = Some(owner.clone());
                row.due = clock::after(LEASE);
            }
            match self.ranges.save(&mut row).await {
                Ok(_) if poisoned => {
                    self.send_to(&self.poison_queue, target, Duration::ZERO).await?;
                    self.forget(&message.receipt).await?;
                    return Ok(Claim::Poisoned);
                }
                Ok(_) => {
                    return Ok(Lease::claimed(self, row, message.receipt, renewal, counted));
                }
                Err(error) => tries.again(error, may_have_changed).await?,
            }
        }
    }

    /// Deletes the message of a range that another worker has. A worker renews its lease when half of it
    /// is over. With less left the worker may be dead, and this may be the only message of its range.
    async fn turn_away(&self, receipt: &Receipt, left: Duration) -> Result<Claim<'_>> {
        if left >= LEASE / 2 {
            self.forget(receipt).await?;
            return Ok(Claim::Duplicate);
        }
        survivable(self.queues.renew(&self.queue, receipt, left).await)?;
        Ok(Claim::Postponed)
    }
}

/// The start of a text, of at most `bytes` bytes.
fn cut(text: &str, bytes: usize) -> &str {
    (0..=bytes).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

impl<'a> Lease<'a> {
    fn claimed(
        control: &'a Control,
        row: Loaded<RangeRow>,
        receipt: Receipt,
        renewal: Instant,
        counted: bool,
    ) -> Claim<'a> {
        let receipt = Some(receipt);
        Claim::Leased(Box::new(Self { control, row, receipt, renewal, fresh: true, counted }))
    }

    /// Whether its worker handles its first page while it does nothing else.
    pub const fn is_suspicious(&self) -> bool {
        !self.counted
    }

    /// Counts the claim of a suspicious range as a stall, before anything is done that may end the
    /// process.
    pub async fn count_stall(&mut self) -> Result<(), LeaseLost> {
        let row = self.row.clone().into_inner();
        let (stalls, due) = (row.stalls + 1, clock::after(LEASE));
        self.write(RangeRow { stalls, due, ..row }, &[]).await?;
        self.counted = true;
        Ok(())
    }

    /// Runs some work while it renews the lease. Drops the work once the lease is lost.
    pub async fn keep<F: Future>(&mut self, work: F) -> Result<F::Output, LeaseLost> {
        let mut work = pin!(work);
        loop {
            match timeout_at(self.renewal, work.as_mut()).await {
                Ok(done) => return Ok(done),
                Err(_) => self.renew().await?,
            }
        }
    }

    /// Renews the lease if it is over, as after the machine has slept.
    pub async fn check(&mut self) -> Result<(), LeaseLost> {
        if self.row.lease_left().is_zero() { self.renew().await } else { Ok(()) }
    }

    async fn renew(&mut self) -> Result<(), LeaseLost> {
        if let Some(receipt) = &mut self.receipt {
            let renewed = self.control.queues.renew(&self.control.queue, receipt, LEASE).await;
            let lost = |error: &QueueError| error.kind == QueueErrorKind::MessageLost;
            let is_lost = renewed.as_ref().is_err_and(lost);
            if let Some(new) = survivable(renewed)? {
                *receipt = new;
            } else if is_lost {
                self.receipt = None;
            }
        }
        self.renewal = Instant::now() + LEASE / 2;
        let row = self.row.clone().into_inner();
        self.write(RangeRow { due: clock::after(LEASE), ..row }, &[]).await
    }

    /// Notes that a page was handled, up to that key.
    pub async fn advance(&mut self, last: &RowHead, rows: usize) -> Result<(), LeaseLost> {
        let row = self.handled(Some((last, rows)));
        self.write(row, &[]).await?;
        self.fresh = false;
        Ok(())
    }

    /// Notes that the range is read to its end, after a last page perhaps.
    pub async fn finish(mut self, page: Option<(&RowHead, usize)>) -> Result<(), LeaseLost> {
        let row = RangeRow { state: RangeState::Done, owner: None, ..self.handled(page) };
        self.write(row, &[]).await?;
        if let Some(receipt) = &self.receipt {
            self.control.forget(receipt).await?;
        }
        Ok(())
    }

    /// Splits off parts of the range for other workers. The parts follow one another up to the end of
    /// the range, or of its rows.
    pub async fn split(&mut self, parts: &[(Position, Option<Position>)]) -> Result<(), LeaseLost> {
        let Some((first, _)) = parts.first() else { return Ok(()) };
        let due = clock::after(LEASE);
        let row = self.row.clone().into_inner();
        let parts: Vec<_> = parts
            .iter()
            .map(|(from, to)| {
                RangeRow::new(&row.scan, self.control.new_id(), from, to.as_ref(), due)
            })
            .collect();
        self.write(RangeRow { to: Some(pair(first)), due, ..row }, &parts).await?;
        try_join_all(parts.iter().map(|part| self.control.send(&part.range, Duration::ZERO)))
            .await?;
        Ok(())
    }

    /// Releases the range when its worker stops, so that it can be claimed at once.
    pub async fn give_back(mut self) -> Result<(), LeaseLost> {
        self.forgive();
        self.release(Duration::ZERO).await
    }

    /// Releases the range after an error, so that it can be claimed after a delay. `counts` says whether
    /// the error counts as a stall.
    pub async fn fail(
        mut self,
        error: String,
        counts: bool,
        delay: Duration,
    ) -> Result<(), LeaseLost> {
        if !counts {
            self.forgive();
        }
        self.row.error = Some(error);
        self.release(delay).await
    }

    /// No longer counts the claim as a stall.
    fn forgive(&mut self) {
        self.row.stalls -= i32::from(self.fresh && self.counted);
    }

    async fn release(mut self, delay: Duration) -> Result<(), LeaseLost> {
        let row = self.row.clone().into_inner();
        let due = clock::after(LEASE + delay);
        self.write(RangeRow { owner: None, due, ..row }, &[]).await?;
        let control = self.control;
        let released = match &self.receipt {
            Some(receipt) => {
                survivable(control.queues.renew(&control.queue, receipt, delay).await)?.is_some()
            }
            None => false,
        };
        if !released {
            control.send(&self.row.range, delay).await?;
        }
        Ok(())
    }

    fn handled(&self, page: Option<(&RowHead, usize)>) -> RangeRow {
        let mut row = self.row.clone().into_inner();
        row.due = clock::after(LEASE);
        row.error = None;
        if let Some((last, rows)) = page {
            row.cursor = Some((last.partition_key.clone(), last.row_key.clone()));
            row.stalls = 0;
            row.rows += i64::try_from(rows).unwrap_or(i64::MAX);
            row.pages += 1;
        }
        row
    }

    /// Writes the row, and inserts the parts split off, even if answers are lost.
    async fn write(&mut self, wanted: RangeRow, parts: &[RangeRow]) -> Result<(), LeaseLost> {
        let control = self.control;
        let mut tries = Tries::new(&control.random);
        loop {
            *self.row = wanted.clone();
            let partition = RangeRow::partition(&wanted.scan);
            let transaction = control.ranges.transaction(&partition).save(&mut self.row);
            let transaction =
                parts.iter().fold(transaction, |transaction, part| transaction.insert(part));
            let Err(error) = transaction.commit().await else { return Ok(()) };
            tries.again(error, may_have_changed).await?;
            let mut found = control.load(&wanted.scan, wanted.state, &wanted.range).await?;
            if found.is_none() && wanted.state != RangeState::Open {
                found = control.load(&wanted.scan, RangeState::Open, &wanted.range).await?;
            }
            self.row = match found {
                Some(row) if row.generation == wanted.generation => row,
                _ => return Err(LeaseLost::Lost),
            };
            if *self.row == wanted || self.row.state != RangeState::Open {
                return Ok(());
            }
        }
    }
}
