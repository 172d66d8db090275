//! Places at keys, taken in the order they were asked for.
//!
//! Invariants: at a key no more places are taken at a time than there are; a call that is dropped, in
//! its place or waiting for one, leaves it to the next; a key that nobody is at is forgotten.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many places at each key.
#[derive(Debug)]
pub(crate) struct KeyedLock<K> {
    places: usize,
    /// The keys that somebody is at.
    queues: Mutex<BTreeMap<K, Queue>>,
}

#[derive(Debug)]
struct Queue {
    places: Arc<Semaphore>,
    /// Those in a place or waiting for one.
    calls: usize,
}

impl<K: Clone + Ord> KeyedLock<K> {
    pub const fn new(places: usize) -> Self {
        Self { places, queues: Mutex::new(BTreeMap::new()) }
    }

    /// Waits for a place at a key.
    pub async fn wait(&self, key: K) -> Permit<'_, K> {
        let (stay, places) = self.enter(key);
        // It is never closed.
        let place = places.acquire_owned().await.ok();
        Permit { _place: place, _stay: stay }
    }

    fn enter(&self, key: K) -> (Waiter<'_, K>, Arc<Semaphore>) {
        let mut queues = self.queues();
        let queue = queues
            .entry(key.clone())
            .or_insert_with(|| Queue { places: Arc::new(Semaphore::new(self.places)), calls: 0 });
        queue.calls += 1;
        let places = Arc::clone(&queue.places);
        (Waiter { turns: self, key }, places)
    }

    fn queues(&self) -> MutexGuard<'_, BTreeMap<K, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place at a key, until it is dropped.
#[must_use = "the place is left at once"]
pub(crate) struct Permit<'t, K: Clone + Ord> {
    _place: Option<OwnedSemaphorePermit>,
    _stay: Waiter<'t, K>,
}

/// A call at a key.
struct Waiter<'t, K: Clone + Ord> {
    turns: &'t KeyedLock<K>,
    key: K,
}

/// The last one out forgets the key.
impl<K: Clone + Ord> Drop for Waiter<'_, K> {
    fn drop(&mut self) {
        let mut queues = self.turns.queues();
        if let Some(queue) = queues.get_mut(&self.key) {
            queue.calls -= 1;
            if queue.calls == 0 {
                queues.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use futures_util::stream::{FuturesOrdered, StreamExt as _};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn a_key_that_nobody_is_at_is_forgotten_whoever_leaves_last() {
        let turns = KeyedLock::new(2);
        let arrived = AtomicUsize::new(0);
        let stay = || {
            for round in 1..=100_000 {
                let turn = turns.wait(round).now_or_never().unwrap();
                arrived.fetch_add(1, Ordering::SeqCst);
                // Both leave at the same time, which waiting for each other asleep would not do.
                while arrived.load(Ordering::SeqCst) < 2 * round {
                    thread::yield_now();
                }
                drop(turn);
            }
        };
        thread::scope(|scope| {
            scope.spawn(stay);
            scope.spawn(stay);
        });
        assert_eq!(turns.queues().len(), 0);
    }

    #[test]
    fn a_place_is_waited_for_at_one_key_only() {
        let turns = KeyedLock::new(1);
        let first = turns.wait("a").now_or_never();
        assert!(first.is_some());
        assert!(turns.wait("a").now_or_never().is_none());
        assert!(turns.wait("b").now_or_never().is_some());
        drop(first);
        assert!(turns.wait("a").now_or_never().is_some());
    }

    #[tokio::test]
    async fn turns_come_in_the_order_they_were_asked_for() {
        let turns = KeyedLock::new(1);
        let order = Mutex::new(Vec::new());
        let first = turns.wait("a").await;
        let call = |number| {
            let (turns, order) = (&turns, &order);
            async move {
                let _turn = turns.wait("a").await;
                tokio::task::yield_now().await;
                order.lock().unwrap().push(number);
            }
        };
        let mut calls: FuturesOrdered<_> = (0..10).map(call).collect();
        assert!(calls.next().now_or_never().is_none());
        drop(first);
        while calls.next().await.is_some() {}
        assert_eq!(*order.lock().unwrap(), (0..10).collect::<Vec<_>>());
        assert_eq!(turns.queues().len(), 0);
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_while_it_waits_leaves_its_turn_to_the_next() {
        let turns = KeyedLock::new(1);
        let first = turns.wait("a").await;
        let mut given_up = Box::pin(turns.wait("a"));
        assert!(given_up.as_mut().now_or_never().is_none());
        let mut next = Box::pin(turns.wait("a"));
        assert!(next.as_mut().now_or_never().is_none());
        // It has the place now, and does not know.
        drop(first);
        assert!(next.as_mut().now_or_never().is_none());
        drop(given_up);
        drop(next.now_or_never().unwrap());
        assert_eq!(turns.queues().len(), 0);
    }
}
