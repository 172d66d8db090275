//! Writes of entities that refer to large values: the transaction touches the first row of each value, and deletes
//! that of each value which it replaces.
//!
//! Invariants:
//! - No transaction makes an entity refer to a value whose first row is gone.
//! - A touch changes that row's version, so who removes the row in a version that was read before finds out.
//! - A value is replaced where its own entity referred to it in the version that the transaction requires, and no
//!   property refers to it afterwards.

use super::cost::{Bounds, Cost};
use super::step::Step;
use super::table_client::TableClient;
use crate::codec::overlay;
use crate::entity::{EntityRow, body, refers_to};
use crate::error::{Error, LargeValueError, Result};
use crate::model::ETag;
use crate::property::{PropertiesWriter, Reference, chunk_key};
use crate::store::{Action, Batch, IfMatch, Operation};

impl TableClient {
    /// Sends a batch and the operations for the values of its entities, then deletes the other rows of those that
    /// it replaces. Returns the ETags of the batch's operations.
    pub(super) async fn send_with_values(&self, batch: Batch) -> Result<Vec<Option<ETag>>> {
        let count = batch.operations.len();
        let (touches, mut replaced) = self.values(&batch)?;
        loop {
            let mut whole = batch.clone();
            whole.operations.extend(touches.iter().cloned());
            whole.operations.extend(replaced.iter().map(delete_of_head));
            let error = match self.send_all(whole).await {
                Ok(mut etags) => {
                    etags.truncate(count);
                    self.delete_others(&batch.partition_key, &replaced).await;
                    return Ok(etags);
                }
                Err(error) => error,
            };
            let failed = match &error {
                Error::NotFound(rejection) => rejection.operation,
                _ => None,
            };
            let Some(failed) = failed.and_then(|(index, _)| index.checked_sub(count)) else {
                return Err(error);
            };
            if let Some(touch) = touches.get(failed) {
                let (partition_key, row_key) = (batch.partition_key, touch.row_key.clone());
                return Err(LargeValueError::Gone { partition_key, row_key }.into());
            }
            // Who deleted it deletes the others, too.
            let removed = failed - touches.len();
            if removed >= replaced.len() {
                return Err(error);
            }
            replaced.remove(removed);
        }
    }

    /// The operations that a batch needs for the values of its entities.
    pub(crate) fn value_operations(&self, batch: &Batch) -> Result<Vec<Operation>> {
        let (mut operations, replaced) = self.values(batch)?;
        operations.extend(replaced.iter().map(delete_of_head));
        Ok(operations)
    }

    /// The deletes that follow a transaction which replaces values: of their rows but for the first.
    pub(crate) fn delete_values_of(&self, batch: &Batch) -> Result<Option<Step>> {
        let (_, replaced) = self.values(batch)?;
        let others: Vec<_> = replaced.iter().map(|value| value.rows().saturating_sub(1)).collect();
        let most = self.store().transaction_operations().max(1) as u64;
        let requests = others.iter().map(|rows| rows.div_ceil(most)).sum();
        let rows = others.iter().fold(0u64, |sum, rows| sum.saturating_add(*rows));
        let cost = Cost::deletes(Bounds::exactly(requests), Bounds::exactly(rows));
        let table = self.table.clone();
        Ok((rows > 0).then_some(Step::DeleteValues { table, rows: Some(rows), cost }))
    }

    /// The same, where the answer to a read decides.
    pub(crate) fn delete_values(&self) -> Option<Step> {
        let any = Bounds::from(0);
        let (table, cost) = (self.table.clone(), Cost::deletes(any, any));
        (!self.large.is_empty()).then_some(Step::DeleteValues { table, rows: None, cost })
    }

    /// The touches of a batch, and the values that it replaces, as far as a transaction has room for their deletes
    /// beside the totals and events that may follow.
    fn values(&self, batch: &Batch) -> Result<(Vec<Operation>, Vec<Reference>)> {
        let (touches, mut replaced) = (self.touches(batch)?, self.replaced_values(batch)?);
        let taken = batch.operations.len() + touches.len() + self.most_following(batch);
        replaced.truncate(self.store().transaction_operations().saturating_sub(taken));
        Ok((touches, replaced))
    }

    /// One operation for each value that the batch's canonical rows refer to.
    fn touches(&self, batch: &Batch) -> Result<Vec<Operation>> {
        let mut touches: Vec<Operation> = Vec::new();
        for Operation { row_key, action } in &batch.operations {
            let Some(row) = action.body() else { continue };
            for reference in self.values_of(row_key, row) {
                let partition_key = &batch.partition_key;
                if !reference.is_of(partition_key, row_key) {
                    let (partition_key, row_key) = (partition_key.clone(), row_key.clone());
                    return Err(LargeValueError::OfAnotherEntity { partition_key, row_key }.into());
                }
                if touches.iter().all(|touch| touch.row_key != reference.head()) {
                    touches.push(self.touch(partition_key, &reference)?);
                }
            }
        }
        Ok(touches)
    }

    /// A write of a value's first row, which fails where that is gone.
    pub(crate) fn touch(&self, partition_key: &str, reference: &Reference) -> Result<Operation> {
        let row_key = reference.head();
        let row = body(partition_key, &row_key, &PropertiesWriter::new(self.context.entity))?;
        Ok(Operation { row_key, action: Action::Merge(row, IfMatch::Any) })
    }

    /// The ids of the values that the batch's canonical rows refer to.
    pub(super) fn value_ids(&self, batch: &Batch) -> Vec<String> {
        let rows =
            batch.operations.iter().filter_map(|one| Some((&one.row_key, one.action.body()?)));
        rows.flat_map(|(row_key, row)| self.values_of(row_key, row)).map(|value| value.id).collect()
    }

    /// The values that a row of an entity refers to.
    fn values_of(&self, row_key: &str, row: &[u8]) -> impl Iterator<Item = Reference> {
        let types = self.large.iter().filter(move |large| large.is_canonical(row_key));
        types.flat_map(move |large| large.references(row))
    }

    /// The values to which no entity refers after the batch.
    fn replaced_values(&self, batch: &Batch) -> Result<Vec<Reference>> {
        let mut replaced: Vec<Reference> = Vec::new();
        for EntityRow { row_key, body: before, .. } in &self.before {
            let mut operations = batch.operations.iter();
            let is_write =
                |one: &&Operation| one.row_key == *row_key && one.action.etag().is_some();
            let Some(Operation { action, .. }) = operations.find(is_write) else { continue };
            let after = match action {
                Action::Merge(set, _) => Some(overlay(before, set, &[])?),
                action => action.body().cloned(),
            };
            for value in self.values_of(row_key, before) {
                let is_kept = after.as_ref().is_some_and(|row| refers_to(row, &value.id))
                    || self.kept.contains(&value.id)
                    || !value.is_of(&batch.partition_key, row_key);
                if !is_kept && !replaced.contains(&value) {
                    replaced.push(value);
                }
            }
        }
        Ok(replaced)
    }

    /// Deletes the rows of these values but for the first, and their blobs, as far as the store answers: without the
    /// first one, `verify` finds the others at once.
    async fn delete_others(&self, partition_key: &str, values: &[Reference]) {
        let most = self.store().transaction_operations().max(1);
        for value in values {
            if value.in_blob && self.delete_blob(&value.id).await.is_err() {
                // The row that is left says that there is a blob.
                continue;
            }
            let mut chunks = 1..value.rows();
            while !chunks.is_empty() {
                let delete = |chunk| Operation {
                    row_key: chunk_key(&value.id, chunk),
                    action: Action::Delete(IfMatch::Any),
                };
                let operations = chunks.by_ref().take(most).map(delete).collect();
                let partition_key = partition_key.to_owned();
                if self.send_rows(Batch { partition_key, operations }).await.is_err() {
                    break;
                }
            }
        }
    }
}

impl TableClient {
    async fn delete_blob(&self, id: &str) -> Result<(), LargeValueError> {
        self.blob(id)?.delete().await
    }
}

fn delete_of_head(value: &Reference) -> Operation {
    Operation { row_key: value.head(), action: Action::Delete(IfMatch::Any) }
}
