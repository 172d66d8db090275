//! Writes that read first, and settle what they make due.

use super::intents::Intents;
use super::settled::Settling;
use crate::entity::{Loaded, TableEntity};
use crate::error::{Error, Result};
use crate::plan::{Decision, OptimisticWrite, Outcome, TableClient};

/// Runs a write of one entity, and settles the rows elsewhere that it makes due.
pub(crate) async fn run_and_settle<E: TableEntity, X: From<Error>>(
    write: &OptimisticWrite,
    client: &TableClient,
    settling: &Settling,
    mut decide: impl FnMut(Option<&mut Loaded<E>>) -> Result<Decision, X>,
) -> Result<Outcome<E>, X> {
    let mut intents = Intents::default();
    let decide = |mut loaded: Option<&mut Loaded<E>>| {
        // An attempt that reads anew uses a new intent.
        intents = Intents::default();
        let Decision { mut batch, canonical } = decide(loaded.as_deref_mut())?;
        if !batch.operations.is_empty() {
            let new = canonical.as_ref();
            let added = match loaded {
                Some(loaded) => intents.add_loaded(client, loaded, new),
                None => intents.add::<E>(client, &batch.partition_key, None, new),
            };
            added.map_err(Error::from)?;
            intents.append_to(client, &mut batch)?;
        }
        Ok::<_, X>(Decision { batch, canonical })
    };
    let outcome = write.run::<E, X>(client, decide).await?;
    intents.settle(client, &outcome.etags, settling).await;
    Ok(outcome)
}
