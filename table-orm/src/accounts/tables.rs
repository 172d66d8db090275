//! Creates, lists and deletes tables, which every account has.
//!
//! Invariant: a call that failed in the middle is completed by the same call.

use super::Answer;
use crate::model::TableName;
use crate::store::{ErrorCode, Store, StoreError};
use futures_util::future::{join_all, try_join_all};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Creates the table in each account that lacks it.
pub(super) async fn create(stores: &[Arc<dyn Store>], table: &TableName) -> Answer<()> {
    let requests = stores.iter().map(|store| store.create_table(table));
    all(join_all(requests).await, &ErrorCode::TABLE_ALREADY_EXISTS)
}

/// Deletes the table in each account that has it.
pub(super) async fn delete(stores: &[Arc<dyn Store>], table: &TableName) -> Answer<()> {
    let requests = stores.iter().map(|store| store.delete_table(table));
    all(join_all(requests).await, &ErrorCode::RESOURCE_NOT_FOUND)
}

/// Succeeds if some account did it, and each other one says that it is done.
fn all(answers: Vec<Answer<()>>, is_done: &ErrorCode) -> Answer<()> {
    let count = answers.len();
    let mut done = Vec::new();
    let mut failed: Option<StoreError> = None;
    for answer in answers {
        match answer {
            Ok(()) => {}
            Err(error) if error.code == *is_done => done.push(error),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match (failed, done.pop()) {
        (Some(error), _) => Err(error),
        (None, Some(error)) if done.len() + 1 == count => Err(error),
        _ => Ok(()),
    }
}

/// The tables of each account.
pub(super) async fn list(stores: &[Arc<dyn Store>]) -> Answer<Vec<Vec<TableName>>> {
    try_join_all(stores.iter().map(|store| store.list_tables())).await
}

/// The tables of all accounts, in order; of those that differ in case, the spelling of the first account.
pub(super) fn union(
    tables: Vec<Vec<TableName>>,
    is_here: impl Fn(usize, &TableName) -> bool,
) -> Vec<TableName> {
    let mut all = BTreeMap::new();
    for (account, tables) in tables.into_iter().enumerate() {
        for table in tables.into_iter().filter(|table| is_here(account, table)) {
            all.entry(table.as_str().to_ascii_lowercase()).or_insert(table);
        }
    }
    all.into_values().collect()
}
