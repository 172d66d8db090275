//! Go clients, as Debian has them: Microsoft's first one, and that of Terraform.

use crate::served::Served;
use std::path::Path;
use std::process::Command;
use support::python;
use table_server::{EMULATOR_ACCOUNT, EMULATOR_KEY};

/// Where Debian installs the sources of Go packages.
const SOURCES: &str = "/usr/share/gocode";

#[test]
fn first_go_client() {
    round_trip(
        "first_go_client",
        "github.com/Azure/azure-sdk-for-go/storage",
        "storage.go",
        EMULATOR_ACCOUNT,
    );
}

#[test]
fn go_client_of_terraform() {
    // It signs in another way for the emulator's account.
    round_trip(
        "go_client_of_terraform",
        "github.com/tombuildsstuff/giovanni",
        "giovanni.go",
        "golang",
    );
}

fn round_trip(test: &str, package: &str, program: &str, account: &str) {
    if !Path::new(SOURCES).join("src").join(package).is_dir() {
        let reason = "the client is not installed; it is in Debian's golang-go, golang-github-azure-azure-sdk-for-go-dev \
                      and golang-github-tombuildsstuff-giovanni-dev";
        return support::leave_out(test, reason);
    }
    let served = Served::with_options(&["--account", &format!("{account}={EMULATOR_KEY}")]);
    let mut go = Command::new("go");
    go.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go"))
        .args(["run", program, &served.address(), account, EMULATOR_KEY])
        .envs([("GO111MODULE", "off"), ("GOPATH", SOURCES), ("GOFLAGS", "")])
        .env("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go"));
    assert_eq!(python::run(&mut go).as_deref().map(str::trim), Ok("done"));
}
