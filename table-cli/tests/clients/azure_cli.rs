//! The command line of Azure, `az storage`.

use crate::served::Served;
use std::path::Path;
use std::process::Command;
use support::python;

#[test]
fn azure_command_line() {
    if !support::is_long() {
        let reason = "it installs 700 MB of Python packages; set `TABLE_ORM_LONG=1`";
        return support::leave_out("azure_command_line", reason);
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("azure-cli");
    let requirements =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/azure_cli/requirements.txt");
    let interpreter = match python::environment(&target, &requirements) {
        Ok(interpreter) => interpreter,
        Err(reason) => return support::leave_out("azure_command_line", &reason),
    };
    let settings = tempfile::tempdir().unwrap();
    let served = Served::start();
    let az = |arguments: &[&str]| {
        let mut command = Command::new(&interpreter);
        command
            .args(["-m", "azure.cli", "storage"])
            .args(arguments)
            .args(["--output", "json", "--connection-string", &served.connection_string()])
            .env("AZURE_CONFIG_DIR", settings.path())
            .env("AZURE_CORE_COLLECT_TELEMETRY", "no");
        python::run(&mut command).unwrap()
    };
    let keys = ["PartitionKey=p", "RowKey=it's"];
    let entity = |verb: &str, properties: &[&str]| {
        let start = ["entity", verb, "--table-name", "people", "--entity"];
        az(&[&start[..], &keys, properties].concat())
    };
    az(&["table", "create", "--name", "people"]);
    entity("insert", &["Age=55", "Age@odata.type=Edm.Int32", "City=Boston"]);
    entity("merge", &["Age=56", "Age@odata.type=Edm.Int32"]);
    let filter = ["entity", "query", "--table-name", "people", "--filter", "Age eq 56"];
    let found = az(&filter);
    assert!(found.contains("Boston") && found.contains("56"), "{found}");
    let delete = ["entity", "delete", "--table-name", "people", "--if-match", "*"];
    az(&[&delete[..], &["--partition-key", "p", "--row-key", "it's"]].concat());
    assert!(!az(&filter).contains("Boston"));
    az(&["table", "delete", "--name", "people"]);
}
