//! A store at which a test stops requests: it does something just before a chosen one.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use tokio::time::sleep;

/// What is done before a request.
pub type Stop = Pin<Box<dyn Future<Output = ()> + Send>>;

type Choose = Box<dyn FnMut(usize, &str) -> Option<Stop> + Send>;

#[derive(Default)]
struct State {
    seen: Vec<String>,
    choose: Option<Choose>,
}

/// The requests of a store, and where they stop. Clones are the same.
#[derive(Clone, Default)]
pub struct Stops(Arc<Mutex<State>>);

impl Stops {
    /// The requests since the last call, such as `insert kitchen`: the operation and the partition.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().seen)
    }

    /// Does this just before the request of that number, counted from 1 since the last [`take`](Self::take).
    pub fn before(&self, number: usize, stop: impl Future<Output = ()> + Send + 'static) {
        let mut stop: Option<Stop> = Some(Box::pin(stop));
        self.before_each(move |now, _| if now == number { stop.take() } else { None });
    }

    /// Does what `choose` returns, if anything, before each request. It is given its number and its text.
    pub fn before_each(&self, choose: impl FnMut(usize, &str) -> Option<Stop> + Send + 'static) {
        self.0.lock().unwrap().choose = Some(Box::new(choose));
    }

    /// A request that is none of the store: does what was chosen, if anything.
    pub async fn request(&self, text: String) {
        let stop = self.see(text);
        if let Some(stop) = stop {
            stop.await;
        }
    }

    fn see(&self, text: String) -> Option<Stop> {
        let State { seen, choose } = &mut *self.0.lock().unwrap();
        let stop = choose.as_mut().and_then(|choose| choose(seen.len() + 1, &text));
        seen.push(text);
        stop
    }
}

impl fmt::Debug for Stops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stops")
    }
}

#[derive(Debug)]
struct Stopping {
    inner: Arc<dyn Store>,
    stops: Stops,
}

impl Middleware for Stopping {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let text = format!("{} {}", request.operation, request.partition_key.unwrap_or("*"));
        self.stops.request(text).await;
        next.await
    }
}

/// The same store, which does what `change` returns just before each query. A query takes 20 ms, so that a call under a
/// paused clock tries again as often as over a network.
pub fn restless<F: Future<Output = ()> + Send + 'static>(
    store: Arc<dyn Store>,
    change: impl Fn() -> F + Send + 'static,
) -> impl Store + 'static {
    let (store, stops) = with_stops(store);
    stops.before_each(move |_, request| {
        request.starts_with("query ").then(|| -> Stop {
            let change = change();
            Box::pin(async {
                sleep(Duration::from_millis(20)).await;
                change.await;
            })
        })
    });
    store
}

/// The same store, with stops.
pub fn with_stops(store: Arc<dyn Store>) -> (impl Store + 'static, Stops) {
    let stops = Stops::default();
    (Stopping { inner: store, stops: stops.clone() }, stops)
}
