//! Code that several tests share.

pub mod azurite;
#[cfg(feature = "library")]
pub mod blobs;
#[cfg(feature = "library")]
pub mod clock;
#[cfg(feature = "library")]
pub mod distant;
mod dose;
#[cfg(feature = "library")]
pub mod ending;
#[cfg(feature = "library")]
pub mod history;
pub mod linear;
pub mod polls;
pub mod python;
#[cfg(feature = "library")]
pub mod recorder;
#[cfg(feature = "library")]
pub mod reference;
#[cfg(feature = "library")]
pub mod stops;
pub mod worker;

pub use dose::{Dose, dose, is_long};

use std::env;
use std::hash::{BuildHasher as _, DefaultHasher, Hash, Hasher as _, RandomState};
use std::io::Write as _;
use std::ops::Range;

/// A random number in a range, the same for the same name.
pub fn draw(name: impl Hash, range: Range<u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    range.start + hasher.finish() % (range.end - range.start)
}

/// The seed of a test that kills processes: that of `CRASH_SEED`, or a new one. It is printed.
pub fn crash_seed() -> u64 {
    let given = env::var("CRASH_SEED").ok().map(|seed| seed.parse().unwrap());
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("CRASH_SEED={seed}");
    seed
}

/// Runs a test, without any real wait.
pub fn on_virtual_time<T>(test: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(test)
}

/// Whether `CI` is set: then a test that cannot run fails.
pub fn is_ci() -> bool {
    env::var_os("CI").is_some()
}

/// Says which test is left out, and why. Panics where [`is_ci`].
pub fn leave_out(test: &str, reason: &str) {
    assert!(!is_ci(), "{test} cannot run: {reason}");
    // Not `eprintln!`, which the test harness hides where a test passes.
    let _ = writeln!(std::io::stderr(), "left out: {test}: {reason}");
}
