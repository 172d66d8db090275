//! Types with values that are unique over all partitions: each has one holder in either form, and its guard leads there.

use super::types::{Counter, Loses, permit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::{Migrating, MigrationError, StoredForm};
use table_orm::model::Edm;
use table_orm::{DynamicEntity, Error, Repo, TableEntity, TableName, Tables};
use time::{Duration, OffsetDateTime};

/// To another table, with a key that says more.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "users", partition = "{id}", row = "USER")]
#[table(unique(login, across, table = "logins"), unique(badge, across, table = "logins"))]
struct UserV1 {
    id: String,
    region: String,
    login: String,
    badge: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "users2", partition = "{region}", row = "USER:{id}", migrate_from = UserV1)]
#[table(unique(login, across, table = "logins"), unique(badge, across, table = "logins"))]
struct User {
    id: String,
    region: String,
    login: String,
    badge: Option<u32>,
}

both_ways!(User, UserV1 { id, region, login, badge });

/// The new type after the migration has ended.
mod ended {
    use super::TableEntity;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "users2", partition = "{region}", row = "USER:{id}")]
    #[table(unique(login, across, table = "logins"), unique(badge, across, table = "logins"))]
    pub struct User {
        pub id: String,
        pub region: String,
        pub login: String,
        pub badge: Option<u32>,
    }

    pub fn user(id: &str, login: &str) -> User {
        User { id: id.into(), region: "eu".into(), login: login.into(), badge: None }
    }
}

/// Within a partition, where entities expire.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "links", partition = "{user}", row = "L:{n:03}", expires = until, unique(slug, across))]
struct LinkV1 {
    user: String,
    n: u32,
    slug: String,
    until: Option<OffsetDateTime>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "links", partition = "{user}", row = "LINK:{n:08}", expires = until)]
#[table(unique(slug, across), migrate_from = LinkV1)]
struct Link {
    user: String,
    n: u32,
    slug: String,
    until: Option<OffsetDateTime>,
}

both_ways!(Link, LinkV1 { user, n, slug, until });

fn user(id: &str, login: &str) -> User {
    User { id: id.into(), region: "eu".into(), login: login.into(), badge: None }
}

macro_rules! key {
    ($id:expr) => {
        User::partition("eu").row().id($id)
    };
}

struct App {
    store: Arc<Counter>,
    loses: Arc<Loses>,
    tables: Tables,
    users: Repo<UserV1>,
    users_1: Migrating<User>,
    users_2: Migrating<User>,
    users_3: Repo<ended::User>,
}

impl App {
    async fn start() -> Self {
        let inner = EmbeddedStore::in_memory().unwrap();
        let loses = Arc::new(Loses { inner, landings: AtomicBool::new(false) });
        let store = Arc::new(Counter::around(loses.clone()));
        let tables = Tables::new(store.clone());
        let users = tables.repo::<UserV1>();
        users.create_table().await.unwrap();
        let users_2 = tables.migrating::<User>().unwrap();
        users_2.create_table_if_not_exists().await.unwrap();
        tables.create(&TableName::new("logins").unwrap()).await.unwrap();
        let users_1 = users_2.clone().inserting(StoredForm::Old);
        let users_3 = tables.repo::<ended::User>();
        store.take();
        Self { store, loses, tables, users, users_1, users_2, users_3 }
    }

    /// The values that have a guard, with the table that it names.
    async fn guards(&self) -> Vec<(String, String)> {
        let rows = self.tables.table(TableName::new("logins").unwrap());
        let rows = rows.scan(permit()).collect().await.unwrap().into_iter();
        rows.map(|row| {
            let Some(Edm::String(table)) = row.properties.get("Table") else { panic!() };
            (row.partition_key, table.clone())
        })
        .collect()
    }

    /// What is left of the old form and of writes.
    async fn is_clean(&self) {
        for table in ["users", "users2"] {
            let rows = self.tables.table(TableName::new(table).unwrap());
            for row in rows.scan(permit()).collect().await.unwrap() {
                let starts = ["DUE:", "TKT:", "MOV:"];
                assert!(!starts.iter().any(|start| row.row_key.starts_with(start)), "{row:?}");
            }
        }
    }
}

macro_rules! costs {
    ($store:expr, $call:expr) => {{
        $store.take();
        let answer = $call.await.unwrap();
        (answer, $store.take())
    }};
}

#[track_caller]
fn assert_taken<T: std::fmt::Debug>(answer: Result<T, Error>, by: [&str; 2]) {
    let Err(Error::UniqueViolation { holder: Some(holder), unique: "login", .. }) = &answer else {
        panic!("{answer:?}")
    };
    assert_eq!([&*holder.partition_key, &*holder.row_key], by);
}

#[tokio::test(start_paused = true)]
async fn a_value_has_one_holder_in_either_form() {
    let app = App::start().await;
    app.users.insert(&user("0", "ann").into()).await.unwrap();
    app.users_1.insert(&user("1", "bob").clone()).await.unwrap();
    app.users_2.insert(&user("2", "cat")).await.unwrap();
    app.users_2.update(key!("1"), |_| ()).await.unwrap();
    for users in [&app.users_1, &app.users_2] {
        assert_taken(users.insert(&user("9", "ann")).await, ["0", "USER"]);
        assert_taken(users.insert(&user("9", "bob")).await, ["eu", "USER:1"]);
        assert_taken(users.insert(&user("9", "cat")).await, ["eu", "USER:2"]);
        let change = |user: &mut User| user.login = "bob".into();
        assert_taken(users.update(key!("2"), change).await, ["eu", "USER:1"]);
        assert_taken(users.update(key!("0"), change).await, ["eu", "USER:1"]);
        for (login, id) in [("ann", "0"), ("bob", "1"), ("cat", "2")] {
            let found = users.load_unique(User::unique_login(login)).await.unwrap();
            assert_eq!(found.map(|user| user.id.clone()).as_deref(), Some(id));
        }
        assert!(users.load_unique(User::unique_login("dan")).await.unwrap().is_none());
    }
    // A value that is given up is free, in whatever form.
    app.users_1.update(key!("1"), |user| user.login = "bea".into()).await.unwrap();
    app.users_1.insert(&user("3", "bob")).await.unwrap();
    app.users_2.delete(app.users_2.load(key!("2")).await.unwrap().unwrap()).await.unwrap();
    app.users_2.insert(&user("4", "cat")).await.unwrap();
    app.users_2.update(key!("3"), |user| user.login = "ben".into()).await.unwrap();
    app.users_1.insert(&user("5", "bob")).await.unwrap();
    assert_eq!(app.guards().await.len(), 5);
    app.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn an_insert_of_an_entity_that_is_there_says_so_and_not_that_its_value_is_taken() {
    let app = App::start().await;
    app.users.insert(&user("0", "ann").into()).await.unwrap();
    app.users_2.insert(&user("1", "bob")).await.unwrap();
    app.users.insert(&user("2", "cat").into()).await.unwrap();
    app.users_2.update(key!("2"), |_| ()).await.unwrap();
    for users in [&app.users_1, &app.users_2] {
        for (id, login) in [("0", "ann"), ("1", "bob"), ("2", "cat"), ("0", "new"), ("2", "new")] {
            let again = users.insert(&user(id, login)).await;
            assert!(matches!(again, Err(Error::AlreadyExists(_))), "{id} {login}: {again:?}");
        }
        for (id, login) in [("0", "ann"), ("1", "bob"), ("2", "cat")] {
            users.upsert(&user(id, login)).await.unwrap();
        }
    }
    app.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_value_is_held_on_the_way_and_released_after_it() {
    let app = App::start().await;
    app.users.insert(&user("0", "ann").into()).await.unwrap();
    app.loses.landings.store(true, Relaxed);
    app.users_2.update(key!("0"), |_| ()).await.unwrap();
    assert_eq!(app.users_2.verify_migrated(&permit()).await.unwrap().in_transit.len(), 1);
    for users in [&app.users_1, &app.users_2] {
        assert_taken(users.insert(&user("9", "ann")).await, ["eu", "USER:0"]);
    }
    let old = app.users.insert(&user("9", "ann").into()).await;
    assert!(matches!(old, Err(Error::UniqueViolation { .. })), "{old:?}");
    app.loses.landings.store(false, Relaxed);
    app.users_1.update(key!("0"), |user| user.login = "amy".into()).await.unwrap();
    let names = |table: &str| ("UNQ:login:amy".to_owned(), table.to_owned());
    assert_eq!(app.guards().await, [names("users2")]);
    app.users.insert(&user("10", "ann").into()).await.unwrap();
    app.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_version_that_knows_the_new_form_alone_follows_markers() {
    let app = App::start().await;
    for (id, login) in [("0", "ann"), ("1", "bob"), ("2", "cat")] {
        app.users.insert(&user(id, login).into()).await.unwrap();
    }
    app.users_2.insert(&user("3", "dan")).await.unwrap();
    assert_eq!(app.users_2.migrate(&permit()).await.all().unwrap(), 3);
    assert!(app.users_2.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_taken(app.users_3.insert(&ended::user("9", "ann")).await, ["eu", "USER:0"]);
    let ann = app.users_3.load_unique(ended::User::unique_login("ann")).await.unwrap();
    assert_eq!(ann.map(|ann| ann.id.clone()).as_deref(), Some("0"));
    let verified = app.users_3.verify_guards(permit()).await.unwrap();
    assert_eq!((verified.entities, verified.undecided, verified.findings.len()), (4, 0, 0));
    assert!(app.users_3.verify_table(permit()).await.unwrap().findings.is_empty());
    // A value that goes to another entity, one that is given up, and one of an entity that is deleted.
    let partition = ended::User::partition("eu");
    app.users_3.update(partition.row().id("0"), |user| user.login = "amy".into()).await.unwrap();
    app.users_3.update(partition.row().id("3"), |user| user.login = "ann".into()).await.unwrap();
    let bob = app.users_3.load(partition.row().id("1")).await.unwrap().one().unwrap();
    app.users_3.delete(bob).await.unwrap();
    let expected = [("amy", "users2"), ("ann", "users2"), ("cat", "users")];
    let expected = expected.map(|(login, table)| (format!("UNQ:login:{login}"), table.to_owned()));
    assert_eq!(app.guards().await, expected);
    app.is_clean().await;
    // Before the markers go, the guards name the new keys.
    let (plan, _) = costs!(app.store, app.users_2.retire(&permit()).plan());
    let (report, cost) = costs!(app.store, async { app.users_2.retire(&permit()).await.all() });
    assert_eq!((report.markers, report.left), (4, 0));
    // A page of old rows twice, one of parcels, of tickets and of intents; the parcels and the entities of three markers;
    // two guards, one of which is written; and four markers, each in a partition.
    assert_eq!(cost, 2 + 3 + 2 * 3 + 3 + 4);
    // As if both values of each entity had a guard that names the old key.
    assert_eq!(plan.requests, 2 + 3 + 2 * 3 + 3 * 4 + 4);
    assert!(app.guards().await.iter().all(|(_, table)| table == "users2"));
    app.users.delete_table().leave_rows_in_other_tables().await.unwrap();
    assert_taken(app.users_3.insert(&ended::user("9", "cat")).await, ["eu", "USER:2"]);
    app.users_3.insert(&ended::user("9", "bob")).await.unwrap();
    let verified = app.users_3.verify_guards(permit()).await.unwrap();
    assert_eq!((verified.entities, verified.findings.len()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn a_write_in_the_old_form_of_what_has_moved_is_a_conflict_though_it_has_the_value_itself() {
    let app = App::start().await;
    app.users.insert(&user("0", "ann").into()).await.unwrap();
    let mut held = app.users_1.load(key!("0")).await.unwrap().unwrap();
    held.login = "amy".into();
    let mut other = held.clone();
    app.users_2.update(key!("0"), |user| user.login = "amy".into()).await.unwrap();
    let saved = app.users_1.save(&mut held).await;
    assert!(matches!(saved, Err(Error::Conflict(_))), "{saved:?}");
    let committed = app.users_1.transaction(User::partition("eu")).save(&mut other).commit().await;
    assert!(matches!(committed, Err(Error::Conflict(_))), "{committed:?}");
    app.users_1.update(key!("0"), |user| user.login = "amy".into()).await.unwrap();
    app.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_guard_whose_marker_was_retired_meanwhile_is_released() {
    let app = App::start().await;
    app.users.insert(&user("0", "ann").into()).await.unwrap();
    app.users_2.migrate(&permit()).await.all().unwrap();
    let old_rows = app.tables.table(TableName::new("users").unwrap());
    for marker in old_rows.scan(permit()).collect().await.unwrap() {
        old_rows.delete(&marker).await.unwrap();
    }
    let key = ended::User::partition("eu").row().id("0");
    app.users_3.delete(app.users_3.load(key).await.unwrap().one().unwrap()).await.unwrap();
    assert!(app.guards().await.is_empty());
    app.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_value_counts_as_taken_where_a_marker_does_not_say_where_its_entity_is() {
    let app = App::start().await;
    app.users.insert(&user("0", "ann").into()).await.unwrap();
    let marker = DynamicEntity::new("0", "USER").with("Moved_To", r#"["users2","eu","MOV:x"]"#);
    let old_rows = app.tables.table(TableName::new("users").unwrap());
    old_rows.insert_or_replace(&marker).await.unwrap();
    for users in [&app.users_1, &app.users_2] {
        assert_taken(users.insert(&user("9", "ann")).await, ["0", "USER"]);
    }
    assert_taken(app.users_3.insert(&ended::user("9", "ann")).await, ["0", "USER"]);
}

#[tokio::test(start_paused = true)]
async fn a_repair_deletes_a_guard_that_names_the_old_key_of_an_entity_that_is_gone() {
    let app = App::start().await;
    app.users.insert(&user("0", "ann").into()).await.unwrap();
    app.users_2.migrate(&permit()).await.all().unwrap();
    let new_rows = app.tables.table(TableName::new("users2").unwrap());
    for row in new_rows.scan(permit()).collect().await.unwrap() {
        new_rows.delete(&row).await.unwrap();
    }
    let found = app.users_3.verify_guards(permit()).await.unwrap().findings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].canonical.as_deref(), Some("USER:0"));
    app.users_3.repair(found).await.all().unwrap();
    assert!(app.guards().await.is_empty());
    assert!(app.users_3.verify_guards(permit()).await.unwrap().findings.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_names_a_key_of_a_deleted_table_blocks_nobody() {
    let app = App::start().await;
    app.users.insert(&user("0", "ann").into()).await.unwrap();
    app.users.delete_table().leave_rows_in_other_tables().await.unwrap();
    app.users_3.insert(&ended::user("1", "ann")).await.unwrap();
    assert_eq!(app.guards().await, [("UNQ:login:ann".to_owned(), "users2".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn many_entities_take_their_values_together() {
    let app = App::start().await;
    let users = |from: u32, to: u32| {
        (from..to).map(|n| User { badge: Some(n), ..user(&n.to_string(), &format!("u{n}")) })
    };
    assert_eq!(app.users_1.insert_many(users(0, 5)).await.all().unwrap(), 5);
    assert_eq!(app.users_2.insert_many(users(5, 25)).await.all().unwrap(), 20);
    let report = app.users_2.insert_many(users(23, 27)).await;
    assert_eq!((report.written, report.failures.len()), (2, 2));
    let other = User { badge: Some(3), ..user("99", "u99") };
    let report = app.users_2.insert_many([other.clone()]).await;
    let Err(Error::UniqueViolation { unique, .. }) = report.all() else { panic!() };
    assert_eq!(unique, "badge");
    assert_eq!(app.guards().await.len(), 2 * 27);
    assert_eq!(app.users_2.migrate(&permit()).in_bulk().await.all().unwrap(), 5);
    let mut held = Vec::new();
    for id in ["3", "7"] {
        held.push(app.users_2.load(key!(id)).await.unwrap().unwrap());
    }
    assert_eq!(app.users_2.delete_many(held).await.all().unwrap(), 2);
    assert_eq!(app.guards().await.len(), 2 * 25);
    app.users_2.insert(&other).await.unwrap();
    app.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn a_transaction_takes_and_gives_up_values_in_either_form() {
    let app = App::start().await;
    let eu = User::partition("eu");
    for (id, login) in [("0", "ann"), ("1", "bob")] {
        app.users.insert(&user(id, login).into()).await.unwrap();
    }
    for users in [&app.users_1, &app.users_2] {
        let taken = users.transaction(&eu).insert(&user("8", "ann")).commit().await;
        assert_taken(taken, ["0", "USER"]);
        let taken = users.transaction_with(&eu, async |tx| {
            let mut bob = tx.load(key!("1")).await?.expect("it is stored");
            bob.login = "ann".into();
            tx.save(bob);
            Ok(())
        });
        assert_taken(taken.await, ["0", "USER"]);
        users.transaction(&eu).insert(&user("8", "eve")).commit().await.unwrap();
        let again = users.transaction(&eu).insert(&user("8", "eve")).commit().await;
        assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");
        let eve = users.load(key!("8")).await.unwrap().unwrap();
        users.transaction(&eu).delete(eve).commit().await.unwrap();
        users.insert(&user("9", "eve")).await.unwrap();
        users.delete(users.load(key!("9")).await.unwrap().unwrap()).await.unwrap();
    }
    app.users_2.insert(&user("7", "gus")).await.unwrap();
    for users in [&app.users_1, &app.users_2] {
        let again = users.transaction(&eu).insert(&user("7", "gus")).commit().await;
        assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");
    }
    app.users_2.delete(app.users_2.load(key!("7")).await.unwrap().unwrap()).await.unwrap();
    // Both move, and each gets another value.
    app.users_2
        .transaction_with(&eu, async |tx| {
            for (id, login) in [("0", "amy"), ("1", "ben")] {
                let mut user = tx.load(key!(id)).await?.expect("it is stored");
                user.login = login.into();
                tx.save(user);
            }
            Ok(())
        })
        .await
        .unwrap();
    app.users_1.insert(&user("8", "ann")).await.unwrap();
    let held = app.users_1.load(key!("8")).await.unwrap().unwrap();
    let amy = app.users_1.load(key!("0")).await.unwrap().unwrap();
    app.users_1.transaction(&eu).delete(held).delete(amy).commit().await.unwrap();
    assert_eq!(app.guards().await, [("UNQ:login:ben".to_owned(), "users2".to_owned())]);
    app.is_clean().await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_entity_makes_room_for_its_value_in_either_form() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<LinkV1>();
    old.create_table().await.unwrap();
    let links_2 = tables.migrating::<Link>().unwrap();
    let links_1 = links_2.clone().inserting(StoredForm::Old);
    let link = |n: u32, slug: &str, until| {
        let until = Some(OffsetDateTime::now_utc() + until);
        Link { user: "ann".into(), n, slug: slug.into(), until }
    };
    let (past, later) = (-Duration::HOUR, Duration::HOUR);
    for n in 0..4 {
        old.insert(&link(n, &format!("s{n}"), past).into()).await.unwrap();
    }
    let all = links_2.clone().including_expired();
    for n in [2_u32, 3] {
        all.update(Link::partition("ann").row().n(n), |_| ()).await.unwrap();
    }
    for (links, [old, new]) in [(&links_1, [0, 2]), (&links_2, [1, 3])] {
        for n in [old, new] {
            links.insert(&link(10 + n, &format!("s{n}"), later)).await.unwrap();
            let taken = links.insert(&link(90, &format!("s{n}"), later)).await;
            assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
        }
    }
    assert_eq!(all.list(Link::partition("ann")).count().await.unwrap(), 4);
}

#[tokio::test(start_paused = true)]
async fn calls_cost_what_the_guide_says() {
    let App { store, users, users_1, users_2, users_3, .. } = App::start().await;
    assert_eq!(costs!(store, users_1.insert(&user("1", "a1"))).1, 3);
    assert_eq!(costs!(store, users_2.insert(&user("2", "a2"))).1, 4);
    users.insert(&user("3", "a3").into()).await.unwrap();
    users.insert(&user("4", "a4").into()).await.unwrap();
    let mut one = users_1.load(key!("1")).await.unwrap().unwrap();
    one.login = "b1".into();
    assert_eq!(costs!(store, users_1.save(&mut one)).1, 8);
    // It moves, and its value stays.
    assert_eq!(costs!(store, users_2.save(&mut one)).1, 3);
    // The guard of the value that is given up names the old key.
    one.login = "c1".into();
    assert_eq!(costs!(store, users_2.save(&mut one)).1, 8 + 3);
    one.login = "d1".into();
    assert_eq!(costs!(store, users_2.save(&mut one)).1, 8);
    let mut three = users_2.load(key!("3")).await.unwrap().unwrap();
    three.login = "b3".into();
    assert_eq!(costs!(store, users_2.save(&mut three)).1, 3 + 8 + 3);
    assert_eq!(costs!(store, users_2.delete(three)).1, 6);
    let four = users_2.load(key!("4")).await.unwrap().unwrap();
    assert_eq!(costs!(store, users_2.delete(four)).1, 6);
    users.insert(&user("5", "a5").into()).await.unwrap();
    assert_eq!(costs!(store, users_2.load_unique(User::unique_login("a5"))).1, 4);
    assert_eq!(costs!(store, users_2.load_unique(User::unique_login("a2"))).1, 2);
    let (report, cost) = costs!(store, async { users_2.migrate(&permit()).await.all() });
    assert_eq!((report, cost), (1, 1 + 3 + 1));
    assert_eq!(costs!(store, users_2.load_unique(User::unique_login("a5"))).1, 3);
    let load = |login| users_3.load_unique(ended::User::unique_login(login));
    assert_eq!(costs!(store, load("a5")).1, 3);
    assert_eq!(costs!(store, load("a2")).1, 2);
}

#[tokio::test]
async fn guards_of_one_value_in_two_tables_are_refused() {
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "pets", partition = "{id}", row = "PET", unique(chip, across))]
    struct PetV1 {
        id: String,
        chip: u32,
    }

    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "pets2", partition = "{id}", row = "PET", unique(chip, across, table = "pets"))]
    #[table(migrate_from = PetV1)]
    struct Pet {
        id: String,
        chip: u32,
    }

    both_ways!(Pet, PetV1 { id, chip });

    let tables = Tables::in_memory().unwrap();
    assert!(tables.migrating::<Pet>().is_ok());
    let [old, new] = ["cats", "cats2"].map(|name| TableName::new(name).unwrap());
    let refused = tables.migrating_in::<Pet>(old, new);
    let expected = MigrationError::GuardTables {
        entity: "Pet",
        unique: "chip",
        old: "cats".into(),
        new: "pets".into(),
    };
    assert!(matches!(&refused, Err(Error::Migration(error)) if *error == expected), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_conversion_that_changes_a_value_is_refused() {
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "dogs", partition = "{id}", row = "DOG", unique(chip, across))]
    struct DogV1 {
        id: String,
        chip: u32,
    }

    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "dogs", partition = "{id}", row = "HOUND", unique(chip, across), migrate_from = DogV1)]
    struct Dog {
        id: String,
        chip: u32,
    }

    impl From<DogV1> for Dog {
        fn from(DogV1 { id, chip }: DogV1) -> Self {
            Self { id, chip: chip + 1 }
        }
    }

    impl From<Dog> for DogV1 {
        fn from(Dog { id, chip }: Dog) -> Self {
            Self { id, chip }
        }
    }

    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<DogV1>();
    old.create_table().await.unwrap();
    old.insert(&DogV1 { id: "1".into(), chip: 7 }).await.unwrap();
    let dogs = tables.migrating::<Dog>().unwrap();
    let plan = dogs.migrate(&permit()).plan().await.unwrap();
    let [unmovable] = &plan.unmovable[..] else { panic!("{plan:?}") };
    let is_unique = |error: &Error| {
        matches!(error, Error::Migration(MigrationError::UniqueDiffers { entity: "Dog", .. }))
    };
    assert!(is_unique(&unmovable.reason), "{:?}", unmovable.reason);
    let inserted = dogs.clone().inserting(StoredForm::Old);
    let inserted = inserted.insert(&Dog { id: "2".into(), chip: 7 }).await;
    assert!(inserted.is_err());
}

/// The steps by which a value that is unique within a partition goes along to other partitions.
mod local {
    use super::TableEntity;

    macro_rules! step {
        ($module:ident, $name:ident, [$($table:tt)*]) => {
            pub mod $module {
                use super::TableEntity;

                #[derive(Debug, Clone, PartialEq, TableEntity)]
                #[table($($table)*)]
                pub struct $name {
                    pub shop: String,
                    pub n: u32,
                    pub code: String,
                }

                pub fn ware(shop: &str, n: u32, code: &str) -> $name {
                    $name { shop: shop.into(), n, code: code.into() }
                }
            }
        };
    }

    step!(before, Ware, [name = "wares", partition = "{shop}", row = "W:{n:04}", unique(code)]);
    step!(
        both,
        Ware,
        [
            name = "wares",
            partition = "{shop}",
            row = "W:{n:04}",
            unique(code),
            unique(shop, code, across)
        ]
    );
    step!(
        old,
        WareV1,
        [name = "wares", partition = "{shop}", row = "W:{n:04}", unique(shop, code, across)]
    );
    step!(
        new,
        Ware,
        [
            name = "wares2",
            partition = "S{shop}",
            row = "W:{n:04}",
            unique(shop, code, across, table = "wares"),
            migrate_from = super::old::WareV1
        ]
    );
    step!(
        after,
        Ware,
        [
            name = "wares2",
            partition = "S{shop}",
            row = "W:{n:04}",
            unique(code),
            unique(shop, code, across, table = "wares")
        ]
    );
    step!(ended, Ware, [name = "wares2", partition = "S{shop}", row = "W:{n:04}", unique(code)]);

    impl From<old::WareV1> for new::Ware {
        fn from(old::WareV1 { shop, n, code }: old::WareV1) -> Self {
            Self { shop, n, code }
        }
    }

    impl From<new::Ware> for old::WareV1 {
        fn from(new::Ware { shop, n, code }: new::Ware) -> Self {
            Self { shop, n, code }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_unique_within_a_partition_goes_along_as_one_over_all_partitions() {
    let tables = Tables::in_memory().unwrap();
    macro_rules! is_taken {
        ($wares:expr, $step:ident) => {
            let taken = $wares.insert(&local::$step::ware("oslo", 9, "a")).await;
            assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
        };
    }
    let before = tables.repo::<local::before::Ware>();
    before.create_table().await.unwrap();
    for (shop, n, code) in [("oslo", 1, "a"), ("oslo", 2, "b"), ("bergen", 1, "a")] {
        before.insert(&local::before::ware(shop, n, code)).await.unwrap();
    }
    let both = tables.repo::<local::both::Ware>();
    is_taken!(both, both);
    assert_eq!(both.backfill_table(permit()).await.all().unwrap().entities, 3);
    assert!(both.verify_table(permit()).await.unwrap().findings.is_empty());
    let old = tables.repo::<local::old::WareV1>();
    is_taken!(old, old);
    let wares = tables.migrating::<local::new::Ware>().unwrap();
    wares.create_table_if_not_exists().await.unwrap();
    is_taken!(wares, new);
    assert_eq!(wares.migrate(&permit()).await.all().unwrap(), 3);
    is_taken!(wares, new);
    wares.settle(&permit()).await.all().unwrap();
    assert!(wares.verify_migrated(&permit()).await.unwrap().is_complete());
    let after = tables.repo::<local::after::Ware>();
    is_taken!(after, after);
    wares.retire(&permit()).await.all().unwrap();
    is_taken!(after, after);
    assert_eq!(after.backfill_table(permit()).await.all().unwrap().entities, 3);
    assert!(after.verify_table(permit()).await.unwrap().findings.is_empty());
    let ended = tables.repo::<local::ended::Ware>();
    is_taken!(ended, ended);
    ended.insert(&local::ended::ware("bergen", 9, "b")).await.unwrap();
    assert!(ended.verify_table(permit()).await.unwrap().findings.is_empty());
}
