//! The tools as programs: what they print, and their exit codes.

use crate::served::Served;
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_table-orm"));
    program.current_dir(folder).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// What a command prints that succeeds.
pub fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command says that ends with that code.
pub fn refused(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A folder with 250 rows in `race.redb`, and their text in `rows.jsonl`.
pub fn race() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let copy = ["copy", "--from", "sample:250", "--to", "race.redb", "--table", "results"];
    printed(folder.path(), &copy);
    printed(folder.path(), &["export", "race.redb", "results", "--to", "rows.jsonl"]);
    folder
}

#[test]
fn tables_are_counted_and_shown() {
    let race = race();
    let printed = |arguments: &[&str]| printed(race.path(), arguments);
    assert_eq!(printed(&["count", "race.redb", "results"]), "250\n");
    assert_eq!(printed(&["count", "race.redb"]), "         250  results\n");
    assert_eq!(
        printed(&["count", "race.redb", "--json"]),
        "{\"rows\":250,\"table\":\"results\"}\n"
    );
    let few = ["count", "race.redb", "results", "--filter", "Rank ge 240"];
    assert_eq!(printed(&few), "10\n");
    assert_eq!(printed(&["keys", "race.redb", "results"]), "race-000000\nrace-000001\n");
    let sizes = printed(&["keys", "race.redb", "results", "--largest", "1", "--json"]);
    assert!(sizes.starts_with("{\"bytes\":") && sizes.contains("\"rows\":225"), "{sizes}");
    let show = ["show", "race.redb", "results", "--partition", "race-000001", "--limit", "1"];
    let table = printed(&show);
    assert!(table.contains("PartitionKey") && table.contains("201L"), "{table}");
    let json = printed(&[&show[..], &["--json", "--select", "Chip"]].concat());
    let row = r#"{"PartitionKey":"race-000001","RowKey":"000000201","Chip":"201","Chip@odata.type":"Edm.Int64"}"#;
    assert_eq!(json, format!("{row}\n"));
    let csv = printed(&[&show[..], &["--format", "csv", "--select", "Chip"]].concat());
    assert_eq!(csv, "PartitionKey,RowKey,Chip:Edm.Int64\nrace-000001,000000201,201\n");
}

#[test]
fn csv_of_any_number_of_rows_has_a_column_for_each_property_of_them() {
    let race = race();
    let printed = |arguments: &[&str]| printed(race.path(), arguments);
    printed(&["copy", "--from", "sample:3000", "--to", "more.redb", "--table", "results"]);
    // The last row has what no other one has.
    let last = r#"{"PartitionKey":"~","RowKey":"1","Note":"late","Rank":5}"#;
    std::fs::write(race.path().join("last.jsonl"), format!("{last}\n")).unwrap();
    let import = ["import", "more.redb", "results", "--from", "last.jsonl", "--no-manifest"];
    printed(&import);
    printed(&["export", "more.redb", "results", "--to", "all.csv"]);
    let all = std::fs::read_to_string(race.path().join("all.csv")).unwrap();
    let show = ["show", "more.redb", "results", "--format", "csv", "--limit"];
    let shown = |limit: &str| run(race.path(), &[&show[..], &[limit]].concat());
    for whole in ["0", "3001", "3002"] {
        let output = shown(whole);
        assert!(output.stdout == all.as_bytes(), "{whole}");
        assert_eq!(output.stderr, b"", "{whole}");
    }
    for part in [1, 999, 1000, 1001, 2999, 3000] {
        let output = shown(&part.to_string());
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), part + 1);
        assert!(!text.lines().next().unwrap().contains("Note"), "of the rows shown only");
        let (are, rows) = if part == 1 { ("is", "row") } else { ("are", "rows") };
        let more = format!("There {are} more than {part} {rows}; --limit 0 shows all\n");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), more);
    }
}

#[test]
fn a_table_is_profiled_as_text_and_as_one_object() {
    let race = race();
    let profile = ["profile", "race.redb", "results"];
    let text = printed(race.path(), &profile);
    assert!(text.contains("250 rows in 2 partitions"), "{text}");
    assert!(text.contains("225 rows   90.0 %") && text.contains("\"race-000000\""), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let json = |more: &[&str]| {
        let object = printed(race.path(), &[&profile[..], &["--json"], more].concat());
        assert_eq!(object.lines().count(), 1);
        serde_json::from_str::<serde_json::Value>(&object).unwrap()
    };
    let whole = json(&[]);
    assert_eq!(
        (whole["rows"].as_u64(), whole["partitions"]["count"].as_u64()),
        (Some(250), Some(2))
    );
    let properties: Vec<_> = whole["properties"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(properties, ["Name", "Seconds", "Chip", "Rank"]);
    let part = json(&["--keys-only", "--partition", "race-000001", "--top", "1"]);
    assert_eq!((part["rows"].as_u64(), part["sizes"].is_null()), (Some(25), true));
    assert_eq!(part["partitions"]["most_rows"][0]["rows"], 25);
    for top in ["0", "1001"] {
        refused(race.path(), &[&profile[..], &["--top", top]].concat(), 2);
    }
}

#[test]
fn a_profile_names_rows_by_the_types_of_a_lock() {
    let race = race();
    let lock = "entity Result\n  keys of the partition\n    table: results\n    template: {race}\n  row row\n    \
                template: {id:09}\n    place: canonical\n";
    std::fs::write(race.path().join("tables.lock"), lock).unwrap();
    let profile = ["profile", "race.redb", "results", "--json"];
    let object = printed(race.path(), &[&profile[..], &["--lock", "tables.lock"]].concat());
    let report: serde_json::Value = serde_json::from_str(&object).unwrap();
    let kind = &report["kinds"][0];
    assert_eq!(
        (&kind["entity"], &kind["name"], &kind["rows"]),
        (&"Result".into(), &"row".into(), &250.into())
    );
    assert_eq!(report["components"][0]["name"], "race");

    printed(race.path(), &[&profile[..], &["--lock", "tables.lock", "--type", "Result"]].concat());
    let refused = |more: &[&str], code| refused(race.path(), &[&profile[..], more].concat(), code);
    assert!(refused(&["--lock", "tables.lock", "--type", "Walker"], 2).contains("it has Result"));
    assert!(refused(&["--type", "Result"], 2).contains("--lock"));
    assert!(refused(&["--lock", "none.lock"], 1).contains("none.lock"));
    std::fs::write(race.path().join("tables.lock"), lock.replace("results", "other")).unwrap();
    assert!(refused(&["--lock", "tables.lock"], 2).contains("`--type`"));
}

#[test]
fn nothing_is_deleted_that_was_not_named_and_agreed_to() {
    let race = race();
    let refused = |arguments: &[&str]| refused(race.path(), arguments, 2);
    let printed = |arguments: &[&str]| printed(race.path(), arguments);
    assert!(refused(&["delete", "race.redb", "results", "--yes"]).contains("--whole-table"));
    for unset in ["--prefix", "--from-partition", "--from-row"] {
        let delete = ["delete", "race.redb", "results", unset, "", "--yes"];
        assert!(refused(&delete).contains("--whole-table"), "{unset}");
    }
    let partition = ["delete", "race.redb", "results", "--partition", "race-000001"];
    assert!(refused(&partition).contains("--yes"));
    assert_eq!(printed(&["count", "race.redb", "results"]), "250\n");
    let deleted = printed(&[&partition[..], &["--yes", "--json"]].concat());
    assert_eq!(deleted, "{\"changed\":0,\"deleted\":25}\n");
    let filter = ["delete", "race.redb", "results", "--filter", "Rank lt 100", "--yes"];
    assert!(printed(&filter).starts_with("deleted 100 rows"), "by filter");
    assert_eq!(printed(&["count", "race.redb", "results"]), "125\n");
    printed(&["delete", "race.redb", "results", "--whole-table", "--yes"]);
    assert_eq!(printed(&["count", "race.redb"]), "");
}

/// The code of a command whose output nobody reads.
fn unread(folder: &Path, arguments: &[&str]) -> Option<i32> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_table-orm"));
    let program = program.current_dir(folder).args(arguments).stdin(Stdio::null());
    let mut running = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((running.stdout.take(), running.stderr.take()));
    running.wait().unwrap().code()
}

#[test]
fn an_outcome_is_the_same_if_nobody_reads_the_output() {
    let race = race();
    let copy = ["copy", "--from", "race.redb", "--to", "copy.redb", "--table", "results"];
    assert_eq!(unread(race.path(), &copy), Some(0));
    assert_eq!(printed(race.path(), &["count", "copy.redb", "results"]), "250\n");
    std::fs::write(race.path().join("own.jsonl"), "{}\n").unwrap();
    let import = ["import", "race.redb", "other", "--from", "own.jsonl", "--no-manifest"];
    assert_eq!(unread(race.path(), &[&import[..], &["--go-on"]].concat()), Some(3));
    assert_eq!(unread(race.path(), &import), Some(1));
    assert_eq!(unread(race.path(), &["show", "race.redb", "results", "--json"]), Some(0));
    let largest = ["keys", "race.redb", "results", "--largest", &usize::MAX.to_string()];
    assert_eq!(printed(race.path(), &largest).lines().count(), 2);
}

#[test]
fn the_outcome_of_a_copy_is_one_object() {
    let race = race();
    let printed = |more: &[&str]| {
        let copy =
            ["copy", "--from", "race.redb", "--to", "b.redb", "--table", "results", "--json"];
        printed(race.path(), &[&copy[..], more].concat())
    };
    let whole = printed(&[]);
    let report: serde_json::Value = serde_json::from_str(&whole).unwrap();
    assert_eq!((whole.lines().count(), report["copied"].as_u64()), (1, Some(250)));
    assert_eq!((report["same"].as_bool(), report["rows"].as_u64()), (Some(true), Some(250)));
    assert_eq!(report["content"].as_str().unwrap().len(), 32);
    let unchecked = printed(&["--to-table", "other", "--no-verify"]);
    assert_eq!(unchecked, "{\"copied\":250}\n");
}

#[test]
fn a_copy_that_differs_says_so_in_its_object() {
    let race = race();
    std::fs::write(race.path().join("own.jsonl"), "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n")
        .unwrap();
    let import = ["import", "b.redb", "results", "--from", "own.jsonl", "--no-manifest"];
    printed(race.path(), &import);
    let copy =
        ["copy", "--from", "race.redb", "--to", "b.redb", "--table", "results", "--json", "--over"];
    let output = run(race.path(), &copy);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(output.stdout, b"{\"copied\":250,\"same\":false}\n");
}

#[test]
fn rows_that_are_refused_are_reported_with_lines_and_code_3() {
    let race = race();
    let text =
        "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n{\"PartitionKey\":\"p\",\"RowKey\":\"a/b\"}\n";
    std::fs::write(race.path().join("own.jsonl"), text).unwrap();
    let import = ["import", "race.redb", "results", "--from", "own.jsonl", "--no-manifest"];
    let errors = refused(race.path(), &[&import[..], &["--go-on"]].concat(), 3);
    assert!(errors.starts_with("line 2 (p / a/b): "), "{errors}");
    assert_eq!(printed(race.path(), &["count", "race.redb", "results"]), "251\n");
    let errors = refused(race.path(), &import, 1);
    assert!(errors.contains("line 2 was refused") && errors.contains("--go-on"), "{errors}");
    let errors =
        refused(race.path(), &["import", "race.redb", "--from", "rows.jsonl", "--insert-only"], 1);
    assert!(errors.contains("import again with --go-on"), "{errors}");
}

#[test]
fn a_table_goes_to_a_server_and_back() {
    let (race, served) = (race(), Served::start());
    let store = served.connection_string();
    let printed = |arguments: &[&str]| printed(race.path(), arguments);
    printed(&["import", &store, "--from", "rows.jsonl", "--insert-only"]);
    refused(race.path(), &["import", &store, "--from", "rows.jsonl", "--insert-only"], 1);
    printed(&["import", &store, "--from", "rows.jsonl"]);
    printed(&["export", &store, "results", "--to", "again.jsonl.zst"]);
    let sha256 = |name: &str| {
        let text = std::fs::read_to_string(race.path().join(name)).unwrap();
        text.lines().find(|line| line.contains("sha256")).unwrap().to_owned()
    };
    assert_eq!(sha256("rows.jsonl.manifest.json"), sha256("again.jsonl.zst.manifest.json"));
}

#[test]
fn durability_is_that_of_a_file() {
    let errors = Served::refused(&[Path::new("--durability"), Path::new("eventual")]);
    assert!(errors.contains("--db"), "{errors}");
}

#[test]
fn wrong_lines_end_with_code_2_and_absent_stores_with_1() {
    let race = race();
    refused(race.path(), &["count"], 2);
    refused(race.path(), &["count", "env:TABLE_ORM_NO_SUCH_VARIABLE", "results"], 2);
    refused(race.path(), &["show", "race.redb", "results", "--filter", "Age eq"], 2);
    let absent = refused(race.path(), &["count", "absent.redb"], 1);
    assert_eq!(
        absent,
        "table-orm: there is no file `absent.redb`; name a database file that exists\n"
    );
    let table = refused(race.path(), &["export", "race.redb", "none", "--to", "a.jsonl"], 1);
    assert!(table.contains("the table does not exist"), "{table}");
}

#[test]
fn each_command_has_help_with_examples_and_shells_complete_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = printed(folder.path(), &["completions", "bash"]);
    for command in ["serve", "count", "keys", "show", "delete", "copy", "export", "import"] {
        let help = printed(folder.path(), &[command, "--help"]);
        assert!(help.contains(&format!("\n  table-orm {command}")), "{command}");
        assert!(script.contains(command));
    }
    assert!(printed(folder.path(), &["--help"]).contains("Exit codes: 0 done"));
}

#[test]
fn an_import_without_a_readable_header_says_that_no_row_was_written() {
    let race = race();
    for header in ["", "Name,Age", "PartitionKey,RowKey,A:Edm.Int32,A:Edm.Int32"] {
        std::fs::write(race.path().join("rows.csv"), format!("{header}\np,r,1,2\n")).unwrap();
        let import = ["import", "race.redb", "others", "--from", "rows.csv", "--no-manifest"];
        let errors = refused(race.path(), &import, 1);
        assert!(errors.contains("no row was written: correct it"), "{header}: {errors}");
        assert!(!errors.contains("incomplete"), "{header}: {errors}");
    }
}

#[test]
fn a_command_line_that_cannot_work_ends_with_code_2() {
    let race = race();
    let copy = ["copy", "--from", "race.redb", "--to", "race.redb", "--table", "results"];
    for command in [
        &["show", "race.redb", "results", "--select", ""][..],
        &["show", "race.redb", "results", "--select", "Name Age"],
        &["show", "race.redb", "results", "--filter", "Seconds eq NaN"],
        &["count", "race.redb", "results", "--filter", "not (Seconds lt -Infinity)"],
        &["show", "race.redb", "results", "--select", "Timestamp"],
        &["export", "race.redb", "results", "--to", "a.jsonl", "--select", "Name,"],
        &["count", "race.redb", "results", "--from-partition", "z", "--to-partition", "a"],
        &[
            "export",
            "race.redb",
            "results",
            "--to",
            "a.jsonl",
            "--from-partition",
            "z",
            "--to-partition",
            "a",
        ],
        &["count", "race.redb", "results", "--from-row", "5", "--to-row", "3"],
        &["keys", "race.redb", "results", "--from-row", "5", "--to-row", "3"],
        &["show", "race.redb", "results", "--from-row", "5", "--to-row", "5"],
        &["profile", "race.redb", "results", "--from-row", "5", "--to-row", "3"],
        &["delete", "race.redb", "results", "--from-row", "5", "--to-row", "3", "--yes"],
        &["export", "race.redb", "results", "--to", "a.jsonl", "--from-row", "5", "--to-row", "3"],
        &[
            "export",
            "race.redb",
            "results",
            "--to",
            "a.jsonl",
            "--count",
            "--from-partition",
            "z",
            "--to-partition",
            "a",
        ],
        &["export", "race.redb", "results", "--to", "a.xml"],
        &["import", "race.redb", "results", "--from", "a.xml"],
        &["count", "AccountName=x"],
        &["import", "AccountName=x;AccountKey=no base64!", "--from", "rows.jsonl"],
        &["copy", "--from", "AccountName=x", "--to", "b.redb", "--table", "results"],
        &copy,
        &["serve", "--port", "0", "--account", "race-secondary=c2VjcmV0"],
    ] {
        let error = refused(race.path(), command, 2);
        assert!(!error.contains("no base64"), "a key is printed: {error}");
    }
    for file in ["a.jsonl", "a.jsonl.part", "b.redb"] {
        assert!(!race.path().join(file).exists(), "{file}");
    }
}

#[test]
fn what_a_tool_says_is_no_advice_for_rust() {
    let race = race();
    let folder = race.path();
    let line =
        |name: &str, text: &str| std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
    line("exists.jsonl", r#"{"PartitionKey":"race-000000","RowKey":"000000000"}"#);
    line("no_key.jsonl", r#"{"RowKey":"1"}"#);
    line("twice.jsonl", r#"{"PartitionKey":"p","RowKey":"1","A":1,"A":2}"#);
    let long = "x".repeat(40_000);
    line("long.jsonl", &format!(r#"{{"PartitionKey":"p","RowKey":"1","A":"{long}"}}"#));
    let import =
        |name| ["import", "race.redb", "results", "--no-manifest", "--insert-only", "--from", name];
    let _served = Served::with_file(&folder.join("open.redb"));
    for command in [
        &["show", "race.redb", "none"][..],
        &["export", "race.redb", "none", "--to", "a.jsonl"],
        &["delete", "race.redb", "none", "--partition", "p", "--yes"],
        &["count", "open.redb"],
        &import("exists.jsonl"),
        &import("no_key.jsonl"),
        &import("twice.jsonl"),
        &import("long.jsonl"),
    ] {
        let error = refused(folder, command, 1);
        let words = [
            "DynamicEntity",
            "create_table",
            "`save`",
            "upsert",
            "clones",
            "#[",
            "on_refused",
            "same command",
        ];
        assert!(!words.iter().any(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn a_damaged_file_is_said_in_one_line() {
    let race = race();
    let path = race.path().join("race.redb");
    let mut content = std::fs::read(&path).unwrap();
    content
        .iter_mut()
        .enumerate()
        .filter(|(at, _)| *at >= 4096 && at % 7 == 0)
        .for_each(|(_, byte)| *byte = !*byte);
    std::fs::write(&path, content).unwrap();
    for command in [&["count", "race.redb"][..], &["serve", "--port", "0", "--db", "race.redb"]] {
        let error = refused(race.path(), command, 1);
        assert!(error.contains("damaged") && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn commands_that_read_leave_a_file_as_it_is() {
    let race = race();
    let path = race.path().join("race.redb");
    let content = std::fs::read(&path).unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    // Readers do not lock each other out.
    let reader = table_orm::embedded::EmbeddedStore::open_read_only(&path).unwrap();
    for command in [
        &["count", "race.redb"][..],
        &["keys", "race.redb", "results"],
        &["show", "race.redb", "results"],
        &["profile", "race.redb", "results"],
        &["export", "race.redb", "results", "--to", "read.jsonl"],
        &["copy", "--from", "race.redb", "--to", "read.redb", "--table", "results"],
    ] {
        printed(race.path(), command);
    }
    drop(reader);
    assert!(std::fs::read(&path).unwrap() == content);
}

#[test]
fn the_numbers_of_a_manifest_are_compared_with_the_rows() {
    let race = race();
    let path = race.path().join("rows.jsonl.manifest.json");
    let manifest = std::fs::read_to_string(&path).unwrap();
    let import = ["import", "copy.redb", "--from", "rows.jsonl"];
    for (said, found) in
        [("\"rows\": 250", "\"rows\": 249"), ("\"partitions\": 2", "\"partitions\": 3")]
    {
        assert!(manifest.contains(said), "{manifest}");
        std::fs::write(&path, manifest.replace(said, found)).unwrap();
        let error = refused(race.path(), &import, 1);
        assert!(error.contains("it has 250 rows of 2 partitions"), "{error}");
        assert!(error.contains("were read, and written unless refused"), "{error}");
    }
    std::fs::write(&path, &manifest).unwrap();
    printed(race.path(), &import);
    let go_on = [&import[..], &["--insert-only", "--go-on"]].concat();
    let error = refused(race.path(), &go_on, 3);
    assert!(error.ends_with("250 rows were refused, and 0 rows were written\n"), "{error}");
}

#[test]
fn one_row_is_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let line = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n";
    std::fs::write(folder.join("one.jsonl"), line).unwrap();
    let import = ["import", "one.redb", "results", "--from", "one.jsonl", "--no-manifest"];
    let mut said = printed(folder, &import);
    for command in [
        &["keys", "one.redb", "results", "--sizes"][..],
        &["profile", "one.redb", "results"],
        &["export", "one.redb", "results", "--to", "all.jsonl"],
        &["copy", "--from", "one.redb", "--to", "copy.redb", "--table", "results"],
    ] {
        said.push_str(&printed(folder, command));
    }
    let again = [&import[..], &["--insert-only", "--go-on"]].concat();
    said.push_str(&refused(folder, &again, 3));
    said.push_str(&printed(
        folder,
        &["delete", "one.redb", "results", "--partition", "p", "--yes"],
    ));
    let words: Vec<_> = said.split_whitespace().collect();
    for pair in words.windows(2) {
        let is_wrong =
            pair[0] == "1" && ["rows", "partitions"].contains(&pair[1].trim_matches([',', ':']));
        assert!(!is_wrong, "{said}");
    }
    assert!(said.contains("deleted 1 row:") && said.contains("1 row of 1 partition"), "{said}");
}
