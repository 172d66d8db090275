//! Writes of an entity over its stored rows, which are read first.

use super::merge::merge_into;
use crate::entity::{EntityRows, Loaded, Row, TableEntity};
use crate::error::Result;
use crate::eventual::{Settling, change_and_settle, plan_with_settling};
use crate::model::ETag;
use crate::plan::{
    CanonicalKey, Decision, OptimisticWrite, Plan, RetryLimits, TableClient, delete_all,
};
use crate::store::IfMatch;
use futures_core::future::BoxFuture;

/// What happens to the stored rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OnExisting {
    /// They become the new rows. When nothing is stored, the new rows are inserted.
    Upsert,
    /// They become the new rows. Fails when nothing is stored, or in another version than the given one.
    Replace(Option<ETag>),
    /// They get the new properties. When nothing is stored, the new rows are inserted.
    Merge,
    /// They are deleted. Fails when nothing is stored.
    Delete,
}

/// The read and the write that turn the stored rows of an entity into `rows`.
pub(super) fn over_stored<E: TableEntity>(
    client: &TableClient,
    rows: &EntityRows,
    inserts: bool,
    limits: RetryLimits,
) -> Result<OptimisticWrite> {
    let canonical = rows.canonical().ok_or_else(|| client.not_found(&rows.partition_key, ""))?;
    let key = CanonicalKey::in_partition(&rows.partition_key, canonical);
    Ok(OptimisticWrite::new::<E>(client, key, inserts.then(|| rows.clone()), limits))
}

impl OnExisting {
    /// The operations that turn the rows of `loaded` into `rows`.
    pub fn decide<E: TableEntity>(
        &self,
        client: &TableClient,
        loaded: &Loaded<E>,
        rows: &EntityRows,
    ) -> Result<Decision> {
        let canonical = <E::Canonical as Row>::INDEX;
        let row = rows.canonical();
        match self {
            Self::Merge => match row {
                Some(row) => merge_into(loaded, &row.body),
                None => Err(client.not_found(&rows.partition_key, "")),
            },
            Self::Delete => {
                let guard = IfMatch::ETag(loaded.etag().clone());
                let batch = delete_all(loaded.stored_rows()?, canonical, &guard);
                Ok(Decision { batch, canonical: None })
            }
            Self::Replace(Some(etag)) if etag != loaded.etag() => {
                let row_key = row.map_or("", |row| &row.row_key);
                Err(client.changed(&rows.partition_key, row_key))
            }
            Self::Upsert | Self::Replace(_) => Decision::replace(loaded, rows),
        }
    }
}

/// What an upsert that reads first will send, as one of many.
pub(super) fn plan_upsert<E: TableEntity>(client: &TableClient, entity: &E) -> Result<Plan> {
    let rows = EntityRows::of_in(entity, &client.table)?;
    let write = over_stored::<E>(client, &rows, true, RetryLimits::default())?;
    Ok(plan_with_settling::<E>(client, write.plan(), &Settling::default()))
}

/// Sends such an upsert.
pub(super) fn send_upsert<E: TableEntity + 'static>(
    client: TableClient,
    entity: &E,
    settling: Settling,
) -> BoxFuture<'static, Result<()>> {
    let rows = EntityRows::of_in(entity, &client.table);
    Box::pin(async move {
        let rows = rows?;
        let write = over_stored::<E>(&client, &rows, true, RetryLimits::default())?;
        let mut decide = |loaded: &Loaded<E>| OnExisting::Upsert.decide(&client, loaded, &rows);
        change_and_settle(&write, &client, &settling, &mut decide).await.map(drop)
    })
}
