//! A server that is started and stopped.

use crate::client::{key, request, signed, wire};
use crate::hostile::exchange;
use std::sync::Arc;
use table_orm::azure::AzureStore;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, ReadFrom};
use table_orm::model::Metadata;
use table_orm::store::{ErrorCode, ReplicationStatus, Store as _};
use table_orm::{DynamicEntity, Error, TableEntity, TableName, Tables};
use table_server::{Server, StartError};

#[tokio::test]
async fn clients_share_the_tables_of_the_app() {
    let store = EmbeddedStore::in_memory().unwrap();
    let server = Server::start(store.clone()).await.unwrap();
    let (app, client) =
        (Tables::new(store), Tables::from_connection_string(&server.connection_string()).unwrap());
    let people = TableName::new("people").unwrap();
    app.create(&people).await.unwrap();
    let ann = DynamicEntity::new("2026", "it's ann").with("Age", 55);
    client.table(people.clone()).insert(&ann).await.unwrap();
    assert!(app.table(people).get("2026", "it's ann").await.unwrap().is_some());
}

#[tokio::test]
async fn a_stopped_server_frees_its_port() {
    let server = Server::start(EmbeddedStore::in_memory().unwrap()).await.unwrap();
    let port = server.address().port();
    let taken = Server::builder().port(port).start(EmbeddedStore::in_memory().unwrap()).await;
    assert!(matches!(taken, Err(StartError::Listen { .. })));
    server.stop().await;
    let again = Server::builder().port(port).start(EmbeddedStore::in_memory().unwrap()).await;
    again.unwrap().stop().await;
}

#[tokio::test]
async fn an_account_of_its_own_replaces_the_emulators() {
    let account = table_orm::azure::SharedKey::new("race", "c2VjcmV0").unwrap();
    let builder = Server::builder().account(account);
    let server = builder.start(EmbeddedStore::in_memory().unwrap()).await.unwrap();
    let own = AzureStore::from_connection_string(&server.connection_string()).unwrap();
    own.list_tables().await.unwrap();
    let endpoint = format!("http://{}/devstoreaccount1", server.address());
    let emulator = AzureStore::new(&endpoint, key()).unwrap();
    assert_eq!(emulator.list_tables().await.unwrap_err().status, 403);
}

#[tokio::test]
async fn an_account_cannot_have_the_name_of_a_read_only_copy() {
    let account = table_orm::azure::SharedKey::new("race-secondary", "c2VjcmV0").unwrap();
    let started = Server::builder().account(account).start(EmbeddedStore::in_memory().unwrap());
    assert!(
        matches!(started.await, Err(StartError::SecondaryName(name)) if name == "race-secondary")
    );
}

#[tokio::test]
async fn a_request_that_the_store_loses_gets_no_answer() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let lost = Faults::seeded(1).lost_replies(1.0).store(store).unwrap();
    lost.disable();
    let server = Server::start(lost.clone()).await.unwrap();
    let client = AzureStore::from_connection_string(&server.connection_string()).unwrap();
    lost.enable();
    let people = TableName::new("people").unwrap();
    let error = client.create_table(&people).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::NO_ANSWER, 0));
    lost.disable();
    let found = client.get(&people, "p", "r", None, Metadata::None).await.unwrap();
    assert_eq!(found, None, "the table was created");
}

#[tokio::test]
async fn a_cut_reply_announces_its_whole_body_and_half_of_it_comes() {
    let store = EmbeddedStore::in_memory().unwrap();
    let tables = Tables::new(store.clone());
    let people = TableName::new("people").unwrap();
    tables.create(&people).await.unwrap();
    let server = Server::builder().cut_replies(1, 1.0).start(store).await.unwrap();
    let client = AzureStore::from_connection_string(&server.connection_string()).unwrap();
    let error = client.list_tables().await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::NO_ANSWER, 0), "{}", error.message);

    let ann = r#"{"PartitionKey":"p","RowKey":"ann"}"#;
    let insert = signed(request("POST", "/people", &[], ann));
    let answer = exchange(server.address(), &wire(&insert)).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 201 "), "{answer}");
    let announced = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    assert_eq!(announced.parse::<usize>().unwrap() / 2, body.len());
    assert!(tables.table(people).get("p", "ann").await.unwrap().is_some(), "it was inserted");
}

#[tokio::test]
async fn a_busy_store_says_how_long_to_wait() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let busy = Faults::seeded(3).throttled(1.0).store(store).unwrap();
    busy.disable();
    let server = Server::start(busy.clone()).await.unwrap();
    let client = AzureStore::from_connection_string(&server.connection_string()).unwrap();
    busy.enable();
    let mut waits = Vec::new();
    for _ in 0..20 {
        let error = client.list_tables().await.unwrap_err();
        assert_eq!((error.code, error.status), (ErrorCode::SERVER_BUSY, 503));
        waits.push(error.retry_after);
    }
    assert!(waits.contains(&None) && waits.iter().any(Option::is_some));
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "people", partition = "{city}", row = "{name}")]
struct Person {
    city: String,
    name: String,
    age: u32,
}

#[tokio::test]
async fn an_app_reads_on_from_the_secondary_location_while_the_primary_one_fails() {
    let store = EmbeddedStore::in_memory().unwrap();
    let failing = Faults::seeded(1).lost_replies(1.0).store(Arc::new(store.clone())).unwrap();
    failing.disable();
    let primary = Server::start(failing.clone()).await.unwrap();
    let copy = Server::start(store).await.unwrap();
    let secondary = format!("http://{}/devstoreaccount1-secondary", copy.address());
    let text = format!("{};TableSecondaryEndpoint={secondary}", primary.connection_string());
    let account = AzureStore::from_connection_string(&text).unwrap();
    let connect = |from| Tables::builder(account.clone()).bare().read_from(from).build().unwrap();

    let tables = connect(ReadFrom::PrimaryThenSecondary);
    let people = tables.repo::<Person>();
    people.create_table().await.unwrap();
    let ann = Person { city: "Boston".into(), name: "Ann".into(), age: 55 };
    people.insert(&ann).await.unwrap();
    failing.enable();
    assert_eq!(people.list(Person::partition("Boston")).one().await.unwrap(), ann);
    let key = || Person::partition("Boston").row().name("Ann");
    assert_eq!(people.get(key()).await.unwrap().as_ref(), Some(&ann));
    let written = people.upsert(&ann).await;
    assert!(matches!(written, Err(Error::Unavailable(_))), "{written:?}");
    assert!(people.load(key()).await.is_err(), "what decides a write is not read from there");

    failing.disable();
    let elsewhere = connect(ReadFrom::SecondaryOnly).repo::<Person>();
    people.upsert(&ann).await.unwrap();
    assert_eq!(elsewhere.get(key()).await.unwrap(), Some(ann));
    let replication = tables.replication().await.unwrap().unwrap();
    assert_eq!(replication.status, ReplicationStatus::Live);
    assert!(replication.last_sync.is_some());
}
