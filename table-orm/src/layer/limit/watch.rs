//! Whether a call waits for its request, or could go on but is not polled.
//!
//! A task stops polling a call, for example, while it works on one item of a stream that makes others
//! (`buffer_unordered`). Such time is not the service's.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// What is known of one request.
#[derive(Debug, Default)]
pub(super) struct Watch(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    task: Option<Waker>,
    /// Since when it could go on.
    ready: Option<Instant>,
    /// How long it could have gone on before.
    left: Duration,
}

impl Watch {
    /// Runs the request.
    pub(super) async fn over<F: Future>(self: &Arc<Self>, request: F) -> F::Output {
        let mut request = pin!(request);
        let waker = Waker::from(Arc::clone(self));
        poll_fn(|context| {
            self.polled(context.waker());
            request.as_mut().poll(&mut Context::from_waker(&waker))
        })
        .await
    }

    /// For how long it has been ready now, and nobody polled its call.
    pub(super) fn is_left_for(&self) -> Duration {
        self.state().ready.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// How long it was ready in all, and nobody polled its call.
    pub(super) fn was_left_for(&self) -> Duration {
        self.is_left_for() + self.state().left
    }

    fn polled(&self, task: &Waker) {
        let mut state = self.state();
        let time = state.ready.take().map(|since| since.elapsed());
        state.left += time.unwrap_or_default();
        match &mut state.task {
            Some(known) => known.clone_from(task),
            none => *none = Some(task.clone()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Watch {
    fn wake(self: Arc<Self>) {
        let task = {
            let mut state = self.state();
            state.ready.get_or_insert_with(Instant::now);
            state.task.clone()
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use tokio::time::{advance, sleep};

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn only_time_in_which_a_request_could_go_on_is_left() {
        let watch = Arc::new(Watch::default());
        let mut request = Box::pin(watch.over(sleep(2 * SECOND)));
        assert!(request.as_mut().now_or_never().is_none());
        advance(SECOND).await;
        assert_eq!(watch.is_left_for(), Duration::ZERO, "it waits");
        advance(SECOND).await;
        tokio::task::yield_now().await;
        advance(3 * SECOND).await;
        assert!(watch.is_left_for() >= 3 * SECOND - SECOND / 100);
        request.await;
        assert_eq!(watch.is_left_for(), Duration::ZERO);
        assert!(watch.was_left_for() >= 3 * SECOND - SECOND / 100);
    }
}
