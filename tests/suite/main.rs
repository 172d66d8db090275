//! What an app may rely on, checked through the public API: one module for each subject.

/// Conversions between two types of the same fields.
macro_rules! both_ways {
    ($new:ident, $old:ident { $($field:ident),* }) => {
        impl From<$old> for $new {
            fn from($old { $($field),* }: $old) -> Self {
                Self { $($field),* }
            }
        }

        impl From<$new> for $old {
            fn from($new { $($field),* }: $new) -> Self {
                Self { $($field),* }
            }
        }
    };
}

mod adopting;
mod aliases;
mod append;
mod architecture;
mod book;
mod book_reads;
mod bulk;
mod by_key;
mod cached;
mod cancel;
mod chunked;
mod clocks;
mod contention;
mod costs;
mod derive;
pub mod derive_lints;
mod each;
mod eventual;
mod expiry;
mod golden;
mod growing;
mod isolation;
mod jobs;
mod large;
mod load;
mod loaded;
mod lock;
mod merge;
mod migrating;
mod other_client;
mod outbox;
mod pages;
mod pages_of_many;
mod periods;
mod profile;
mod released;
mod repo;
mod rolling_series;
mod rules;
mod scan_explain;
mod schema;
mod sequence;
mod spread;
mod sums;
mod template_pairs;
mod transaction;
mod transaction_with;
mod transfer;
mod typed_scan;
mod union;
mod unique;
mod untyped;
mod untyped_transaction;
mod verify;
mod write_locks;
mod writer;
