//! Rows for elements that are out of step, or not there yet.

use super::{Article, Blog, article, texts};
use table_orm::repo::{Finding, Problem};
use table_orm::{DynamicEntity, TableEntity};

fn described(finding: &Finding) -> String {
    format!("{} {}: {}", finding.row, finding.row_key, finding.problem)
}

async fn out_of_step() -> (Blog, Vec<Finding>) {
    let blog = Blog::new().await;
    blog.articles
        .insert_many([article(1, &["a", "b", "c"]), article(2, &["b"])])
        .await
        .all()
        .unwrap();
    let row = async |row_key: &str| blog.rows.get("B", row_key).await.unwrap().unwrap();
    blog.rows.delete(&row("LAB:a__00000001").await).await.unwrap();
    blog.rows.replace(&row("LAB:b__00000001").await.with("Title", "old")).await.unwrap();
    let mut orphan = row("LAB:b__00000002").await;
    orphan.row_key = "LAB:x__00000002".to_owned();
    blog.rows.insert(&orphan).await.unwrap();
    let found = blog.articles.verify(Article::partition("B")).await.unwrap();
    assert_eq!((found.entities, found.undecided), (2, 0));
    (blog, found.findings)
}

#[tokio::test]
async fn verify_finds_and_repair_mends_the_rows_of_single_elements() {
    let (blog, findings) = out_of_step().await;
    let mut problems: Vec<_> = findings.iter().map(described).collect();
    problems.sort_unstable();
    let expected = [
        "by_label LAB:a__00000001: missing",
        "by_label LAB:b__00000001: stale in Title",
        "by_label LAB:x__00000002: no canonical row expects it",
    ];
    assert_eq!(problems, expected);
    assert_eq!(blog.articles.repair(findings).await.all().unwrap(), 3);
    assert!(blog.is_in_step().await);
    let keys = ["LAB:a__00000001", "LAB:b__00000001", "LAB:b__00000002", "LAB:c__00000001"];
    assert_eq!(blog.keys("LAB").await, keys);
}

#[tokio::test]
async fn two_rows_of_one_entity_are_repaired_in_one_transaction() {
    let blog = Blog::new().await;
    blog.articles.insert(&article(1, &["a", "b", "c"])).await.unwrap();
    for label in ["a", "b"] {
        let row = DynamicEntity::new("B", format!("LAB:{label}__00000001"));
        blog.rows.delete(&row).await.unwrap();
    }
    let findings = blog.articles.verify(Article::partition("B")).await.unwrap().findings;
    blog.requests.take();
    assert_eq!(blog.articles.repair(findings).await.all().unwrap(), 2);
    assert_eq!(blog.requests.take().writes, [3]);
    assert!(blog.is_in_step().await);
}

/// The type before it had rows for elements.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{pad}", row = "NOTE:{number:04}")]
struct OldNote {
    pad: String,
    number: u16,
    #[table(json)]
    labels: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{pad}")]
#[row(by_number, key = "NOTE:{number:04}")]
#[row(by_label, key = "LAB:{label}__{number:04}", each(label in labels))]
struct Note {
    pad: String,
    number: u16,
    #[table(json)]
    labels: Vec<String>,
}

#[tokio::test]
async fn a_backfill_writes_the_rows_of_stored_entities() {
    let tables = table_orm::Tables::in_memory().unwrap();
    let old = tables.repo::<OldNote>();
    old.create_table().await.unwrap();
    let labels = |number: u16| (0..number % 5).map(|at| format!("l{at}")).collect::<Vec<_>>();
    let notes = (0..50).map(|number| OldNote { pad: "P".into(), number, labels: labels(number) });
    old.insert_many(notes).await.all().unwrap();
    let notes = tables.repo::<Note>();
    let partition = Note::partition("P");
    let missing = notes.verify(&partition).await.unwrap().findings;
    assert_eq!(missing.len(), 100);
    assert!(missing.iter().all(|finding| finding.problem == Problem::Missing));
    // A stored entity without its rows can be changed: those to delete need not be there.
    let four = || partition.by_number().number(4);
    notes.update(four(), |note| note.labels = texts(&["l0", "new"])).await.unwrap();
    let report = notes.backfill(&partition).await;
    assert!(report.ended.is_none() && report.failures.is_empty(), "{report:?}");
    assert_eq!(notes.verify(&partition).await.unwrap().findings, []);
    let found = notes.list(partition.by_label().label("l2")).count().await.unwrap();
    assert_eq!(found, 19);
}
