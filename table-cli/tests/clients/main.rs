//! `table-orm serve` as a process: its clients in other languages, its faults, its death.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod azure_cli;
mod crash;
mod faults;
mod javascript;
mod known;
mod microsoft;
mod served;
