//! Commands that are interrupted, and commands at a terminal.

use crate::served::Served;
use crate::tools::{printed, race, run};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A server of these rows that takes up to a second for each answer.
fn slow(rows: &Path) -> Served {
    let faults = ["--faults", "1", "--fault", "slow=1", "--fault", "slowest=1"];
    let options: Vec<_> = faults.into_iter().map(Path::new).collect();
    let file =
        [Path::new("--port"), Path::new("0"), Path::new("--silent"), Path::new("--db"), rows];
    Served::with_arguments(tempfile::tempdir().unwrap(), &[&file[..], &options].concat())
}

/// Interrupts a command once `is_reached`, and returns what it prints.
fn interrupted(mut running: Child, is_reached: impl Fn() -> bool) -> Output {
    let started = Instant::now();
    while !is_reached() {
        assert!(running.try_wait().unwrap().is_none(), "it ended before");
        assert!(started.elapsed() < Duration::from_secs(60), "it did not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    running.wait_with_output().unwrap()
}

fn begin(folder: &Path, arguments: &[&str]) -> Child {
    let mut program = Command::new(env!("CARGO_BIN_EXE_table-orm"));
    program.current_dir(folder).args(arguments).stdin(Stdio::null());
    program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn an_export_that_is_interrupted_ends_with_130_and_continues_to_the_same_text() {
    let race = race();
    let folder = race.path();
    printed(folder, &["copy", "--from", "sample:5000", "--to", "more.redb", "--table", "results"]);
    let whole = printed(folder, &["export", "more.redb", "results", "--to", "all.jsonl", "--json"]);
    assert!(whole.contains("\"rows\":5000") || whole.contains("\"rows\": 5000"), "{whole}");

    let served = slow(&folder.join("more.redb"));
    let account = served.connection_string();
    let export = ["export", &account, "results", "--to", "part.jsonl", "--readers", "1"];
    let part = folder.join("part.jsonl.part");
    // All five pages take seconds.
    let has_rows = || std::fs::metadata(&part).is_ok_and(|file| file.len() > 0);
    let ended = interrupted(begin(folder, &export), has_rows);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("the same command continues from"), "{said}");

    printed(folder, &export);
    let texts = ["all.jsonl", "part.jsonl"].map(|file| std::fs::read(folder.join(file)).unwrap());
    assert!(texts[0] == texts[1]);
}

#[test]
fn an_export_of_a_local_file_that_is_interrupted_ends_early() {
    let race = race();
    let folder = race.path();
    let copy =
        ["copy", "--from", "sample:50000", "--to", "big.redb", "--table", "results", "--no-verify"];
    printed(folder, &copy);
    // Whether the signal or the rows are looked at first is left to chance.
    for name in ["a", "b", "c", "d", "e", "f"] {
        let file = format!("{name}.jsonl");
        let part = folder.join(format!("{file}.part"));
        let has_rows = || std::fs::metadata(&part).is_ok_and(|file| file.len() > 0);
        let ended =
            interrupted(begin(folder, &["export", "big.redb", "results", "--to", &file]), has_rows);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(130), "{said}");
        assert!(!folder.join(&file).exists());
    }
}

/// Whether a process waits for Ctrl-C, instead of being ended by it.
#[cfg(target_os = "linux")]
fn waits_for_signals(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|caught| u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0)
}

#[cfg(target_os = "linux")]
#[test]
fn commands_that_only_read_end_with_130_when_they_are_interrupted() {
    let race = race();
    let folder = race.path();
    printed(folder, &["copy", "--from", "sample:5000", "--to", "more.redb", "--table", "results"]);
    let served = slow(&folder.join("more.redb"));
    let store = served.connection_string();
    for command in [
        &["count", &store, "results", "--readers", "1"][..],
        &["keys", &store, "results", "--sizes", "--readers", "1"],
        &["profile", &store, "results", "--readers", "1"],
        &["show", &store, "results", "--limit", "0", "--readers", "1"],
        &["export", &store, "results", "--to", "a.jsonl", "--count", "--readers", "1"],
        &["export", &store, "results", "--to", "a.csv", "--readers", "1"],
        &["copy", "--from", &store, "--to", "b.redb", "--table", "results", "--readers", "1"],
    ] {
        let running = begin(folder, command);
        let process = running.id();
        let ended = interrupted(running, || waits_for_signals(process));
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(130), "{command:?}: {said}");
        assert!(said.contains("stopped"), "{command:?}: {said}");
    }
}

/// How many bytes a process has written.
#[cfg(target_os = "linux")]
fn written(process: u32) -> u64 {
    let counts = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let written = counts.lines().find_map(|line| line.strip_prefix("wchar:"));
    written.map_or(0, |written| written.trim().parse().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_whose_output_nobody_reads_ends_with_130_when_it_is_terminated() {
    let folder = tempfile::tempdir().unwrap();
    let show = ["show", "sample:5000", "results", "--limit", "0", "--json"];
    let mut running = begin(folder.path(), &show);
    let process = running.id();
    let started = Instant::now();
    let is_late = || started.elapsed() > Duration::from_secs(60);
    // The pipe has room for 64 KiB.
    while written(process) < 60_000 {
        assert!(running.try_wait().unwrap().is_none() && !is_late());
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = process.to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    while running.try_wait().unwrap().is_none() && !is_late() {
        std::thread::sleep(Duration::from_millis(5));
    }
    // It has no effect on a process that has ended.
    running.kill().unwrap();
    let ended = running.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("stopped before the end"), "{said}");
}

#[test]
fn an_empty_file_is_no_database_to_a_command_that_reads() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("em.redb");
    std::fs::write(&empty, "").unwrap();
    for command in [&["count", "em.redb"][..], &["export", "em.redb", "results", "--to", "x.jsonl"]]
    {
        let output = run(folder.path(), command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("em.redb` is empty"), "{said}");
        assert_eq!(std::fs::metadata(&empty).unwrap().len(), 0);
    }
}

#[test]
fn an_import_that_is_interrupted_ends_with_130_and_the_next_one_completes_it() {
    let race = race();
    let folder = race.path();
    printed(folder, &["copy", "--from", "sample:5000", "--to", "more.redb", "--table", "results"]);
    printed(folder, &["export", "more.redb", "results", "--to", "all.jsonl"]);
    let import = |to: &str| ["import", to, "results", "--from", "all.jsonl"].map(ToOwned::to_owned);
    let served = slow(&folder.join("to.redb"));
    let arguments = import(&served.connection_string());
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let count = || run(folder, &["count", &served.connection_string(), "results"]);
    let has_rows = || {
        let counted = count();
        counted.status.success() && counted.stdout != b"0\n"
    };
    let ended = interrupted(begin(folder, &arguments), has_rows);
    assert_eq!(ended.status.code(), Some(130), "{}", String::from_utf8_lossy(&ended.stderr));
    drop(served);

    let arguments = import("to.redb");
    printed(folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    printed(folder, &["export", "to.redb", "results", "--to", "again.jsonl"]);
    let texts = ["all.jsonl", "again.jsonl"].map(|file| std::fs::read(folder.join(file)).unwrap());
    assert!(texts[0] == texts[1]);
}

/// What a command shows at a terminal, at which somebody types this.
#[cfg(target_os = "linux")]
fn at_a_terminal(folder: &Path, arguments: &str, typed: &str) -> (Option<i32>, String) {
    let command = format!("{} {arguments}", env!("CARGO_BIN_EXE_table-orm"));
    let mut script = Command::new("script");
    script.current_dir(folder).args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    let mut running = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It stays open until the command ends.
    let mut keyboard = running.stdin.take().unwrap();
    keyboard.write_all(typed.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    drop(keyboard);
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(target_os = "linux")]
#[test]
fn a_delete_at_a_terminal_asks_and_shows_a_bar() {
    let race = race();
    let delete = "delete race.redb results --partition race-000001";
    let count = || printed(race.path(), &["count", "race.redb", "results"]);
    let (_, shown) = at_a_terminal(race.path(), delete, "n\n");
    assert!(shown.contains("[y/N]"), "{shown}");
    assert_eq!(count(), "250\n");
    let (code, shown) = at_a_terminal(race.path(), delete, "y\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("deleted 25 rows"), "{shown}");
    assert_eq!(count(), "225\n");
    let export = "export race.redb results --to bar.jsonl";
    let (code, shown) = at_a_terminal(race.path(), export, "");
    assert_eq!(code, Some(0), "{shown}");
    // The bar draws over its own line.
    assert!(shown.contains('\r') && shown.contains("rows"), "{shown:?}");
}
