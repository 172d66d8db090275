//! What waits to be sent: a lane for each partition, and which lane is next.
//!
//! Invariants: a lane with something to send is in one place: `idle`, where it waits for its time, `ready`,
//! or in flight. A lane without anything to send that is not in flight takes no memory. Only the last load of
//! a lane takes more entities.

use super::journal::Entry;
use crate::plan::MeasuredBatch;
use crate::repo::bulk::Chunk;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// What an entity keeps until it is written, or its failure is handed out.
#[derive(Debug)]
pub(super) struct Ticket {
    /// How many flushes had begun when it was taken.
    pub epoch: u64,
    /// Its share of the buffer.
    pub share: OwnedSemaphorePermit,
    /// Its entry in the journal.
    pub entry: Option<Entry>,
    /// Whether an earlier attempt may have written it.
    pub is_sent: bool,
}

/// Entities of one partition that share a transaction, with their tickets.
pub(super) struct Load<E> {
    pub chunk: Chunk<E>,
    pub tickets: Vec<Ticket>,
    /// When its first entity has waited long enough.
    due: Duration,
    /// Whether it takes no more entities.
    closed: bool,
}

impl<E> Load<E> {
    /// A load that takes no more entities.
    pub fn closed(chunk: Chunk<E>, tickets: Vec<Ticket>) -> Self {
        Self { chunk, tickets, due: Duration::ZERO, closed: true }
    }

    /// The epoch of its first entity.
    fn epoch(&self) -> u64 {
        self.tickets.first().map_or(0, |ticket| ticket.epoch)
    }
}

/// The partitions that have something to send, or a transaction in flight.
pub(super) struct Lanes<E> {
    lanes: HashMap<String, Lane<E>>,
    /// Lanes to be sent, in turn.
    ready: VecDeque<String>,
    /// Lanes that wait for their time, the next one first.
    idle: BTreeMap<Due, String>,
    /// How long an entity waits for others.
    delay: Duration,
    /// Entities of earlier epochs wait for no others.
    flushed: u64,
    begun: u64,
}

/// When the first entity of a lane has waited long enough, and a number that no two loads share.
type Due = (Duration, u64);

struct Lane<E> {
    waiting: VecDeque<Load<E>>,
    place: LaneState,
}

enum LaneState {
    Idle(Due),
    Ready,
    InFlight,
}

impl<E> Lanes<E> {
    pub fn new(delay: Duration) -> Self {
        let (lanes, ready, idle) = (HashMap::new(), VecDeque::new(), BTreeMap::new());
        Self { lanes, ready, idle, delay, flushed: 0, begun: 0 }
    }

    /// Adds an entity to the end of its lane. `alone`: it shares no transaction.
    pub fn push(
        &mut self,
        entity: E,
        measured: MeasuredBatch,
        ticket: Ticket,
        now: Duration,
        alone: bool,
    ) {
        let partition_key = measured.batch.partition_key.clone();
        let due = now.saturating_add(self.delay);
        let lane = self.lanes.entry(partition_key.clone()).or_insert_with(|| {
            self.begun += 1;
            let turn = (due, self.begun);
            self.idle.insert(turn, partition_key.clone());
            Lane { waiting: VecDeque::new(), place: LaneState::Idle(turn) }
        });
        match lane.waiting.back_mut() {
            Some(load) if !load.closed && load.chunk.takes(&measured) => {
                load.chunk.push(entity, measured);
                load.tickets.push(ticket);
            }
            last => {
                if let Some(full) = last {
                    full.closed = true;
                }
                let chunk = Chunk::of(entity, measured);
                let load = Load { chunk, tickets: vec![ticket], due, closed: alone };
                lane.waiting.push_back(load);
            }
        }
        if let Some(load) = lane.waiting.back_mut() {
            load.closed |= load.chunk.is_full();
        }
        if let (LaneState::Idle(turn), Some(Load { closed: true, .. })) =
            (&lane.place, lane.waiting.front())
        {
            self.idle.remove(turn);
            lane.place = LaneState::Ready;
            self.ready.push_back(partition_key);
        }
    }

    /// What to send next: of a full lane, or of one whose time has come. When `pressed`, also of the lane that
    /// has waited longest.
    pub fn next(&mut self, now: Duration, pressed: bool) -> Option<Load<E>> {
        while self.due().is_some_and(|due| due <= now) {
            self.release_oldest();
        }
        if self.ready.is_empty() && pressed {
            self.release_oldest();
        }
        let lane = self.lanes.get_mut(&self.ready.pop_front()?)?;
        lane.place = LaneState::InFlight;
        lane.waiting.pop_front()
    }

    /// Sends everything that was taken before that epoch without waiting for more.
    pub fn flush(&mut self, epoch: u64) {
        self.flushed = self.flushed.max(epoch);
        while !self.idle.is_empty() {
            self.release_oldest();
        }
    }

    fn release_oldest(&mut self) {
        if let Some((_, partition_key)) = self.idle.pop_first() {
            if let Some(lane) = self.lanes.get_mut(&partition_key) {
                lane.place = LaneState::Ready;
            }
            self.ready.push_back(partition_key);
        }
    }

    /// After the answer to a load of that partition: sends `again` before what waits there.
    pub fn answered(&mut self, partition_key: &str, again: Vec<Load<E>>, now: Duration) {
        let Some(lane) = self.lanes.get_mut(partition_key) else { return };
        for load in again.into_iter().rev() {
            lane.waiting.push_front(load);
        }
        let Some(first) = lane.waiting.front() else {
            self.lanes.remove(partition_key);
            return;
        };
        if first.closed || first.due <= now || first.epoch() < self.flushed {
            lane.place = LaneState::Ready;
            self.ready.push_back(partition_key.to_owned());
        } else {
            self.begun += 1;
            let turn = (first.due, self.begun);
            lane.place = LaneState::Idle(turn);
            self.idle.insert(turn, partition_key.to_owned());
        }
    }

    /// When the next lane has waited long enough.
    pub fn due(&self) -> Option<Duration> {
        self.idle.first_key_value().map(|(&(due, _), _)| due)
    }
}
