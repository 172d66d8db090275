//! `table-orm stress` as a program: on a simulation, over HTTP, stopped by a signal.

use crate::served::Served;
use crate::tools::{printed, refused};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// A short test of a simulation of 100 entities a second.
const SHORT: [&str; 14] = [
    "stress",
    "simulated",
    "--partition-rate",
    "100",
    "--account-rate",
    "250",
    "--rows",
    "100",
    "--to",
    "200",
    "--to-all",
    "500",
    "--step",
    "5",
];

/// What the report says was sustained in a phase.
fn sustained(report: &Value, phase: usize) -> f64 {
    report["phases"][phase]["sustained"]["entities_per_second"].as_f64().unwrap()
}

#[test]
fn a_simulation_shows_its_rates_in_every_form_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--partitions", "4", "--load", "450", "--target", "100"];
    let text = printed(folder.path(), &[&SHORT[..], &options].concat());
    assert!(
        text.contains("(your own): met") && text.contains("(older documents): not met"),
        "{text}"
    );
    assert!(text.contains("A load of 450 entities/s needs 5 partitions"), "{text}");

    let json = ["--partitions", "4", "--json", "--html", "stress.html"];
    let report = printed(folder.path(), &[&SHORT[..], &json].concat());
    let report: Value = serde_json::from_str(&report).unwrap();
    let (one, four) = (sustained(&report, 0), sustained(&report, 1));
    assert!((96.0..104.0).contains(&one) && (242.0..258.0).contains(&four), "{one}, {four}");
    let page = std::fs::read_to_string(folder.path().join("stress.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 4);
}

/// A command in a page of the guide, and the text that the page shows behind it.
fn shown<'p>(page: &'p str, start: &str) -> (Vec<&'p str>, &'p str) {
    let (_, from) = page.split_once(start).unwrap();
    let (command, rest) = from.split_once("\n```\n").unwrap();
    let (_, rest) = rest.split_once("```text\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    (command.split_whitespace().filter(|word| *word != "\\").collect(), text)
}

#[test]
fn the_guide_shows_what_the_command_prints() {
    let folder = tempfile::tempdir().unwrap();
    for page in [
        include_str!("../../../table-orm/guide/run/stress.md"),
        include_str!("../../../table-orm/guide/start/designing.md"),
    ] {
        let (arguments, text) = shown(page, "table-orm stress simulated");
        let printed = printed(folder.path(), &[&["stress", "simulated"], &arguments[..]].concat());
        // A page may show the end alone.
        let (_, text) = text.rsplit_once("..\n").unwrap_or(("", text));
        assert!(
            printed.ends_with(text),
            "the guide shows\n{text}\nand the command prints\n{printed}"
        );
    }
}

#[test]
fn nothing_is_sent_before_the_cost_is_agreed_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut served = Served::start();
    let account = served.connection_string();
    let error = refused(folder.path(), &["stress", &account], 2);
    assert!(error.contains("--yes") && error.contains("billed transactions"), "{error}");
    assert!(
        error.contains(" USD without traffic at the retail prices of East US 2 on 20"),
        "{error}"
    );
    assert_eq!(printed(folder.path(), &["count", &account]), "");
    let error = refused(folder.path(), &["stress", "memory", "--latency", "1"], 2);
    assert!(error.contains("simulated"), "{error}");
    let page = ["--html", "page.html"];
    refused(folder.path(), &[&["stress", "memory", "--entity-bytes", "9"][..], &page].concat(), 2);
    assert!(
        !folder.path().join("page.html").exists(),
        "no page is left of a test that did not run"
    );
    // A file that does not exist is no database that somebody forgot.
    let error = refused(folder.path(), &["stress", "typo.redb"], 1);
    assert!(error.contains("there is no file `typo.redb`"), "{error}");
    assert!(!folder.path().join("typo.redb").exists());
    // Rows of what the test does not send.
    let error = refused(folder.path(), &["stress", "memory", "--range-rows", "5"], 2);
    assert!(error.contains("--range-reads"), "{error}");
    let error = refused(folder.path(), &["stress", "memory", "--transaction-rows", "5"], 2);
    assert!(error.contains("--transactions"), "{error}");
    let error = refused(folder.path(), &["stress", "memory", "--most-requests", "0"], 2);
    assert!(error.contains("the test may send 0 requests"), "{error}");
    // Shares that are given are those of the test, although all are 0.
    let none = ["stress", "memory", "--point-reads", "0", "--upserts", "0"];
    refused(folder.path(), &none, 2);
    refused(folder.path(), &["stress", "simulated", "--partition-rate", "0"], 2);
    refused(folder.path(), &["stress", "simulated", "--latency", "0"], 2);
    let path = ["stress", "memory", "--html", "none/stress.html"];
    assert!(refused(folder.path(), &path, 1).contains("none/stress.html"));
    served.kill();
}

#[test]
fn a_server_that_throttles_is_found_out_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::with_options(&["--partition-rate", "40"]);
    let account = served.connection_string();
    let options =
        ["--rows", "20", "--partitions", "1", "--to", "80", "--from", "40", "--growth", "2"];
    let times = ["--step", "2", "--hold", "3", "--rest", "0.5", "--yes", "--json"];
    let stress = [&["stress", &account][..], &options, &times].concat();
    let report: Value = serde_json::from_str(&printed(folder.path(), &stress)).unwrap();
    assert!((30.0..55.0).contains(&sustained(&report, 0)), "{report}");
    assert!(report["phases"][0]["first_throttled"]["at"].as_f64().is_some(), "{report}");
    assert_eq!(printed(folder.path(), &["count", &account]), "", "its table is deleted");
}

#[cfg(unix)]
#[test]
fn an_interrupt_reports_what_was_measured_and_deletes_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start();
    let account = served.connection_string();
    let mut stress = Command::new(env!("CARGO_BIN_EXE_table-orm"));
    stress.args(["stress", &account, "--rows", "10", "--partitions", "1", "--rest", "0"]);
    stress.args(["--from", "20", "--step", "0.5", "--yes", "--json"]);
    let mut running = stress.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first step has been shown, and others follow for long.
    let mut line = String::new();
    let mut progress = BufReader::new(running.stderr.take().unwrap());
    progress.read_line(&mut line).unwrap();
    assert!(line.contains("ramp"), "{line}");
    assert_eq!(printed(folder.path(), &["count", &account]).lines().count(), 1);
    let process = running.id().to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["is_stopped"], &report["table_left"]), (&true.into(), &Value::Null));
    assert!(!report["phases"][0]["steps"].as_array().unwrap().is_empty());
    assert_eq!(printed(folder.path(), &["count", &account]), "");
}
