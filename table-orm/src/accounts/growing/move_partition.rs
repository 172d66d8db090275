//! One partition goes from one account to another.
//!
//! Invariant: any step can be sent again, by any mover, at any time.

use super::super::Answer;
use super::Growing;
use super::fence::{self, COPY, commit_behind, is_reserved, row};
use super::map_row::create;
use super::register::Registered;
use crate::entity::{DynamicEntity, ReadRow as _, RowHead, read_row, split_page};
use crate::model::{MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, Store, StoreError};

impl Growing {
    /// Moves a partition whose slot is marked and whose register is closed. Returns the number of its rows.
    pub(super) async fn move_partition(
        &self,
        from: usize,
        to: usize,
        partition: &Registered,
    ) -> Answer<u64> {
        let Registered { table, partition_key, .. } = partition;
        let (source, target) = (&*self.stores[from], &*self.stores[to]);
        match fence::close(source, table, partition_key).await {
            // Deleted with all its rows: to copy nothing would make the table again.
            Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => {
                self.register.note_moved(source, partition).await?;
                return Ok(0);
            }
            closed => closed?,
        }
        create(target, table).await?;
        self.register.insert(target, table, partition_key).await?;
        fence::begin(target, table, partition_key, COPY).await?;
        let rows = copy(source, target, table, partition_key).await?;
        fence::open(target, table, partition_key).await?;
        remove(source, table, partition_key).await?;
        self.register.note_moved(source, partition).await?;
        Ok(rows)
    }
}

fn rows_of(table: &TableName, partition_key: &str) -> RowQuery {
    let keys = KeyRange { partition: Span::Exact(partition_key.to_owned()), row: Span::All };
    RowQuery::new(table.clone(), keys)
}

/// Copies the rows of a closed partition, until they are copied or the partition takes writes there.
async fn copy(
    source: &dyn Store,
    target: &dyn Store,
    table: &TableName,
    partition_key: &str,
) -> Answer<u64> {
    let metadata = DynamicEntity::METADATA;
    let mut query = RowQuery { metadata, ..rows_of(table, partition_key) };
    let mut copied = 0;
    loop {
        let page = match source.query(&query).await {
            Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => return Ok(copied),
            page => page?,
        };
        let mut operations = Vec::new();
        for body in split_page(&page.body).map_err(|error| unreadable().caused_by(error))? {
            let entity = read_row::<DynamicEntity>(0, body.get().as_bytes())
                .map_err(|error| unreadable().caused_by(error))?;
            if !is_reserved(&entity.row_key) {
                let action = Action::InsertOrReplace(row(&entity)?);
                operations.push(Operation { row_key: entity.row_key, action });
            }
        }
        for batch in batches(target, table, partition_key, operations)? {
            let done = commit_behind(target, table, partition_key, COPY, &batch).await?;
            if done.is_none() {
                return Ok(copied);
            }
            copied += batch.len() as u64;
        }
        match page.continuation {
            None => return Ok(copied),
            continuation => query.continuation = continuation,
        }
    }
}

/// The operations as transactions that fit with their fence.
fn batches(
    target: &dyn Store,
    table: &TableName,
    partition_key: &str,
    operations: Vec<Operation>,
) -> Answer<Vec<Vec<Operation>>> {
    let frame = target.commit_bytes(table, partition_key, &[]);
    let bytes = |operation: &Operation| {
        let one = std::slice::from_ref(operation);
        target.commit_bytes(table, partition_key, one).saturating_sub(frame)
    };
    let start = frame + bytes(&fence::fence_operation(partition_key)?);
    let (mut batches, mut full) = (Vec::<Vec<_>>::new(), usize::MAX);
    for operation in operations {
        let more = bytes(&operation);
        match batches.last_mut() {
            Some(batch)
                if batch.len() < MAX_TRANSACTION_OPERATIONS - 1
                    && full + more <= MAX_TRANSACTION_BYTES =>
            {
                full += more;
                batch.push(operation);
            }
            _ => {
                full = start + more;
                batches.push(vec![operation]);
            }
        }
    }
    Ok(batches)
}

/// Deletes the rows of a partition that takes writes elsewhere; its fence stays closed.
async fn remove(source: &dyn Store, table: &TableName, partition_key: &str) -> Answer<()> {
    let mut query = RowQuery { select: RowHead::select(), ..rows_of(table, partition_key) };
    loop {
        let page = match source.query(&query).await {
            Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => return Ok(()),
            page => page?,
        };
        let mut operations = Vec::new();
        for body in split_page(&page.body).map_err(|error| unreadable().caused_by(error))? {
            let head = read_row::<RowHead>(0, body.get().as_bytes())
                .map_err(|error| unreadable().caused_by(error))?;
            if !is_reserved(&head.row_key) {
                let action = Action::Delete(IfMatch::Any);
                operations.push(Operation { row_key: head.row_key, action });
            }
        }
        for operations in operations.chunks(MAX_TRANSACTION_OPERATIONS) {
            delete(source, table, partition_key, operations).await?;
        }
        match page.continuation {
            None => return Ok(()),
            continuation => query.continuation = continuation,
        }
    }
}

/// Deletes rows, some of which another mover may have deleted.
async fn delete(
    source: &dyn Store,
    table: &TableName,
    partition_key: &str,
    operations: &[Operation],
) -> Answer<()> {
    let batch = Batch { partition_key: partition_key.to_owned(), operations: operations.to_vec() };
    match source.commit(table, batch).await {
        Err(error) if error.code == ErrorCode::RESOURCE_NOT_FOUND => {}
        answer => return answer.map(drop),
    }
    for operation in operations {
        match source.write(table, partition_key, operation.clone()).await {
            Err(error) if error.code == ErrorCode::RESOURCE_NOT_FOUND => {}
            answer => answer.map(drop)?,
        }
    }
    Ok(())
}

fn unreadable() -> StoreError {
    let message = "A row of the partition that moves cannot be read. It stays where it is.";
    StoreError::new(ErrorCode::INVALID_INPUT, message)
}
