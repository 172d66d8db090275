//! What a server reports of requests that fail.

use crate::client::{key, request, signed, wire};
use crate::hostile::exchange;
use std::future::Future;
use std::sync::{Arc, Mutex};
use table_orm::azure::AzureStore;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::Faults;
use table_orm::model::Metadata;
use table_orm::store::{ErrorCode, Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use table_orm::{TableName, Tables};
use table_server::Server;

/// A store whose disk is full: it writes no row, and loses each page.
#[derive(Debug)]
struct FullDisk(EmbeddedStore);

impl Middleware for FullDisk {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        match request.operation {
            "insert" => Err(StoreError::new(ErrorCode::INTERNAL_ERROR, "The disk is full.")),
            "query" => Err(StoreError::no_answer("The store has lost it.")),
            _ => next.await,
        }
    }
}

type Reports = Arc<Mutex<Vec<(String, u16, bool)>>>;

async fn start(store: impl Store + 'static) -> (Server, Reports) {
    let reports = Reports::default();
    let sink = Arc::clone(&reports);
    let server = Server::builder().on_failure(move |failed| {
        let text = format!("{} {}: {}", failed.method, failed.path, failed.error.message);
        sink.lock().unwrap().push((text, failed.error.status, failed.error.injected));
    });
    (server.start(store).await.unwrap(), reports)
}

async fn send(server: &Server, method: &str, path: &str, body: &str) -> String {
    let request = signed(request(method, path, &[("connection", "close")], body));
    exchange(server.address(), &wire(&request)).await
}

#[tokio::test]
async fn failures_of_the_store_are_reported_without_the_query_of_the_address() {
    let store = EmbeddedStore::in_memory().unwrap();
    Tables::new(store.clone()).create(&TableName::new("people").unwrap()).await.unwrap();
    let (server, reports) = start(FullDisk(store)).await;
    let row = r#"{"PartitionKey":"p","RowKey":"r"}"#;
    let failed = send(&server, "POST", "/people?timeout=5&sig=secret", row).await;
    assert!(failed.starts_with("HTTP/1.1 500 "), "{failed}");
    assert_eq!(send(&server, "GET", "/people()?$filter=Name%20eq%20'Ann'", "").await, "");
    let path = "/devstoreaccount1/people";
    assert_eq!(
        *reports.lock().unwrap(),
        [
            (format!("POST {path}: The disk is full."), 500, false),
            (format!("GET {path}(): The store has lost it."), 0, false),
        ]
    );
    // What the client did wrong is not a failure.
    for (method, path, body) in [
        ("GET", "/others(PartitionKey='p',RowKey='r')", ""),
        ("GET", "/people()?$filter=x%20y", ""),
        ("PUT", "/people(PartitionKey='p',RowKey='r')", "{"),
    ] {
        let refused = send(&server, method, path, body).await;
        assert!(refused.starts_with("HTTP/1.1 4"), "{refused}");
    }
    assert_eq!(reports.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_failure_within_a_transaction_is_one_of_the_request() {
    let store = EmbeddedStore::in_memory().unwrap();
    let people = TableName::new("people").unwrap();
    Tables::new(store.clone()).create(&people).await.unwrap();
    let faults = Faults::seeded(1).errors_before(1.0).store(Arc::new(store)).unwrap();
    faults.disable();
    let (server, reports) = start(faults.clone()).await;
    faults.enable();
    let get = "GET http://127.0.0.1/devstoreaccount1/people(PartitionKey='p',RowKey='r') HTTP/1.1\r\n\
               Accept: application/json;odata=nometadata\r\n\r\n";
    let body = format!("--b\r\nContent-Type: application/http\r\n\r\n{get}\r\n--b--\r\n");
    let batch = signed(request(
        "POST",
        "/$batch",
        &[("content-type", "multipart/mixed; boundary=b"), ("connection", "close")],
        &body,
    ));
    let answer = exchange(server.address(), &wire(&batch)).await;
    assert!(answer.starts_with("HTTP/1.1 500 "), "a client sends it again: {answer}");
    assert_eq!(reports.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn faults_and_rates_on_purpose_are_reported_as_such() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let faults = Faults::seeded(1).throttled(0.5).lost_replies(0.5).store(store).unwrap();
    faults.disable();
    let (server, reports) = start(faults.clone()).await;
    let client =
        AzureStore::new(&format!("http://{}/devstoreaccount1", server.address()), key()).unwrap();
    faults.enable();
    let people = TableName::new("people").unwrap();
    for _ in 0..20 {
        client.get(&people, "p", "r", None, Metadata::None).await.unwrap_err();
    }
    let reports = reports.lock().unwrap();
    assert_eq!(reports.len(), 20);
    assert!(reports.iter().all(|(_, _, injected)| *injected), "{reports:?}");
    assert!([0, 503].iter().all(|status| reports.iter().any(|report| report.1 == *status)));
}
