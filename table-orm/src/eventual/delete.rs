//! The delete of an entity with all its rows, in the version in which it was loaded.

use super::intents::Intents;
use crate::entity::{InvalidEntity, Loaded, TableEntity, canonical};
use crate::plan::{TableClient, delete_all};
use crate::store::{Batch, IfMatch};

/// The transaction that deletes it. Only the canonical row is deleted under its ETag.
pub(crate) fn delete_batch<E: TableEntity>(loaded: &Loaded<E>) -> Result<Batch, InvalidEntity> {
    let guard = IfMatch::ETag(loaded.etag().clone());
    Ok(delete_all(loaded.stored_rows()?, canonical::<E>(), &guard))
}

/// That transaction, and what follows it in other partitions.
pub(crate) fn delete_loaded<E: TableEntity>(
    client: &TableClient,
    loaded: &Loaded<E>,
) -> Result<(Batch, Intents), InvalidEntity> {
    let mut intents = Intents::default();
    intents.add_loaded(client, loaded, None)?;
    Ok((delete_batch(loaded)?, intents))
}
