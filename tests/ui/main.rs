//! What does not compile, and what the compiler says about it.
//!
//! The messages are compared as one toolchain writes them. With another the fixtures are left out,
//! which fails where `CI` is set.

mod guide_messages;

use std::io::Write as _;
use std::process::Command;

/// The release that `rust-toolchain.toml` pins.
const PINNED: &str = "rustc 1.95.";

#[test]
fn mistakes_are_explained() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8_lossy(&version);
    if !version.starts_with(PINNED) {
        let reason = format!(
            "left out: all UI fixtures, for their messages are those of {PINNED}*, not of {version}"
        );
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        // Not `eprintln!`, which the test harness hides where a test passes.
        let _ = std::io::stderr().write_all(reason.as_bytes());
        return;
    }
    trybuild::TestCases::new().compile_fail("ui/*/*.rs");
}
