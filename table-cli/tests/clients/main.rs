//! Clients in other languages against `table-orm serve`, and the tools as programs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod azure_cli;
mod browser;
mod javascript;
mod known;
mod microsoft;
mod served;
mod tools;
