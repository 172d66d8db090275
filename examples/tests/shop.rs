//! The shop is killed, and the next run settles what it left.

#![allow(clippy::unwrap_used)]

mod built;

use built::program;
use std::path::Path;
use std::process::{Command, Output};
use support::dose;

/// Runs the shop on a file.
fn run(file: &Path, options: &[&str]) -> Output {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("apps/shop/main.rs");
    let shop = program("shop".as_ref(), &source);
    Command::new(shop).arg("--db").arg(file).args(options).output().unwrap()
}

/// Runs the shop until it is killed. Returns what it printed; `None` if it ended before.
fn killed(file: &Path, crash: &str) -> Option<String> {
    let output = run(file, &[crash]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors.starts_with("shop: killed after "), !output.status.success(), "{errors}");
    (!output.status.success()).then(|| String::from_utf8(output.stdout).unwrap())
}

/// Runs the shop to its end. Returns what it printed.
fn recovered(file: &Path) -> String {
    let output = run(file, &[]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.ends_with("   Yes: each row, each guard and each sum.\n"), "{printed}");
    printed
}

#[test]
fn an_order_whose_writer_was_killed_is_found_by_its_day_after_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.redb");
    let printed = killed(&file, "--crash").unwrap();
    assert!(printed.contains("5. Ann orders for 2026-11-23"), "{printed}");
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
        if killed(&file, &format!("--crash={request}")).is_none() {
            break;
        }
        recovered(&file);
        kills += 1;
    }
    assert!(kills >= dose(7, 90), "the shop sends only {kills} requests");
}
