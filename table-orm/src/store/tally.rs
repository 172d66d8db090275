//! What the stores below an `Observe` count of one call.

#[cfg(all(feature = "azure", any(feature = "metrics", feature = "tracing")))]
pub(crate) use counted::answered;
#[cfg(any(feature = "metrics", feature = "tracing"))]
pub(crate) use counted::{Tally, counting, from_secondary, sent, throttled};
#[cfg(all(feature = "azure", not(any(feature = "metrics", feature = "tracing"))))]
pub(crate) use ignored::answered;
#[cfg(not(any(feature = "metrics", feature = "tracing")))]
pub(crate) use ignored::{from_secondary, sent, throttled};

#[cfg(any(feature = "metrics", feature = "tracing"))]
mod counted {
    use std::future::Future;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    tokio::task_local! {
        static TALLY: Arc<Tally>;
    }

    /// The counts of one call.
    #[derive(Debug, Default)]
    pub(crate) struct Tally {
        requests: AtomicU64,
        throttles: AtomicU64,
        request_id: Mutex<Option<Box<str>>>,
        from_secondary: AtomicBool,
    }

    impl Tally {
        /// Requests sent: 1 if no layer below counts them.
        pub(crate) fn requests(&self) -> u64 {
            self.requests.load(Ordering::Relaxed).max(1)
        }

        /// Requests that were throttled.
        pub(crate) fn throttles(&self) -> u64 {
            self.throttles.load(Ordering::Relaxed)
        }

        /// The service's id of the request that it answered last.
        pub(crate) fn request_id(&self) -> Option<Box<str>> {
            self.last_id().clone()
        }

        /// Whether the copy in another region answered.
        pub(crate) fn is_from_secondary(&self) -> bool {
            self.from_secondary.load(Ordering::Relaxed)
        }

        fn last_id(&self) -> MutexGuard<'_, Option<Box<str>>> {
            self.request_id.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// Runs a call and counts what it does.
    pub(crate) async fn counting<F: Future>(tally: Arc<Tally>, call: F) -> F::Output {
        TALLY.scope(tally, call).await
    }

    /// A request is sent.
    pub(crate) fn sent() {
        count(|tally| &tally.requests);
    }

    /// A request was throttled.
    pub(crate) fn throttled() {
        count(|tally| &tally.throttles);
    }

    /// The copy in another region answers.
    pub(crate) fn from_secondary() {
        let _ = TALLY.try_with(|tally| tally.from_secondary.store(true, Ordering::Relaxed));
    }

    /// A request was answered.
    #[cfg(feature = "azure")]
    pub(crate) fn answered(request_id: Option<&str>) {
        let _ = TALLY.try_with(|tally| *tally.last_id() = request_id.map(Into::into));
    }

    /// Counts nothing outside an observed call.
    fn count(counter: impl FnOnce(&Tally) -> &AtomicU64) {
        let _ = TALLY.try_with(|tally| counter(tally).fetch_add(1, Ordering::Relaxed));
    }
}

#[cfg(not(any(feature = "metrics", feature = "tracing")))]
mod ignored {
    pub(crate) const fn from_secondary() {}
    pub(crate) const fn sent() {}
    pub(crate) const fn throttled() {}
    #[cfg(feature = "azure")]
    pub(crate) const fn answered(_: Option<&str>) {}
}
