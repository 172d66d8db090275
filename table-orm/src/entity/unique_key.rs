//! A value of a `unique(.., across)` to look for.

use super::TableEntity;
use crate::key::KeyError;
use crate::query::PartitionKey;
use std::marker::PhantomData;

/// The values of a `unique(.., across)` of `E`, which at most one entity has: `User::unique_login("ann")` for
/// `unique(login, across)`. [`Repo::load_unique`](crate::Repo::load_unique) reads that entity.
#[derive(Debug)]
pub struct UniqueKey<E> {
    /// The name of the `unique(..)`.
    pub(crate) name: &'static str,
    /// The PartitionKey of the guard row.
    pub(crate) guard: Result<String, KeyError>,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> UniqueKey<E> {
    #[doc(hidden)]
    #[must_use]
    pub fn new(name: &'static str, guard: PartitionKey) -> Self {
        Self { name, guard: guard.finish(), entity: PhantomData }
    }
}

impl<E> Clone for UniqueKey<E> {
    fn clone(&self) -> Self {
        Self { name: self.name, guard: self.guard.clone(), entity: PhantomData }
    }
}
