//! A store that leaves out one part of what keeps large values whole, for the client above it.

use std::sync::Arc;
use table_orm::model::ETag;
use table_orm::store::{Action, Batch, IfMatch, Middleware, Operation, Store, StoreError};
use table_orm::{Result, TableName};

/// A part of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// A write that refers to a value fails if its first row is gone.
    Touch,
    /// The first row of a replaced value is deleted.
    FirstDeleted,
    /// It is deleted in the transaction of the entity, and not before.
    Together,
    /// The other rows of a replaced value are deleted.
    OthersDeleted,
}

impl LeftOut {
    pub const ALL: [Self; 4] =
        [Self::Touch, Self::FirstDeleted, Self::Together, Self::OthersDeleted];

    /// Whether the part is that operation of an entity's transaction.
    fn is(self, Operation { row_key, action }: &Operation) -> bool {
        let is_first = row_key.starts_with("LOB:") && row_key.ends_with(":000000");
        match self {
            Self::Touch => is_first && matches!(action, Action::Merge(..)),
            Self::FirstDeleted | Self::Together => {
                is_first && matches!(action, Action::Delete(IfMatch::Any))
            }
            Self::OthersDeleted => false,
        }
    }
}

/// The store of one client.
#[derive(Debug)]
pub struct Tampering {
    pub inner: Arc<dyn Store>,
    pub left_out: Option<LeftOut>,
}

/// Whether it deletes rows of values, but for the first.
fn deletes_others(operations: &[Operation]) -> bool {
    operations.iter().all(|one| {
        one.row_key.starts_with("LOB:")
            && !one.row_key.ends_with(":000000")
            && matches!(one.action, Action::Delete(_))
    })
}

impl Middleware for Tampering {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let others = deletes_others(std::slice::from_ref(&operation));
        if self.left_out == Some(LeftOut::OthersDeleted) && others {
            return Ok(None);
        }
        self.inner.write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let Some(part) = self.left_out else { return self.inner.commit(table, batch).await };
        let Batch { partition_key, operations } = batch;
        if part == LeftOut::OthersDeleted && deletes_others(&operations) {
            return Ok(vec![None; operations.len()]);
        }
        let (out, operations): (Vec<_>, Vec<_>) =
            operations.into_iter().partition(|operation| part.is(operation));
        if part == LeftOut::Together {
            for operation in out {
                let _gone = self.inner.write(table, &partition_key, operation).await;
            }
        }
        self.inner.commit(table, Batch { partition_key, operations }).await
    }
}
