//! Waiting and chance: what calls that run at once share.

mod keyed_lock;
mod random;

pub(crate) use keyed_lock::{KeyedLock, Permit};
pub(crate) use random::Random;
