//! Guard rows: no two entities of a partition share a unique value, whichever call writes them.

use std::collections::BTreeMap;
use table_orm::entity::EntityRows;
use table_orm::entity::GuardTemplate;
use table_orm::{Error, Repo, ScanPermit, TableEntity, TableName, Tables};

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(
    name = "accounts",
    partition = "{tenant}",
    unique(email_lower),
    unique(badge),
    unique(first, last, key = "WHO:{last}__{first}")
)]
#[row(by_id, key = "ID:{id:06}")]
#[row(by_name, key = "NAME:{last}__{first}__{id:06}")]
#[component(email_lower = lower(email))]
struct Account {
    tenant: String,
    id: u32,
    email: String,
    badge: Option<i64>,
    first: String,
    last: String,
    note: Option<String>,
}

fn account(id: u32, email: &str, badge: Option<i64>) -> Account {
    Account {
        tenant: "acme".to_owned(),
        id,
        email: email.to_owned(),
        badge,
        first: format!("F{id}"),
        last: "L".to_owned(),
        note: None,
    }
}

async fn repo() -> (Tables, Repo<Account>) {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Account>();
    repo.create_table().await.unwrap();
    (tables, repo)
}

/// Every guard row's key, with the canonical key it names.
async fn guards(tables: &Tables) -> BTreeMap<String, String> {
    let rows = tables.table(TableName::new("accounts").unwrap());
    let rows = rows.scan(ScanPermit::because("test")).collect().await.unwrap();
    let guard = |row: &table_orm::DynamicEntity| {
        let reference = row.properties.get(GuardTemplate::REFERENCE)?;
        assert_eq!(row.properties.len(), 1, "a guard row holds only the reference");
        Some((row.row_key.clone(), reference.to_string()))
    };
    rows.iter().filter_map(guard).collect()
}

fn violation(error: Error) -> (&'static str, String) {
    match error {
        Error::UniqueViolation { unique, key, rejection, .. } => {
            assert_eq!(rejection.entity, "Account");
            assert_eq!(rejection.row_key, key);
            (unique, key)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn the_entity_lists_its_guards_with_their_templates() {
    let names: Vec<_> = Account::GUARDS.iter().map(|guard| (guard.name, guard.key)).collect();
    assert_eq!(
        names,
        [
            ("email_lower", "UNQ:email_lower:{email_lower}"),
            ("badge", "UNQ:badge:{badge}"),
            ("first_last", "WHO:{last}__{first}"),
        ]
    );
    const { assert!(!Account::KEYS_FOLLOW_CANONICAL) };
}

#[tokio::test]
async fn a_guard_row_names_the_canonical_row_under_a_key_that_sorts() {
    let (tables, repo) = repo().await;
    repo.insert(&account(1, "Ann@Acme", Some(-7))).await.unwrap();
    let stored = guards(&tables).await;
    let expected = [
        // -7, biased by 2^63.
        ("UNQ:badge:09223372036854775801", "'ID:000001'"),
        ("UNQ:email_lower:ann@acme", "'ID:000001'"),
        ("WHO:L__F1", "'ID:000001'"),
    ];
    let stored = stored.iter().map(|(key, row)| (key.as_str(), row.as_str()));
    assert_eq!(stored.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_second_entity_with_the_same_value_is_a_violation_that_writes_nothing() {
    let (tables, repo) = repo().await;
    repo.insert(&account(1, "ann@acme", Some(7))).await.unwrap();
    let before = guards(&tables).await;

    let same_email = account(2, "ANN@acme", None);
    let error = repo.insert(&same_email).await.unwrap_err();
    assert!(error.to_string().starts_with("another entity has the same `email_lower`"), "{error}");
    assert_eq!(violation(error).0, "email_lower");
    let error = repo.upsert(&same_email).await.unwrap_err();
    assert_eq!(violation(error).0, "email_lower");
    let error = repo.insert_or_merge(&same_email).await.unwrap_err();
    assert_eq!(violation(error).0, "email_lower");

    let same_badge = account(2, "bob@acme", Some(7));
    assert_eq!(violation(repo.insert(&same_badge).await.unwrap_err()).0, "badge");
    let report = repo.insert_many([same_badge]).await;
    assert_eq!(report.failures.len(), 1);
    let failure = report.failures.into_iter().next().unwrap();
    assert_eq!(failure.entity.unwrap().id, 2);
    assert_eq!(violation(failure.error).0, "badge");

    assert_eq!(guards(&tables).await, before);
    assert_eq!(repo.get(Account::partition("acme").by_id().id(2)).await.unwrap(), None);
}

#[tokio::test]
async fn the_same_entity_twice_is_there_already_rather_than_a_violation() {
    let (_tables, repo) = repo().await;
    let ann = account(1, "ann@acme", Some(7));
    repo.insert(&ann).await.unwrap();
    assert!(matches!(repo.insert(&ann).await, Err(Error::AlreadyExists(_))));
}

#[tokio::test]
async fn an_entity_without_a_value_needs_no_guard() {
    let (tables, repo) = repo().await;
    repo.insert(&account(1, "a@acme", None)).await.unwrap();
    repo.insert(&account(2, "b@acme", None)).await.unwrap();
    assert_eq!(guards(&tables).await.len(), 4);
}

#[tokio::test]
async fn moves_and_deletes_carry_the_guards_along() {
    let (tables, repo) = repo().await;
    let by_id = Account::partition("acme").by_id();
    repo.insert(&account(1, "ann@acme", Some(7))).await.unwrap();
    repo.insert(&account(2, "bob@acme", None)).await.unwrap();

    // Ann gives her badge away, Bob takes it.
    let mut ann = repo.load(by_id.clone().id(1)).await.unwrap().one().unwrap();
    let mut bob = repo.load(by_id.clone().id(2)).await.unwrap().one().unwrap();
    bob.badge = Some(7);
    assert_eq!(violation(repo.save(&mut bob).await.unwrap_err()).0, "badge");
    ann.badge = None;
    repo.save(&mut ann).await.unwrap();
    repo.save(&mut bob).await.unwrap();

    // After a change of the canonical key, the guards name the new one.
    bob.id = 3;
    let bob = repo.save(bob).await.unwrap();
    let stored = guards(&tables).await;
    let of_bob = stored.values().filter(|row| row.contains("ID:000003")).count();
    assert_eq!((stored.len(), of_bob), (5, 3));

    repo.delete(bob).await.unwrap();
    let stored = guards(&tables).await;
    assert!(stored.values().all(|row| row.contains("ID:000001")), "{stored:?}");
    repo.force_delete(&ann).await.unwrap();
    assert!(guards(&tables).await.is_empty());
}

#[tokio::test]
async fn one_of_many_racing_inserts_of_one_value_wins() {
    let (tables, repo) = repo().await;
    let inserts = (0..32).map(|id| {
        let repo = repo.clone();
        tokio::spawn(async move { repo.insert(&account(id, "one@acme", None)).await })
    });
    let mut won = 0;
    for insert in inserts.collect::<Vec<_>>() {
        match insert.await.unwrap() {
            Ok(_) => won += 1,
            Err(error) => assert_eq!(violation(error).0, "email_lower"),
        }
    }
    assert_eq!(won, 1);
    assert_eq!(guards(&tables).await.len(), 2);
}

#[tokio::test]
async fn a_plan_shows_the_guards_it_writes() {
    let (_tables, repo) = repo().await;
    let plan = repo.insert(&account(1, "ann@acme", Some(7))).plan().unwrap();
    let keys: Vec<_> = plan.operations().map(|operation| operation.row_key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "ID:000001",
            "UNQ:email_lower:ann@acme",
            "UNQ:badge:09223372036854775815",
            "WHO:L__F1",
            "NAME:L__F1__000001",
        ]
    );
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "people",
    partition = "{id}",
    row = "ID",
    unique(first, last_name),
    unique(first_last, name, key = "WHO:{first_last}__{name}")
)]
struct Person {
    id: u32,
    first: String,
    last_name: String,
    first_last: String,
    name: String,
}

#[test]
fn lists_of_one_joined_name_are_distinguished_by_their_keys() {
    let text = str::to_owned;
    let person = Person {
        id: 1,
        first: text("a"),
        last_name: text("b"),
        first_last: text("c"),
        name: text("d"),
    };
    let rows = EntityRows::of(&person).unwrap();
    let keys: Vec<_> = rows.rows.iter().map(|row| row.row_key.as_str()).collect();
    assert_eq!(keys, ["ID", "UNQ:first_last_name:a__b", "WHO:c__d"]);
}
