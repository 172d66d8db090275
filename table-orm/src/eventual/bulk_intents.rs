//! Intents of a bulk write that wait to be settled together.
//!
//! Invariants:
//! - A group is of one type and one partition, and has at most [`MAX_ENTITIES`] entities, or one intent.
//! - At most [`MAX_WAITING`] keys wait, and those of one transaction. Beyond that, the oldest group is due.
//! - What is dropped here is settled in the background, as far as that has room.
//!
//! Nothing here decides what is safe: an intent may wait as long as it likes.

use super::due_entry::DueEntry;
use super::eventual_type::EventualType;
use super::pending::Pending;
use super::settled::Settled;
use super::settling::{Aside, Group, Settling};
use crate::plan::TableClient;
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;

/// The most entities of a group: as many as one query reads.
pub(crate) const MAX_ENTITIES: usize = 1000;
/// The most keys of rows in other partitions, and of values given up, that wait.
pub(crate) const MAX_WAITING: usize = 10_000;

/// What the transactions of a bulk write leave to be settled.
#[derive(Debug)]
pub(crate) struct Gathered {
    client: TableClient,
    /// How the groups are settled.
    settling: Settling,
    /// Where the transactions lay their intents.
    aside: Aside,
    /// The groups that take more, by their age.
    open: BTreeMap<u64, Open>,
    /// The place of the group of a type and a partition in `open`.
    places: HashMap<(&'static str, String), u64>,
    begun: u64,
    waiting: usize,
    /// The groups that are to be settled.
    due: VecDeque<Group>,
    /// The groups whose settling has begun, each with the number of its keys.
    begun_settling: Vec<(Settled, u64)>,
}

#[derive(Debug)]
struct Open {
    group: Group,
    entities: usize,
    keys: usize,
}

impl Gathered {
    /// Nothing yet. `settling` says how the groups are settled.
    pub fn new(client: TableClient, settling: Settling) -> Self {
        let (open, places, due) = (BTreeMap::new(), HashMap::new(), VecDeque::new());
        let aside = Aside::default();
        let begun_settling = Vec::new();
        Self { client, settling, aside, open, places, begun: 0, waiting: 0, due, begun_settling }
    }

    /// How a transaction settles: it lays its intents aside for this.
    pub fn settling(&self) -> Settling {
        Settling { aside: Some(self.aside.clone()), ..Settling::default() }
    }

    /// The settling of a group that is due, if there is one.
    pub fn settle_next(&mut self) -> Option<BoxFuture<'static, ()>> {
        let group = self.next()?;
        let settled = Settled::default();
        self.begun_settling.retain(|(settled, _)| !settled.get());
        self.begun_settling.push((settled.clone(), keys(&group)));
        let settling = Settling { report: Some(settled), ..self.settling.clone() };
        let client = self.client.clone();
        Some(async move { settling.settle(&client, vec![group]).await }.boxed())
    }

    /// How many keys have still to follow.
    pub fn unsettled(&mut self) -> u64 {
        self.take_aside();
        let begun = self.begun_settling.iter().filter(|(settled, _)| !settled.get());
        let due = self.due.iter().map(keys).sum::<u64>();
        begun.map(|(_, keys)| keys).sum::<u64>() + due + self.waiting as u64
    }

    /// The next group that is due.
    pub(super) fn next(&mut self) -> Option<Group> {
        self.take_aside();
        self.due.pop_front()
    }

    /// Makes all groups due. Returns whether there are any.
    pub fn close(&mut self) -> bool {
        self.take_aside();
        while let Some((&oldest, _)) = self.open.first_key_value() {
            self.make_due(oldest);
        }
        !self.due.is_empty()
    }

    /// How many keys wait in groups that are not due.
    #[cfg(all(test, feature = "embedded"))]
    pub(super) const fn waiting(&self) -> usize {
        self.waiting
    }

    fn take_aside(&mut self) {
        for (kind, pending) in self.aside.take() {
            for one in pending {
                self.add(kind, one);
            }
        }
    }

    fn add(&mut self, kind: EventualType, pending: Pending) {
        let due = &pending.intent.due;
        let entities = due.iter().filter(|entry| !entry.keys.is_empty()).count();
        let keys = due.iter().map(DueEntry::len).sum::<usize>();
        let place = (kind.entity, pending.intent.partition_key.clone());
        let full = |open: &Open| open.entities + entities > MAX_ENTITIES;
        if let Some(&age) = self.places.get(&place)
            && self.open.get(&age).is_some_and(full)
        {
            self.make_due(age);
        }
        let begun = &mut self.begun;
        let age = *self.places.entry(place).or_insert_with(|| {
            *begun += 1;
            *begun
        });
        let open = self.open.entry(age).or_insert_with(|| {
            let group = (kind, Vec::new());
            Open { group, entities: 0, keys: 0 }
        });
        open.group.1.push(pending);
        open.entities += entities;
        open.keys += keys;
        self.waiting += keys;
        while self.waiting > MAX_WAITING
            && let Some((&oldest, _)) = self.open.first_key_value()
        {
            self.make_due(oldest);
        }
    }

    fn make_due(&mut self, age: u64) {
        let Some(Open { group, keys, .. }) = self.open.remove(&age) else { return };
        if let Some(Pending { intent, .. }) = group.1.first() {
            self.places.remove(&(group.0.entity, intent.partition_key.clone()));
        }
        self.waiting -= keys;
        self.due.push_back(group);
    }
}

/// How many keys the intents of a group list.
fn keys((_, pending): &Group) -> u64 {
    let due = pending.iter().flat_map(|one| &one.intent.due);
    due.map(DueEntry::len).sum::<usize>() as u64
}

impl Drop for Gathered {
    fn drop(&mut self) {
        self.close();
        self.settling.settle_dropped(&self.client, mem::take(&mut self.due).into());
    }
}
