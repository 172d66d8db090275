//! Types with a table for each period: which table an entity is in, and when a table is there.

mod each;
mod locked;
mod migrating;
mod on_demand;
mod ranges;
mod retention;
mod routes;
mod traffic;
mod writer;

use std::sync::{Arc, Mutex};
use table_orm::embedded::EmbeddedStore;
use table_orm::model::DateTime;
use table_orm::periods::Periods;
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use table_orm::{TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "readings", partition = "{sensor}", unique(serial), bucket(month, at))]
#[row(by_time, key = "AT:{at}")]
#[row(by_id, key = "ID:{id:05}", allow_key_conflict)]
struct Reading {
    sensor: String,
    at: DateTime,
    id: u32,
    serial: Option<u32>,
    celsius: f64,
}

fn instant(text: &str) -> DateTime {
    format!("{text}T12:00:00.0000000Z").parse().unwrap()
}

/// A reading of the roof at noon of a day.
fn reading(day: &str, id: u32) -> Reading {
    Reading { sensor: "roof".to_owned(), at: instant(day), id, serial: None, celsius: 20.5 }
}

/// The operations that a store gets, each with its table.
#[derive(Debug, Clone, Default)]
struct Sent(Arc<Mutex<Vec<String>>>);

impl Sent {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[derive(Debug)]
struct Noting {
    inner: Arc<dyn Store>,
    sent: Sent,
}

impl Middleware for Noting {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let table = request.table.map_or("", |table| table.as_str());
        self.sent
            .0
            .lock()
            .unwrap()
            .push(format!("{} {table}", request.operation).trim().to_owned());
        // Others go on meanwhile.
        tokio::task::yield_now().await;
        next.await
    }
}

/// Tables that note what they send.
fn noting(store: impl Store + 'static) -> (Tables, Sent) {
    let sent = Sent::default();
    (Tables::new(Noting { inner: Arc::new(store), sent: sent.clone() }), sent)
}

fn in_memory() -> (Periods<Reading>, Sent) {
    let (tables, sent) = noting(EmbeddedStore::in_memory().unwrap());
    (tables.periods(), sent)
}
