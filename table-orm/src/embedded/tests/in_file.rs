//! The promises of both databases, in a file: on a disk that needs no time.

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
    disk::on(&disk::Disk::default())
}

async fn fixture() -> Fixture {
    Fixture::with(store()).await
}
