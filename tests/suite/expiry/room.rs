//! What has expired is in nobody's way: its key and its values are free.

use super::{Clock, Session, session, tables};
use table_orm::{Error, Repo, TableEntity, Tables};
use time::{Duration, OffsetDateTime};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "codes", partition = "{id}", row = "CODE", unique(code, across), expires = until)]
#[row(by_kind, partition = "{kind}", key = "OF:{id}", eventual)]
struct Code {
    id: String,
    code: String,
    kind: String,
    until: OffsetDateTime,
}

fn code(id: &str, until: OffsetDateTime) -> Code {
    Code { id: id.into(), code: "welcome".into(), kind: "gift".into(), until }
}

fn with_token(id: u32, until: OffsetDateTime) -> Session {
    Session { token: Some("secret".into()), ..session(id, until) }
}

/// All rows of a table.
async fn rows(tables: &Tables, table: &str) -> Vec<(String, String)> {
    let table = table_orm::TableName::new(table).unwrap();
    let permit = table_orm::ScanPermit::because("test");
    let rows = tables.scan(table, permit).ordered(true).collect().await.unwrap();
    rows.into_iter().map(|row| (row.partition_key, row.row_key)).collect()
}

async fn sessions() -> (Tables, Repo<Session>, Clock) {
    let (tables, clock) = tables();
    let sessions = tables.repo::<Session>();
    sessions.create_table().await.unwrap();
    sessions.insert(&with_token(1, clock.after(10))).await.unwrap();
    (tables, sessions, clock)
}

#[tokio::test]
async fn an_insert_takes_the_key_of_an_expired_entity_with_all_its_rows() {
    let (tables, sessions, clock) = sessions().await;
    let new = Session { place: "work".into(), ..session(1, None) };
    assert!(matches!(sessions.insert(&new).await, Err(Error::AlreadyExists(_))));
    clock.pass(Duration::seconds(10));
    sessions.insert(&new).await.unwrap();
    let stored: Vec<_> = rows(&tables, "sessions").await.into_iter().map(|(_, row)| row).collect();
    assert_eq!(stored, ["DEV:phone__00001", "ID:00001", "PLACE:work__00001"]);
    assert!(matches!(sessions.insert(&new).await, Err(Error::AlreadyExists(_))));
}

#[tokio::test]
async fn a_transaction_takes_the_keys_of_many_expired_entities() {
    let (tables, clock) = tables();
    let sessions = tables.repo::<Session>();
    sessions.create_table().await.unwrap();
    let until = clock.after(10);
    sessions.insert_many((0..10).map(move |id| session(id, until))).await.all().unwrap();
    clock.pass(Duration::seconds(10));
    sessions.insert_many((0..10).map(|id| session(id, None))).await.all().unwrap();
    let ann = Session::partition("ann");
    assert_eq!(sessions.list(ann.by_id()).count().await.unwrap(), 10);
    assert_eq!(rows(&tables, "sessions").await.len(), 10 * 3);
}

#[tokio::test]
async fn a_unique_value_is_free_once_its_entity_has_expired() {
    let (_, sessions, clock) = sessions().await;
    let taken = sessions.insert(&with_token(2, clock.after(100))).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    clock.pass(Duration::seconds(10));
    sessions.insert(&with_token(2, clock.after(100))).await.unwrap();
    assert_eq!(
        sessions.including_expired().get(Session::partition("ann").by_id().id(1)).await.unwrap(),
        None
    );
    let report = sessions.verify(Session::partition("ann")).await.unwrap();
    assert!(report.findings.is_empty(), "{report:?}");
}

#[tokio::test]
async fn every_kind_of_write_takes_a_free_value() {
    for way in 0..6 {
        let (tables, sessions, clock) = sessions().await;
        let ann = Session::partition("ann");
        sessions.insert(&session(2, None)).await.unwrap();
        clock.pass(Duration::seconds(10));
        let key = || ann.by_id().id(2);
        match way {
            0 => {
                let mut loaded = sessions.load(key()).await.unwrap().one().unwrap();
                loaded.token = Some("secret".into());
                sessions.save(loaded).await.unwrap();
            }
            1 => {
                let update =
                    sessions.update(key(), |session| session.token = Some("secret".into()));
                update.await.unwrap();
            }
            2 => {
                let new = Session { token: Some("secret".into()), ..session(2, None) };
                sessions.upsert(&new).await.unwrap();
            }
            3 => {
                let loaded = sessions.load(key()).await.unwrap().one().unwrap();
                let new = Session { id: 3, token: Some("secret".into()), ..session(3, None) };
                tables.transaction(&ann).delete(loaded).insert(&new).commit().await.unwrap();
            }
            4 => {
                let new = Session { token: Some("secret".into()), ..session(4, None) };
                let report = sessions.insert_many([new]).await;
                assert!(report.failures.is_empty(), "{report:?}");
            }
            _ => {
                let new = Session { token: Some("secret".into()), ..session(1, None) };
                tables
                    .transaction_with(&ann, async |scope| {
                        assert_eq!(scope.get(ann.by_id().id(1)).await?, None);
                        scope.insert(&new);
                        Ok::<_, Error>(())
                    })
                    .await
                    .unwrap();
            }
        }
        let with: Vec<_> = sessions.including_expired().list(ann.by_id()).collect().await.unwrap();
        let with: Vec<_> = with.iter().filter(|session| session.token.is_some()).collect();
        assert_eq!(with.len(), 1, "{way}");
        let report = sessions.verify(&ann).await.unwrap();
        assert!(report.findings.is_empty(), "{way}: {report:?}");
    }
}

#[tokio::test]
async fn a_value_unique_over_all_partitions_is_free_once_its_entity_has_expired() {
    let (tables, clock) = tables();
    let codes = tables.repo::<Code>();
    codes.create_table().await.unwrap();
    codes.insert(&code("a", clock.after(10))).await.unwrap();
    let taken = codes.insert(&code("b", clock.after(20))).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    assert!(codes.load_unique(Code::unique_code("welcome")).await.unwrap().is_some());
    clock.pass(Duration::seconds(10));
    assert!(codes.load_unique(Code::unique_code("welcome")).await.unwrap().is_none());
    assert_eq!(codes.list(Code::by_kind("gift")).count().await.unwrap(), 0);
    assert_eq!(codes.list(Code::by_kind("gift")).checked().count().await.unwrap(), 0);
    codes.insert(&code("b", clock.after(20))).await.unwrap();
    assert_eq!(codes.load_unique(Code::unique_code("welcome")).await.unwrap().unwrap().id, "b");
    let keys = rows(&tables, "codes").await;
    let expected = [("UNQ:code:welcome", "UNQ"), ("b", "CODE"), ("gift", "OF:b")];
    assert_eq!(keys, expected.map(|(partition, row)| (partition.to_owned(), row.to_owned())));
}

#[tokio::test]
async fn an_entity_that_was_extended_keeps_its_key_and_its_values() {
    let (_, sessions, clock) = sessions().await;
    clock.pass(Duration::seconds(9));
    let ann = Session::partition("ann");
    let until = clock.after(100);
    sessions.update(ann.by_id().id(1), |session| session.until = Some(until)).await.unwrap();
    clock.pass(Duration::seconds(10));
    let taken = sessions.insert(&with_token(2, clock.after(100))).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    let exists = sessions.insert(&session(1, None)).await;
    assert!(matches!(exists, Err(Error::AlreadyExists(_))), "{exists:?}");
}

#[tokio::test]
async fn writes_by_key_find_no_expired_entity_and_writes_of_a_version_do() {
    let (_, sessions, clock) = sessions().await;
    let ann = Session::partition("ann");
    let key = || ann.by_id().id(1);
    let loaded = sessions.load(key()).await.unwrap().one().unwrap();
    clock.pass(Duration::seconds(10));
    let update = sessions.update(key(), |session| session.place = "x".into()).await;
    assert!(matches!(update, Err(Error::NotFound(_))), "{update:?}");
    let patch = || super::SessionPatch::default().until(clock.after(50));
    let merged = sessions.merge(key(), patch()).await;
    assert!(matches!(merged, Err(Error::NotFound(_))), "{merged:?}");
    // Whoever has the entity may extend it, until another writer takes its place.
    let mut extended = loaded.clone();
    extended.until = Some(clock.after(5));
    sessions.save(&mut extended).await.unwrap();
    assert!(sessions.get(key()).await.unwrap().is_some());
    clock.pass(Duration::seconds(5));
    let made = session(1, None);
    let made_again =
        sessions.update(key(), |_| unreachable!()).or_insert_with(|| made.clone()).await.unwrap();
    assert_eq!(*made_again, made);
    assert_eq!(sessions.get(key()).await.unwrap(), Some(made));
    extended.place = "x".into();
    let late = sessions.save(extended).await;
    assert!(matches!(late, Err(Error::Conflict(_))), "{late:?}");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "usersa", partition = "{id}", row = "USER", expires = until,
    unique(login, across, table = "logins")
)]
struct User {
    id: u32,
    login: String,
    until: OffsetDateTime,
}

#[tokio::test]
async fn a_value_in_a_guard_table_of_several_tables_is_free_once_its_entity_has_expired() {
    let (tables, clock) = tables();
    let users = tables.repo::<User>();
    let others = tables.repo_in::<User>(table_orm::TableName::new("usersb").unwrap());
    users.create_all_tables().await.unwrap();
    others.create_table().await.unwrap();
    let user = |id, until| User { id, login: "ann".into(), until };
    users.insert(&user(1, clock.after(10))).await.unwrap();
    let taken = others.insert(&user(2, clock.after(99))).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    clock.pass(Duration::seconds(10));
    others.insert(&user(2, clock.after(99))).await.unwrap();
    assert!(!rows(&tables, "usersa").await.iter().any(|(_, row)| row == "USER"));
}
