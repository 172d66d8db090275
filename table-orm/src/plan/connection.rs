//! A store, and the locks of the calls that write to it.
//!
//! Invariant: no call waits for a lock without end. The task that holds the lock may have stopped
//! polling its call in order to await this one.

use super::canonical_key::CanonicalKey;
use crate::model::TableName;
use crate::store::Store;
use crate::sync::{KeyedLock, Permit};
use futures_timer::Delay;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// The longest wait for a lock, enough for many requests to end. After it, the ETag alone decides.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// What all clones of a [`Tables`](crate::Tables) share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub store: Arc<dyn Store>,
    /// Held by writes that read an entity first.
    write_locks: KeyedLock<(TableName, CanonicalKey)>,
}

impl Connection {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, write_locks: KeyedLock::new(1) }
    }

    /// Waits until no other call is between its read and its write of the entity. Returns `None` after
    /// [`MAX_WAIT`].
    pub(crate) async fn write_lock(
        &self,
        table: &TableName,
        key: &CanonicalKey,
    ) -> Option<Permit<'_, (TableName, CanonicalKey)>> {
        let mut permit = pin!(self.write_locks.acquire((table.clone(), key.clone())));
        if let Some(permit) = permit.as_mut().now_or_never() {
            return Some(permit);
        }
        // The app's runtime may be one without timers.
        match select(permit, Delay::new(MAX_WAIT)).await {
            Either::Left((permit, _)) => Some(permit),
            Either::Right(_) => None,
        }
    }
}
