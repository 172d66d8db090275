//! The shop is killed, and the next run settles what it left.

use crate::arguments::Arguments;
use crate::report::Report;
use crate::tell;
use std::path::Path;
use support::dose;
use support::worker::{self, Worker};

/// Runs only in worker processes: the program.
#[tokio::test]
async fn worker_runs_the_shop() {
    let Some(options) = worker::task() else { return };
    let options = lexopt::Parser::from_args(options.split_whitespace());
    let arguments = Arguments::read(options).unwrap().unwrap();
    tell(&arguments, &mut Report::new(std::io::stdout(), false)).await.unwrap();
}

/// Runs the shop on a file. Returns what it printed, and whether it reached its end.
fn run(file: &Path, options: &str) -> (String, bool) {
    let options = format!("--db {} {options}", file.display());
    let mut worker = Worker::start("killed::worker_runs_the_shop", &options);
    let lines = std::iter::from_fn(|| worker.line());
    let printed = lines.map(|line| line + "\n").collect();
    (printed, worker.passed())
}

/// Runs the shop to its end. Returns what it printed.
fn recovered(file: &Path) -> String {
    let (printed, ended) = run(file, "");
    assert!(ended && printed.contains("   Yes: each row, each guard and each sum.\n"), "{printed}");
    printed
}

#[test]
fn an_order_whose_writer_was_killed_is_found_by_its_day_after_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.redb");
    let (printed, ended) = run(&file, "--crash");
    assert!(!ended && printed.contains("5. Ann orders for 2026-11-23"), "{printed}");
    assert!(!printed.contains("6. "), "{printed}");
    let printed = recovered(&file);
    let pending = "row `by_day`, key \"2026-11-23\" / \"DAY:00001000__00001000\"";
    assert!(printed.contains(pending), "{printed}");
    assert!(printed.contains("1 finding; 1 write of a process that ended settled"), "{printed}");
    assert!(printed.contains("Ann is customer 1000 of an earlier run."), "{printed}");
    // The order of the killed run, and the three of this one.
    assert!(printed.contains("4 new invoices, "), "{printed}");
}

#[test]
fn the_shop_recovers_wherever_it_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut kills = 0;
    for request in (1..).step_by(dose(12, 1)) {
        let file = folder.path().join(format!("{request}.redb"));
        if run(&file, &format!("--crash={request}")).1 {
            break;
        }
        recovered(&file);
        kills += 1;
    }
    assert!(kills >= dose(7, 90), "the shop sends only {kills} requests");
}
