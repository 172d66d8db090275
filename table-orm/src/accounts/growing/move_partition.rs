//! Moves one partition from one account to another.
//!
//! Invariant: any mover can repeat any step at any time.

use super::super::Answer;
use super::Growing;
use super::fence::{self, COPY, commit_behind, row};
use super::map_row::create;
use super::pages::Pages;
use super::register::Registered;
use crate::entity::{DynamicEntity, ReadRow as _, RowHead};
use crate::model::{MAX_TRANSACTION_BYTES, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, Batch, ErrorCode, IfMatch, Operation, Store};

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
    let query = RowQuery { metadata, ..rows_of(table, partition_key) };
    let mut pages = Pages::new(source, query);
    let mut copied = 0;
    while let Some(rows) = pages.next::<DynamicEntity>().await? {
        let operations = rows.into_iter().map(|entity| {
            let action = Action::InsertOrReplace(row(&entity)?);
            Ok(Operation { row_key: entity.row_key, action })
        });
        for batch in batches(target, table, partition_key, operations.collect::<Answer<_>>()?)? {
            let done = commit_behind(target, table, partition_key, COPY, &batch).await?;
            if done.is_none() {
                return Ok(copied);
            }
            copied += batch.len() as u64;
        }
    }
    Ok(copied)
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
                if batch.len() + 1 < target.transaction_operations()
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
    let query = RowQuery { select: RowHead::select(), ..rows_of(table, partition_key) };
    let mut pages = Pages::new(source, query);
    while let Some(rows) = pages.next::<RowHead>().await? {
        let operations = rows.into_iter().map(|head| {
            let action = Action::Delete(IfMatch::Any);
            Operation { row_key: head.row_key, action }
        });
        let operations: Vec<_> = operations.collect();
        for operations in operations.chunks(source.transaction_operations().max(1)) {
            delete(source, table, partition_key, operations).await?;
        }
    }
    Ok(())
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
