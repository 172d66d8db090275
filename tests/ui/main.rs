//! What does not compile, and what the compiler says about it.
//!
//! The messages are compared as one toolchain writes them. With another the fixtures are left out,
//! which fails where `CI` is set.

mod guide_messages;

use std::any::type_name_of_val;
use std::env;
use std::io::Write as _;
use std::process::Command;

/// The release that `rust-toolchain.toml` pins.
const PINNED: &str = "rustc 1.95.";

/// If it is set, cargo takes the flags of rustc from it only.
const VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

/// The flags that `trybuild` gives the fixtures. By itself, it builds their dependencies without the last flag, then
/// again with it. [`VARIABLE`] gives both builds the same flags, so cargo builds once. Compare the flags with `cargo.rs`
/// and `rustflags.rs` of `trybuild` when it is updated.
fn flags() -> String {
    ["--cfg", "trybuild", "--verbose", "-A", "dead_code", "--diagnostic-width=140"].join("\x1f")
}

#[test]
fn mistakes_are_explained() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8_lossy(&version);
    if !version.starts_with(PINNED) {
        let reason = format!(
            "left out: all UI fixtures, for their messages are those of {PINNED}*, not of {version}"
        );
        assert!(env::var_os("CI").is_none(), "{reason}");
        // Not `eprintln!`, which the test harness hides where a test passes.
        let _ = std::io::stderr().write_all(reason.as_bytes());
        return;
    }
    if env::var(VARIABLE).is_ok_and(|given| given == flags()) {
        trybuild::TestCases::new().compile_fail("ui/*/*.rs");
        return;
    }
    // Only another process can have another environment.
    let (_, name) = type_name_of_val(&mistakes_are_explained).split_once("::").unwrap();
    let mut this_test = Command::new(env::current_exe().unwrap());
    this_test.env(VARIABLE, flags()).args([name, "--exact", "--nocapture"]);
    this_test.args(env::args().filter(|argument| argument.starts_with("trybuild=")));
    assert!(this_test.status().unwrap().success(), "the compiler's messages are printed above");
}
