//! Guard rows out of step.

use super::described;
use table_orm::repo::{SkipReason, Table};
use table_orm::{DynamicEntity, Error, Repo, TableEntity, Tables};

#[derive(Debug, Clone, TableEntity)]
#[table(name = "members", partition = "{club}", unique(email))]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_name, key = "NAME:{name}__{id:05}", include(name))]
struct Member {
    club: String,
    id: u32,
    name: String,
    email: Option<String>,
}

fn member(id: u32) -> Member {
    let (club, name, email) =
        ("A".to_owned(), format!("Member {id}"), Some(format!("{id}@example.org")));
    Member { club, id, name, email }
}

async fn members() -> (Repo<Member>, Table) {
    let tables = Tables::in_memory().unwrap();
    let members = tables.repo::<Member>();
    members.create_table().await.unwrap();
    for id in 1..=3 {
        members.insert(&member(id)).await.unwrap();
    }
    let rows = tables.table(members.table().clone());
    (members, rows)
}

async fn problems(members: &Repo<Member>) -> Vec<String> {
    let findings = members.verify(Member::partition("A")).await.unwrap().findings;
    findings.iter().map(described).collect()
}

fn guard(email: &str, canonical: &str) -> DynamicEntity {
    DynamicEntity::new("A", format!("UNQ:email:{email}")).with("Canonical", canonical)
}

#[tokio::test]
async fn guards_are_found_and_mended_as_index_rows_are() {
    let (members, rows) = members().await;
    assert_eq!(problems(&members).await, [""; 0]);
    rows.delete(&guard("1@example.org", "")).await.unwrap();
    rows.replace(&guard("2@example.org", "ID:00009")).await.unwrap();
    rows.insert(&guard("gone@example.org", "ID:00009")).await.unwrap();
    rows.insert(&guard("old@example.org", "ID:00003")).await.unwrap();
    assert_eq!(
        problems(&members).await,
        [
            "A UNQ:email:2@example.org: stale in Canonical",
            "A UNQ:email:1@example.org: missing",
            "A UNQ:email:gone@example.org: no canonical row expects it",
            "A UNQ:email:old@example.org: no canonical row expects it",
        ]
    );
    let findings = members.verify(Member::partition("A")).await.unwrap().findings;
    assert!(findings.iter().all(|finding| finding.row == "email"));
    assert_eq!(members.repair(findings).await.all().unwrap(), 4);
    assert_eq!(problems(&members).await, [""; 0]);
    // The values are free, and guarded, again.
    let free = Member { email: Some("old@example.org".to_owned()), ..member(4) };
    members.insert(&free).await.unwrap();
    let taken = Member { email: Some("1@example.org".to_owned()), ..member(5) };
    let rejected = members.insert(&taken).await;
    assert!(matches!(rejected, Err(Error::UniqueViolation { .. })), "{rejected:?}");
}

#[tokio::test]
async fn a_guard_of_a_canonical_row_that_cannot_be_read_is_kept() {
    let (members, rows) = members().await;
    let mut broken = rows.get("A", "ID:00002").await.unwrap().unwrap();
    broken.properties.remove("Name");
    rows.replace(&broken).await.unwrap();
    rows.insert(&guard("gone@example.org", "ID:00009")).await.unwrap();
    let findings = members.verify(Member::partition("A")).await.unwrap().findings;
    let keys: Vec<_> = findings.iter().map(|finding| finding.row_key.as_str()).collect();
    assert_eq!(keys, ["ID:00002", "UNQ:email:gone@example.org"]);
    let report = members.repair(findings).await;
    assert_eq!((report.repaired.len(), report.skipped.len()), (1, 1));
    assert!(rows.get("A", "UNQ:email:2@example.org").await.unwrap().is_some());
}

#[tokio::test]
async fn a_value_that_two_entities_have_is_reported_and_guarded_for_the_first() {
    let (members, rows) = members().await;
    let mut second = rows.get("A", "ID:00002").await.unwrap().unwrap();
    second.properties.insert("Email".to_owned(), "1@example.org".into());
    rows.replace(&second).await.unwrap();
    let findings = members.verify(Member::partition("A")).await.unwrap().findings;
    let report = members.repair(findings).await;
    let skipped: Vec<_> =
        report.skipped.iter().map(|skip| (described(&skip.finding), skip.reason)).collect();
    assert_eq!(skipped, [("A UNQ:email:1@example.org: missing".to_owned(), SkipReason::Taken)]);
    let kept = rows.get("A", "UNQ:email:1@example.org").await.unwrap().unwrap();
    assert_eq!(kept.properties["Canonical"], "ID:00001".into());
}

#[tokio::test]
async fn a_backfill_guards_values_that_were_stored_before_they_were_unique() {
    let (members, rows) = members().await;
    for row in rows.list("A", "UNQ:".to_owned()..).collect().await.unwrap() {
        rows.delete(&row).await.unwrap();
    }
    let done = members.backfill(Member::partition("A")).await.all().unwrap();
    assert_eq!((done.entities, done.rows), (3, 3));
    assert_eq!(problems(&members).await, [""; 0]);
}
