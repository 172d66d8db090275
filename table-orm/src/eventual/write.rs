//! Writes that read first, reserve the values that they give an entity, and settle what they make due.

use super::intents::Intents;
use super::settling::Settling;
use crate::entity::{Loaded, TableEntity};
use crate::error::{Error, Result};
use crate::plan::{Decision, OptimisticWrite, Outcome, TableClient};
use futures_core::future::BoxFuture;

/// What a write does with the entity that it read, or with none. A trait object, so that a write is built once for each
/// type of entity.
pub(crate) type Decide<'d, E, X> =
    dyn FnMut(Option<&mut Loaded<E>>) -> Result<Decision, X> + Send + 'd;

/// Runs a write of one entity: reads the canonical row, and sends what `decide` returns for the entity, or for
/// none, under the ETag that was read. Settles the rows in other partitions that it makes due.
pub(crate) async fn run_and_settle<E: TableEntity, X: From<Error>>(
    write: &OptimisticWrite,
    client: &TableClient,
    settling: &Settling,
    decide: &mut Decide<'_, E, X>,
) -> Result<Outcome<E>, X> {
    let mut attempt = write.begin(client).await;
    let (intents, outcome) = loop {
        let mut loaded = attempt.read::<E>().await?;
        let Decision { batch, canonical } = decide(loaded.as_mut())?;
        // An attempt that reads anew uses a new intent.
        let mut intents = Intents::default();
        if batch.operations.is_empty() {
            let etag = loaded.as_ref().map(|loaded| loaded.etag().clone());
            break (intents, Outcome { loaded, canonical, etag, etags: Vec::new() });
        }
        let new = canonical.as_ref();
        let added = match &loaded {
            Some(loaded) => intents.add_loaded(client, loaded, new),
            None => intents.add::<E>(client, &batch.partition_key, None, new),
        };
        added.map_err(Error::from)?;
        let written = new.and_then(|row| batch.last_on(&row.row_key));
        match intents.send(client, batch, Some(&write.key().row_key), settling).await {
            Ok(etags) => {
                let etag = written.and_then(|index| etags.get(index).cloned().flatten());
                break (intents, Outcome { loaded, canonical, etag, etags });
            }
            Err(error) => attempt.again(error).await?,
        }
    };
    drop(attempt);
    intents.settle(client, &outcome.etags, settling).await;
    Ok(outcome)
}

/// Does the same for a write that changes a stored entity. Where none is stored, it inserts the rows that it was
/// given for that case, or fails.
pub(crate) fn change_and_settle<'f, E: TableEntity>(
    write: &'f OptimisticWrite,
    client: &'f TableClient,
    settling: &'f Settling,
    decide: &'f mut (dyn FnMut(&Loaded<E>) -> Result<Decision> + Send),
) -> BoxFuture<'f, Result<Outcome<E>>> {
    Box::pin(async move {
        let mut decide = |loaded: Option<&mut Loaded<E>>| match loaded {
            Some(loaded) => decide(loaded),
            None => write.when_absent(client),
        };
        run_and_settle(write, client, settling, &mut decide).await
    })
}
