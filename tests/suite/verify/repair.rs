//! What `repair` corrects, and what it does not change.

use super::{Runner, Subject, described, runner};
use table_orm::plan::Step;
use table_orm::repo::{Finding, Problem, SkipReason};
use table_orm::{Error, TableName, Tables};

fn runners() -> [Runner; 4] {
    [runner("A", 1, 30), runner("A", 2, 70), runner("A", 4, 20), runner("B", 2, 70)]
}

/// Rows out of step in every way.
async fn damaged() -> Subject {
    let subject = Subject::with(&runners()).await;
    subject.lose("A", "AGE:030__00001").await;
    subject.lose("B", "SEN:00002").await;
    subject.set("A", "AGE:070__00002", "City", "Bergen").await;
    subject.set("A", "CITY:Oslo__00002", "Name", "Runner 2").await;
    subject.unset("A", "CITY:Oslo__00004", "Chip").await;
    subject.copy("A", "AGE:020__00004", "AGE:021__00004").await;
    subject.copy("B", "NAME:Runner 2__00002", "SEN:00004").await;
    subject
}

#[tokio::test]
async fn every_damage_is_mended_and_nothing_else_is_touched() {
    let subject = damaged().await;
    // Only a later version of the app knows it, so `repair` must not remove it.
    subject.set("B", "BIB:00002", "Shoes", 45).await;
    let mut expected = Subject::with(&runners()).await.stored().await;
    let own = ("B".to_owned(), "BIB:00002".to_owned());
    expected.insert(own.clone(), subject.stored().await[&own].clone());
    let findings = subject.findings().await;
    assert_eq!(findings.len(), 7);

    let report = subject.repo.repair(findings.clone()).await;
    assert_eq!(report.repaired.len(), 7, "{report:?}");
    assert_eq!((report.skipped.len(), report.failures.len(), report.remainder.count()), (0, 0, 0));
    assert_eq!(subject.stored().await, expected);
    assert_eq!(subject.problems().await, [""; 0]);

    let again = subject.repo.repair(findings).await;
    assert_eq!(again.repaired, []);
    assert!(again.skipped.iter().all(|skipped| skipped.reason == SkipReason::NoLongerHolds));
    assert_eq!(again.skipped.len(), 7);
    assert_eq!(subject.stored().await, expected);
}

#[tokio::test]
async fn a_dry_run_lists_the_transactions_and_writes_nothing() {
    let subject = damaged().await;
    let before = subject.stored().await;
    let findings = subject.findings().await;
    let plan = subject.repo.repair(findings).plan().await.unwrap();
    assert_eq!(subject.stored().await, before);
    let operations: Vec<_> = plan
        .operations()
        .map(|operation| format!("{} {}", operation.action.name(), operation.row_key))
        .collect();
    assert_eq!(
        operations,
        [
            "merge BIB:00001",
            "insert AGE:030__00001",
            "merge BIB:00002",
            "replace AGE:070__00002",
            "replace CITY:Oslo__00002",
            "merge BIB:00004",
            "replace CITY:Oslo__00004",
            "delete AGE:021__00004",
            "merge BIB:00002",
            "insert SEN:00002",
            "delete SEN:00004",
        ]
    );
    assert!(plan.steps.iter().all(|step| matches!(step, Step::Commit { .. } | Step::Write { .. })));
}

#[tokio::test]
async fn a_finding_is_a_hint_and_never_what_is_written() {
    let subject = Subject::with(&[runner("A", 1, 30)]).await;
    subject.set("A", "NAME:Runner 1__00001", "Age", 99).await;
    let findings = subject.findings().await;
    // A typed writer moves the entity after it was found.
    let race = Runner::partition("A");
    let mut loaded = subject.repo.load(race.by_bib().bib(1)).await.unwrap().one().unwrap();
    loaded.age = 31;
    loaded.name = "Ann".to_owned();
    subject.repo.save(loaded).await.unwrap();
    let before = subject.stored().await;
    let report = subject.repo.repair(findings).await;
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(report.skipped[0].reason, SkipReason::NoLongerHolds);
    assert_eq!(subject.stored().await, before);
}

#[tokio::test]
async fn an_orphan_that_an_entity_refers_to_now_is_kept() {
    let subject = Subject::with(&[runner("A", 1, 30)]).await;
    let orphan = |row: &str, row_key: &str| Finding {
        entity: "Runner".to_owned(),
        row: row.to_owned(),
        partition_key: "A".to_owned(),
        row_key: row_key.to_owned(),
        canonical: None,
        location: None,
        etag: None,
        problem: Problem::Orphan,
    };
    let before = subject.stored().await;
    // A full copy names its canonical row. For a partial copy, all canonical rows are read.
    let false_findings = vec![
        orphan("by_age", "AGE:030__00001"),
        orphan("by_name", "NAME:Runner 1__00001"),
        orphan("by_bib", "BIB:00001"),
        orphan("by_age", "Note"),
        orphan("by_age", "AGE:099__00001"),
    ];
    let report = subject.repo.repair(false_findings).await;
    let reasons: Vec<_> = report.skipped.iter().map(|skipped| skipped.reason).collect();
    assert_eq!(
        reasons,
        [
            SkipReason::NoLongerHolds,
            SkipReason::NoLongerHolds,
            SkipReason::NotOurs,
            SkipReason::NotOurs,
            SkipReason::NoLongerHolds,
        ]
    );
    assert_eq!(subject.stored().await, before);
}

#[tokio::test]
async fn what_cannot_be_determined_is_left_to_the_app() {
    let subject = Subject::with(&[runner("A", 1, 30), runner("A", 2, 30)]).await;
    subject.copy("A", "NAME:Runner 1__00001", "SEN:00001").await;
    let mut findings = subject.findings().await;
    subject.unset("A", "BIB:00002", "Name").await;
    findings.extend(subject.findings().await);
    let report = subject.repo.repair(findings).await;
    let texts: Vec<_> =
        report.skipped.iter().map(|skip| (described(&skip.finding), skip.reason)).collect();
    assert_eq!(texts.len(), 2, "{report:?}");
    assert!(texts.iter().any(|(text, reason)| {
        text.starts_with("A BIB:00002") && *reason == SkipReason::CanonicalRow
    }));
    assert!(texts.iter().any(|(text, reason)| {
        text.starts_with("A SEN:00001") && *reason == SkipReason::Undecided
    }));
    assert!(subject.rows.get("A", "SEN:00001").await.unwrap().is_some());
}

#[tokio::test]
async fn findings_of_another_entity_are_not_acted_upon() {
    let subject = damaged().await;
    let before = subject.stored().await;
    let findings = subject
        .findings()
        .await
        .into_iter()
        .map(|finding| Finding { entity: "Walker".to_owned(), ..finding });
    let report = subject.repo.repair(findings.collect::<Vec<_>>()).await;
    assert!(report.skipped.iter().all(|skipped| skipped.reason == SkipReason::NotOurs));
    assert_eq!(report.skipped.len(), 7);
    assert_eq!(subject.stored().await, before);
}

#[derive(Debug, Clone, table_orm::TableEntity)]
#[table(name = "desks", partition = "{office}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_desk, key = "DESK:{desk:03}", include(id), allow_key_conflict)]
struct Seat {
    office: String,
    id: u32,
    desk: u16,
}

#[tokio::test]
async fn two_entities_that_claim_one_row_never_take_it_from_each_other() {
    let tables = Tables::in_memory().unwrap();
    let seats = tables.repo::<Seat>();
    seats.create_table().await.unwrap();
    let rows = tables.table(seats.table().clone());
    let seat = |id| Seat { office: "A".to_owned(), id, desk: 7 };
    seats.insert(&seat(1)).await.unwrap();
    // Another writer stores the canonical row of a second entity with the same desk.
    let mut second = rows.get("A", "ID:00001").await.unwrap().unwrap();
    second.row_key = "ID:00002".to_owned();
    second.properties.insert("Id".to_owned(), 2_i64.into());
    rows.insert(&second).await.unwrap();
    let before = super::stored(&tables, seats.table()).await;
    for _ in 0..2 {
        let findings = seats.verify(Seat::partition("A")).await.unwrap().findings;
        let report = seats.repair(findings).await;
        let skipped: Vec<_> =
            report.skipped.iter().map(|skip| (described(&skip.finding), skip.reason)).collect();
        assert_eq!(skipped, [("A DESK:007: missing".to_owned(), SkipReason::Taken)]);
        assert_eq!(report.repaired, []);
        let now = super::stored(&tables, seats.table()).await;
        assert_eq!(now, before);
    }
}

#[tokio::test]
async fn a_failing_store_leaves_a_remainder_that_can_be_passed_again() {
    let subject = damaged().await;
    let findings = subject.findings().await;
    let nowhere = subject.tables.repo_in::<Runner>(TableName::new("nowhere").unwrap());
    let report = nowhere.repair(findings.clone()).parallelism(1).await;
    assert_eq!(report.repaired, []);
    assert!(matches!(report.failures[0].error, Error::TableNotFound(_)));
    let failed: Vec<_> = report.failures.into_iter().flat_map(|failure| failure.findings).collect();
    let rest: Vec<_> = failed.into_iter().chain(report.remainder).collect();
    assert_eq!(rest.len(), findings.len());
    let report = subject.repo.repair(rest).await;
    assert_eq!(report.all().unwrap(), 7);
    assert_eq!(subject.problems().await, [""; 0]);
}
