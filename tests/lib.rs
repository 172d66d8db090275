//! Tests of table-orm across its stores, and what several of them share.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod azurite;
pub mod history;
pub mod linear;
pub mod meddler;
pub mod recorder;
pub mod worker;

use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::ops::Range;

/// A random number in a range, the same for the same name.
pub fn draw(name: impl Hash, range: Range<u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    range.start + hasher.finish() % (range.end - range.start)
}
