//! `verify` and `repair` while others write.

use super::between::SmallPages;
use super::{Runner, Subject, runner};
use std::sync::atomic::{AtomicBool, Ordering};
use table_orm::{Error, Repo, Tables};

const BIBS: u32 = 6;
const UPDATES: u32 = 40;

async fn subject() -> Subject {
    let tables = Tables::in_memory().unwrap().layer(SmallPages(3)).unwrap();
    let subject = Subject::of(tables).await;
    for bib in 0..BIBS {
        subject.repo.insert(&runner("A", bib, 60)).await.unwrap();
    }
    subject
}

/// Counts up what an entity holds, moving its rows about.
async fn write(repo: Repo<Runner>, writer: u32) {
    let race = Runner::partition("A");
    for step in 0..UPDATES {
        let bib = (writer + step) % BIBS;
        loop {
            let found = repo.load(race.by_bib().bib(bib)).await.unwrap();
            let mut runner = found.one().unwrap();
            runner.updates += 1;
            runner.age = 60 + u8::try_from((step * 7 + writer) % 10).unwrap();
            runner.city = (step % 3 == 0).then(|| format!("City {step}"));
            match repo.save(runner).await {
                Ok(_) => break,
                // Another writer came first, or an orphan is in the way that is about to be
                // repaired.
                Err(Error::Conflict(_) | Error::AlreadyExists(_)) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Inserts and deletes entities over and over.
async fn come_and_go(repo: Repo<Runner>) {
    for step in 0..UPDATES {
        let newcomer = runner("A", 100 + step % 3, 66);
        repo.upsert(&newcomer).await.unwrap();
        repo.force_delete(&newcomer).await.unwrap();
    }
}

async fn updates(repo: &Repo<Runner>) -> u32 {
    let all = repo.list(Runner::partition("A")).collect().await.unwrap();
    all.iter().map(|runner| runner.updates).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repair_beside_typed_writers_neither_loses_an_update_nor_breaks_a_row() {
    let subject = subject().await;
    let writers: Vec<_> =
        (0..3).map(|writer| tokio::spawn(write(subject.repo.clone(), writer))).collect();
    let visitor = tokio::spawn(come_and_go(subject.repo.clone()));
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        let findings = subject.findings().await;
        let report = subject.repo.repair(findings).await;
        assert!(report.failures.is_empty(), "{report:?}");
    }
    for writer in writers {
        writer.await.unwrap();
    }
    visitor.await.unwrap();
    // Nobody else has written: every finding was a row that was being moved, so nothing needed a
    // repair.
    assert_eq!(subject.problems().await, [""; 0]);
    assert_eq!(updates(&subject.repo).await, 3 * UPDATES);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_beside_typed_writers_is_mended_and_no_update_is_lost() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let subject = subject().await;
    let writers: Vec<_> =
        (0..3).map(|writer| tokio::spawn(write(subject.repo.clone(), writer))).collect();
    let rows = subject.rows.clone();
    let vandal = tokio::spawn(async move {
        let mut step = 0_usize;
        while !DONE.load(Ordering::Relaxed) {
            let all = rows.list("A", ..).collect().await.unwrap();
            let index_rows: Vec<_> =
                all.into_iter().filter(|row| !row.row_key.starts_with("BIB:")).collect();
            step += 1;
            let Some(row) = index_rows.get(step * 5 % index_rows.len().max(1)) else { continue };
            let mut row = row.clone();
            // The row may have moved in between.
            let _ = match step % 3 {
                0 => rows.delete(&row).await.map(drop),
                1 => {
                    row.properties.insert("Name".to_owned(), "Nobody".into());
                    rows.replace(&row).await.map(drop)
                }
                _ => {
                    row.row_key = format!("AGE:0{}__00000", 70 + step % 10);
                    rows.insert(&row).await.map(drop)
                }
            };
            tokio::task::yield_now().await;
        }
    });
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        let findings = subject.findings().await;
        // A finding may no longer hold, or a writer may have come first.
        let _ = subject.repo.repair(findings).await;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    DONE.store(true, Ordering::Relaxed);
    vandal.await.unwrap();
    let findings = subject.findings().await;
    let report = subject.repo.repair(findings).await;
    assert!(report.skipped.is_empty() && report.failures.is_empty(), "{report:?}");
    assert_eq!(subject.problems().await, [""; 0]);
    assert_eq!(updates(&subject.repo).await, 3 * UPDATES);
}
