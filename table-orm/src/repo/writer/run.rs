//! The task of a writer.

use super::deliver::{Delivered, deliver};
use super::handle::{Inlet, Message};
use super::lanes::{Lanes, Load, Ticket};
use super::report::WriterFailure;
use crate::entity::TableEntity;
use crate::error::Error;
use crate::repo::BulkProgress;
use crate::repo::bulk::Chunk;
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// What happens to a writer.
enum Event<E> {
    Message(Message<E>),
    Delivered(Delivered<E>),
    /// A lane has waited long enough.
    Due,
    /// No message follows.
    Closed,
}

/// A call that waits for the entities before an epoch.
struct Flush {
    epoch: u64,
    done: oneshot::Sender<()>,
    /// Whether it takes the report.
    takes: bool,
}

/// A writer at work.
pub(super) struct WriterRun<E> {
    inlet: Arc<Inlet<E>>,
    messages: UnboundedReceiver<Message<E>>,
    in_flight: FuturesUnordered<BoxFuture<'static, Delivered<E>>>,
    /// The end of the wait for the next lane, and that wait.
    wait: Option<(Duration, BoxFuture<'static, ()>)>,
    /// How many flushes have begun.
    epoch: u64,
    /// How many entities of each epoch are neither written nor failed.
    open: BTreeMap<u64, usize>,
    /// The flushes that wait, each for the entities before its epoch.
    flushes: VecDeque<Flush>,
    /// The call that closes the writer.
    closing: Option<oneshot::Sender<()>>,
    /// Whether no message follows.
    closed: bool,
}

impl<E: TableEntity + 'static> WriterRun<E> {
    pub fn new(inlet: Arc<Inlet<E>>, messages: UnboundedReceiver<Message<E>>) -> Self {
        Self {
            inlet,
            messages,
            in_flight: FuturesUnordered::new(),
            wait: None,
            epoch: 0,
            open: BTreeMap::new(),
            flushes: VecDeque::new(),
            closing: None,
            closed: false,
        }
    }

    pub async fn run(mut self, delay: Duration, parallelism: usize) {
        let mut lanes = Lanes::new(delay);
        loop {
            let now = self.inlet.client.connection.now();
            while self.in_flight.len() < parallelism
                && let Some(load) = lanes.next(now, self.inlet.buffer.is_pressed())
            {
                self.in_flight.push(Box::pin(deliver(Arc::clone(&self.inlet), load)));
            }
            self.report().await;
            if self.closed && self.open.is_empty() {
                if let Some(closed) = self.closing.take() {
                    self.release(&closed).await;
                    // Whoever closes the writer may open its journal, or the store's file, at once.
                    drop(self);
                    let _ = closed.send(());
                }
                return;
            }
            // With all requests in flight, an answer comes before the next lane.
            let due = lanes.due().filter(|_| self.in_flight.len() < parallelism);
            match poll_fn(|context| self.poll_event(context, due)).await {
                Event::Message(message) => self.receive(message, &mut lanes),
                Event::Delivered(delivered) => self.answered(delivered, &mut lanes),
                Event::Due => {}
                Event::Closed => {
                    self.closed = true;
                    lanes.flush(u64::MAX);
                }
            }
        }
    }

    fn poll_event(&mut self, context: &mut Context<'_>, due: Option<Duration>) -> Poll<Event<E>> {
        if let Poll::Ready(Some(delivered)) = self.in_flight.poll_next_unpin(context) {
            return Poll::Ready(Event::Delivered(delivered));
        }
        if !self.closed
            && let Poll::Ready(message) = self.messages.poll_recv(context)
        {
            return Poll::Ready(message.map_or(Event::Closed, Event::Message));
        }
        let Some(due) = due else { return Poll::Pending };
        if self.wait.as_ref().is_none_or(|(until, _)| *until != due) {
            let timer = self.inlet.client.connection.timer;
            let left = due.saturating_sub(timer.now());
            self.wait = Some((due, async move { timer.sleep(left).await }.boxed()));
        }
        let Some((_, wait)) = &mut self.wait else { return Poll::Pending };
        wait.poll_unpin(context).map(|()| {
            self.wait = None;
            Event::Due
        })
    }

    fn receive(&mut self, message: Message<E>, lanes: &mut Lanes<E>) {
        match message {
            Message::Entity { entity, measured, mut ticket } => {
                *self.open.entry(self.epoch).or_default() += 1;
                ticket.epoch = self.epoch;
                let (now, alone) =
                    (self.inlet.client.connection.now(), self.inlet.policy.individually.is_some());
                lanes.push(entity, measured, ticket, now, alone);
            }
            Message::Pressed => {}
            Message::Flush(report) => self.flush(report, true, lanes),
            Message::Finish(done) => self.flush(done, false, lanes),
            Message::Close(report) => {
                // What is in the channel is still received.
                self.messages.close();
                self.closing.get_or_insert(report);
            }
        }
    }

    fn flush(&mut self, done: oneshot::Sender<()>, takes: bool, lanes: &mut Lanes<E>) {
        self.epoch += 1;
        self.flushes.push_back(Flush { epoch: self.epoch, done, takes });
        lanes.flush(self.epoch);
    }

    /// Answers the flushes whose entities are written or have failed.
    async fn report(&mut self) {
        let first = self.open.first_key_value().map(|(&epoch, _)| epoch);
        while let Some(Flush { epoch, .. }) = self.flushes.front()
            && first.is_none_or(|first| first >= *epoch)
        {
            match self.flushes.pop_front() {
                Some(Flush { done, takes: true, .. }) => self.hand_out(done).await,
                Some(Flush { done, .. }) => {
                    let _ = done.send(());
                }
                None => {}
            }
        }
    }

    /// Lets the call take the report.
    async fn hand_out(&mut self, done: oneshot::Sender<()>) {
        self.release(&done).await;
        // A call that was dropped leaves the report to the next one.
        let _ = done.send(());
    }

    /// Removes what a report hands out from the journal.
    async fn release(&mut self, done: &oneshot::Sender<()>) {
        if let (Some(journal), false) = (&self.inlet.journal, done.is_closed()) {
            // From here on, they are the app's.
            let entries = self.inlet.unreported().take_entries();
            journal.remove(entries.into_iter()).await;
        }
    }

    fn answered(&mut self, delivered: Delivered<E>, lanes: &mut Lanes<E>) {
        let Delivered { mut chunk, mut tickets, present, requests, answer } = delivered;
        self.end(&present);
        self.count(|written| {
            written.present += present.len() as u64;
            written.requests += requests;
        });
        let partition_key = chunk.partition_key().to_owned();
        let mut again = Vec::new();
        match answer {
            Ok(()) => {
                self.count(|written| {
                    written.entities += chunk.entities.len() as u64;
                    written.rows += chunk.sizes.iter().sum::<usize>() as u64;
                });
                self.end(&tickets);
            }
            Err(error) if error.is_stored_as_sent() => {
                self.count(|written| written.present += chunk.entities.len() as u64);
                self.end(&tickets);
            }
            // Every entity of the transaction has the same fate.
            Err(error) if chunk.entities.len() == 1 || !error.is_of_one_entity() => {
                self.fail(chunk.entities, tickets, error);
            }
            Err(error) => {
                let operation = error.rejection().and_then(|rejection| rejection.operation);
                match operation.and_then(|(index, _)| chunk.owner(index)) {
                    Some(index) => {
                        let (entity, ticket) =
                            (chunk.entities.remove(index), tickets.remove(index));
                        self.fail(vec![entity], vec![ticket], error);
                        self.again(chunk.entities, tickets, &mut again, false);
                    }
                    None => self.again(chunk.entities, tickets, &mut again, true),
                }
            }
        }
        lanes.answered(&partition_key, again, self.inlet.client.connection.now());
    }

    /// Prepares entities to be sent again: together, or `each` by itself when it is unknown which of them
    /// the store rejected.
    fn again(
        &mut self,
        entities: Vec<E>,
        tickets: Vec<Ticket>,
        again: &mut Vec<Load<E>>,
        each: bool,
    ) {
        for (entity, ticket) in entities.into_iter().zip(tickets) {
            match self.inlet.policy.measured(&self.inlet.client, &entity) {
                Ok(measured) => match again.last_mut() {
                    Some(load) if !each => {
                        load.chunk.push(entity, measured);
                        load.tickets.push(ticket);
                    }
                    _ => again.push(Load::closed(Chunk::of(entity, measured), vec![ticket])),
                },
                Err(error) => self.fail(vec![entity], vec![ticket], error),
            }
        }
    }

    fn fail(&mut self, entities: Vec<E>, tickets: Vec<Ticket>, error: Error) {
        self.end(&tickets);
        let mut unreported = self.inlet.unreported();
        unreported.fail(WriterFailure { entities, error }, tickets);
        self.inlet.buffer.set_unclaimed(unreported.bytes());
    }

    fn count(&self, add: impl FnOnce(&mut BulkProgress)) {
        add(&mut self.inlet.unreported().written);
    }

    /// Entities are written or have failed.
    fn end(&mut self, tickets: &[Ticket]) {
        for ticket in tickets {
            if let Some(open) = self.open.get_mut(&ticket.epoch) {
                *open -= 1;
                if *open == 0 {
                    self.open.remove(&ticket.epoch);
                }
            }
        }
    }
}
