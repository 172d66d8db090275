//! Microsoft's JavaScript client, `@azure/data-tables`.

use crate::served::Served;
use std::path::Path;
use std::process::Command;
use support::python;

#[test]
fn javascript_client() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/javascript");
    if !folder.join("node_modules/@azure/data-tables").is_dir() {
        let reason = "the client is not installed; run `npm ci` in `table-cli/tests/javascript`";
        return support::leave_out("javascript_client", reason);
    }
    let served = Served::start();
    let mut node = Command::new("node");
    node.current_dir(folder).args(["round_trip.mjs", &served.connection_string()]);
    assert_eq!(python::run(&mut node).as_deref().map(str::trim), Ok("done"));
}
