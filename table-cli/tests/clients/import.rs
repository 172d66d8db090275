//! An import that is killed, and goes on.

use crate::tools::{printed, refused};
use std::path::Path;
use std::process::{Command, Stdio};

const IMPORT: [&str; 6] =
    ["import", "copy.redb", "--from", "rows.jsonl", "--checkpoint", "import.json"];

/// A folder with a text of 20,000 rows.
fn rows() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let export = ["export", "sample:20000", "results", "--to", "rows.jsonl"];
    printed(folder.path(), &export);
    folder
}

/// Imports until 10,000 rows are saved as done, and is killed then.
fn import_until_killed(folder: &Path) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_table-orm"));
    let program = program.current_dir(folder).args(IMPORT).stdin(Stdio::null());
    let mut running = program.stdout(Stdio::null()).spawn().unwrap();
    let is_saved = || folder.join("import.json").exists() && saved(folder)["line"] != 0;
    while !is_saved() {
        assert!(running.try_wait().unwrap().is_none(), "it ended without a checkpoint");
        std::thread::yield_now();
    }
    running.kill().unwrap();
    running.wait().unwrap();
}

fn saved(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(folder.join("import.json")).unwrap()).unwrap()
}

#[test]
fn a_killed_import_goes_on_behind_the_rows_that_it_has_written() {
    let folder = rows();
    let folder = folder.path();
    import_until_killed(folder);
    let saved = saved(folder);
    let line = saved["line"].as_u64().unwrap();
    assert!((10_000..20_000).contains(&line), "{saved}");
    let there: u64 = printed(folder, &["count", "copy.redb", "results"]).trim().parse().unwrap();
    assert!(there >= line, "{there} of {line}");
    // A row before the checkpoint that somebody deletes now is not written again.
    let first = ["delete", "copy.redb", "results", "--to-row", "000000001", "--yes"];
    printed(folder, &first);
    let outcome = printed(folder, &[&IMPORT[..], &["--json"]].concat());
    assert_eq!(outcome, "{\"refused\":0,\"rows\":20000}\n");
    assert_eq!(printed(folder, &["count", "copy.redb", "results"]), "19999\n");
    assert!(!folder.join("import.json").exists());
    printed(folder, &["export", "copy.redb", "results", "--to", "copy.jsonl"]);
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let rest = text("rows.jsonl").split_once('\n').unwrap().1.to_owned();
    assert!(text("copy.jsonl") == rest, "the other rows are the same, bit by bit");
}

#[test]
fn a_checkpoint_of_another_text_or_table_is_refused_and_nothing_is_written() {
    let folder = rows();
    let folder = folder.path();
    import_until_killed(folder);
    let there = printed(folder, &["count", "copy.redb"]);
    let other = [&IMPORT[..], &["other"]].concat();
    let errors = refused(folder, &other, 1);
    assert!(errors.contains("import.json") && errors.contains("another import"), "{errors}");
    let mut text = std::fs::read_to_string(folder.join("rows.jsonl")).unwrap();
    text.push_str("{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n");
    std::fs::write(folder.join("rows.jsonl"), text).unwrap();
    let changed = ["results", "--no-manifest"];
    let errors = refused(folder, &[&IMPORT[..], &changed].concat(), 1);
    assert!(errors.contains("the text was changed"), "{errors}");
    std::fs::write(folder.join("import.json"), "{}").unwrap();
    refused(folder, &IMPORT, 1);
    assert_eq!(printed(folder, &["count", "copy.redb"]), there);
}
