//! A store of an app's own, around another one: it reads, and refuses every write.

use async_trait::async_trait;
use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::model::Metadata;
use table_orm::query::RowQuery;
use table_orm::store::{Batch, ErrorCode, Operation, Page, Store, StoreError, StoredRow};
use table_orm::{ETag, TableEntity, TableName, Tables};

/// Every method is one request. A full backend answers them from its own storage.
#[derive(Debug)]
struct ReadOnly<S>(S);

type Answer<T> = Result<T, StoreError>;

fn refused<T>() -> Answer<T> {
    Err(StoreError::new(ErrorCode::new("ReadOnly"), "this app only reads"))
}

#[async_trait]
impl<S: Store> Store for ReadOnly<S> {
    fn hidden_property(&self) -> Option<&str> {
        self.0.hidden_property()
    }
    async fn create_table(&self, _: &TableName) -> Answer<()> {
        refused()
    }
    async fn delete_table(&self, _: &TableName) -> Answer<()> {
        refused()
    }
    async fn list_tables(&self) -> Answer<Vec<TableName>> {
        self.0.list_tables().await
    }
    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Answer<Option<StoredRow>> {
        self.0.get(table, partition_key, row_key, select, metadata).await
    }
    async fn query(&self, query: &RowQuery) -> Answer<Page> {
        self.0.query(query).await
    }
    async fn write(&self, _: &TableName, _: &str, _: Operation) -> Answer<Option<ETag>> {
        refused()
    }
    async fn commit(&self, _: &TableName, _: Batch) -> Answer<Vec<Option<ETag>>> {
        refused()
    }
}

#[derive(Debug, TableEntity)]
#[table(name = "prices", partition = "{market}", row = "{article}")]
struct Price {
    market: String,
    article: String,
    cents: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let store = Arc::new(EmbeddedStore::in_memory()?);
    let office = Tables::new(Arc::clone(&store)).repo::<Price>();
    office.create_table().await?;
    office.insert(&Price { market: "Leith".into(), article: "plum".into(), cents: 90 }).await?;

    // The report reads what the office wrote, and cannot change it.
    let report = Tables::new(ReadOnly(store)).repo::<Price>();
    let plum = Price::partition("Leith").row().article("plum");
    println!("{:?}", report.get(&plum).await?);
    let cheaper = PricePatch::default().cents(1);
    if let Err(error) = report.merge(&plum, cheaper).await {
        println!("{error}");
    }
    Ok(())
}

// Prints:
// Some(Price { market: "Leith", article: "plum", cents: 90 })
// unavailable: `Price` in table `prices`, key "Leith" / "plum", operation 0 (merge): ReadOnly: this app only reads
