//! What is known of a request under way: whether it waits on this side of the wire, and whether it may
//! have arrived.
//!
//! Whoever needs to know runs the request in a [`Flight`]; the layers that hold it back say so through
//! [`held`]. Both are of one task, so a request that is spawned elsewhere counts as sent.
//!
//! Invariant: a request counts as not arrived only while it is held for the first time, or after an
//! answer that proves that it had no effect.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

tokio::task_local! {
    static FLIGHT: Flight;
}

/// A request under way, with what is sent again for it. Clones are the same request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flight(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Since when it is held, and how long it was held before.
    held_since: Option<Instant>,
    held_for: Duration,
    /// Whether it was sent, and no answer has come.
    is_away: bool,
    /// Whether an earlier attempt may have taken effect.
    is_lost: bool,
}

impl Flight {
    /// The request that this task is sending, or a new one.
    pub fn current() -> Self {
        FLIGHT.try_with(Self::clone).unwrap_or_default()
    }

    /// Whether both are the same request.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Sends it.
    pub async fn run<F: Future>(&self, request: F) -> F::Output {
        FLIGHT.scope(self.clone(), request).await
    }

    /// An attempt begins.
    pub fn departs(&self) {
        self.state().is_away = true;
    }

    /// An attempt has ended. It `may_have_arrived`, as one that succeeded has, or it had no effect.
    pub fn returns(&self, may_have_arrived: bool) {
        let mut state = self.state();
        state.is_away = false;
        state.is_lost |= may_have_arrived;
    }

    /// Whether the service may have carried it out.
    pub fn may_have_arrived(&self) -> bool {
        let state = self.state();
        state.is_lost || (state.is_away && state.held_since.is_none())
    }

    /// How long it was held back so far.
    pub fn held_for(&self) -> Duration {
        let state = self.state();
        let now = state.held_since.map(|since| since.elapsed());
        state.held_for + now.unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for something that this task's request needs before it is sent.
pub(crate) async fn held<F: Future>(wait: F) -> F::Output {
    let _held = FLIGHT.try_with(|flight| {
        flight.state().held_since = Some(Instant::now());
        Held(flight.clone())
    });
    wait.await
}

/// A request that is held, until this is dropped.
struct Held(Flight);

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let time = state.held_since.take().map(|since| since.elapsed());
        state.held_for += time.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{sleep, timeout};

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_held_has_not_arrived() {
        let flight = Flight::default();
        flight.departs();
        let send = flight.run(async {
            held(sleep(2 * SECOND)).await;
            sleep(3 * SECOND).await;
        });
        let mut send = Box::pin(send);
        assert!(timeout(SECOND, &mut send).await.is_err());
        assert!(!flight.may_have_arrived());
        assert_eq!(flight.held_for(), SECOND);
        assert!(timeout(2 * SECOND, &mut send).await.is_err());
        assert!(flight.may_have_arrived());
        assert_eq!(flight.held_for(), 2 * SECOND);
        send.await;
        flight.returns(false);
        assert!(!flight.may_have_arrived());
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_that_was_lost_stays_lost_while_the_next_is_held() {
        let flight = Flight::default();
        flight.departs();
        flight.returns(true);
        flight.departs();
        assert!(timeout(SECOND, flight.run(held(sleep(2 * SECOND)))).await.is_err());
        assert!(flight.may_have_arrived());
    }

    #[tokio::test(start_paused = true)]
    async fn outside_of_a_request_nothing_is_held() {
        held(sleep(SECOND)).await;
        assert_eq!(Flight::current().held_for(), Duration::ZERO);
    }
}
