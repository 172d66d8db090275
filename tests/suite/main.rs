//! What an app may rely on, checked through the public API: one module for each subject.

mod adopting;
mod architecture;
mod bulk;
mod by_key;
mod cancel;
mod contention;
mod derive;
pub mod derive_lints;
mod each;
mod eventual;
mod golden;
mod isolation;
mod load;
mod merge;
mod other_client;
mod pages;
mod repo;
mod rules;
mod template_pairs;
mod transaction;
mod transaction_with;
mod typed_scan;
mod union;
mod unique;
mod untyped;
mod verify;
mod write_locks;
