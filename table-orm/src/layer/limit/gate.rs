//! Permits whose number changes while they are out.

use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, SemaphorePermit};

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
    inside: usize,
}

impl Gate {
    pub(super) fn new(size: usize) -> Self {
        let state = Mutex::new(State { size, surplus: 0, inside: 0 });
        Self { free: Semaphore::new(size), state }
    }

    /// Waits for a permit.
    pub(super) async fn enter(&self) -> Entry<'_> {
        // The semaphore is never closed.
        let permit = self.free.acquire().await.ok();
        let mut state = self.state();
        state.inside += 1;
        Entry { gate: self, permit, inside: state.inside }
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

/// A permit, until it is dropped.
#[derive(Debug)]
pub(super) struct Entry<'g> {
    gate: &'g Gate,
    permit: Option<SemaphorePermit<'g>>,
    /// How many had a permit as this one was given, itself included.
    pub(super) inside: usize,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        state.inside -= 1;
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
    use futures_util::FutureExt as _;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn never_more_are_inside_than_the_largest_size_since_they_entered_allows(
            steps in prop::collection::vec((0_u8..3, 1_usize..9), 1..200),
        ) {
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
