//! Entities that were written by another version of their type.

use super::described;
use std::collections::BTreeMap;
use table_orm::model::Edm;
use table_orm::repo::{Problem, SkipReason, Table};
use table_orm::{Repo, TableEntity, Tables};

/// The first version.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{club}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_name, key = "NAME:{name}__{id:05}")]
struct First {
    club: String,
    id: u32,
    name: String,
    fee: u32,
}

/// The first version, but it keeps properties that it does not know.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{club}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_name, key = "NAME:{name}__{id:05}")]
struct Careful {
    club: String,
    id: u32,
    name: String,
    fee: u32,
    #[table(flatten)]
    rest: BTreeMap<String, Edm>,
}

/// With one more field, row and unique value.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{club}", unique(name))]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_name, key = "NAME:{name}__{id:05}")]
#[row(by_email, key = "MAIL:{email}__{id:05}", include(email))]
struct Second {
    club: String,
    id: u32,
    name: String,
    fee: u32,
    email: Option<String>,
}

fn first(id: u32, name: &str) -> First {
    First { club: "A".to_owned(), id, name: name.to_owned(), fee: 10 }
}

fn second(id: u32, name: &str) -> Second {
    let (club, name, email) = ("A".to_owned(), name.to_owned(), Some("ann@acme".to_owned()));
    Second { club, id, name, fee: 10, email }
}

/// A cup as it was first.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "cups", partition = "{club}", row = "CUP:{year:05}")]
struct OneRow {
    club: String,
    year: u32,
    winner: Option<String>,
}

/// With a second row, which blind writes know by the canonical key.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "cups", partition = "{club}")]
#[row(by_year, key = "CUP:{year:05}")]
#[row(latest, key = "LATEST:{newest}")]
#[component(newest = desc(year))]
struct TwoRows {
    club: String,
    year: u32,
    winner: Option<String>,
}

struct Subject {
    first: Repo<First>,
    careful: Repo<Careful>,
    second: Repo<Second>,
    rows: Table,
}

impl Subject {
    async fn new() -> Self {
        let tables = Tables::in_memory().unwrap();
        let first = tables.repo::<First>();
        first.create_table().await.unwrap();
        let rows = tables.table(first.table().clone());
        Self { first, careful: tables.repo(), second: tables.repo(), rows }
    }

    async fn keys(&self) -> Vec<String> {
        let rows = self.rows.list("A", ..).collect().await.unwrap();
        rows.into_iter().map(|row| row.row_key).collect()
    }

    /// What is wrong according to the newest version.
    async fn problems(&self) -> Vec<String> {
        let report = self.second.verify(Second::partition("A")).await.unwrap();
        report.findings.iter().map(described).collect()
    }
}

#[tokio::test]
async fn a_new_row_comes_with_a_change_of_what_it_holds_and_by_no_other() {
    let subject = Subject::new().await;
    subject.first.insert(&first(1, "Ann")).await.unwrap();
    let key = Second::partition("A").by_id().id(1);
    subject.second.update(&key, |member| member.fee += 1).await.unwrap();
    assert_eq!(subject.keys().await, ["ID:00001", "NAME:Ann__00001"]);
    subject.second.update(&key, |member| member.email = Some("a@b".to_owned())).await.unwrap();
    assert_eq!(subject.keys().await, ["ID:00001", "MAIL:a@b__00001", "NAME:Ann__00001"]);
    subject.second.update(&key, |member| member.name = "Bea".to_owned()).await.unwrap();
    let all = ["ID:00001", "MAIL:a@b__00001", "NAME:Bea__00001", "UNQ:name:Bea"];
    assert_eq!(subject.keys().await, all);
}

#[tokio::test]
async fn a_new_row_that_a_blind_merge_inserts_in_part_is_found_and_completed() {
    let tables = Tables::in_memory().unwrap();
    let (old, new) = (tables.repo::<OneRow>(), tables.repo::<TwoRows>());
    old.create_table().await.unwrap();
    let (club, winner) = ("A".to_owned(), Some("Ann".to_owned()));
    old.insert(&OneRow { club: club.clone(), year: 2024, winner: winner.clone() }).await.unwrap();
    new.insert_or_merge(&TwoRows { club: club.clone(), year: 2024, winner: None }).await.unwrap();
    let partition = TwoRows::partition("A");
    let findings = new.verify(&partition).await.unwrap().findings;
    let texts: Vec<_> = findings.iter().map(|finding| finding.problem.clone()).collect();
    let (lacking, none) = (vec!["Winner".to_owned()], Vec::new);
    assert_eq!(texts, [Problem::WrongProjection { lacking, extra: none(), differing: none() }]);
    assert_eq!(new.backfill(&partition).await.skipped.len(), 1);
    assert_eq!(new.repair(findings).await.all().unwrap(), 1);
    let latest = new.list(partition.latest()).collect().await.unwrap();
    assert_eq!(latest, [TwoRows { club, year: 2024, winner }]);
}

#[tokio::test]
async fn a_guard_that_goes_with_an_entity_that_had_none_is_reported_and_restored() {
    let subject = Subject::new().await;
    let partition = Second::partition("A");
    subject.first.insert(&first(1, "Ann")).await.unwrap();
    // No guard row holds Ann's name yet.
    subject.second.insert(&second(2, "Ann")).await.unwrap();
    let report = subject.second.backfill(&partition).await;
    let skipped: Vec<_> =
        report.skipped.iter().map(|skip| (described(&skip.finding), skip.reason)).collect();
    assert_eq!(skipped, [("A UNQ:name:Ann: missing".to_owned(), SkipReason::Taken)]);

    let first = subject.second.load(partition.by_id().id(1)).await.unwrap().one().unwrap();
    subject.second.delete(first).await.unwrap();
    assert_eq!(subject.problems().await, ["A UNQ:name:Ann: missing"]);
    assert_eq!(subject.second.backfill(&partition).await.all().unwrap().rows, 1);
    assert_eq!(subject.problems().await, [""; 0]);
    let rejected = subject.second.insert(&second(3, "Ann")).await;
    assert!(matches!(rejected, Err(table_orm::Error::UniqueViolation { .. })), "{rejected:?}");
}

#[tokio::test]
async fn an_older_version_keeps_what_it_merges_into_and_not_what_it_saves() {
    let subject = Subject::new().await;
    subject.second.insert(&second(1, "Ann")).await.unwrap();
    let key = First::partition("A").by_id().id(1);
    subject.first.merge(&key, FirstPatch::default().fee(20)).await.unwrap();
    subject.first.insert_or_merge(&First { fee: 30, ..first(1, "Ann") }).await.unwrap();
    assert_eq!(subject.problems().await, [""; 0]);
    let newest = Second::partition("A").by_id().id(1);
    let stored = subject.second.get(&newest).await.unwrap();
    assert_eq!(stored, Some(Second { fee: 30, ..second(1, "Ann") }));

    subject.first.update(&key, |member| member.fee = 40).await.unwrap();
    let stored = subject.second.get(&newest).await.unwrap();
    assert_eq!(stored, Some(Second { fee: 40, email: None, ..second(1, "Ann") }));
    let orphan = "A MAIL:ann@acme__00001: no canonical row expects it";
    assert_eq!(subject.problems().await, [orphan]);
    let findings = subject.second.verify(Second::partition("A")).await.unwrap().findings;
    assert_eq!(subject.second.repair(findings).await.all().unwrap(), 1);
    assert_eq!(subject.problems().await, [""; 0]);

    let member = subject.first.load(&key).await.unwrap().one().unwrap();
    subject.first.delete(member).await.unwrap();
    assert_eq!(subject.keys().await, ["UNQ:name:Ann"]);
}

#[tokio::test]
async fn a_map_of_the_rest_keeps_what_a_newer_version_has_written() {
    let subject = Subject::new().await;
    subject.second.insert(&second(1, "Ann")).await.unwrap();
    let key = Careful::partition("A").by_id().id(1);
    subject.careful.update(&key, |member| member.fee = 20).await.unwrap();
    assert_eq!(subject.problems().await, [""; 0]);
    let stored = subject.second.get(Second::partition("A").by_id().id(1)).await.unwrap();
    assert_eq!(stored, Some(Second { fee: 20, ..second(1, "Ann") }));
}

#[tokio::test]
async fn an_older_version_finds_the_newer_ones_properties_too_many() {
    let subject = Subject::new().await;
    subject.second.insert(&second(1, "Ann")).await.unwrap();
    let report = subject.first.verify(First::partition("A")).await.unwrap();
    let [finding] = &report.findings[..] else { panic!("{report:?}") };
    let Problem::WrongProjection { extra, .. } = &finding.problem else { panic!("{finding}") };
    assert_eq!(
        (finding.row_key.as_str(), &extra[..]),
        ("NAME:Ann__00001", &["Email".to_owned()][..])
    );
    assert_eq!(subject.problems().await, [""; 0]);
}
