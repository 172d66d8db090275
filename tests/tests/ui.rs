//! What does not compile, and what the compiler says about it.
//!
//! The messages are compared as one toolchain writes them; others skip this test.

use std::process::Command;

/// The release that `rust-toolchain.toml` pins.
const PINNED: &str = "rustc 1.95.";

#[test]
fn mistakes_are_explained() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap().stdout;
    if !version.starts_with(PINNED.as_bytes()) {
        return;
    }
    trybuild::TestCases::new().compile_fail("ui/*/*.rs");
}
