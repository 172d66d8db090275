//! What clients of the server may rely on, beside what the conformance suite and Microsoft's own tests
//! check.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod batches;
mod browsers;
mod client;
mod failures;
mod faults;
mod filters;
mod hostile;
mod requests;
mod running;
mod settings;
mod signatures;
