//! What a client does about expired entities, and how they make room for a write.
//!
//! Invariant: an entity makes room only in the version that was read as expired. Whoever extends it meanwhile
//! keeps it.

use super::canonical_key::CanonicalKey;
use super::connection::Connection;
use crate::entity::ExpiryProperty;
use crate::error::Result;
use crate::model::TableName;
use futures_core::future::BoxFuture;
use std::fmt;
use std::sync::Arc;

/// How the expired entities of a type make room.
pub(crate) trait MakeRoom: fmt::Debug + Send + Sync {
    /// The type's name.
    fn entity(&self) -> &'static str;

    /// Deletes the entity of a row that is in the way of a write, or that a guard row there names, if it has
    /// expired. Returns whether the write may be sent again. Large values of these ids stay: the write refers to them.
    fn make_room(
        &self,
        connection: &Arc<Connection>,
        table: &TableName,
        key: CanonicalKey,
        kept: Vec<String>,
    ) -> BoxFuture<'static, Result<bool>>;
}

/// What a client does about expired entities.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expiry {
    /// The property that says when an entity of its type expires.
    pub property: Option<ExpiryProperty>,
    /// Whether its reads include entities that have expired.
    pub included: bool,
    /// For the types of its writes whose entities expire.
    pub evict: Vec<Arc<dyn MakeRoom>>,
}

impl Expiry {
    /// Lets expired entities of that type make room, too.
    pub fn add(&mut self, ty: Option<impl MakeRoom + 'static>) {
        let is_known = |ty: &dyn MakeRoom| self.evict.iter().any(|one| one.entity() == ty.entity());
        if let Some(ty) = ty.filter(|ty| !is_known(ty)) {
            self.evict.push(Arc::new(ty));
        }
    }
}
