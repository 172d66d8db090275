//! A bulk write in progress.

use super::builder::Bulk;
use super::busy_rows::BusyRows;
use super::chunk::Chunk;
use super::open::Open;
use super::report::{BulkFailure, BulkProgress, BulkReport, Remainder};
use super::source::Source;
use crate::error::{Error, Result};
use crate::eventual::{Gathered, Settling};
use crate::plan::Plan;
use futures_core::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker, ready};

/// The end of something that was in flight: a chunk and its answer; `None` of what was settled.
type Ended<E> = Option<(Chunk<E>, Result<()>)>;
type InFlight<E> = FuturesUnordered<BoxFuture<'static, Ended<E>>>;

impl<E: Send + 'static, I: Iterator<Item = E>> Bulk<'_, E, I> {
    /// Returns what it will send, in no particular order. Reads the whole input, and sends nothing.
    ///
    /// # Errors
    /// The first error of an entity that the service would reject.
    pub fn plan(self) -> Result<Plan> {
        BulkRun::new(self).plan()
    }
}

impl<'a, E, I> IntoFuture for Bulk<'a, E, I>
where
    E: Send + 'static,
    I: Source<Item = E> + Send + 'a,
{
    type Output = BulkReport<E, I>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let run = BulkRun::new(self);
        Box::pin(run.run())
    }
}

/// A bulk write in progress.
struct BulkRun<'a, E, I> {
    bulk: Bulk<'a, E, I>,
    /// Chunks that take more entities.
    open: Open<E>,
    /// Chunks to be sent, oldest first.
    ready: VecDeque<Chunk<E>>,
    /// The RowKeys of the requests in flight, by partition.
    busy: BusyRows,
    /// What the chunks that were written leave to be settled.
    gathered: Gathered,
    written: BulkProgress,
    failures: Vec<BulkFailure<E>>,
    unsent: Vec<E>,
    /// Whether nothing more is sent.
    stopped: bool,
}

impl<'a, E: Send + 'static, I: Source<Item = E>> BulkRun<'a, E, I> {
    fn new(bulk: Bulk<'a, E, I>) -> Self {
        let gathered = Gathered::new(bulk.client.clone(), bulk.settling.clone());
        Self {
            bulk,
            gathered,
            open: Open::new(),
            ready: VecDeque::new(),
            busy: BusyRows::default(),
            written: BulkProgress::default(),
            failures: Vec::new(),
            unsent: Vec::new(),
            stopped: false,
        }
    }

    fn plan(mut self) -> Result<Plan> {
        let mut plans = Vec::new();
        // An iterator never waits.
        let context = &mut Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(chunk)) = self.next_closed(context) {
            let Bulk { client, policy, .. } = &self.bulk;
            plans.push(match (&policy.individually, chunk.entities.first()) {
                (Some(individually), Some(entity)) => (individually.plan)(client, entity)?,
                _ => policy.intents(client, &chunk.entities)?.plan(
                    client,
                    chunk.batch,
                    &Settling::default(),
                )?,
            });
        }
        match self.failures.into_iter().next() {
            Some(failure) => Err(failure.error),
            None => Ok(plans.into_iter().collect()),
        }
    }

    async fn run(mut self) -> BulkReport<E, I> {
        let mut in_flight = InFlight::new();
        loop {
            match poll_fn(|context| self.poll_ended(&mut in_flight, context)).await {
                Some(Some((chunk, result))) => self.answered(chunk, result),
                Some(None) => {}
                // At the end, what is left is settled.
                None if self.gathered.close() => {}
                None => break,
            }
        }
        self.written.unsettled = self.gathered.unsettled();
        let left = self.ready.into_iter().chain(self.open.into_chunks());
        self.unsent.extend(left.flat_map(|chunk| chunk.entities));
        BulkReport {
            written: self.written,
            failures: self.failures,
            remainder: Remainder::new(self.unsent, self.bulk.input),
        }
    }

    /// Begins as much as it may, and returns what ends first. `None` when nothing is in flight, and nothing is
    /// left to begin.
    fn poll_ended(
        &mut self,
        in_flight: &mut InFlight<E>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Ended<E>>> {
        let mut input_waits = false;
        while in_flight.len() < self.bulk.parallelism {
            match self.poll_next(context) {
                Poll::Ready(Some(next)) => in_flight.push(next),
                Poll::Ready(None) => break,
                Poll::Pending => {
                    input_waits = true;
                    break;
                }
            }
        }
        match in_flight.poll_next_unpin(context) {
            Poll::Ready(None) if input_waits => Poll::Pending,
            ended => ended,
        }
    }

    /// What to begin next: what is to be settled comes before another chunk. `Pending` when the input waits.
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<BoxFuture<'static, Ended<E>>>> {
        if let Some(settle) = self.gathered.settle_next() {
            return Poll::Ready(Some(Box::pin(settle.map(|()| None))));
        }
        if self.stopped {
            return Poll::Ready(None);
        }
        let chunk = ready!(self.next_chunk(context));
        Poll::Ready(chunk.map(|chunk| self.send(chunk)))
    }

    /// The next chunk without a row that is being written. `None` when all wait for an answer, or
    /// nothing is left.
    fn next_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Chunk<E>>> {
        loop {
            if let Some(position) = self.sendable() {
                return Poll::Ready(self.ready.remove(position));
            }
            if self.stopped || self.ready.len() >= self.bulk.parallelism {
                return Poll::Ready(None);
            }
            match ready!(self.next_closed(context)) {
                Some(chunk) => self.ready.push_back(chunk),
                None => return Poll::Ready(None),
            }
        }
    }

    fn sendable(&self) -> Option<usize> {
        (0..self.ready.len()).find(|&position| {
            let chunk = &self.ready[position];
            !self.busy.delays(&chunk.batch)
                && !self.ready.range(..position).any(|earlier| chunk.overlaps(earlier))
        })
    }

    /// The next chunk that takes no more entities: a full one, the fullest of too many, or the rest
    /// at the end of the input.
    fn next_closed(&mut self, context: &mut Context<'_>) -> Poll<Option<Chunk<E>>> {
        loop {
            if let Some(chunk) = self.open.surplus() {
                return Poll::Ready(Some(chunk));
            }
            let Some(entity) = ready!(self.bulk.input.poll_next(context)) else {
                return Poll::Ready(self.open.fullest());
            };
            let closed = match self.bulk.policy.measured(&self.bulk.client, &entity) {
                Ok(measured) => {
                    if self.bulk.policy.individually.is_some() {
                        Some(Chunk::of(entity, measured))
                    } else {
                        self.open.push(entity, measured)
                    }
                }
                Err(error) => {
                    self.fail(Some(entity), error);
                    if self.stopped {
                        return Poll::Ready(None);
                    }
                    None
                }
            };
            if closed.is_some() {
                return Poll::Ready(closed);
            }
        }
    }

    fn send(&mut self, mut chunk: Chunk<E>) -> BoxFuture<'static, Ended<E>> {
        chunk.keys = self.busy.begin(&chunk.batch);
        let client = self.bulk.client.clone();
        let sent = self.bulk.policy.send(client, chunk, self.gathered.settling());
        Box::pin(sent.map(Some))
    }

    fn answered(&mut self, mut chunk: Chunk<E>, result: Result<()>) {
        self.written.requests += 1;
        self.busy.end(chunk.partition_key(), &chunk.keys);
        match result {
            Ok(()) => {
                self.written.entities += chunk.entities.len() as u64;
                self.written.rows += chunk.sizes.iter().sum::<usize>() as u64;
            }
            Err(error) if error.is_stored_as_sent() => {
                self.written.present += chunk.entities.len() as u64;
            }
            Err(error) => {
                let operation = error.rejection().and_then(|rejection| rejection.operation);
                let owner = match operation {
                    _ if chunk.entities.len() == 1 => Some(0),
                    Some((index, _)) => chunk.owner(index),
                    None => None,
                };
                self.stopped |= !error.is_of_one_entity();
                let unattributed = owner.is_none();
                let entity = owner.map(|index| chunk.entities.remove(index));
                if !unattributed || self.stopped || !self.bulk.continues {
                    self.fail(entity, error);
                }
                self.send_again(chunk.entities, unattributed);
            }
        }
        if let Some(progress) = &mut self.bulk.progress {
            self.written.unsettled = self.gathered.unsettled();
            progress(self.written);
        }
    }

    fn fail(&mut self, entity: Option<E>, error: Error) {
        self.failures.push(BulkFailure { entity, error });
        self.stopped |= !self.bulk.continues;
    }

    /// Sends the entities that shared a transaction with a failed one again, without it. Sends `each`
    /// by itself when it is unknown which one failed.
    fn send_again(&mut self, entities: Vec<E>, each: bool) {
        if self.stopped {
            return self.unsent.extend(entities);
        }
        let mut again: VecDeque<Chunk<E>> = VecDeque::new();
        for entity in entities {
            let measured = self.bulk.policy.measured(&self.bulk.client, &entity);
            match (measured, again.back_mut()) {
                (Ok(measured), Some(chunk)) if !each => chunk.push(entity, measured),
                (Ok(measured), _) => again.push_back(Chunk::of(entity, measured)),
                (Err(error), _) => self.fail(Some(entity), error),
            }
        }
        while let Some(chunk) = again.pop_back() {
            self.ready.push_front(chunk);
        }
    }
}
