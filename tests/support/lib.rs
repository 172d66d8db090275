//! Code that several tests share.

pub mod azurite;
pub mod clock;
pub mod history;
pub mod linear;
pub mod python;
pub mod recorder;
pub mod reference;
pub mod worker;

use std::env;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::io::Write as _;
use std::ops::Range;

/// A random number in a range, the same for the same name.
pub fn draw(name: impl Hash, range: Range<u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    range.start + hasher.finish() % (range.end - range.start)
}

/// Whether long tests run, and run long: where `TABLE_ORM_LONG=1`.
pub fn is_long() -> bool {
    env::var_os("TABLE_ORM_LONG").is_some_and(|value| value == "1")
}

/// How much of a test to run.
pub fn dose<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
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
