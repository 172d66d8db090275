//! Applies a group of requests in one transaction.
//!
//! Invariant: a request takes effect whole or not at all, and sees the effects of earlier requests
//! of the group. All its operations are checked before the first is applied. After that only the
//! database itself can fail, which then discards the transaction: the whole group and, with eventual
//! durability, earlier groups that the transaction holds.

use super::database::{Database, Transaction, WriteRows, WriteTable};
use super::if_match::check_if_match;
use super::row::Row;
use super::row_change::RowChange;
use super::timestamps::Clock;
use super::{layout, rules, stored};
use crate::model::{ETag, TableName};
use crate::store::{Action, ErrorCode, StoreError};
use bytes::Bytes;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A change of the database.
#[derive(Debug)]
pub(crate) enum Change {
    /// Writes different rows of one table.
    Write {
        /// The table's lower-case name.
        table: String,
        /// The checked operations.
        operations: Vec<AdmittedOperation>,
    },
    /// Creates a table.
    CreateTable(TableName),
    /// Deletes a table with all its rows.
    DeleteTable(TableName),
}

/// One write of one row that passed the checks without the database.
#[derive(Debug)]
pub(crate) struct AdmittedOperation {
    /// The row's key.
    pub(crate) key: Vec<u8>,
    /// The action; its body is a normalised row.
    pub(crate) action: Action,
}

/// The result of a request: the new ETag of each written row, `None` for a delete.
pub(crate) type ChangeResult = Result<Vec<Option<ETag>>, StoreError>;

/// The only writer of a database, with the state that it keeps in memory between transactions.
#[derive(Debug)]
pub(crate) struct DatabaseWriter {
    /// The lower-case names of all tables.
    tables: BTreeSet<String>,
    clock: Clock,
}

impl DatabaseWriter {
    /// Reads our own tables of the database, or creates them.
    pub(crate) fn start(database: &Database) -> Result<Self, redb::Error> {
        let (tables, clock) = database.start()?;
        Ok(Self { tables, clock })
    }

    /// Whether the next group may have to be synced, whatever the durability.
    pub(crate) fn may_sync(&self) -> bool {
        self.clock.is_near_bound()
    }

    /// Applies the requests in order. An error is the database's. The writer may then be ahead of
    /// the database, so the caller must start another.
    pub(crate) fn apply<'r>(
        &mut self,
        database: &Database,
        requests: impl Iterator<Item = &'r Change>,
    ) -> Result<Vec<ChangeResult>, redb::Error> {
        if self.may_sync() {
            // Readers see what was answered before, and do not wait for that sync.
            database.commit_answered()?;
        }
        let transaction = database.begin()?;
        let mut answers = Vec::with_capacity(requests.size_hint().0);
        let mut open = OpenTable::none(&transaction);
        for request in requests {
            answers.push(match request {
                Change::Write { table, operations } if self.tables.contains(table) => {
                    write_rows(open.get(table)?.rows(), operations, &mut self.clock)?
                }
                Change::Write { table, .. } => Err(table_not_found(table)),
                Change::CreateTable(name) => {
                    open.close();
                    self.create_table(&transaction, name)?
                }
                Change::DeleteTable(name) => {
                    open.close();
                    self.delete_table(&transaction, name)?
                }
            });
        }
        drop(open);
        if !answers.iter().any(Result::is_ok) {
            transaction.abort()?;
            return Ok(answers);
        }
        match self.clock.passed_bound() {
            None => transaction.commit(answers.iter().flatten().map(Vec::len).sum())?,
            Some(bound) => {
                transaction.store_clock(bound)?;
                // A crash must not take the bound back: a timestamp could come twice.
                transaction.commit_synced()?;
                self.clock.bound_stored(bound);
            }
        }
        Ok(answers)
    }

    fn create_table(
        &mut self,
        transaction: &Transaction<'_>,
        name: &TableName,
    ) -> Result<ChangeResult, redb::Error> {
        let key = layout::lower_case(name.as_str()).into_owned();
        if self.tables.contains(&key) {
            return Ok(Err(StoreError::new(
                ErrorCode::TABLE_ALREADY_EXISTS,
                format!("The table `{name}` already exists."),
            )));
        }
        transaction.create_table(name)?;
        self.tables.insert(key);
        Ok(Ok(Vec::new()))
    }

    fn delete_table(
        &mut self,
        transaction: &Transaction<'_>,
        name: &TableName,
    ) -> Result<ChangeResult, redb::Error> {
        let key = layout::lower_case(name.as_str());
        if !self.tables.remove(&*key) {
            return Ok(Err(StoreError::new(
                ErrorCode::RESOURCE_NOT_FOUND,
                format!("The table `{name}` does not exist."),
            )));
        }
        transaction.delete_table(&key)?;
        Ok(Ok(Vec::new()))
    }
}

/// Builds the error of a request to a missing table.
pub(crate) fn table_not_found(table: &str) -> StoreError {
    StoreError::new(ErrorCode::TABLE_NOT_FOUND, format!("The table `{table}` does not exist."))
}

/// The table of the last write, kept open because requests of a group mostly go to one table.
struct OpenTable<'t, 'r> {
    transaction: &'t Transaction<'t>,
    open: Option<(&'r str, WriteTable<'t>)>,
}

impl<'t, 'r> OpenTable<'t, 'r> {
    const fn none(transaction: &'t Transaction<'t>) -> Self {
        Self { transaction, open: None }
    }

    fn get(&mut self, name: &'r str) -> Result<&mut WriteTable<'t>, redb::Error> {
        let open = match self.open.take() {
            Some((open, rows)) if open == name => (open, rows),
            other => {
                drop(other);
                (name, self.transaction.table(name)?)
            }
        };
        Ok(&mut self.open.insert(open).1)
    }

    fn close(&mut self) {
        self.open = None;
    }
}

/// Checks all operations against the rows, then applies them. An outer error is the database's.
fn write_rows(
    mut rows: WriteRows<'_, '_>,
    operations: &[AdmittedOperation],
    clock: &mut Clock,
) -> Result<ChangeResult, redb::Error> {
    let are_new = are_new(&rows, operations)?;
    let mut bodies = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        let stored = match operation.action {
            // Whatever is there.
            Action::InsertOrReplace(_) => None,
            _ if are_new => None,
            _ => rows.get(&operation.key)?,
        };
        match body_to_store(&operation.action, stored.as_ref()) {
            Ok(body) => bodies.push(body),
            Err(error) => return Ok(Err(error.at(index))),
        }
    }
    let changes = operations.iter().zip(bodies).map(|(operation, body)| RowChange {
        key: &operation.key,
        row: body.map(|body| (clock.tick().text(), body)),
    });
    let changes: Vec<_> = changes.collect();
    rows.write(&changes)?;
    let etag = |change: &RowChange<'_>| {
        change.row.as_ref().map(|(timestamp, _)| stored::etag_at(timestamp))
    };
    Ok(Ok(changes.iter().map(etag).collect()))
}

/// Whether many operations depend on stored rows, and none is stored between the first and the last of them. One search
/// finds that, instead of one for each.
fn are_new(
    rows: &WriteRows<'_, '_>,
    operations: &[AdmittedOperation],
) -> Result<bool, redb::Error> {
    const MANY: usize = 4;
    let depends = |it: &&AdmittedOperation| !matches!(it.action, Action::InsertOrReplace(_));
    let keys = || operations.iter().filter(depends).map(|operation| &*operation.key);
    match (keys().min(), keys().max()) {
        (Some(first), Some(last)) if keys().count() >= MANY => rows.is_empty(first, last),
        _ => Ok(false),
    }
}

/// Returns the row's new body, `None` when the row is deleted. Fails when the condition is not
/// satisfied.
fn body_to_store<'a>(
    action: &'a Action,
    stored: Option<&Row<'_>>,
) -> Result<Option<Cow<'a, Bytes>>, StoreError> {
    if let Some(if_match) = action.if_match() {
        check_if_match(if_match, stored)?;
    }
    match (action, stored) {
        (Action::Insert(_), Some(_)) => Err(StoreError::new(
            ErrorCode::ENTITY_ALREADY_EXISTS,
            "The specified entity already exists.",
        )),
        (Action::InsertOrMerge(patch) | Action::Merge(patch, _), Some(stored)) => {
            let row = rules::merge(&stored.text()?, stored::text(patch)?)?;
            Ok(Some(Cow::Owned(row)))
        }
        (Action::Delete(_), _) => Ok(None),
        _ => Ok(action.body().map(Cow::Borrowed)),
    }
}
