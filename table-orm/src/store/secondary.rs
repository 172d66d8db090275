//! The copy of a store in another region.

use super::{Store, StoreError};
use crate::model::DateTime;
use async_trait::async_trait;

/// The copy of a store in another region, which follows it. It can be read only, and its answers may
/// be older than the store's.
#[async_trait]
pub trait Secondary: Store {
    /// Asks how far the copy has followed: one request.
    ///
    /// # Errors
    /// The copy cannot be reached, or the account has none.
    async fn replication(&self) -> Result<Replication, StoreError>;
}

/// How far the copy of a store has followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replication {
    /// Whether it follows.
    pub status: ReplicationStatus,
    /// The copy has every write from before this moment, to the second, and perhaps later ones. `None`
    /// where it is not known.
    pub last_sync: Option<DateTime>,
}

impl Replication {
    /// The state of a copy that has every write from before `last_sync`.
    #[must_use]
    pub const fn new(status: ReplicationStatus, last_sync: Option<DateTime>) -> Self {
        Self { status, last_sync }
    }
}

/// Whether the copy of a store follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplicationStatus {
    /// It follows.
    Live,
    /// It is being made for the first time, and cannot be read yet.
    Bootstrap,
    /// It cannot be reached, or does not follow.
    Unavailable,
}
