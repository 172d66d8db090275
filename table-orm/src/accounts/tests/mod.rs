//! Accounts over embedded stores.

#![allow(clippy::unwrap_used, clippy::panic)]

mod client;
mod fixed;
mod growing;
mod simulation;
mod tampering;

use crate::embedded::EmbeddedStore;
use crate::entity::DynamicEntity;
use crate::model::TableName;
use crate::query::RowQuery;
use crate::store::{Action, Operation, Store};
use std::sync::Arc;

fn name(text: &str) -> TableName {
    TableName::new(text).unwrap()
}

fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::in_memory().unwrap())
}

fn insert(row: &DynamicEntity) -> Operation {
    Operation { row_key: row.row_key.clone(), action: Action::Insert(row.body().unwrap()) }
}

/// The keys of each page of a query.
async fn pages(store: &dyn Store, mut query: RowQuery) -> Vec<Vec<(String, String)>> {
    let mut pages = Vec::new();
    loop {
        let page = store.query(&query).await.unwrap();
        let rows = crate::entity::split_page(&page.body).unwrap();
        let rows = rows.iter().map(|row| {
            let head = crate::entity::read_row::<crate::entity::RowHead>(0, row.get().as_bytes());
            let head = head.unwrap();
            (head.partition_key, head.row_key)
        });
        pages.push(rows.collect());
        assert!(pages.len() < 10_000, "the query does not end");
        if page.continuation.is_none() {
            return pages;
        }
        query.continuation = page.continuation;
    }
}
