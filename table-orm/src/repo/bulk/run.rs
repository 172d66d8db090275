//! A bulk write in progress.
//!
//! Invariant: from when an entity is read until it is written, failed or left unsent, its number is in one chunk.

use super::builder::{Bulk, Settings};
use super::chunk::Chunk;
use super::report::{BulkFailure, BulkProgress, BulkReport, Remainder};
use super::schedule::Schedule;
use super::source::{Input, Source};
use crate::error::{Error, Result};
use crate::eventual::Gathered;
use crate::plan::Plan;
use futures_core::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use slab::Slab;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker, ready};

impl<E: Send + 'static, I: Iterator<Item = E>> Bulk<'_, E, I> {
    /// Returns what it will send, in no particular order. Reads the whole input, and sends nothing.
    ///
    /// # Errors
    /// The first error of an entity that the service would reject.
    pub fn plan(mut self) -> Result<Plan> {
        let input: &mut dyn Input<Item = E> = &mut self.input;
        BulkRun::new(self.settings, input).plan()
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
        Box::pin(async move {
            let Self { settings, mut input } = self;
            // The compiler builds the run once for all inputs of a type.
            let read: &mut (dyn Input<Item = E> + Send) = &mut input;
            let RunResult { written, failures, unsent } = BulkRun::new(settings, read).run().await;
            BulkReport { written, failures, remainder: Remainder::new(unsent, input) }
        })
    }
}

/// The result of a run, beside the input that it has not read.
struct RunResult<E> {
    written: BulkProgress,
    failures: Vec<BulkFailure<E>>,
    unsent: Vec<E>,
}

/// The end of something that was in flight: the number of a chunk and its answer; `None` of what was settled.
type Ended = Option<(usize, Result<()>)>;

/// A bulk write in progress.
struct BulkRun<'a, 'i, E, I: ?Sized> {
    settings: Settings<'a, E>,
    input: &'i mut I,
    /// The entities that were read and are not written yet. Chunks hold their numbers.
    entities: Slab<E>,
    schedule: Schedule,
    in_flight: FuturesUnordered<BoxFuture<'static, Ended>>,
    /// What the chunks that were written leave to be settled.
    gathered: Gathered,
    written: BulkProgress,
    failures: Vec<BulkFailure<E>>,
    unsent: Vec<E>,
    /// Whether nothing more is sent.
    stopped: bool,
}

impl<'a, 'i, E: Send + 'static, I: Input<Item = E> + ?Sized> BulkRun<'a, 'i, E, I> {
    fn new(settings: Settings<'a, E>, input: &'i mut I) -> Self {
        let gathered = Gathered::new(settings.client.clone(), settings.settling.clone());
        Self {
            settings,
            input,
            entities: Slab::new(),
            schedule: Schedule::default(),
            in_flight: FuturesUnordered::new(),
            gathered,
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
        while let Poll::Ready(Some(mut chunk)) = self.next_closed(context) {
            let Settings { client, policy, .. } = &self.settings;
            let batch = chunk.take_batch();
            plans.push(policy.plan(client, &self.entities_of(&chunk), batch)?);
            self.forget(&chunk.entities);
        }
        match self.failures.into_iter().next() {
            Some(failure) => Err(failure.error),
            None => Ok(plans.into_iter().collect()),
        }
    }

    async fn run(mut self) -> RunResult<E> {
        loop {
            match poll_fn(|context| self.poll_ended(context)).await {
                Some(Some((number, result))) => self.answered(number, result),
                Some(None) => {}
                // At the end, what is left is settled.
                None if self.gathered.close() => {}
                None => break,
            }
        }
        self.written.unsettled = self.gathered.unsettled();
        for number in self.schedule.unsent() {
            self.unsent.extend(self.entities.try_remove(number));
        }
        RunResult { written: self.written, failures: self.failures, unsent: self.unsent }
    }

    /// Begins as much as it may, and returns what ends first. `None` when nothing is in flight, and nothing is
    /// left to begin.
    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<Option<Ended>> {
        let mut input_waits = false;
        while self.in_flight.len() < self.settings.parallelism {
            match self.poll_next(context) {
                Poll::Ready(Some(next)) => self.in_flight.push(next),
                Poll::Ready(None) => break,
                Poll::Pending => {
                    input_waits = true;
                    break;
                }
            }
        }
        match self.in_flight.poll_next_unpin(context) {
            Poll::Ready(None) if input_waits => Poll::Pending,
            ended => ended,
        }
    }

    /// What to begin next: what is to be settled comes before another chunk. `Pending` when the input waits.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<BoxFuture<'static, Ended>>> {
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
    fn next_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Chunk<usize>>> {
        loop {
            if let Some(chunk) = self.schedule.next() {
                return Poll::Ready(Some(chunk));
            }
            if self.stopped || self.schedule.waiting() >= self.settings.parallelism {
                return Poll::Ready(None);
            }
            match ready!(self.next_closed(context)) {
                Some(chunk) => self.schedule.append(chunk),
                None => return Poll::Ready(None),
            }
        }
    }

    /// The next chunk that takes no more entities: a full one, the fullest of too many, or the rest
    /// at the end of the input.
    fn next_closed(&mut self, context: &mut Context<'_>) -> Poll<Option<Chunk<usize>>> {
        loop {
            if let Some(chunk) = self.schedule.open.surplus() {
                return Poll::Ready(Some(chunk));
            }
            let Some(entity) = ready!(self.input.poll_next(context)) else {
                return Poll::Ready(self.schedule.open.fullest());
            };
            let closed = match self.settings.policy.measured(&self.settings.client, &entity) {
                Ok(measured) => {
                    let number = self.entities.insert(entity);
                    if self.settings.policy.individually.is_some() {
                        Some(Chunk::of(number, measured))
                    } else {
                        self.schedule.open.push(number, measured)
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

    fn send(&mut self, mut chunk: Chunk<usize>) -> BoxFuture<'static, Ended> {
        let Settings { client, policy, .. } = &self.settings;
        let batch = self.schedule.begin(&mut chunk);
        let entities = self.entities_of(&chunk);
        let sent = policy.send(client.clone(), &entities, batch, self.gathered.settling());
        let number = self.schedule.sent(chunk);
        Box::pin(sent.map(move |answer| Some((number, answer))))
    }

    fn entities_of(&self, chunk: &Chunk<usize>) -> Vec<&E> {
        chunk.entities.iter().filter_map(|number| self.entities.get(*number)).collect()
    }

    fn answered(&mut self, number: usize, result: Result<()>) {
        self.written.requests += 1;
        let Some(mut chunk) = self.schedule.answered(number) else { return };
        match result {
            Ok(()) => {
                self.written.entities += chunk.entities.len() as u64;
                self.written.rows += chunk.sizes.iter().sum::<usize>() as u64;
                self.forget(&chunk.entities);
            }
            Err(error) if error.is_stored_as_sent() => {
                self.written.present += chunk.entities.len() as u64;
                self.forget(&chunk.entities);
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
                let entity = entity.and_then(|number| self.entities.try_remove(number));
                if !unattributed || self.stopped || !self.settings.continues {
                    self.fail(entity, error);
                }
                self.send_again(chunk.entities, unattributed);
            }
        }
        if let Some(progress) = &mut self.settings.progress {
            self.written.unsettled = self.gathered.unsettled();
            progress(self.written);
        }
    }

    /// Drops entities that are written.
    fn forget(&mut self, numbers: &[usize]) {
        for number in numbers {
            drop(self.entities.try_remove(*number));
        }
    }

    fn fail(&mut self, entity: Option<E>, error: Error) {
        self.failures.push(BulkFailure { entity, error });
        self.stopped |= !self.settings.continues;
    }

    /// Sends the entities that shared a transaction with a failed one again, without it. Sends `each`
    /// by itself when it is unknown which one failed.
    fn send_again(&mut self, numbers: Vec<usize>, each: bool) {
        let mut again = VecDeque::<Chunk<usize>>::new();
        for number in numbers {
            if self.stopped {
                self.unsent.extend(self.entities.try_remove(number));
                continue;
            }
            let Some(entity) = self.entities.get(number) else { continue };
            let measured = self.settings.policy.measured(&self.settings.client, entity);
            match (measured, again.back_mut()) {
                (Ok(measured), Some(chunk)) if !each => chunk.push(number, measured),
                (Ok(measured), _) => again.push_back(Chunk::of(number, measured)),
                (Err(error), _) => {
                    let entity = self.entities.try_remove(number);
                    self.fail(entity, error);
                }
            }
        }
        self.schedule.prepend(again);
    }
}
