//! Values unique over all partitions, over the embedded store.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by them")]

mod costs;
mod left_out;
mod observer;
mod secured;
mod simulation;

use crate as table_orm;
use crate::embedded::EmbeddedStore;
use crate::store::Store;
use crate::{TableEntity, Tables};
use std::sync::Arc;

/// A person with two values that no other one has.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(
    name = "people", partition = "{id}", row = "PERSON", crate = table_orm,
    unique(name, across), unique(badge, across, table = "badges")
)]
struct Person {
    id: String,
    name: Option<String>,
    badge: Option<u32>,
    visits: u64,
}

fn person(id: &str, name: &str) -> Person {
    let name = (!name.is_empty()).then(|| name.to_owned());
    Person { id: id.to_owned(), name, badge: None, visits: 0 }
}

async fn memory() -> Arc<EmbeddedStore> {
    let store = EmbeddedStore::in_memory().unwrap();
    for table in ["people", "badges"] {
        store.create_table(&crate::TableName::new(table).unwrap()).await.unwrap();
    }
    Arc::new(store)
}

/// A client of its own, on virtual time.
fn client(store: Arc<dyn Store>, seed: u64) -> crate::Repo<Person> {
    Tables::new(store).on_virtual_time(seed).repo()
}
