//! Read, decide, write under the version that was read.
//!
//! Invariants: nothing is written over a version that the decision has not seen; when another writer
//! came between, the decision is made again, at most so many times in all; of the calls of one
//! connection none comes between the read and the write of another of the same entity. A call waits
//! for its turn before it sends anything and has one at most, so no two wait for each other.

use super::table_client::TableClient;
use crate::entity::{EntityRow, Loaded, TableEntity};
use crate::error::{Error, Result};
use crate::model::ETag;
use crate::plan::{Plan, Step};
use crate::query::{KeyRange, Span};
use crate::store::Batch;

/// How often a write that reads first is tried when other writers come between, unless told
/// otherwise. Those of the same [`Tables`](crate::Tables) and its clones take turns, so that only
/// others do.
pub const MAX_ATTEMPTS: usize = 8;

/// The keys of a canonical row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CanonicalKey {
    pub partition_key: String,
    pub row_key: String,
}

impl CanonicalKey {
    /// The row that a complete key names.
    pub fn of(keys: KeyRange) -> Self {
        let text = |span| if let Span::Exact(text) = span { text } else { String::new() };
        Self { partition_key: text(keys.partition), row_key: text(keys.row) }
    }

    /// That row's.
    pub fn in_partition(partition_key: &str, row: &EntityRow) -> Self {
        Self { partition_key: partition_key.to_owned(), row_key: row.row_key.clone() }
    }

    /// A read of it, then the difference; `absent` is what is written when nothing is there.
    pub fn plan(&self, client: &TableClient, absent: Option<Batch>, attempts: usize) -> Plan {
        let keys = KeyRange {
            partition: Span::Exact(self.partition_key.clone()),
            row: Span::Exact(self.row_key.clone()),
        };
        let mut plan = Plan::read(client.query(keys));
        plan.steps.push(Step::CommitChanges { table: client.table.clone(), absent, attempts });
        plan
    }
}

/// What is to be written over the row that was read.
pub(crate) struct Decision {
    pub transaction: Batch,
    /// The canonical row afterwards; `None` when it goes.
    pub canonical: Option<EntityRow>,
}

/// What was read, as `decide` has left it; and the canonical row afterwards, with its version where
/// the store has told it, or `None` when it is gone.
pub(crate) type Outcome<E> = (Option<Loaded<E>>, Option<(EntityRow, Option<ETag>)>);

/// Reads the canonical row and writes what `decide` makes of it under its ETag.
pub(crate) async fn retry_on_conflict<E: TableEntity, X: From<Error>>(
    client: &TableClient,
    key: &CanonicalKey,
    attempts: usize,
    mut decide: impl FnMut(Option<&mut Loaded<E>>) -> Result<Decision, X>,
) -> Result<Outcome<E>, X> {
    let CanonicalKey { partition_key, row_key } = key;
    let _permit = client.connection.write_lock(&client.table, key).await;
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut stored = match client.get(partition_key, row_key, None, E::METADATA).await? {
            Some(row) => Some(Loaded::<E>::read(row.body, row.header).map_err(Error::from)?),
            None => None,
        };
        let Decision { transaction, canonical } = decide(stored.as_mut())?;
        if transaction.operations.is_empty() {
            let etag = stored.as_ref().map(|loaded| loaded.etag().clone());
            return Ok((stored, canonical.map(|row| (row, etag))));
        }
        let written = canonical.as_ref().and_then(|row| transaction.last_on(&row.row_key));
        let error = match client.send_changes(transaction, row_key).await {
            Ok(etags) => {
                let etag = written.and_then(|index| etags.into_iter().nth(index).flatten());
                return Ok((stored, canonical.map(|row| (row, etag))));
            }
            Err(error) => error,
        };
        let came_between = match &error {
            Error::Conflict(_) | Error::NotFound(_) => true,
            // Another row that is there is another entity's, and stays so.
            Error::AlreadyExists(refusal) => stored.is_none() && refusal.row_key == *row_key,
            _ => false,
        };
        if !came_between || attempt >= attempts {
            return Err(error.into());
        }
    }
}
