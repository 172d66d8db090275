//! The store through a client of the `azure_data_tables` crate: it does not disturb the app's own
//! calls.

use crate::Run;
use crate::stub::{Answer, Stub};
use crate::subject::{Subject, insert};
use azure_data_tables::clients::{TableServiceClient, TableServiceClientBuilder};
use azure_storage::{CloudLocation, StorageCredentials};
use support::azurite::Azurite;
use table_orm::TableName;
use table_orm::azure::ConnectError;
use table_orm::data_tables::DataTablesStore;
use table_orm::model::Metadata;
use table_orm::query::Span;
use table_orm::store::{Batch, Store, StoreError};

fn builder(azurite: &Azurite) -> TableServiceClientBuilder {
    let location = CloudLocation::Emulator { address: "127.0.0.1".into(), port: azurite.port() };
    TableServiceClientBuilder::with_location(location, StorageCredentials::emulator())
}

fn client(azurite: &Azurite) -> TableServiceClient {
    builder(azurite).client_options(DataTablesStore::options().unwrap()).build()
}

/// The store on Azurite.
pub fn store(azurite: &Azurite) -> impl Future<Output = DataTablesStore> + Send + use<> {
    let client = client(azurite);
    async move { DataTablesStore::new(client).await.unwrap() }
}

type Case = (&'static str, fn(&Azurite) -> Run);

pub fn all() -> [Case; 5] {
    [
        ("clients::without_the_options_are_refused", |azurite| {
            Box::pin(without_options(azurite.clone()))
        }),
        ("clients::still_serve_the_app", |azurite| Box::pin(own_calls(azurite.clone()))),
        ("clients::share_connections_and_send_once", |_| Box::pin(sends_once())),
        ("clients::show_no_secret", |_| Box::pin(no_secret())),
        ("clients::send_no_token_over_http", |_| Box::pin(no_token())),
    ]
}

async fn without_options(azurite: Azurite) {
    let error = DataTablesStore::new(builder(&azurite).build()).await.unwrap_err();
    assert!(matches!(error, ConnectError::ClientOptions), "{error}");
}

/// The app's own calls pass as if nothing were between.
async fn own_calls(azurite: Azurite) {
    let client = client(&azurite);
    let subject = Subject::new(DataTablesStore::new(client.clone()).await.unwrap()).await;
    let table = client.table_client(subject.table.as_str());
    let row = serde_json::json!({"PartitionKey": "p", "RowKey": "r", "A": 1});
    table.insert::<_, serde_json::Value>(&row).unwrap().into_future().await.unwrap();
    assert_eq!(subject.properties("p", "r").await, Some(serde_json::json!({"A": 1})));
    subject.insert("p", "s", r#""A":2"#).await;
    let read = table.partition_key_client("p").entity_client("s").get::<serde_json::Value>();
    assert_eq!(read.into_future().await.unwrap().entity["A"], 2);
    assert_eq!(subject.keys(subject.query(Span::All, Span::All)).await.len(), 2);
}

async fn at(stub: &Stub, credentials: StorageCredentials) -> DataTablesStore {
    let location = CloudLocation::Custom { account: "acc".into(), uri: stub.endpoint() };
    let client = TableServiceClientBuilder::with_location(location, credentials)
        .client_options(DataTablesStore::options().unwrap())
        .build();
    DataTablesStore::new(client).await.unwrap()
}

async fn get(store: &DataTablesStore) -> Result<(), StoreError> {
    let people = TableName::new("People").unwrap();
    store.get(&people, "it's", "r", None, Metadata::None).await.map(drop)
}

fn key() -> StorageCredentials {
    StorageCredentials::access_key("acc", "c2VjcmV0LWtleS1vZi10aGUtYWNjb3VudA==".to_owned())
}

async fn sends_once() {
    let row = r#"{"PartitionKey":"it's","RowKey":"r"}"#;
    let row = Answer::new(200, row).with("ETag", "W/\"1\"");
    let busy = Answer::error(503, "ServerBusy", "Busy.").with("Retry-After", "7");
    let failed = "--b\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 409 Conflict\r\n\
        \r\n{\"odata.error\":{\"code\":\"EntityAlreadyExists\",\"message\":{\"value\":\"1:m\"}}}\r\n\
        --c--\r\n--b--";
    let stub = Stub::start([row.clone(), row, busy, Answer::new(202, failed)]).await;
    let store = at(&stub, key()).await;
    assert_eq!(stub.requests().len(), 0);
    get(&store).await.unwrap();
    get(&store).await.unwrap();
    let error = get(&store).await.unwrap_err();
    assert_eq!((error.status, error.retry_after.unwrap().as_secs()), (503, 7));
    let operations = vec![insert("p", "a", ""), insert("p", "b", "")];
    let transaction = Batch { partition_key: "p".into(), operations };
    let error = store.commit(&TableName::new("People").unwrap(), transaction).await.unwrap_err();
    assert_eq!((error.status, error.operation), (409, Some(1)));
    let requests = stub.requests();
    assert_eq!(requests.len(), 4);
    // A second one may be opened while the first is on its way back to the pool.
    assert!(stub.connections() <= 2, "{}", stub.connections());
    let head = "GET /People(PartitionKey='it%27%27s',RowKey='r') HTTP/1.1\r\n";
    assert!(requests[0].starts_with(head), "{}", requests[0]);
    for header in ["authorization: SharedKey acc:", "x-ms-date: ", "odata=nometadata\r\n"] {
        assert!(requests[0].contains(header), "{header} {}", requests[0]);
    }
    assert!(requests[3].contains("Prefer: return-no-content\r\n"), "{}", requests[3]);
}

async fn no_secret() {
    let stub = Stub::start([Answer::Close]).await;
    let sas = StorageCredentials::sas_token("sv=2020-12-06&sig=SeCrEt%3D").unwrap();
    let store = at(&stub, sas).await;
    let error = get(&store).await.unwrap_err();
    assert!(stub.requests()[0].contains("sig=SeCrEt%3D"));
    assert_eq!((error.code.as_str(), error.status), ("NoAnswer", 0));
    let text = format!("{store:?} {error} {error:?}");
    assert!(!text.contains("SeCrEt"), "{text}");
}

async fn no_token() {
    let stub = Stub::start([]).await;
    let store = at(&stub, StorageCredentials::bearer_token("ToKeN")).await;
    let error = get(&store).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.status), ("CredentialUnavailable", 0));
    assert!(error.message.contains("http"), "{error}");
    assert_eq!(stub.requests().len(), 0);
}
