//! A store of an app's own, around another one: it forwards reads, and rejects every write.

use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::store::{ErrorCode, Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use table_orm::{TableEntity, Tables};

/// Forwards every request except writes.
#[derive(Debug)]
struct ReadOnly<S>(S);

impl<S: Store> Middleware for ReadOnly<S> {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if request.is_write() {
            let error = StoreError::new(ErrorCode::new("ReadOnly"), "this app only reads");
            return Err(StoreError { status: 403, ..error });
        }
        next.await
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
// not authorized: `Price` in table `prices`, key "Leith" / "plum", operation 0 (merge): ReadOnly: this app only reads
