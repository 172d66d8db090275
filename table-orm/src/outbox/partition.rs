//! The events of one partition, handed on one after the other.
//!
//! Invariants:
//! - An event is handed on when the one with the number before it was handed on and is removed, or was
//!   handed on here. A number that is missing is looked for again: a query that began after a later event
//!   was seen finds all earlier ones that are still there.
//! - After a loss of the lease, no event is removed and none is handed on.

use super::event::Event;
use super::handler::Handler;
use super::lease::Lease;
use super::queries::first_events;
use super::report::DispatchReport;
use super::settings::Settings;
use crate::entity::{DynamicEntity, EventRowKey, LEASE, read_row, split_page};
use crate::error::{DispatchError, DispatchFailure, Error, HandlerError, Result};
use crate::model::{DateTime, ETag};
use crate::plan::{CanonicalKey, TableClient};
use crate::query::Span;
use crate::store::{Action, Batch, IfMatch, Operation};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// The most rows of one query.
pub(super) const PAGE: u16 = 100;

/// The dispatch of the events of one partition.
pub(super) struct PartitionDispatch<'d, H> {
    pub client: &'d TableClient,
    pub handler: &'d H,
    pub settings: Settings,
    pub partition_key: String,
    report: DispatchReport,
}

/// What a query of the outbox found.
#[derive(Default)]
struct Found {
    lease: Option<StoredLease>,
    /// In order.
    events: Vec<FoundEvent>,
    /// Whether there may be more of them.
    continues: bool,
}

struct StoredLease {
    lease: Lease,
    written: Option<DateTime>,
    etag: ETag,
}

struct FoundEvent {
    number: u64,
    etag: ETag,
    event: Result<Event, DispatchError>,
}

/// An event that a handler took.
struct Taken {
    number: u64,
    etag: ETag,
}

/// The lease that this dispatch has.
struct Held {
    lease: Lease,
    etag: ETag,
    /// When it was written, on the clock of waits.
    since: Duration,
}

/// Why no more events are handed on.
enum Stop {
    /// Another process has the lease, or a handler failed a short time ago.
    Busy,
    /// Another process has taken over the lease.
    Lost,
    Failed(Option<u64>, DispatchError),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(None, error.into())
    }
}

impl<'d, H: Handler> PartitionDispatch<'d, H> {
    pub fn new(
        client: &'d TableClient,
        handler: &'d H,
        settings: Settings,
        partition_key: String,
    ) -> Self {
        Self { client, handler, settings, partition_key, report: DispatchReport::default() }
    }

    /// Hands on the events that are there, and those that come meanwhile.
    pub async fn run(mut self) -> DispatchReport {
        match self.hand_on_all().await {
            Ok(()) | Err(Stop::Lost) => {}
            Err(Stop::Busy) => self.report.progress.busy += 1,
            Err(Stop::Failed(number, error)) => {
                let failure = DispatchFailure::new(self.partition_key, number, error);
                self.report.failures.push(failure);
            }
        }
        self.report.progress.partitions += u64::from(self.report.progress.handed_on > 0);
        self.report
    }

    async fn hand_on_all(&mut self) -> Result<(), Stop> {
        let mut held: Option<Held> = None;
        let mut missing = None;
        loop {
            let Found { lease, events, continues } = self.read().await?;
            let Some(first) = events.first().map(|event| event.number) else {
                return match &mut held {
                    Some(held) => self.write(held, held.lease.released(), Vec::new()).await,
                    None => Ok(()),
                };
            };
            let held = match &mut held {
                Some(held) => held,
                none => none.insert(self.take(lease).await?),
            };
            let next = held.lease.next;
            if first > next && missing != Some(first) {
                missing = Some(first);
                continue;
            }
            self.report.progress.missing += first.saturating_sub(next);
            let count = events.len();
            let in_order = |(number, event): &(u64, FoundEvent)| event.number == *number;
            let run: Vec<_> =
                (first..).zip(events).take_while(in_order).map(|(_, event)| event).collect();
            let is_last = run.len() == count && !continues;
            let taken = self.hand_on(held, run).await?;
            let next = taken.last().map_or(held.lease.next, |last| last.number + 1);
            if is_last {
                return self.write(held, Lease { next, ..held.lease.released() }, taken).await;
            }
            self.write(held, Lease { next, ..held.lease.clone() }, taken).await?;
        }
    }

    /// Reads the lease and the first events.
    async fn read(&mut self) -> Result<Found> {
        let partition = Span::Exact(self.partition_key.clone());
        let mut pages = self.client.pages(first_events(self.client, partition, PAGE));
        let mut found = Found::default();
        // A page may be empty and not the last.
        while found.events.is_empty()
            && let Some(page) = pages.next().await?
        {
            for row in split_page(&page)? {
                found.add(self.client, read_row(0, row.get().as_bytes())?);
            }
        }
        found.continues = pages.continues();
        let oldest = found.events.first().and_then(|first| first.event.as_ref().ok()?.time);
        if let Some(time) = oldest {
            self.report.found(self.client.age(time));
        }
        Ok(found)
    }

    /// Takes the lease.
    async fn take(&self, stored: Option<StoredLease>) -> Result<Held, Stop> {
        let (lease, etag) = match stored {
            Some(StoredLease { lease, written, .. }) if !lease.is_over(self.client, written) => {
                return Err(Stop::Busy);
            }
            Some(StoredLease { lease, etag, .. }) => (lease, Some(etag)),
            None => (Lease::default(), None),
        };
        let owner = format!("{:016x}", self.client.connection.random.next());
        let lease = Lease { owner, time: self.settings.lease, ..lease };
        let operations = vec![lease.write(&self.partition_key, etag.as_ref())?];
        match self.send(operations).await {
            Ok(etag) => Ok(Held { lease, etag, since: self.client.connection.now() }),
            Err(Error::Conflict(_) | Error::NotFound(_) | Error::AlreadyExists(_)) => {
                Err(Stop::Busy)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Hands events on. Returns those that are still to be removed.
    async fn hand_on(
        &mut self,
        held: &mut Held,
        events: Vec<FoundEvent>,
    ) -> Result<Vec<Taken>, Stop> {
        let mut taken: Vec<Taken> = Vec::new();
        // One operation is the lease.
        let room = self.client.store().transaction_operations().saturating_sub(1);
        let removed_at_once = self.settings.removed_at_once.min(room);
        for FoundEvent { number, etag, event } in events {
            if taken.len() >= removed_at_once || self.is_due(held) {
                let next = taken.last().map_or(held.lease.next, |last| last.number + 1);
                self.write(held, Lease { next, ..held.lease.clone() }, taken).await?;
                taken = Vec::new();
            }
            let event = match event {
                Ok(event) => event,
                Err(unknown) => return self.fail(held, taken, number, unknown).await,
            };
            match self.handle(held, event).await {
                Ok(Ok(())) => {
                    held.lease.failures = 0;
                    taken.push(Taken { number, etag });
                }
                Ok(Err(error)) => {
                    let Lease { failures, time: wait, .. } = held.lease.after_failure();
                    let error = DispatchError::Handler { error, failures, wait };
                    return self.fail(held, taken, number, error).await;
                }
                Err(stop) => {
                    self.report.progress.may_repeat += taken.len() as u64;
                    return Err(stop);
                }
            }
        }
        Ok(taken)
    }

    /// Removes what was taken, and leaves the partition alone for a time.
    async fn fail(
        &mut self,
        held: &mut Held,
        taken: Vec<Taken>,
        number: u64,
        error: DispatchError,
    ) -> Result<Vec<Taken>, Stop> {
        let lease = Lease { next: number, ..held.lease.after_failure() };
        // The error of the handler says more.
        let _ = self.write(held, lease, taken).await;
        Err(Stop::Failed(Some(number), error))
    }

    /// Lets the handler take an event, and renews the lease meanwhile.
    async fn handle(
        &mut self,
        held: &mut Held,
        event: Event,
    ) -> Result<Result<(), HandlerError>, Stop> {
        let (handler, timer) = (self.handler, self.client.connection.timer);
        let mut handled = pin!(handler.handle(event));
        let mut is_lost = false;
        loop {
            let renewal = pin!(timer.sleep(self.settings.lease / 3));
            match select(handled.as_mut(), renewal).await {
                Either::Left((_, _)) if is_lost => {
                    self.report.progress.may_repeat += 1;
                    return Err(Stop::Lost);
                }
                Either::Left((handled, _)) => return Ok(handled),
                Either::Right(_) if is_lost => {}
                Either::Right(_) => {
                    let renewed = self.write(held, held.lease.clone(), Vec::new()).await;
                    // Any other error may go away before the lease is over.
                    is_lost = matches!(renewed, Err(Stop::Lost));
                }
            }
        }
    }

    /// Whether the lease should be renewed.
    fn is_due(&self, held: &Held) -> bool {
        let now = self.client.connection.now();
        now.saturating_sub(held.since) >= self.settings.lease / 3
    }

    /// Writes the lease and removes events, in one transaction.
    async fn write(
        &mut self,
        held: &mut Held,
        lease: Lease,
        mut taken: Vec<Taken>,
    ) -> Result<(), Stop> {
        let count = taken.len() as u64;
        loop {
            let mut operations = vec![lease.write(&self.partition_key, Some(&held.etag))?];
            operations.extend(taken.iter().map(Taken::removal));
            let error = match self.send(operations).await {
                Ok(etag) => {
                    let since = self.client.connection.now();
                    *held = Held { lease, etag, since };
                    self.report.progress.handed_on += count;
                    return Ok(());
                }
                Err(error) => error,
            };
            let failed = error.rejection().and_then(|rejection| rejection.operation);
            match (&error, failed) {
                // Another program has removed the event.
                (Error::NotFound(_) | Error::Conflict(_), Some((index, _))) if index > 0 => {
                    taken.remove(index - 1);
                }
                (Error::NotFound(_) | Error::Conflict(_), _) => {
                    self.report.progress.may_repeat += count;
                    return Err(Stop::Lost);
                }
                _ => {
                    self.report.progress.may_repeat += count;
                    return Err(error.into());
                }
            }
        }
    }

    /// Sends operations, the first of which writes the lease. Returns its version.
    async fn send(&self, operations: Vec<Operation>) -> Result<ETag> {
        let partition_key = self.partition_key.clone();
        let key = CanonicalKey { partition_key: partition_key.clone(), row_key: LEASE.to_owned() };
        let etags = self.client.send(Batch { partition_key, operations }).await?;
        self.client.version(&key, etags.into_iter().next().flatten())
    }
}

impl Found {
    fn add(&mut self, client: &TableClient, row: DynamicEntity) {
        // Every store returns the version of a row.
        let Some(etag) = row.etag.clone() else { return };
        if row.row_key == LEASE {
            let (lease, written) = (Lease::read(&row), row.timestamp);
            self.lease = Some(StoredLease { lease, written, etag });
            return;
        }
        if let Some(EventRowKey(number)) = EventRowKey::read(&row.row_key) {
            let event = Event::read(&client.table, number, row);
            self.events.push(FoundEvent { number, etag, event });
        }
    }
}

impl Taken {
    fn removal(&self) -> Operation {
        let row_key = EventRowKey(self.number).to_string();
        Operation { row_key, action: Action::Delete(IfMatch::ETag(self.etag.clone())) }
    }
}
