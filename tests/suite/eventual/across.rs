//! `unique(.., across)`: no two entities of any partition share a value, whichever call writes them.

use std::sync::Arc;
use support::stops::with_stops;
use table_orm::embedded::EmbeddedStore;
use table_orm::repo::Problem;
use table_orm::store::Store;
use table_orm::{
    DynamicEntity, EntityKeys as _, Error, Repo, ScanPermit, TableEntity, TableName, Tables,
};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "users",
    partition = "{team}",
    escape = encode,
    unique(login, across),
    unique(country, passport, across, table = "passports")
)]
#[row(by_id, key = "USER:{id:04}")]
#[row(by_login, key = "LOGIN:{login}__{id:04}")]
struct User {
    team: String,
    id: u32,
    login: String,
    country: String,
    passport: Option<u32>,
    visits: u64,
}

fn user(team: &str, id: u32, login: &str) -> User {
    let (team, login) = (team.to_owned(), login.to_owned());
    User { team, id, login, country: "DK".into(), passport: None, visits: 0 }
}

async fn users() -> (Tables, Repo<User>) {
    let tables = Tables::in_memory().unwrap();
    for table in ["users", "passports"] {
        tables.create(&TableName::new(table).unwrap()).await.unwrap();
    }
    let users = tables.repo();
    (tables, users)
}

async fn keys(tables: &Tables) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    for table in ["users", "passports"] {
        let rows = tables.table(TableName::new(table).unwrap());
        let rows = rows.scan(ScanPermit::because("test")).collect().await.unwrap();
        keys.extend(rows.into_iter().map(|row| (row.partition_key, row.row_key)));
    }
    keys
}

/// The PartitionKeys of all guards, after a check that no other helper row is left.
async fn guards(tables: &Tables) -> Vec<String> {
    let mut keys = keys(tables).await;
    assert!(!keys.iter().any(|(_, row)| row.starts_with("TKT:") || row.starts_with("DUE:")));
    keys.retain(|(partition, row)| partition.starts_with("UNQ:") && row == "UNQ");
    keys.into_iter().map(|(partition, _)| partition).collect()
}

#[track_caller]
fn violates<T: std::fmt::Debug>(result: Result<T, Error>, name: &str, value: &str, holder: &str) {
    let Err(Error::UniqueViolation { unique, key, holder: Some(found), .. }) = result else {
        panic!("{result:?}");
    };
    assert_eq!((unique, &*key), (name, &*format!("UNQ:{name}:{value}")));
    assert_eq!(format!("{} {}", found.partition_key, found.row_key), holder);
}

#[tokio::test]
async fn no_call_gives_two_entities_of_any_partition_one_value() {
    let (tables, users) = users().await;
    users.insert(&user("red", 1, "ann")).await.unwrap();
    let mut bob = users.insert_loaded(&user("blue", 2, "bob")).await.unwrap();
    let before = keys(&tables).await;

    let other = user("green", 3, "ann");
    violates(users.insert(&other).await, "login", "ann", "red USER:0001");
    violates(users.insert_loaded(&other).await, "login", "ann", "red USER:0001");
    violates(users.upsert(&other).await, "login", "ann", "red USER:0001");
    violates(users.upsert(&user("blue", 2, "ann")).await, "login", "ann", "red USER:0001");
    bob.login = "ann".into();
    violates(users.save(&mut bob).await.map(drop), "login", "ann", "red USER:0001");
    let rename = users.update(bob.key(), |bob| bob.login = "ann".into()).await;
    violates(rename, "login", "ann", "red USER:0001");
    let green = users.transaction(User::partition("green"));
    violates(green.insert(&other).commit().await, "login", "ann", "red USER:0001");
    let report = users.insert_many([user("green", 4, "eve"), other]).continue_on_failure().await;
    assert_eq!((report.written.entities, report.failures.len()), (1, 1));
    assert_eq!(report.failures[0].entity.as_ref().map(|user| user.id), Some(3));

    let mut after = keys(&tables).await;
    after.retain(|(partition, _)| partition != "green" && partition != "UNQ:login:eve");
    assert_eq!(after, before);
    assert_eq!(guards(&tables).await, ["UNQ:login:ann", "UNQ:login:bob", "UNQ:login:eve"]);
}

#[tokio::test(start_paused = true)]
async fn an_entity_that_has_a_value_itself_has_lost_a_race_and_no_value() {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
    let (front, stops) = with_stops(Arc::clone(&store));
    let users = Tables::new(front).on_virtual_time(1).repo::<User>();
    let other = Tables::new(store).on_virtual_time(2).repo::<User>();
    users.create_all_tables().await.unwrap();
    let ann = user("red", 1, "ann");
    users.insert(&ann).await.unwrap();
    assert!(matches!(users.insert(&ann).await, Err(Error::AlreadyExists(_))));
    // The other client gives it the same login first.
    let rename = |user: &mut User| user.login = "anna".into();
    let first = other.clone();
    stops.before(2, async move {
        first.update(user("red", 1, "").key(), rename).await.unwrap();
    });
    users.update(ann.key(), rename).await.unwrap();
    let key = User::partition("red").by_id().id(1);
    let mut stale = users.load(key).await.unwrap().one().unwrap();
    other.update(ann.key(), |user| user.login = "anne".into()).await.unwrap();
    stale.login = "anne".into();
    let late = users.save(&mut stale).await;
    assert!(matches!(late, Err(Error::Conflict(_))), "{late:?}");
}

#[tokio::test]
async fn a_value_is_free_again_after_each_kind_of_write_that_gives_it_up() {
    let (tables, users) = users().await;
    let ann = user("red", 1, "ann");
    let free = async || users.insert(&user("blue", 9, "ann")).await.unwrap();
    let give_back = async || {
        users.force_delete(&user("blue", 9, "ann")).await.unwrap();
        users.upsert(&ann).await.unwrap();
    };
    users.insert(&ann).await.unwrap();

    users.update(ann.key(), |user| user.login = "anna".into()).await.unwrap();
    free().await;
    give_back().await;
    let etag = users.reload(&ann).await.unwrap().etag().clone();
    users.replace(&User { login: "anna".into(), ..ann.clone() }, &etag).await.unwrap();
    free().await;
    give_back().await;
    users.force_delete(&ann).await.unwrap();
    free().await;
    give_back().await;
    let loaded = users.reload(&ann).await.unwrap();
    users.delete_many([loaded]).await.all().unwrap();
    free().await;
    give_back().await;
    users.delete_partition(User::partition("red")).await.unwrap();
    free().await;
    give_back().await;
    let loaded = users.reload(&ann).await.unwrap();
    users.transaction(User::partition("red")).delete(loaded).commit().await.unwrap();
    free().await;
    assert_eq!(guards(&tables).await, ["UNQ:login:ann"]);
}

#[tokio::test]
async fn a_write_that_keeps_its_values_is_one_request_and_touches_no_guard() {
    let (tables, users) = users().await;
    users.insert(&user("red", 1, "ann")).await.unwrap();
    let plan = users.insert(&user("red", 1, "ann")).plan().unwrap().to_string();
    assert!(plan.starts_with("2 requests that reserve values"), "{plan}");
    let rows = tables.table(TableName::new("users").unwrap());
    let guard = rows.get("UNQ:login:ann", "UNQ").await.unwrap().unwrap();
    let mut ann = users.reload(&user("red", 1, "ann")).await.unwrap();
    ann.visits = 1;
    assert_eq!(users.save(&mut ann).plan().unwrap().steps.len(), 1);
    users.save(&mut ann).await.unwrap();
    assert_eq!(rows.get("UNQ:login:ann", "UNQ").await.unwrap().unwrap().etag, guard.etag);
}

#[tokio::test]
async fn several_fields_make_one_value_and_an_absent_one_makes_none() {
    let (tables, users) = users().await;
    let with = |id, passport| User { passport, ..user("red", id, &format!("u{id}")) };
    for (id, passport) in [(1, Some(7)), (2, None), (3, None)] {
        users.insert(&with(id, passport)).await.unwrap();
    }
    let taken = users.insert(&User { team: "blue".into(), ..with(4, Some(7)) }).await;
    violates(taken, "country_passport", "DK__0000000007", "red USER:0001");
    users.insert(&User { country: "SE".into(), ..with(5, Some(7)) }).await.unwrap();
    let guards = guards(&tables).await;
    assert!(!guards.iter().any(|guard| guard == "UNQ:login:u4"), "{guards:?}");
    assert!(guards.contains(&"UNQ:country_passport:SE__0000000007".to_owned()), "{guards:?}");
}

#[tokio::test]
async fn any_text_is_a_value() {
    let (tables, users) = users().await;
    let logins = ["a/b", "a__b", "UNQ", "TKT:1", "~2F", "\u{f8}", "\u{1f3c3}"];
    for (id, login) in (0..).zip(logins) {
        users.insert(&user("red", id, login)).await.unwrap();
    }
    for (id, login) in (0..).zip(logins) {
        let taken = users.insert(&user("blue", 9, login)).await;
        let Err(Error::UniqueViolation { holder: Some(holder), .. }) = taken else {
            panic!("{login:?}: {taken:?}");
        };
        assert_eq!(holder.row_key, format!("USER:{id:04}"));
    }
    assert_eq!(guards(&tables).await.len(), logins.len());
}

#[tokio::test]
async fn an_entity_with_a_value_keeps_its_key() {
    let (tables, users) = users().await;
    let mut ann = users.insert_loaded(&user("red", 1, "ann")).await.unwrap();
    let before = keys(&tables).await;
    ann.id = 2;
    let refused = users.save(&mut ann).await.map(drop);
    let Err(Error::Key(error)) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("delete the entity and insert it"), "{error}");
    assert_eq!(keys(&tables).await, before);
}

#[tokio::test]
async fn a_transaction_gives_values_to_several_entities_or_to_none() {
    let (tables, users) = users().await;
    users.insert(&user("blue", 1, "cid")).await.unwrap();
    let red = || users.transaction(User::partition("red")).insert(&user("red", 1, "ann"));
    let taken = red().insert(&user("red", 2, "cid")).commit().await;
    violates(taken, "login", "cid", "blue USER:0001");
    // Two of one transaction are two entities as well.
    let same = red().insert(&user("red", 2, "ann")).commit().await;
    violates(same, "login", "ann", "red USER:0001");
    assert_eq!(guards(&tables).await, ["UNQ:login:cid"]);
    red().insert(&user("red", 2, "bob")).commit().await.unwrap();
    assert_eq!(guards(&tables).await, ["UNQ:login:ann", "UNQ:login:bob", "UNQ:login:cid"]);
}

#[tokio::test]
async fn an_entity_that_gets_the_key_of_another_keeps_the_values_that_both_have() {
    let (tables, users) = users().await;
    let ann = User { passport: Some(7), ..user("red", 1, "ann") };
    users.insert(&ann).await.unwrap();
    let load =
        async || users.load(User::partition("red").by_id().id(1)).await.unwrap().one().unwrap();
    let red = || users.transaction(User::partition("red"));
    for (visits, deletes_first) in [(8, true), (9, false)] {
        let (next, old) = (User { visits, ..ann.clone() }, load().await);
        let write = match deletes_first {
            true => red().delete(old).insert(&next),
            false => red().insert(&next).delete(old),
        };
        let plan = write.plan().unwrap().to_string();
        assert!(!plan.contains("TKT:") && !plan.contains("DUE:"), "{plan}");
        write.commit().await.unwrap();
        let stored = users.list(User::partition("red").by_id()).collect().await.unwrap();
        assert_eq!(stored, [next]);
        assert_eq!(guards(&tables).await.len(), 2);
    }
    // One value stays, one is given up, and one is taken.
    let other = User { passport: Some(8), ..ann };
    red().delete(load().await).insert(&other).commit().await.unwrap();
    assert_eq!(guards(&tables).await, ["UNQ:login:ann", "UNQ:country_passport:DK__0000000008"]);
    assert_eq!(users.verify_guards(ScanPermit::because("test")).await.unwrap().findings, []);
    violates(users.insert(&user("blue", 2, "ann")).await, "login", "ann", "red USER:0001");
    let free = User { passport: Some(7), ..user("blue", 3, "eve") };
    users.insert(&free).await.unwrap();
}

#[tokio::test]
async fn queries_read_no_guard() {
    let (tables, users) = users().await;
    users.insert(&user("red", 1, "ann")).await.unwrap();
    let permit = || ScanPermit::because("test");
    assert_eq!(users.scan(permit()).collect().await.unwrap().len(), 1);
    assert_eq!(users.list(User::partition("red")).count().await.unwrap(), 1);
    assert!(users.verify(User::partition("red")).await.unwrap().findings.is_empty());
    assert_eq!(users.settle(permit()).await.all().unwrap().settled, 0);
    drop(tables);
}

#[tokio::test]
async fn verify_finds_guards_that_are_missing_taken_and_left_and_repair_corrects_them() {
    let (tables, users) = users().await;
    let rows = tables.table(TableName::new("users").unwrap());
    let remove = async |partition: &str| {
        let guard = rows.get(partition, "UNQ").await.unwrap().unwrap();
        rows.delete(&guard).await.unwrap();
        guard
    };
    users.insert(&user("red", 1, "ann")).await.unwrap();
    users.insert(&user("red", 2, "bob")).await.unwrap();
    let bob = remove("UNQ:login:bob").await;
    let ann = remove("UNQ:login:ann").await;
    // Now nothing keeps another entity from the value.
    users.insert(&user("blue", 3, "ann")).await.unwrap();
    // A guard that an ended process left.
    let left = DynamicEntity { partition_key: "UNQ:login:cid".into(), etag: None, ..ann };
    rows.insert(&left).await.unwrap();

    let mut found = users.verify(User::partition("red")).await.unwrap().findings;
    found.sort_by_key(|finding| finding.partition_key.clone());
    let taken = Problem::Taken { partition_key: "blue".into(), row_key: "USER:0003".into() };
    let problems: Vec<_> =
        found.iter().map(|it| (&*it.partition_key, &*it.row_key, &it.problem)).collect();
    assert_eq!(
        problems,
        [("UNQ:login:ann", "UNQ", &taken), ("UNQ:login:bob", "UNQ", &Problem::Missing)]
    );
    let orphans = users.verify_guards(ScanPermit::because("test")).await.unwrap();
    assert_eq!(orphans.findings.len(), 1);
    assert_eq!(orphans.findings[0].problem, Problem::Orphan);
    assert_eq!(orphans.findings[0].partition_key, "UNQ:login:cid");

    let report = users.repair(found.into_iter().chain(orphans.findings)).await;
    assert_eq!((report.repaired.len(), report.skipped.len()), (2, 1));
    assert_eq!(guards(&tables).await, ["UNQ:login:ann", "UNQ:login:bob"]);
    let again = rows.get("UNQ:login:bob", "UNQ").await.unwrap().unwrap();
    assert_eq!(again.properties.get("Row"), bob.properties.get("Row"));
    violates(users.insert(&user("green", 4, "bob")).await, "login", "bob", "red USER:0002");
}

/// The same rows, before the type had the `unique`.
#[derive(Debug, TableEntity)]
#[table(name = "users", partition = "{team}", row = "USER:{id:04}")]
struct Before {
    team: String,
    id: u32,
    login: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "users", partition = "{team}", row = "USER:{id:04}", unique(login, across))]
struct After {
    team: String,
    id: u32,
    login: String,
}

#[tokio::test]
async fn a_backfill_guards_the_values_of_stored_entities_and_names_those_that_two_have() {
    let (tables, _) = users().await;
    let before = tables.repo::<Before>();
    for (team, id, login) in [("blue", 1, "ann"), ("blue", 2, "bob"), ("red", 3, "ann")] {
        let (team, login) = (team.to_owned(), login.to_owned());
        before.insert(&Before { team, id, login }).await.unwrap();
    }
    let users = tables.repo::<After>();
    let report = users.backfill_table(ScanPermit::because("test")).await;
    assert_eq!(report.progress.rows, 2);
    let [skipped] = &report.skipped[..] else { panic!("{report:?}") };
    assert_eq!(skipped.finding.partition_key, "UNQ:login:ann");
    assert!(
        matches!(&skipped.finding.problem, Problem::Taken { partition_key, .. } if partition_key == "blue")
    );
    assert_eq!(guards(&tables).await, ["UNQ:login:ann", "UNQ:login:bob"]);
    let taken = After { team: "green".into(), id: 9, login: "bob".into() };
    violates(users.insert(&taken).await, "login", "bob", "blue USER:0002");
    assert_eq!(users.backfill_table(ScanPermit::because("test")).await.progress.rows, 0);
}

#[tokio::test]
async fn what_a_process_leaves_before_its_transaction_is_swept_and_keeps_nobody_away() {
    let (tables, users) = users().await;
    // The ticket and the guard of an insert that never came.
    let rows = tables.table(TableName::new("users").unwrap());
    let ticket = DynamicEntity::new("red", "TKT:01ARZ3NDEKTSV4RRFFQ69G5FAV")
        .with("Entity", "User")
        .with("Due", r#"[["USER:0001",[["unique","login","ann"]]]]"#);
    rows.insert(&ticket).await.unwrap();
    let guard = DynamicEntity::new("UNQ:login:ann", "UNQ")
        .with("Table", "users")
        .with("Partition", "red")
        .with("Row", "USER:0001")
        .with("Ticket", ticket.row_key.clone());
    rows.insert(&guard).await.unwrap();
    let settle = || users.settle(User::partition("red")).grace(std::time::Duration::ZERO);
    assert_eq!(settle().await.all().unwrap().settled, 1);
    assert!(guards(&tables).await.is_empty());

    // Without the sweep, the next who asks takes the value.
    rows.insert(&ticket).await.unwrap();
    rows.insert(&guard).await.unwrap();
    users.insert(&user("blue", 2, "ann")).await.unwrap();
    assert!(rows.get("red", &ticket.row_key).await.unwrap().is_none());
    violates(users.insert(&user("red", 1, "ann")).await, "login", "ann", "blue USER:0002");
    // The ended process may have reserved more: an intent is in the place of its ticket, for the sweep.
    assert_eq!(settle().await.all().unwrap().settled, 1);
    assert_eq!(guards(&tables).await, ["UNQ:login:ann"]);
}

#[tokio::test]
async fn the_entity_of_a_unique_value_is_found_by_it() {
    let (tables, users) = users().await;
    let ann = User { passport: Some(7), ..user("red", 1, "ann") };
    users.insert(&ann).await.unwrap();
    let plan = users.load_unique(User::unique_login("ann")).plan().unwrap().to_string();
    assert!(plan.contains("UNQ:login:ann") && plan.lines().count() > 1, "{plan}");
    let mut found = users.load_unique(User::unique_login("ann")).await.unwrap().unwrap();
    assert_eq!(*found, ann);
    let passport = users.load_unique(User::unique_country_passport("DK", 7u32)).await.unwrap();
    assert_eq!(passport.map(|user| user.id), Some(1));
    assert!(users.load_unique(User::unique_country_passport("SE", 7u32)).await.unwrap().is_none());

    // It can be saved, and is found by its new value only.
    found.login = "anna".into();
    users.save(&mut found).await.unwrap();
    assert!(users.load_unique(User::unique_login("ann")).await.unwrap().is_none());
    let anna = users.load_unique(User::unique_login("anna")).await.unwrap();
    assert_eq!(anna.map(|user| user.id), Some(1));

    // A guard whose entity is gone, or has another value, is no answer.
    let rows = tables.table(TableName::new("users").unwrap());
    let row = rows.get("red", "USER:0001").await.unwrap().unwrap();
    rows.replace(&row.clone().with("Login", "else")).await.unwrap();
    assert!(users.load_unique(User::unique_login("anna")).await.unwrap().is_none());
    let row = rows.get("red", "USER:0001").await.unwrap().unwrap();
    rows.delete(&row).await.unwrap();
    assert!(users.load_unique(User::unique_login("anna")).await.unwrap().is_none());
    let long = "x".repeat(600);
    assert!(matches!(users.load_unique(User::unique_login(&long)).await, Err(Error::Key(_))));
}

#[tokio::test]
async fn the_entity_of_a_unique_value_takes_2_requests() {
    let (tables, record) = support::recorder::recorded();
    for table in ["users", "passports"] {
        tables.create(&TableName::new(table).unwrap()).await.unwrap();
    }
    let users = tables.repo::<User>();
    users.insert(&user("red", 1, "ann")).await.unwrap();
    for (login, gets) in [("ann", 2), ("bob", 1)] {
        record.take();
        users.load_unique(User::unique_login(login)).await.unwrap();
        let requests = record.take();
        assert_eq!((requests.gets, requests.queries.len(), requests.writes.len()), (gets, 0, 0));
    }
}
