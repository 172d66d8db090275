//! Writes of entities that refer to large values: the transaction touches the first row of each value.
//!
//! Invariants:
//! - No transaction makes an entity refer to a value whose first row is gone.
//! - A touch changes that row's version, so who removes the row in a version that was read before finds out.

use super::table_client::TableClient;
use crate::entity::body;
use crate::error::{Error, LargeValueError, Result};
use crate::model::ETag;
use crate::property::PropertiesWriter;
use crate::store::{Action, Batch, IfMatch, Operation};

impl TableClient {
    /// Sends a batch and the touches of the values that its entities refer to. Returns the ETags of the
    /// batch's operations.
    pub(super) async fn send_with_values(&self, mut batch: Batch) -> Result<Vec<Option<ETag>>> {
        let (count, partition_key) = (batch.operations.len(), batch.partition_key.clone());
        let touches = self.touches(&batch)?;
        batch.operations.extend(touches.iter().cloned());
        let error = match self.send_all(batch).await {
            Ok(mut etags) => {
                etags.truncate(count);
                return Ok(etags);
            }
            Err(error) => error,
        };
        let failed = match &error {
            Error::NotFound(rejection) => rejection.operation.map(|(index, _)| index),
            _ => None,
        };
        match failed.and_then(|index| touches.get(index.checked_sub(count)?)) {
            Some(touch) => {
                Err(LargeValueError::Gone { partition_key, row_key: touch.row_key.clone() }.into())
            }
            None => Err(error),
        }
    }

    /// One operation for each value that the batch's canonical rows refer to.
    pub(super) fn touches(&self, batch: &Batch) -> Result<Vec<Operation>> {
        let mut touches: Vec<Operation> = Vec::new();
        for Operation { row_key, action } in &batch.operations {
            let Some(row) = action.body() else { continue };
            let types = self.large.iter().filter(|large| large.is_canonical(row_key));
            for reference in types.flat_map(|large| large.references(row)) {
                let partition_key = &batch.partition_key;
                if !reference.is_of(partition_key, row_key) {
                    let (partition_key, row_key) = (partition_key.clone(), row_key.clone());
                    return Err(LargeValueError::OfAnotherEntity { partition_key, row_key }.into());
                }
                let row_key = reference.head();
                if touches.iter().all(|touch| touch.row_key != row_key) {
                    let nothing = PropertiesWriter::new(self.context.entity);
                    let row = body(partition_key, &row_key, &nothing)?;
                    touches.push(Operation { row_key, action: Action::Merge(row, IfMatch::Any) });
                }
            }
        }
        Ok(touches)
    }
}
