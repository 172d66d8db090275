//! The promises of both databases, in a file that is synced after writes are answered. Panics, which may lose answered
//! writes, are in `durability`.

// The same tests run on the other databases, too.
#![allow(clippy::duplicate_mod)]

#[path = "limits.rs"]
mod limits;
#[path = "model.rs"]
mod model;
#[path = "pages.rs"]
mod pages;
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
    disk::on(&disk::eventual())
}

async fn fixture() -> Fixture {
    Fixture::with(store()).await
}
