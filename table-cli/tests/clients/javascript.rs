//! Microsoft's JavaScript clients, `@azure/data-tables` and `azure-storage` before it.

use crate::served::Served;
use std::path::Path;
use std::process::Command;
use support::python;

#[test]
fn javascript_client() {
    round_trip("javascript_client", "@azure/data-tables", "round_trip.mjs");
}

#[test]
fn older_javascript_client() {
    round_trip("older_javascript_client", "azure-storage", "older.cjs");
}

fn round_trip(test: &str, package: &str, script: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/javascript");
    if !folder.join("node_modules").join(package).is_dir() {
        let reason = "the client is not installed; run `npm ci` in `table-cli/tests/javascript`";
        return support::leave_out(test, reason);
    }
    let served = Served::start();
    let mut node = Command::new("node");
    node.current_dir(folder).args(["--no-deprecation", script, &served.connection_string()]);
    assert_eq!(python::run(&mut node).as_deref().map(str::trim), Ok("done"));
}
