//! Waiting and chance: what calls that run at once share.

#[allow(dead_code, reason = "scans still use a copy of their own")]
mod backoff;
mod keyed_lock;
mod random;
mod token_bucket;

#[allow(unused_imports, reason = "scans and the fake service still use copies of their own")]
pub(crate) use {backoff::Backoff, random::SplitMix64};

pub(crate) use backoff::jitter;
pub(crate) use keyed_lock::{KeyedLock, Permit};
pub(crate) use random::Random;
pub(crate) use token_bucket::TokenBucket;
