//! `table-orm serve` and the tools as programs: clients in other languages, faults, a sudden death.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod azure_cli;
mod azurite_flags;
mod browser;
mod cosmosdb;
mod crash;
mod delete;
mod failures;
mod faults;
mod go;
mod import;
#[cfg(unix)]
mod interrupted;
mod javascript;
mod killed_dispatchers;
mod killed_writers;
mod known;
mod microsoft;
mod options;
mod served;
mod stress;
mod tools;
