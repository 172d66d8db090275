//! What a stress test calls, over and over.

use super::mix::Mix;
use crate::entity::TableEntity;
use crate::error::Error;
use crate::model::TableName;
use crate::tables::Tables;
use futures_util::future::BoxFuture;
use std::future::Future;
use std::sync::Arc;

/// How many calls of an app are made before the load, to learn what they count.
pub(super) const FIRST_CALLS: u32 = 10;

/// A call that a stress test makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// Its number, from 0: no two calls of a test have the same.
    pub number: u64,
    /// The partition that it is for, from 0.
    pub partition: u32,
}

/// Makes a call.
pub(super) type MakeCall = Arc<dyn Fn(Call) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;
/// Makes the calls of an app, of its tables.
pub(super) type Start = dyn FnOnce(&Tables, TableName) -> MakeCall + Send;
/// Loads what the calls of an app read.
pub(super) type Load =
    Box<dyn FnOnce(Tables, TableName) -> BoxFuture<'static, Result<(), Error>> + Send>;

/// The calls of a test.
pub(super) enum Calls {
    /// Rows that the test makes up.
    Rows(Mix),
    /// Calls of the app.
    Typed(Box<Start>),
}

impl Calls {
    /// Calls of a function that the app makes of the tables.
    pub fn typed<C, F>(start: impl FnOnce(&Tables, TableName) -> C + Send + 'static) -> Self
    where
        C: Fn(Call) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        Self::Typed(Box::new(move |tables, table| {
            let call = start(tables, table);
            Arc::new(move |next| Box::pin(call(next)))
        }))
    }

    /// Inserts of generated entities.
    pub fn entities<E: TableEntity + Send + Sync + 'static>(
        generate: impl Fn(Call) -> E + Send + Sync + 'static,
    ) -> Self {
        let generate = Arc::new(generate);
        Self::typed(move |tables, table| {
            let repo = tables.repo_in::<E>(table);
            move |call| {
                let (repo, generate) = (repo.clone(), Arc::clone(&generate));
                async move { repo.insert(&generate(call)).await.map(drop) }
            }
        })
    }
}
