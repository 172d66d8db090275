//! Microsoft's Python client before `azure-data-tables`, `azure-cosmosdb-table`.

use crate::served::Served;
use std::path::Path;
use std::process::Command;
use support::python;

#[test]
fn older_python_client() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cosmosdb");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cosmosdb");
    let interpreter = match python::environment(&target, &folder.join("requirements.txt")) {
        Ok(interpreter) => interpreter,
        Err(reason) => return support::leave_out("older_python_client", &reason),
    };
    let served = Served::start();
    let mut client = Command::new(interpreter);
    client.current_dir(folder).args(["round_trip.py", &served.connection_string()]);
    assert_eq!(python::run(&mut client).as_deref().map(str::trim), Ok("done"));
}
