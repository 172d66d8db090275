//! Each kind of fault, as a client sees it over HTTP.

use crate::client::{request, signed, wire};
use crate::hostile::exchange;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use table_orm::azure::AzureStore;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{FaultStore, Faults, Layer as _, Throttle};
use table_orm::model::Metadata;
use table_orm::query::{KeyRange, RowQuery, Span};
use table_orm::store::{
    Action, Batch, ErrorCode, IfMatch, Operation, Page, Store, StoreError, StoredRow,
};
use table_orm::{DynamicEntity, TableName, Tables};
use table_server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

fn people() -> TableName {
    TableName::new("people").unwrap()
}

/// A server whose store fails, a client of it, and the tables without faults.
struct Failing {
    faults: FaultStore,
    server: Server,
    client: AzureStore,
    tables: Tables,
}

impl Failing {
    /// Starts one with twenty rows in each of two partitions.
    async fn start(faults: Faults) -> Self {
        let store = EmbeddedStore::in_memory().unwrap();
        let tables = Tables::new(store.clone());
        tables.create(&people()).await.unwrap();
        for partition in ["Boston", "York"] {
            let row = |n| DynamicEntity::new(partition, format!("{n:02}")).with("N", n);
            let rows: Vec<_> = (0..20).map(row).collect();
            tables.table(people()).insert_many(rows).await.all().unwrap();
        }
        let faults = faults.store(Arc::new(store)).unwrap();
        faults.disable();
        let server = Server::start(faults.clone()).await.unwrap();
        faults.enable();
        let client = AzureStore::from_connection_string(&server.connection_string()).unwrap();
        Self { faults, server, client, tables }
    }

    async fn insert(&self, row_key: &str) -> Result<(), StoreError> {
        let row = format!(r#"{{"PartitionKey":"Boston","RowKey":"{row_key}"}}"#);
        let operation =
            Operation { row_key: row_key.to_owned(), action: Action::Insert(row.into()) };
        self.client.write(&people(), "Boston", operation).await.map(drop)
    }

    async fn get(&self, partition_key: &str) -> Result<Option<StoredRow>, StoreError> {
        self.client.get(&people(), partition_key, "00", None, Metadata::None).await
    }

    /// Whether a row is stored, whatever the faults are.
    async fn has(&self, row_key: &str) -> bool {
        self.tables.table(people()).get("Boston", row_key).await.unwrap().is_some()
    }

    /// Reads the partition in pages to its end: the numbers of rows in each, and the RowKeys.
    async fn pages(&self) -> (Vec<usize>, Vec<String>) {
        let partition = Span::Exact("Boston".into());
        let keys = KeyRange { partition, row: Span::All };
        let mut query = RowQuery::new(people(), keys);
        let (mut sizes, mut row_keys) = (Vec::new(), Vec::new());
        loop {
            let Page { body, continuation, .. } = self.client.query(&query).await.unwrap();
            let page: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let rows = page["value"].as_array().unwrap();
            sizes.push(rows.len());
            row_keys.extend(rows.iter().map(|row| row["RowKey"].as_str().unwrap().to_owned()));
            let Some(next) = continuation else { return (sizes, row_keys) };
            query.continuation = Some(next);
            assert!(sizes.len() < 1000, "the pages end");
        }
    }
}

fn all_row_keys() -> Vec<String> {
    (0..20).map(|n| format!("{n:02}")).collect()
}

/// A signed request, on a connection that is closed after it.
fn closing(method: &str, path: &str, body: &str) -> Vec<u8> {
    wire(&signed(request(method, path, &[("connection", "close")], body)))
}

/// The status, the code and the `Retry-After` of an answer's text.
fn read(answer: &str) -> (u16, String, Option<u64>) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let wait = head.lines().find_map(|line| line.strip_prefix("retry-after: "));
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let code = body["odata.error"]["code"].as_str().unwrap_or_default().to_owned();
    (status, code, wait.map(|wait| wait.parse().unwrap()))
}

#[tokio::test]
async fn a_throttled_request_is_answered_503_with_and_without_retry_after() {
    let failing = Failing::start(Faults::seeded(3).throttled(1.0)).await;
    let mut waits = BTreeMap::<_, u32>::new();
    for _ in 0..30 {
        let get = closing("GET", "/people()", "");
        let (status, code, wait) = read(&exchange(failing.server.address(), &get).await);
        assert_eq!((status, code.as_str()), (503, "ServerBusy"));
        *waits.entry(wait).or_default() += 1;
    }
    let expected = [None, Some(1), Some(2), Some(3)];
    assert!(waits.keys().copied().eq(expected), "{waits:?}");
    assert_eq!(failing.insert("new").await.unwrap_err().code, ErrorCode::SERVER_BUSY);
    assert!(!failing.has("new").await, "the request has no effect");
}

#[tokio::test]
async fn an_error_500_comes_before_or_after_the_write() {
    let before = Faults::seeded(1).errors_before(1.0);
    let after = Faults::seeded(1).errors_after(1.0);
    for (faults, takes_effect) in [(before, false), (after, true)] {
        let failing = Failing::start(faults).await;
        let error = failing.insert("new").await.unwrap_err();
        assert_eq!((error.code, error.status), (ErrorCode::INTERNAL_ERROR, 500));
        assert_eq!(failing.has("new").await, takes_effect);
    }
}

#[tokio::test]
async fn a_request_or_its_answer_is_lost() {
    let request = Faults::seeded(1).lost_requests(1.0);
    let answer = Faults::seeded(1).lost_replies(1.0);
    for (faults, takes_effect) in [(request, false), (answer, true)] {
        let failing = Failing::start(faults).await;
        let body = r#"{"PartitionKey":"Boston","RowKey":"new"}"#;
        let insert = closing("POST", "/people", body);
        assert_eq!(exchange(failing.server.address(), &insert).await, "");
        assert_eq!(failing.has("new").await, takes_effect);
        let error = failing.insert("other").await.unwrap_err();
        assert_eq!((error.code, error.status), (ErrorCode::NO_ANSWER, 0));
        assert_eq!(failing.has("other").await, takes_effect);
    }
}

#[tokio::test]
async fn a_transaction_whose_answer_is_lost_took_effect_whole() {
    let failing = Failing::start(Faults::seeded(1).lost_replies(1.0)).await;
    let insert = |row_key: &str| Operation {
        row_key: row_key.to_owned(),
        action: Action::Insert(
            format!(r#"{{"PartitionKey":"Boston","RowKey":"{row_key}"}}"#).into(),
        ),
    };
    let operations = vec![
        insert("new"),
        Operation { row_key: "00".into(), action: Action::Delete(IfMatch::Any) },
    ];
    let batch = Batch { partition_key: "Boston".into(), operations };
    let error = failing.client.commit(&people(), batch).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::NO_ANSWER, 0));
    assert!(failing.has("new").await && !failing.has("00").await);
}

#[tokio::test]
async fn a_late_write_takes_effect_after_its_client_gave_up() {
    let late = Faults::seeded(1).late(1.0).latest(Duration::from_secs(2));
    let failing = Failing::start(late).await;
    let error = failing.insert("new").await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::NO_ANSWER, 0));
    assert!(!failing.has("new").await, "not yet");
    let found = async {
        while !failing.has("new").await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), found).await.expect("it takes effect");
}

#[tokio::test]
async fn a_slow_answer_comes_whole_or_after_the_client_s_time_out() {
    let slow = Faults::seeded(1).slow(1.0);
    let failing = Failing::start(slow.clone().slowest(Duration::from_millis(400))).await;
    let start = Instant::now();
    assert!(failing.get("Boston").await.unwrap().is_some());
    assert!(start.elapsed() > Duration::from_millis(50), "{:?}", start.elapsed());

    let failing = Failing::start(slow.slowest(Duration::from_secs(3600))).await;
    let answer = timeout(Duration::from_millis(300), failing.get("Boston")).await;
    assert!(answer.is_err(), "it comes later");
    // The server goes on.
    failing.faults.disable();
    assert!(failing.get("Boston").await.unwrap().is_some());
}

#[tokio::test]
async fn an_empty_page_has_a_token_with_which_its_reader_goes_on() {
    let failing = Failing::start(Faults::seeded(1).empty_pages(0.6)).await;
    let mut empty = 0;
    for _ in 0..10 {
        let (sizes, row_keys) = failing.pages().await;
        assert_eq!(row_keys, all_row_keys());
        assert_eq!(sizes.last(), Some(&20));
        empty += sizes.iter().filter(|&&rows| rows == 0).count();
    }
    assert!(empty > 5, "{empty}");
}

#[tokio::test]
async fn a_page_is_cut_after_a_random_number_of_rows() {
    let read = async || {
        let failing = Failing::start(Faults::seeded(5).short_pages(1.0)).await;
        let mut all = Vec::new();
        for _ in 0..4 {
            let (sizes, row_keys) = failing.pages().await;
            assert_eq!(row_keys, all_row_keys());
            all.extend(sizes);
        }
        all
    };
    let sizes = read().await;
    let different = sizes.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(sizes.len() > 8 && different > 3, "{sizes:?}");
    assert_eq!(read().await, sizes, "the seed decides");
}

#[tokio::test]
async fn a_page_is_cut_after_5_seconds() {
    let failing = Failing::start(Faults::seeded(6).cut_pages(0.5)).await;
    let start = Instant::now();
    let (sizes, row_keys) = failing.pages().await;
    assert_eq!(row_keys, all_row_keys());
    assert!(sizes.len() > 1, "{sizes:?}");
    let seconds = start.elapsed().as_secs();
    let cut = u64::try_from(sizes.len() - 1).unwrap();
    assert!((5 * cut..=5 * (cut + 1) + 1).contains(&seconds), "{sizes:?} in {seconds} s");
}

#[tokio::test]
async fn a_partition_off_line_fails_for_its_time_and_the_others_answer() {
    let failing = Failing::start(Faults::seeded(1)).await;
    let time = Duration::from_secs(4);
    let until = Instant::now() + time;
    failing.faults.take_offline(&people(), "Boston", time);
    let mut codes = BTreeMap::<_, u32>::new();
    for _ in 0..16 {
        let error = failing.get("Boston").await.unwrap_err();
        *codes.entry((error.status, error.code.as_str().to_owned())).or_default() += 1;
        assert!(failing.get("York").await.unwrap().is_some());
    }
    assert!(Instant::now() < until, "the machine is too slow for this test");
    let expected = [(500, "OperationTimedOut".to_owned()), (503, "ServerBusy".to_owned())];
    assert!(codes.keys().eq(&expected), "{codes:?}");
    assert_eq!(failing.insert("new").await.unwrap_err().status / 100, 5);
    assert!(!failing.has("new").await);
    tokio::time::sleep_until(until).await;
    failing.insert("new").await.unwrap();
}

#[tokio::test]
async fn requests_take_their_partition_off_line_by_chance() {
    let offline = Faults::seeded(2).offline(0.2).offline_time(Duration::from_secs(60));
    let failing = Failing::start(offline).await;
    let answers = async || {
        let mut answers = Vec::new();
        for _ in 0..30 {
            answers.push(failing.get("Boston").await.is_ok());
        }
        answers
    };
    let answers = answers().await;
    let first = answers.iter().position(|ok| !ok).expect("it goes off-line");
    assert!(first > 0 && answers[first..].iter().all(|ok| !ok), "{answers:?}");
}

/// How many of 300 inserts, to partitions in turn, a server that throttles answers 503, and the time of all.
async fn throttled(throttle: Throttle, partitions: usize) -> (u32, Duration) {
    let store = EmbeddedStore::in_memory().unwrap();
    Tables::new(store.clone()).create(&people()).await.unwrap();
    let server = Server::start(throttle.around(Arc::new(store)).unwrap()).await.unwrap();
    let client = AzureStore::from_connection_string(&server.connection_string()).unwrap();
    let start = Instant::now();
    let mut refused = 0;
    for n in 0..300 {
        let partition_key = format!("p{}", n % partitions);
        let row_key = n.to_string();
        let row = format!(r#"{{"PartitionKey":"{partition_key}","RowKey":"{row_key}"}}"#);
        let operation = Operation { row_key, action: Action::Insert(row.into()) };
        match client.write(&people(), &partition_key, operation).await {
            Ok(_) => {}
            Err(error) => {
                assert_eq!((error.code, error.status), (ErrorCode::SERVER_BUSY, 503));
                refused += 1;
            }
        }
    }
    (refused, start.elapsed())
}

#[tokio::test]
async fn above_the_rate_of_a_partition_or_of_the_account_requests_are_answered_503() {
    let partition = Throttle::new().per_partition(20);
    let account = Throttle::new().per_account(20);
    for (throttle, partitions) in [(partition, 1), (account, 300)] {
        let (refused, time) = throttled(throttle, partitions).await;
        // A second's entities pass at once.
        let most = 20.0 * (time.as_secs_f64() + 1.0) + 1.0;
        assert!(refused > 0 && f64::from(300 - refused) <= most, "{refused} in {time:?}");
    }
    let (refused, _) = throttled(partition, 300).await;
    assert_eq!(refused, 0, "each partition has a rate of its own");
}

#[tokio::test]
async fn a_transaction_counts_its_operations_against_the_rate() {
    let store = EmbeddedStore::in_memory().unwrap();
    Tables::new(store.clone()).create(&people()).await.unwrap();
    let throttle = Throttle::new().per_partition(100);
    let server = Server::start(throttle.around(Arc::new(store)).unwrap()).await.unwrap();
    let client = AzureStore::from_connection_string(&server.connection_string()).unwrap();
    let batch = |first: usize| Batch {
        partition_key: "p".into(),
        operations: (first..first + 100)
            .map(|n| Operation {
                row_key: n.to_string(),
                action: Action::Insert(format!(r#"{{"PartitionKey":"p","RowKey":"{n}"}}"#).into()),
            })
            .collect(),
    };
    let (start, mut passed, mut refused) = (Instant::now(), 0, 0);
    for first in (0..2000).step_by(100) {
        match client.commit(&people(), batch(first)).await {
            Ok(_) => passed += 1,
            Err(error) => {
                assert_eq!((error.code, error.status), (ErrorCode::SERVER_BUSY, 503));
                assert_eq!(error.operation, None, "the whole request is refused");
                refused += 1;
            }
        }
    }
    // A second's entities pass at once.
    let most = start.elapsed().as_secs_f64() + 2.0;
    assert!(refused > 0 && f64::from(passed) <= most, "{passed} passed, {refused} were refused");
}

#[tokio::test]
async fn a_seed_repeats_what_happens_to_a_client() {
    let answers = async |seed| {
        let failing = Failing::start(Faults::mixed(seed).slow(0.0).offline(0.0)).await;
        let mut answers = Vec::new();
        for n in 0..40 {
            let answer = failing.insert(&format!("new{n}")).await;
            answers.push(answer.err().map(|error| (error.status, error.retry_after)));
        }
        answers
    };
    let first = answers(7).await;
    assert!(first.contains(&None) && first.iter().flatten().any(|(status, _)| *status == 0));
    assert_eq!(answers(7).await, first);
    assert_ne!(answers(8).await, first);
}

#[tokio::test]
async fn a_connection_is_kept_over_errors_and_closed_after_a_lost_answer() {
    let failing = Failing::start(Faults::seeded(1).throttled(0.5).lost_replies(0.5)).await;
    let mut stream = TcpStream::connect(failing.server.address()).await.unwrap();
    let get = wire(&signed(request("GET", "/people()", &[], "")));
    let mut answers = 0;
    loop {
        stream.write_all(&get).await.unwrap();
        let mut answer = vec![0; 64 * 1024];
        let length = stream.read(&mut answer).await.unwrap();
        if length == 0 {
            break;
        }
        assert!(answer.starts_with(b"HTTP/1.1 503 "));
        answers += 1;
        assert!(answers < 100);
    }
    assert!(answers > 0, "the seed begins with an error");
    failing.faults.disable();
    let answer = exchange(failing.server.address(), &closing("GET", "/people()", "")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
