//! Tests that start processes of their own, which run a test of this binary.

mod contention;
mod crash;
mod distributed_scan;
mod journal;
mod large_values;
mod workers;
