//! Permits whose number changes while some are in use.
//!
//! Invariant: no call waits for ever because calls that hold permits are not polled. Their task may be awaiting
//! this one, so their permits would never come back.

use super::watch::Watch;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::sleep;

/// How long a call waits while no permit comes back, before it looks whether the others are polled.
const PATIENCE: Duration = Duration::from_secs(1);

/// A number of permits, given in the order of the calls.
///
/// Invariant: the permits out, those free and none else are `size + surplus`; the surplus is withdrawn as
/// permits come back.
#[derive(Debug)]
pub(super) struct Gate {
    free: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    size: usize,
    surplus: usize,
    /// The requests inside, by their numbers.
    inside: BTreeMap<u64, Arc<Watch>>,
    entered: u64,
    /// How many permits have come back.
    returned: u64,
}

impl Gate {
    pub(super) fn new(size: usize) -> Self {
        let inside = BTreeMap::new();
        let state = Mutex::new(State { size, surplus: 0, inside, entered: 0, returned: 0 });
        Self { free: Semaphore::new(size), state }
    }

    /// Waits for a permit. Goes on without one when the permits are with calls that nobody polls.
    pub(super) async fn enter(&self) -> Entry<'_> {
        let mut permit = pin!(self.free.acquire());
        // The semaphore is never closed.
        if let Some(permit) = permit.as_mut().now_or_never() {
            return self.entry(&mut self.state(), permit.ok());
        }
        let mut returned = self.state().returned;
        loop {
            if let Either::Left((permit, _)) = select(permit.as_mut(), pin!(sleep(PATIENCE))).await
            {
                return self.entry(&mut self.state(), permit.ok());
            }
            let mut state = self.state();
            // A permit may also be given to a call that waits, and is not polled.
            if returned == state.returned && state.at_work() < state.size {
                return self.entry(&mut state, None);
            }
            returned = state.returned;
        }
    }

    fn entry<'g>(&'g self, state: &mut State, permit: Option<SemaphorePermit<'g>>) -> Entry<'g> {
        let (number, watch) = (state.entered, Arc::new(Watch::default()));
        state.entered += 1;
        state.inside.insert(number, Arc::clone(&watch));
        Entry { gate: self, permit, number, inside: state.inside.len(), watch }
    }

    /// Changes the number of permits.
    pub(super) fn resize(&self, size: usize) {
        let mut state = self.state();
        if let Some(more) = size.checked_sub(state.size) {
            let kept = more.min(state.surplus);
            state.surplus -= kept;
            self.free.add_permits(more - kept);
        } else {
            let less = state.size - size;
            state.surplus += less - self.free.forget_permits(less);
        }
        state.size = size;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// How many requests inside are polled.
    fn at_work(&self) -> usize {
        self.inside.values().filter(|watch| watch.is_left_for() < PATIENCE / 2).count()
    }
}

/// A place inside, until it is dropped.
#[derive(Debug)]
pub(super) struct Entry<'g> {
    gate: &'g Gate,
    permit: Option<SemaphorePermit<'g>>,
    number: u64,
    pub(super) watch: Arc<Watch>,
    /// How many were inside as this one came, itself included.
    pub(super) inside: usize,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        state.inside.remove(&self.number);
        state.returned += u64::from(self.permit.is_some());
        if state.surplus > 0
            && let Some(permit) = self.permit.take()
        {
            state.surplus -= 1;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn never_more_are_inside_than_the_largest_size_since_they_entered_allows(
            steps in prop::collection::vec((0_u8..3, 1_usize..9), 1..200),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            let runtime = runtime.unwrap();
            let _timers = runtime.enter();
            let gate = Gate::new(4);
            let (mut size, mut inside) = (4, Vec::new());
            for (step, number) in steps {
                match step {
                    0 => {
                        let entry = gate.enter().now_or_never();
                        prop_assert_eq!(entry.is_some(), inside.len() < size);
                        inside.extend(entry);
                    }
                    1 => drop(inside.pop()),
                    _ => {
                        gate.resize(number);
                        size = number;
                    }
                }
            }
        }
    }
}
