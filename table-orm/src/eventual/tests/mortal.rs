//! The network as one client reaches it until the client ends.
//!
//! A call settles in a task of its own, which goes on when the call is dropped. The end of a process ends such
//! tasks too.

use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Sends nothing and answers nothing any more once the client has ended. A request that is on its way then still
/// takes effect.
#[derive(Debug)]
pub(in crate::eventual) struct Mortal {
    network: Arc<dyn Store>,
    has_ended: AtomicBool,
}

impl Mortal {
    pub fn new(network: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { network, has_ended: AtomicBool::new(false) })
    }

    /// Ends the client, with whatever it does in the background.
    pub fn end(&self) {
        self.has_ended.store(true, Relaxed);
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Relaxed)
    }
}

impl Middleware for Mortal {
    fn inner(&self) -> &dyn Store {
        &*self.network
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if self.has_ended() {
            return pending().await;
        }
        let answer = next.await;
        if self.has_ended() { pending().await } else { answer }
    }
}
