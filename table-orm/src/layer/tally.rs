//! What the layers below an [`Observe`](super::Observe) count of one call.

#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(super) use counted::{Tally, counting, sent, throttled};
#[cfg(not(any(feature = "metrics", feature = "tracing")))]
pub(super) use ignored::{sent, throttled};

#[cfg(any(feature = "metrics", feature = "tracing"))]
mod counted {
    use std::future::Future;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    tokio::task_local! {
        static TALLY: Arc<Tally>;
    }

    /// The counts of one call.
    #[derive(Debug, Default)]
    pub(in crate::layer) struct Tally {
        requests: AtomicU64,
        throttles: AtomicU64,
    }

    impl Tally {
        /// Requests sent: 1 if no layer below counts them.
        pub(in crate::layer) fn requests(&self) -> u64 {
            self.requests.load(Ordering::Relaxed).max(1)
        }

        /// Requests that were throttled.
        pub(in crate::layer) fn throttles(&self) -> u64 {
            self.throttles.load(Ordering::Relaxed)
        }
    }

    /// Runs a call and counts what it does.
    pub(in crate::layer) async fn counting<F: Future>(tally: Arc<Tally>, call: F) -> F::Output {
        TALLY.scope(tally, call).await
    }

    /// A request is sent.
    pub(in crate::layer) fn sent() {
        count(|tally| &tally.requests);
    }

    /// A request was throttled.
    pub(in crate::layer) fn throttled() {
        count(|tally| &tally.throttles);
    }

    /// Counts nothing outside an observed call.
    fn count(counter: impl FnOnce(&Tally) -> &AtomicU64) {
        let _ = TALLY.try_with(|tally| counter(tally).fetch_add(1, Ordering::Relaxed));
    }
}

#[cfg(not(any(feature = "metrics", feature = "tracing")))]
mod ignored {
    pub(in crate::layer) const fn sent() {}
    pub(in crate::layer) const fn throttled() {}
}
