//! A store, and the turns of those who write to it.

use super::guarded::CanonicalKey;
use crate::entity::TableName;
use crate::store::Store;
use crate::turns::{Turn, Turns};
use std::sync::Arc;

/// What all clones of a [`Tables`](crate::Tables) share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub store: Arc<dyn Store>,
    /// Of the writes that read an entity first.
    turns: Turns<(TableName, CanonicalKey)>,
}

impl Connection {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, turns: Turns::new(1) }
    }

    /// Waits until no other call reads the entity to write it.
    pub(super) async fn turn(
        &self,
        table: &TableName,
        key: &CanonicalKey,
    ) -> Turn<'_, (TableName, CanonicalKey)> {
        self.turns.wait((table.clone(), key.clone())).await
    }
}
