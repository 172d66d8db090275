//! Calls side by side; locks, rates, waits, clocks and random numbers, shared by calls that run at once; and what is
//! known of a request under way.

mod backoff;
mod concurrent;
mod flight;
mod keyed_lock;
mod pace;
mod random;
mod timer;
mod token_bucket;
mod wall_clock;

pub(crate) use backoff::{Backoff, jitter};
pub(crate) use concurrent::Concurrent;
pub(crate) use flight::{Flight, held};
pub(crate) use keyed_lock::{KeyedLock, Permit};
pub(crate) use pace::Pace;
pub(crate) use random::{Random, SplitMix64, mix};
pub(crate) use timer::Timer;
pub(crate) use token_bucket::TokenBucket;
pub(crate) use wall_clock::WallClock;
