//! A store that changes transactions into those of a broken write engine.

use table_orm::embedded::EmbeddedStore;
use table_orm::store::Middleware;
use table_orm::store::{Action, Batch, IfMatch, Operation, Store, StoreError};
use table_orm::{ETag, TableName};

/// What the write engine forgets.
#[derive(Debug, Clone, Copy)]
pub enum Mutation {
    /// To delete an index row that has moved.
    OldIndexRow,
    /// To insert an index row.
    NewIndexRow,
    /// To rewrite an index row that stays.
    StaleIndexRow,
    /// To delete a guard row.
    OldGuard,
    /// To ask for the version that was read.
    Version,
}

impl Mutation {
    pub const ALL: [Self; 5] =
        [Self::OldIndexRow, Self::NewIndexRow, Self::StaleIndexRow, Self::OldGuard, Self::Version];

    fn forgets(self, operation: &Operation) -> bool {
        let index = ["AGE:", "CITY:", "SEN:", "SHOW:", "TWIN:"];
        let guard = ["UNQ:", "NO:"];
        let is = |starts: &[&str]| starts.iter().any(|start| operation.row_key.starts_with(start));
        match (self, &operation.action) {
            (Self::OldIndexRow, Action::Delete(_)) | (Self::NewIndexRow, Action::Insert(_)) => {
                is(&index)
            }
            (Self::StaleIndexRow, Action::InsertOrReplace(_) | Action::InsertOrMerge(_)) => {
                is(&index)
            }
            (Self::OldGuard, Action::Delete(_)) => is(&guard),
            _ => false,
        }
    }

    /// The operation as it is sent.
    fn sent(self, mut operation: Operation) -> Operation {
        if let (
            Self::Version,
            Action::Replace(_, condition) | Action::Merge(_, condition) | Action::Delete(condition),
        ) = (self, &mut operation.action)
        {
            *condition = IfMatch::Any;
        }
        operation
    }
}

#[derive(Debug)]
pub struct CorruptingStore {
    store: EmbeddedStore,
    mutation: Mutation,
}

impl CorruptingStore {
    /// A store in memory, written by that engine.
    pub fn store(mutation: Mutation) -> Self {
        Self { store: EmbeddedStore::in_memory().unwrap(), mutation }
    }
}

impl Middleware for CorruptingStore {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.store.write(table, partition_key, self.mutation.sent(operation)).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let Batch { partition_key, operations } = transaction;
        let all = operations.len();
        let (kept, operations): (Vec<_>, Vec<_>) = operations
            .into_iter()
            .enumerate()
            .filter(|(_, operation)| !self.mutation.forgets(operation))
            .map(|(index, operation)| (index, self.mutation.sent(operation)))
            .unzip();
        let sent = self.store.commit(table, Batch { partition_key, operations }).await;
        let etags = sent.map_err(|mut error| {
            error.operation = error.operation.and_then(|index| kept.get(index).copied());
            error
        })?;
        let mut answers = vec![None; all];
        kept.into_iter().zip(etags).for_each(|(index, etag)| answers[index] = etag);
        Ok(answers)
    }
}
