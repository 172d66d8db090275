//! What a stress test calls, over and over.

use super::error::StressError;
use super::mix::Mix;
use crate::entity::{EntityRows, TableEntity};
use crate::error::Error;
use crate::model::TableName;
use crate::tables::Tables;
use futures_util::future::BoxFuture;
use std::collections::BTreeSet;
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
/// The PartitionKey of what a call writes; `None` where its entity has no valid key, which the call itself reports.
type PartitionOf = dyn Fn(Call) -> Option<String> + Send + Sync;
/// Loads what the calls of an app read.
pub(super) type Load =
    Box<dyn FnOnce(Tables, TableName) -> BoxFuture<'static, Result<(), Error>> + Send>;

/// The calls of a test.
pub(super) enum Calls {
    /// Rows that the test makes up.
    Rows(Mix),
    /// Calls of the app.
    Typed {
        start: Box<Start>,
        /// Where that is known.
        partition_of: Option<Box<PartitionOf>>,
    },
}

impl Calls {
    /// Calls of a function that the app makes of the tables.
    pub fn typed<C, F>(start: impl FnOnce(&Tables, TableName) -> C + Send + 'static) -> Self
    where
        C: Fn(Call) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let start: Box<Start> = Box::new(move |tables, table| {
            let call = start(tables, table);
            Arc::new(move |next| Box::pin(call(next)))
        });
        Self::Typed { start, partition_of: None }
    }

    /// Inserts of generated entities.
    pub fn entities<E: TableEntity + Send + Sync + 'static>(
        generate: impl Fn(Call) -> E + Send + Sync + 'static,
    ) -> Self {
        let generate = Arc::new(generate);
        let known = Arc::clone(&generate);
        let calls = Self::typed(move |tables, table| {
            let repo = tables.repo_in::<E>(table);
            move |call| {
                let (repo, generate) = (repo.clone(), Arc::clone(&generate));
                async move { repo.insert(&generate(call)).await.map(drop) }
            }
        });
        let partition_of = move |call| Some(EntityRows::of(&known(call)).ok()?.partition_key);
        calls.in_partitions(Box::new(partition_of))
    }

    fn in_partitions(mut self, known: Box<PartitionOf>) -> Self {
        if let Self::Typed { partition_of, .. } = &mut self {
            *partition_of = Some(known);
        }
        self
    }

    /// Checks that the calls for that many partitions write to as many, as far as it is known.
    pub fn check_partitions(&self, asked: u32) -> Result<(), StressError> {
        let Self::Typed { partition_of: Some(partition_of), .. } = self else { return Ok(()) };
        let calls = (0..asked.max(FIRST_CALLS))
            .map(|number| Call { number: number.into(), partition: number % asked });
        let keys = calls.map(|call| Some((call.partition, partition_of(call)?)));
        let Some(keys) = keys.collect::<Option<BTreeSet<_>>>() else { return Ok(()) };
        let found = keys.iter().map(|(_, key)| key).collect::<BTreeSet<_>>().len();
        // Each partition has one key, and each key one partition.
        match keys.len() == found && found == asked as usize {
            true => Ok(()),
            false => Err(StressError::Partitions { asked, found }),
        }
    }
}
