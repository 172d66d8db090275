//! A write that comes between the reads of `repair` and its transaction.

use super::between::WriteBetween;
use super::{Runner, Subject, runner};
use table_orm::repo::{Finding, SkipReason};
use table_orm::{DynamicEntity, Repo, TableEntity, Tables};

/// A subject, and the same entities through a store in which another write comes between requests.
async fn subject() -> (Subject, Repo<Runner>, WriteBetween) {
    let subject = Subject::with(&[runner("A", 1, 30)]).await;
    let between = WriteBetween::default();
    let delayed = subject.tables.clone().layer(between.clone()).unwrap().repo();
    (subject, delayed, between)
}

#[tokio::test]
async fn a_save_that_comes_between_wins_and_no_old_row_is_written() {
    let (subject, delayed, between) = subject().await;
    subject.lose("A", "AGE:030__00001").await;
    let findings = subject.findings().await;
    let repo = subject.repo.clone();
    between.set(async move {
        let race = Runner::partition("A");
        let mut runner = repo.load(race.by_bib().bib(1)).await.unwrap().one().unwrap();
        runner.age = 31;
        repo.save(runner).await.unwrap();
    });
    let report = delayed.repair(findings).await;
    assert_eq!(report.skipped[0].reason, SkipReason::NoLongerHolds, "{report:?}");
    assert_eq!(subject.problems().await, [""; 0]);
    let moved = Runner { age: 31, ..runner("A", 1, 30) };
    assert_eq!(subject.stored().await, Subject::with(&[moved]).await.stored().await);
}

#[tokio::test]
async fn a_backfill_writes_what_a_save_that_comes_between_has_made_of_the_entity() {
    let (subject, delayed, between) = subject().await;
    subject.lose("A", "AGE:030__00001").await;
    let repo = subject.repo.clone();
    between.set(async move {
        let race = Runner::partition("A");
        let mut runner = repo.load(race.by_bib().bib(1)).await.unwrap().one().unwrap();
        runner.name = "Ann".to_owned();
        repo.save(runner).await.unwrap();
    });
    let done = delayed.backfill(Runner::partition("A")).await.all().unwrap();
    assert_eq!(done.entities, 1);
    assert_eq!(subject.problems().await, [""; 0]);
}

#[tokio::test]
async fn an_orphan_that_is_written_in_between_is_kept() {
    for (from, to) in [("AGE:030__00001", "AGE:031__00001"), ("NAME:Runner 1__00001", "SEN:00001")]
    {
        let (subject, delayed, between) = subject().await;
        subject.copy("A", from, to).await;
        let findings = subject.findings().await;
        let rows = subject.rows.clone();
        between.set(async move {
            rows.merge(&DynamicEntity::new("A", to).with("Name", "Ann")).await.unwrap();
        });
        let report = delayed.repair(findings).await;
        assert_eq!(report.skipped[0].reason, SkipReason::Changed, "{report:?}");
        assert_eq!(subject.row("A", to).await.properties["Name"], "Ann".into());
    }
}

#[tokio::test]
async fn orphans_that_are_deleted_in_between_do_not_stop_the_others() {
    let (subject, delayed, between) = subject().await;
    let orphans: Vec<_> = (50..80).map(|age| format!("AGE:{age:03}__00001")).collect();
    for orphan in &orphans {
        subject.copy("A", "AGE:030__00001", orphan).await;
    }
    let findings = subject.findings().await;
    assert_eq!(findings.len(), 30);
    let (rows, gone) = (subject.rows.clone(), orphans[7].clone());
    between.set(async move {
        rows.delete(&DynamicEntity::new("A", gone)).await.unwrap();
    });
    let report = delayed.repair(findings).await;
    assert_eq!((report.repaired.len(), report.skipped.len()), (29, 1));
    assert_eq!(report.skipped[0].reason, SkipReason::NoLongerHolds);
    assert_eq!(report.skipped[0].finding.row_key, orphans[7]);
    assert_eq!(subject.problems().await, [""; 0]);
}

#[derive(Debug, TableEntity)]
#[table(name = "shirts", partition = "{team}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_size, key = "SIZE:{size}", allow_key_conflict)]
struct Shirt {
    team: String,
    id: u32,
    size: String,
}

#[tokio::test]
async fn a_row_that_another_entity_takes_in_between_is_left_to_it() {
    let tables = Tables::in_memory().unwrap();
    let shirts = tables.repo::<Shirt>();
    shirts.create_table().await.unwrap();
    let shirt = |id| Shirt { team: "A".to_owned(), id, size: "M".to_owned() };
    shirts.insert(&shirt(1)).await.unwrap();
    let rows = tables.table(shirts.table().clone());
    let row = |key: &str, id: i64| {
        DynamicEntity::new("A", key).with("Team", "A").with("Id", id).with("Size", "M")
    };
    rows.insert(&row("ID:00002", 2)).await.unwrap();
    rows.merge(&DynamicEntity::new("A", "SIZE:M").with("Colour", "red")).await.unwrap();
    let findings = shirts.verify(Shirt::partition("A")).await.unwrap().findings;
    let of_first = |finding: &Finding| finding.canonical.as_deref() == Some("ID:00001");
    let wrong: Vec<_> = findings.into_iter().filter(of_first).collect();
    assert_eq!(wrong.len(), 1);

    let between = WriteBetween::default();
    let delayed = tables.clone().layer(between.clone()).unwrap().repo::<Shirt>();
    let (other, taken) = (rows.clone(), row("SIZE:M", 2));
    between.set(async move { drop(other.replace(&taken).await.unwrap()) });
    let report = delayed.repair(wrong).await;
    assert_eq!(report.skipped[0].reason, SkipReason::Taken, "{report:?}");
    let kept = rows.get("A", "SIZE:M").await.unwrap().unwrap();
    assert_eq!(kept.properties, row("SIZE:M", 2).properties);
}
