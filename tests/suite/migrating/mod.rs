//! Types whose stored keys change: found and written in either form, moved, and the migration ended.

// Rows may include the same fields: https://github.com/rust-lang/rust-clippy/issues/13238.
#![allow(clippy::duplicated_attributes)]

mod across;
mod bulk;
mod copied;
mod costs;
mod elements;
mod events;
mod expiring;
mod followers;
mod jobs;
mod large;
mod merges;
mod on_the_way;
mod parts;
mod retire;
mod scans;
mod shards;
mod shared_rows;
mod too_large;
mod totals;
mod transactions;
mod transactions_that_read;
mod types;
mod unique_across;
mod within;
