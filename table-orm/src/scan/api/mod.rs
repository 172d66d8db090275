//! A scan as an app asks for it: its options, and the methods that run it.

mod check;
mod execute;
mod explain;
mod pages;
mod partitions;
mod run;
mod scan;
mod start;
mod stream;
mod workers;

pub use scan::{DEFAULT_BUFFER, DEFAULT_CONCURRENCY, MAX_CONCURRENCY, Scan, Untyped};
pub use stream::{ScanPage, ScanStream};
pub use workers::ListByWorkers;
