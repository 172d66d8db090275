//! What `verify` finds, and what it ignores.

use super::{Runner, Subject, described, kind, permit, runner};
use table_orm::query::QueryClass;
use table_orm::repo::{Finding, Problem, SkipReason};
use table_orm::{DynamicEntity, TableEntity, Tables};

#[tokio::test]
async fn an_empty_table_and_rows_in_step_have_no_finding() {
    let subject = Subject::new().await;
    let report = subject.repo.verify_table(permit()).await.unwrap();
    assert_eq!((report.entities, report.rows, report.findings.len()), (0, 0, 0));
    for runner in [runner("A", 1, 30), runner("A", 2, 70), runner("B", 3, 65)] {
        subject.repo.insert(&runner).await.unwrap();
    }
    let report = subject.repo.verify_table(permit()).await.unwrap();
    assert_eq!((report.entities, report.rows, report.findings), (3, 12, Vec::new()));
}

#[tokio::test]
async fn every_way_to_be_out_of_step_is_found_and_nothing_else() {
    let subject =
        Subject::with(&[runner("A", 1, 30), runner("A", 2, 70), runner("A", 4, 20)]).await;
    subject.lose("A", "AGE:030__00001").await;
    subject.lose("A", "SEN:00002").await;
    subject.set("A", "AGE:070__00002", "City", "Bergen").await;
    subject.set("A", "NAME:Runner 1__00001", "Age", "30").await;
    subject.set("A", "CITY:Oslo__00002", "Name", "Runner 2").await;
    subject.unset("A", "CITY:Oslo__00004", "Chip").await;
    subject.copy("A", "AGE:020__00004", "AGE:021__00004").await;
    subject.copy("A", "NAME:Runner 4__00004", "SEN:00004").await;
    assert_eq!(
        subject.problems().await,
        [
            "A AGE:030__00001: missing",
            "A AGE:070__00002: stale in City",
            "A CITY:Oslo__00002: should not store Name",
            "A CITY:Oslo__00004: lacks Chip",
            "A NAME:Runner 1__00001: stale in Age",
            "A AGE:021__00004: no canonical row expects it",
            "A SEN:00002: missing",
            "A SEN:00004: no canonical row expects it",
        ]
    );
}

#[tokio::test]
async fn a_finding_names_entity_row_keys_and_version_and_survives_json() {
    let subject = Subject::with(&[runner("A", 1, 30)]).await;
    subject.set("A", "AGE:030__00001", "City", "Bergen").await;
    let etag = subject.row("A", "AGE:030__00001").await.etag.unwrap();
    let findings = subject.findings().await;
    let extra = vec!["City".to_owned()];
    let expected = Finding {
        entity: "Runner".to_owned(),
        row: "by_age".to_owned(),
        partition_key: "A".to_owned(),
        row_key: "AGE:030__00001".to_owned(),
        canonical: Some("BIB:00001".to_owned()),
        location: None,
        etag: Some(etag.as_str().to_owned()),
        problem: Problem::WrongProjection { lacking: vec![], extra, differing: vec![] },
    };
    assert_eq!(findings, [expected]);
    let json = serde_json::to_string(&findings).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Finding>>(&json).unwrap(), findings);
}

#[tokio::test]
async fn one_partition_is_read_by_itself_and_a_stream_returns_the_same() {
    let subject = Subject::with(&[runner("A", 1, 30), runner("B", 1, 30)]).await;
    subject.lose("A", "AGE:030__00001").await;
    subject.lose("B", "AGE:030__00001").await;
    let verify = subject.repo.verify(Runner::partition("B"));
    let plan = verify.plan().unwrap();
    assert_eq!((plan.class(), plan.steps.len()), (Some(QueryClass::RowRange), 1));
    let report = verify.await.unwrap();
    assert_eq!((report.entities, report.rows), (1, 2));
    let mut stream = subject.repo.verify(Runner::partition("B")).stream();
    let mut streamed = Vec::new();
    while let Some(finding) = stream.next().await.unwrap() {
        streamed.push(finding);
    }
    assert_eq!(streamed, report.findings);
    assert_eq!(streamed.iter().map(described).collect::<Vec<_>>(), ["B AGE:030__00001: missing"]);
    let from_b = subject.repo.verify_table(permit()).partition_range("B".to_owned()..);
    assert_eq!(from_b.plan().unwrap().class(), Some(QueryClass::PartitionRange));
    assert_eq!(from_b.await.unwrap().findings, streamed);
}

#[tokio::test]
async fn an_unreadable_canonical_row_is_a_finding_and_does_not_stop_the_run() {
    let subject =
        Subject::with(&[runner("A", 1, 30), runner("A", 2, 70), runner("A", 3, 40)]).await;
    subject.unset("A", "BIB:00002", "Name").await;
    subject.lose("A", "NAME:Runner 3__00003").await;
    // The index rows of the row that cannot be read are not called orphans.
    let report = subject.repo.verify_table(permit()).await.unwrap();
    let findings = report.findings;
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert_eq!(report.undecided, 4);
    assert!(
        matches!(&findings[0].problem, Problem::Unreadable { reason } if reason.contains("Name"))
    );
    assert_eq!(findings[0].row_key, "BIB:00002");
    assert_eq!(described(&findings[1]), "A NAME:Runner 3__00003: missing");
}

#[tokio::test]
async fn a_row_whose_index_key_cannot_be_written_is_not_called_unreadable() {
    let subject = Subject::with(&[runner("A", 1, 30)]).await;
    let named = DynamicEntity::new("A", "BIB:00001").with("Name", "Ann__Bea");
    subject.rows.merge(&named).await.unwrap();
    let findings = subject.findings().await;
    let texts: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(
        findings.iter().map(|found| kind(&found.problem)).collect::<Vec<_>>(),
        ["unwritable"]
    );
    assert!(
        texts[0].contains("one of its rows cannot be written: key component `name` of `Runner`"),
        "{texts:?}"
    );
    let backfilled = subject.repo.backfill(Runner::partition("A")).await;
    assert_eq!(backfilled.skipped[0].finding.problem, findings[0].problem);
    let repaired = subject.repo.repair(findings).await;
    assert_eq!(repaired.skipped[0].reason, SkipReason::CanonicalRow);
}

#[tokio::test]
async fn a_canonical_row_under_a_key_that_its_properties_do_not_make_is_a_finding() {
    let subject = Subject::with(&[runner("A", 1, 30)]).await;
    subject.copy("A", "BIB:00001", "BIB:00009").await;
    assert_eq!(
        subject.problems().await,
        [r#"A BIB:00009: its properties make the key "A" / "BIB:00001""#]
    );
}

#[derive(Debug, TableEntity)]
#[table(name = "runners", partition = "{race}", row = "Summary")]
struct Summary {
    race: String,
    finishers: u32,
}

#[tokio::test]
async fn rows_of_other_types_in_the_partition_are_left_alone() {
    let subject = Subject::with(&[runner("A", 1, 30)]).await;
    let summaries = subject.tables.repo::<Summary>();
    summaries.insert(&Summary { race: "A".to_owned(), finishers: 1 }).await.unwrap();
    subject.rows.insert(&DynamicEntity::new("A", "Note").with("Text", "x")).await.unwrap();
    assert_eq!(subject.problems().await, [""; 0]);
    let report = summaries.verify(Summary::partition("A")).await.unwrap();
    assert_eq!((report.entities, report.rows, report.findings.len()), (1, 1, 0));
}

#[derive(Debug, TableEntity)]
#[table(name = "files", partition = "{owner}", escape = encode)]
#[row(by_path, key = "P:{path}")]
#[row(by_label, key = "L:{label}__{path}", include(size))]
struct File {
    owner: String,
    path: String,
    label: Option<String>,
    size: i64,
}

#[tokio::test]
async fn escaped_keys_are_reported_as_they_are_stored() {
    let tables = Tables::in_memory().unwrap();
    let files = tables.repo::<File>();
    files.create_table().await.unwrap();
    for (path, label) in [("/etc/hosts", None), ("/a_b#c", Some("x_/y")), ("~", Some(""))] {
        let file = File {
            owner: "root/1".to_owned(),
            path: path.to_owned(),
            label: label.map(str::to_owned),
            size: 7,
        };
        files.insert(&file).await.unwrap();
    }
    let verified = files.verify_table(permit()).await.unwrap();
    assert_eq!((verified.entities, verified.rows, verified.findings.len()), (3, 5, 0));
    let rows = tables.table(files.table().clone());
    let labels = rows.list("root~2F1", "L:".to_owned()..).collect().await.unwrap();
    let copy = labels.iter().find(|row| row.row_key.contains("y__")).unwrap();
    rows.delete(copy).await.unwrap();
    let findings = files.verify(File::partition("root/1")).await.unwrap().findings;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].row_key, copy.row_key);
    assert_eq!(files.repair(findings).await.all().unwrap(), 1);
    assert_eq!(files.verify_table(permit()).await.unwrap().findings, []);
}
