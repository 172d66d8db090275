//! The promises of both databases, in memory.

// The same tests run on the other database, too.
#![allow(clippy::duplicate_mod)]

#[path = "limits.rs"]
mod limits;
#[path = "model.rs"]
mod model;
#[path = "pages.rs"]
mod pages;
#[path = "panics.rs"]
mod panics;
#[path = "snapshots.rs"]
mod snapshots;
#[path = "tables.rs"]
mod tables;
#[path = "transactions.rs"]
mod transactions;
#[path = "writes.rs"]
mod writes;

use super::*;

fn store() -> EmbeddedStore {
    EmbeddedStore::in_memory().unwrap()
}

async fn fixture() -> Fixture {
    Fixture::with(store()).await
}
