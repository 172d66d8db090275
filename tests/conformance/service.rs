//! Behaviour of the service that Azurite lacks, from a scripted server; and secrets that the client
//! does not show.

use crate::Run;
use crate::stub::{Answer, Stub};
use crate::subject::{insert, json};
use azure_core::credentials::{AccessToken, TokenRequestOptions};
use azure_core::http::{AsyncRawResponse, HttpClient, Request, StatusCode, Transport, headers};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use table_orm::azure::{
    AzureStore, ConnectError, ConnectOptions, Credential, SharedKey, TokenCredential,
};
use table_orm::layer::{Retry, RetryStrategy};
use table_orm::model::Metadata;
use table_orm::query::{Comparison, Filter, KeyRange, RowQuery, Span};
use table_orm::store::{Action, Batch, ErrorCode, IfMatch, Operation, Store, StoreError};
use table_orm::{DynamicEntity, ETag, Error, ScanPermit, TableEntity, TableName, Tables};

macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub fn all() -> Vec<(&'static str, fn() -> Run)> {
            vec![$((stringify!($name), || Box::pin($name()))),+]
        }
    };
}

pub(crate) use cases;

cases! {
    an_empty_page_with_a_token_is_not_the_end,
    a_page_may_continue_at_the_start_of_a_partition,
    a_page_may_continue_at_text_that_is_not_ascii,
    a_page_with_a_foreign_continuation_is_not_sent,
    any_number_of_empty_pages_is_followed,
    a_continuation_that_repeats_for_ever_ends_every_read,
    a_continuation_that_repeats_once_is_asked_for_again,
    an_endless_answer_is_not_read_to_its_end,
    an_answer_as_long_as_allowed_is_read,
    tables_are_listed_over_pages,
    the_time_of_the_service_is_that_of_its_latest_answer,
    codes_are_read_from_the_body,
    an_unauthorized_call_names_what_to_check,
    a_table_being_deleted_is_an_error_of_its_own,
    a_busy_service_says_how_long_to_wait_and_is_asked_once,
    batches_of_cosmos_are_read,
    the_etag_a_row_states_is_its_version,
    a_failed_batch_may_leave_out_the_index,
    an_answer_that_cannot_be_read_is_an_error,
    a_lost_connection_leaves_the_outcome_open,
    a_slow_answer_times_out,
    an_unreachable_service_has_seen_nothing,
    requests_share_connections,
    each_request_is_signed_and_dated,
    each_request_has_an_id_of_its_own,
    a_redirect_is_an_error_and_not_followed,
    every_request_goes_to_the_endpoint,
    typed_reads_ask_for_no_metadata,
    what_is_over_a_limit_is_not_sent,
    what_no_row_can_hold_is_not_sent,
    a_selected_property_may_come_as_null,
    a_signature_shows_up_nowhere,
    tokens_are_not_sent_over_http,
    tokens_are_asked_for_once_and_sent,
}

pub const KEY: &str = "c2VjcmV0LWtleS1vZi10aGUtYWNjb3VudA==";

fn people() -> TableName {
    TableName::new("People").unwrap()
}

fn store(stub: &Stub) -> AzureStore {
    AzureStore::new(&stub.endpoint(), SharedKey::new("acc", KEY).unwrap()).unwrap()
}

async fn answered(answer: Answer) -> (AzureStore, Stub) {
    let stub = Stub::start([answer]).await;
    (store(&stub), stub)
}

fn page(rows: &[&str]) -> Answer {
    let rows = rows.iter().map(|key| format!(r#"{{"PartitionKey":"p","RowKey":"{key}"}}"#));
    Answer::new(200, format!(r#"{{"value":[{}]}}"#, rows.collect::<Vec<_>>().join(",")))
}

fn all_rows() -> RowQuery {
    RowQuery::new(people(), KeyRange::ALL)
}

async fn two_inserts(store: &AzureStore) -> Result<usize, StoreError> {
    let operations = vec![insert("p", "a", ""), insert("p", "b", "")];
    let transaction = Batch { partition_key: "p".into(), operations };
    Ok(store.commit(&people(), transaction).await?.len())
}

async fn an_empty_page_with_a_token_is_not_the_end() {
    let next = |answer: Answer, row: &str| {
        answer
            .with("x-ms-continuation-NextPartitionKey", "1!8!cA==")
            .with("x-ms-continuation-NextRowKey", row)
    };
    let pages = [next(page(&[]), "1!4!cg--"), next(page(&["a"]), "1!4!cw--"), page(&["b"])];
    let stub = Stub::start(pages).await;
    let rows = Tables::new(store(&stub)).table(people()).list("p", ..).collect().await.unwrap();
    assert_eq!(rows.iter().map(|row| &*row.row_key).collect::<Vec<_>>(), ["a", "b"]);
    let requests = stub.requests();
    assert!(!requests[0].contains("NextPartitionKey"));
    for (request, row) in requests[1..].iter().zip(["1%214%21cg--", "1%214%21cw--"]) {
        let token = format!("&NextPartitionKey=1%218%21cA%3D%3D&NextRowKey={row} ");
        assert!(request.contains(&token), "{request}");
    }
}

/// A page that continues at that text.
fn continued(answer: Answer, token: &str) -> Answer {
    answer.with("x-ms-continuation-NextPartitionKey", token)
}

async fn any_number_of_empty_pages_is_followed() {
    let empty = (0..300).map(|number| continued(page(&[]), &format!("1!8!{number}")));
    let stub = Stub::start(empty.chain([page(&["a"])])).await;
    let rows = Tables::new(store(&stub)).table(people()).list("p", ..).collect().await.unwrap();
    assert_eq!((rows.len(), stub.requests().len()), (1, 301));
}

#[derive(Debug, Clone, TableEntity)]
#[table(name = "People", partition = "{race}", row = "{name}")]
struct Person {
    #[table(key_only)]
    race: String,
    #[table(key_only)]
    name: String,
}

#[track_caller]
fn no_progress<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let error = answer.unwrap_err();
    let Error::Unavailable(rejection) = &error else { panic!("{error}") };
    assert_eq!((&rejection.cause.code, rejection.cause.status), (&ErrorCode::NO_PROGRESS, 0));
}

async fn a_continuation_that_repeats_for_ever_ends_every_read() {
    let row = r#"{"PartitionKey":"p","RowKey":"a","Timestamp":"2026-03-01T12:00:00Z"}"#;
    for row in [row, ""] {
        let body = format!(r#"{{"value":[{row}]}}"#);
        let answer = continued(Answer::new(200, body), "1!8!cA==");
        let stub = Stub::always(answer.with("x-ms-continuation-NextTableName", "1!abc")).await;
        let tables = Tables::new(store(&stub));
        let table = tables.table(people());
        no_progress(table.list("p", ..).collect().await);
        no_progress(table.list("p", ..).count().await);
        let repo = tables.repo::<Person>();
        let race = Person::partition("p");
        no_progress(repo.list(race.row()).pages(5).collect().await);
        no_progress(repo.load(race.row()).await);
        no_progress(repo.verify(&race).await);
        if row.is_empty() {
            no_progress(repo.delete_partition(&race).await);
        }
        no_progress(tables.scan(people(), ScanPermit::because("test")).collect().await);
        let workers = tables.scan(people(), ScanPermit::because("test")).concurrency(4);
        no_progress(workers.count().await);
        no_progress(tables.list().await);
        let before = stub.requests().len();
        let patient = RetryStrategy::Fixed { retries: 3, wait: Duration::from_millis(1) };
        let retried = tables.layer(Retry::new(patient)).unwrap();
        no_progress(retried.table(people()).list("p", ..).collect().await);
        assert_eq!(stub.requests().len() - before, 5);
    }
}

async fn a_continuation_that_repeats_once_is_asked_for_again() {
    let next = |row: &str| continued(page(&[row]), "1!8!cA==");
    let stub = Stub::start([next("a"), next("b"), page(&["b"])]).await;
    let retry = Retry::new(RetryStrategy::Fixed { retries: 1, wait: Duration::from_millis(1) });
    let tables = Tables::new(store(&stub)).layer(retry).unwrap();
    let rows = tables.table(people()).list("p", ..).collect().await.unwrap();
    assert_eq!(rows.iter().map(|row| &*row.row_key).collect::<Vec<_>>(), ["a", "b"]);
}

async fn an_endless_answer_is_not_read_to_its_end() {
    const MIB: usize = 1024 * 1024;
    let too_long = |error: StoreError| {
        let about = (error.status, error.message.contains("`ConnectOptions::max_answer_bytes`"));
        assert_eq!((error.code, about), (ErrorCode::ANSWER_TOO_LONG, (0, true)));
    };
    for status in [200, 202, 404, 500] {
        let stub = Stub::always(Answer::Endless { status }).await;
        let options = ConnectOptions { max_answer_bytes: 6 * MIB, ..ConnectOptions::default() };
        let key = SharedKey::new("acc", KEY).unwrap();
        let store = AzureStore::with_options(&stub.endpoint(), key, options).unwrap();
        too_long(store.query(&all_rows()).await.unwrap_err());
        too_long(store.get(&people(), "p", "r", None, Metadata::None).await.unwrap_err());
        too_long(store.list_tables().await.unwrap_err());
        too_long(two_inserts(&store).await.unwrap_err());
        too_long(store.create_table(&people()).await.unwrap_err());
        too_long(store.cors_rules().await.unwrap_err());
        // What the client reads six times, and what the sockets hold beside it.
        assert!(stub.bytes() < 6 * (6 + 16) * MIB, "{}", stub.bytes());
    }
    // A write may have taken effect, so it is ambiguous.
    let stub = Stub::always(Answer::Endless { status: 500 }).await;
    let retry = Retry::new(RetryStrategy::Fixed { retries: 2, wait: Duration::from_millis(1) });
    let tables = Tables::new(store(&stub)).layer(retry).unwrap();
    let inserted = tables.table(people()).insert(&DynamicEntity::new("p", "r")).await;
    assert!(matches!(inserted, Err(Error::Ambiguous(_))), "{inserted:?}");
    assert_eq!(stub.requests().len(), 2, "the write, and the row to read back");
    // The length that is stated decides before anything is read.
    let stated = Answer::Head { status: 200, length: u64::MAX / 2 };
    let stub = Stub::always(stated).await;
    too_long(store(&stub).query(&all_rows()).await.unwrap_err());
}

async fn an_answer_as_long_as_allowed_is_read() {
    let row = |bytes: usize| {
        let start = r#"{"PartitionKey":"p","RowKey":"r","A":""#;
        format!("{start}{}\"}}", "x".repeat(bytes - start.len() - 2))
    };
    for (bytes, is_read) in [(5000, true), (5001, false)] {
        let answer = Answer::new(200, row(bytes)).with("ETag", "W/\"1\"");
        let stub = Stub::start([answer]).await;
        let options = ConnectOptions { max_answer_bytes: 5000, ..ConnectOptions::default() };
        let key = SharedKey::new("acc", KEY).unwrap();
        let store = AzureStore::with_options(&stub.endpoint(), key, options).unwrap();
        let row = store.get(&people(), "p", "r", None, Metadata::None).await;
        assert_eq!(row.is_ok(), is_read, "{row:?}");
    }
    // The largest entity, with every character escaped.
    let texts = (0..15).map(|at| format!(r#""T{at}":"{}""#, r"\u0001".repeat(32 * 1024)));
    let body =
        format!(r#"{{"PartitionKey":"p","RowKey":"r",{}}}"#, texts.collect::<Vec<_>>().join(","));
    let stub = Stub::start([Answer::new(200, body).with("ETag", "W/\"1\"")]).await;
    assert!(store(&stub).get(&people(), "p", "r", None, Metadata::None).await.is_ok());
}

async fn a_page_may_continue_at_the_start_of_a_partition() {
    let first = page(&["a"]).with("x-ms-continuation-NextPartitionKey", "q");
    let stub = Stub::start([first, page(&["b"])]).await;
    let rows = Tables::new(store(&stub)).table(people()).list("p", ..).collect().await.unwrap();
    assert_eq!(rows.len(), 2);
    let second = &stub.requests()[1];
    assert!(second.contains("NextPartitionKey=q ") && !second.contains("NextRowKey"));
}

async fn a_page_may_continue_at_text_that_is_not_ascii() {
    let first = page(&["a"]).with("x-ms-continuation-NextPartitionKey", "Zürich");
    let stub = Stub::start([first, page(&["b"])]).await;
    let rows = Tables::new(store(&stub)).table(people()).list("p", ..).collect().await.unwrap();
    assert_eq!(rows.len(), 2);
    assert!(stub.requests()[1].contains("NextPartitionKey=Z%C3%BCrich "));
}

async fn a_page_with_a_foreign_continuation_is_not_sent() {
    let (store, stub) = answered(page(&[])).await;
    let query = RowQuery { continuation: Some(Default::default()), ..all_rows() };
    assert_eq!(store.query(&query).await.unwrap_err().code, ErrorCode::INVALID_INPUT);
    assert_eq!(stub.requests().len(), 0);
}

async fn tables_are_listed_over_pages() {
    let names = |name: &str| Answer::new(200, format!(r#"{{"value":[{{"TableName":"{name}"}}]}}"#));
    let first = names("Bbb").with("x-ms-continuation-NextTableName", "1!aaa");
    let stub = Stub::start([first, names("aaa")]).await;
    let listed = store(&stub).list_tables().await.unwrap();
    assert_eq!(listed, [TableName::new("aaa").unwrap(), TableName::new("Bbb").unwrap()]);
    assert!(stub.requests()[1].starts_with("GET /Tables?NextTableName=1%21aaa "));
}

async fn the_time_of_the_service_is_that_of_its_latest_answer() {
    let dated = |second: u8, id: Option<&str>| {
        let answer = page(&[]).with("Date", format!("Sun, 01 Mar 2026 12:00:{second:02} GMT"));
        match id {
            Some(id) => answer.with("x-ms-request-id", id),
            None => answer,
        }
    };
    let stub = Stub::start([dated(7, Some("1")), dated(9, None), dated(8, Some("2"))]).await;
    let store = store(&stub);
    let copy = store.clone();
    assert_eq!(store.service_time(), None, "nothing has answered yet");
    // The second answer may be of something between, which has another clock.
    for second in [7, 7, 8] {
        store.query(&all_rows()).await.unwrap();
        let time = format!("2026-03-01T12:00:{second:02}Z").parse().unwrap();
        assert_eq!((store.service_time(), copy.service_time()), (Some(time), Some(time)));
    }
}

async fn codes_are_read_from_the_body() {
    let (store, _stub) = answered(Answer::error(409, "EntityAlreadyExists", "It exists.")).await;
    let operation = insert("p", "r", "");
    let error = store.write(&people(), "p", operation).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::ENTITY_ALREADY_EXISTS, 409));
    assert_eq!(error.message, "It exists.");
    assert_eq!(error.request_id.as_deref(), Some("1f"));
    let (store, _stub) = answered(Answer::error(404, "TableNotFound", "No table.")).await;
    let got = store.get(&people(), "p", "r", None, Metadata::None).await;
    assert_eq!(got.unwrap_err().code, ErrorCode::TABLE_NOT_FOUND);
    let (store, _stub) = answered(Answer::error(404, "ResourceNotFound", "No row.")).await;
    assert_eq!(store.get(&people(), "p", "r", None, Metadata::None).await.unwrap(), None);
}

async fn an_unauthorized_call_names_what_to_check() {
    let forbidden = || Answer::error(403, "AuthorizationFailure", "Not authorized.");
    let stub = Stub::start([forbidden(), forbidden(), Answer::new(403, "<html>No</html>")]).await;
    let rejected = |credential: Credential| {
        let tables = Tables::azure(&stub.endpoint(), credential).unwrap();
        async move { tables.table(people()).get("p", "r").await.unwrap_err() }
    };
    let error = rejected(SharedKey::new("acc", KEY).unwrap().into()).await;
    assert!(matches!(error, Error::Unauthorized(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("Not authorized; check the name `acc` and the key"), "{text}");
    assert!(!format!("{error:?}").contains(KEY));
    let signature = "sv=1&tn=People&sp=r&se=2026-11-21T12%3A00%3A00Z&spk=Ann&sig=SeCrEt";
    let error = rejected(Credential::sas(signature).unwrap()).await;
    let text = format!("{error} {error:?}");
    assert!(text.contains("(tn=People, sp=r, se=2026-11-21T12:00:00Z)"), "{text}");
    assert!(!text.contains("SeCrEt") && !text.contains("Ann"), "{text}");
    // Something between, which does not know about credentials.
    let error = rejected(Credential::sas(signature).unwrap()).await;
    assert!(matches!(error, Error::Rejected(_)) && !error.to_string().contains("check"), "{error}");
}

async fn a_table_being_deleted_is_an_error_of_its_own() {
    let (store, _stub) = answered(Answer::error(409, "TableBeingDeleted", "Wait.")).await;
    let error = Tables::new(store).create(&people()).await.unwrap_err();
    assert!(matches!(error, Error::TableBeingDeleted(_)), "{error}");
}

async fn a_busy_service_says_how_long_to_wait_and_is_asked_once() {
    for (answer, wait) in [
        (Answer::error(503, "ServerBusy", "Busy.").with("Retry-After", "7"), 7_000),
        (
            Answer::error(503, "ServerBusy", "Busy.")
                .with("Date", "Wed, 21 Oct 2026 23:59:58 GMT")
                .with("Retry-After", "Thu, 22 Oct 2026 00:00:01 GMT"),
            3_000,
        ),
        (Answer::error(429, "TooManyRequests", "m").with("x-ms-retry-after-ms", "40"), 40),
    ] {
        let (store, stub) = answered(answer).await;
        let error = Tables::new(store).list().await.unwrap_err();
        assert!(matches!(error, Error::Throttled(_)), "{error}");
        let cause = &error.rejection().unwrap().cause;
        assert_eq!(cause.retry_after, Some(Duration::from_millis(wait)));
        assert_eq!(stub.requests().len(), 1);
    }
}

/// Headers end with LF, the rest with CRLF; an ETag that is no timestamp.
const COSMOS: &str = "--batchresponse_1\r\nContent-Type: multipart/mixed; \
    boundary=changesetresponse_2\n\n--changesetresponse_2\nContent-Type: application/http\n\
    Content-Transfer-Encoding: binary\n\nHTTP/1.1 201 Created\r\nETag: W/\"a\"\r\n\r\n\
    {\"odata.etag\":\"W/x\"}\n--changesetresponse_2\nContent-Type: application/http\n\
    Content-Transfer-Encoding: binary\n\nHTTP/1.1 204 No Content\r\nETag: W/\"b\"\r\n\r\n\r\n\
    --changesetresponse_2--\n--batchresponse_1--";

async fn batches_of_cosmos_are_read() {
    let (store, stub) = answered(Answer::new(202, COSMOS)).await;
    assert_eq!(two_inserts(&store).await.unwrap(), 2);
    let request = &stub.requests()[0];
    assert!(request.starts_with("POST /$batch HTTP/1.1\r\n"));
    assert_eq!(request.matches("Prefer: return-no-content\r\n").count(), 2);
    assert_eq!(request.matches(&format!("POST {}/People HTTP/1.1", stub.endpoint())).count(), 2);
}

/// Cosmos DB does not derive its ETags from the timestamp.
async fn the_etag_a_row_states_is_its_version() {
    let row = r#"{"odata.etag":"W/\"opaque\"","PartitionKey":"p","RowKey":"r","Timestamp":"2011-11-06T09:10:00Z"}"#;
    let (store, _stub) = answered(Answer::new(200, format!(r#"{{"value":[{row}]}}"#))).await;
    let rows = Tables::new(store).table(people()).list("p", ..).collect().await.unwrap();
    assert_eq!(rows[0].etag, Some(ETag::new("W/\"opaque\"")));
}

async fn a_failed_batch_may_leave_out_the_index() {
    let failed = |message: &str| {
        let body = format!(
            r#"{{"odata.error":{{"code":"EntityAlreadyExists","message":{{"value":"{message}"}}}}}}"#
        );
        let head = "--b\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 409 Conflict";
        Answer::new(202, format!("{head}\r\n\r\n{body}\r\n--c--\r\n--b--"))
    };
    for (message, index) in [("1:It exists.", Some(1)), ("It exists.", None)] {
        let (store, _stub) = answered(failed(message)).await;
        let error = two_inserts(&store).await.unwrap_err();
        assert_eq!((error.code, error.status), (ErrorCode::ENTITY_ALREADY_EXISTS, 409));
        assert_eq!((error.operation, &*error.message), (index, "It exists."));
    }
}

async fn an_answer_that_cannot_be_read_is_an_error() {
    let one = "--c\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n--c--";
    for body in ["", one, "<html></html>"] {
        let (store, _stub) = answered(Answer::new(202, body)).await;
        let error = two_inserts(&store).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.status), ("UnreadableAnswer", 0), "{body}");
    }
    let (store, _stub) = answered(Answer::new(502, "<html>Bad gateway</html>")).await;
    assert_eq!(two_inserts(&store).await.unwrap_err().status, 502);
    // A login page, with which some networks answer every request.
    let person = DynamicEntity::new("p", "r").with("Name", "Ann");
    for call in 0..6 {
        let (store, _stub) = answered(Answer::new(200, "<html>Welcome</html>")).await;
        let tables = Tables::new(store);
        let rows = tables.table(people());
        let outcome = match call {
            0 => rows.list("p", ..).collect().await.map(drop),
            1 => rows.get("p", "r").await.map(drop),
            2 => rows.insert(&person).await.map(drop),
            3 => rows.delete(&person).await,
            4 => tables.create(&people()).await,
            _ => tables.delete(&people()).await,
        };
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{call}: {error}");
        assert!(error.to_string().contains("at this endpoint?"), "{call}: {error}");
    }
}

async fn a_lost_connection_leaves_the_outcome_open() {
    let (store, stub) = answered(Answer::Close).await;
    let error = store.write(&people(), "p", insert("p", "r", "")).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.status), ("NoAnswer", 0));
    assert_eq!(stub.requests().len(), 1);
}

async fn a_slow_answer_times_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let request_timeout = Duration::from_millis(100);
    let options = ConnectOptions { request_timeout, ..ConnectOptions::default() };
    let key = SharedKey::new("acc", KEY).unwrap();
    let store = AzureStore::with_options(&endpoint, key, options).unwrap();
    let error = store.list_tables().await.unwrap_err();
    assert_eq!((error.code.as_str(), error.status), ("NoAnswer", 0));
}

async fn an_unreachable_service_has_seen_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let store = AzureStore::new(&endpoint, SharedKey::new("acc", KEY).unwrap()).unwrap();
    let error = store.list_tables().await.unwrap_err();
    assert_eq!((error.code.as_str(), error.status), ("ConnectionFailed", 0));
}

async fn requests_share_connections() {
    let stub = Stub::start(vec![page(&["a"]); 20]).await;
    let store = store(&stub);
    for _ in 0..20 {
        store.query(&all_rows()).await.unwrap();
    }
    assert_eq!(stub.requests().len(), 20);
    // A second one may be opened while the first is on its way back to the pool.
    assert!(stub.connections() <= 2, "{}", stub.connections());
}

async fn each_request_is_signed_and_dated() {
    let (store, stub) = answered(page(&[])).await;
    store.query(&all_rows()).await.unwrap();
    let request = &stub.requests()[0];
    for header in [
        "authorization: SharedKeyLite acc:",
        "x-ms-date: ",
        "x-ms-version: 2020-12-06\r\n",
        "dataserviceversion: 3.0\r\n",
        "x-ms-client-request-id: ",
        "user-agent: ",
    ] {
        assert!(request.contains(header), "{header}");
    }
    assert!(!request.contains(KEY));
}

async fn each_request_has_an_id_of_its_own() {
    let stub = Stub::start([page(&[]), page(&[])]).await;
    let store = store(&stub);
    store.query(&all_rows()).await.unwrap();
    store.query(&all_rows()).await.unwrap();
    let requests = stub.requests();
    let [first, second] = [&requests[0], &requests[1]].map(|request| {
        let ids: Vec<_> = request.split("x-ms-client-request-id: ").skip(1).collect();
        assert_eq!(ids.len(), 1);
        ids[0].lines().next().unwrap().parse::<uuid::Uuid>().unwrap()
    });
    assert_ne!(first, second);
}

/// It would carry the authorization to another host.
async fn a_redirect_is_an_error_and_not_followed() {
    let elsewhere = Stub::start([page(&[])]).await;
    let moved = Answer::new(307, "").with("Location", elsewhere.endpoint());
    let (store, stub) = answered(moved).await;
    assert_eq!(store.query(&all_rows()).await.unwrap_err().status, 307);
    assert_eq!((stub.requests().len(), elsewhere.connections()), (1, 0));
}

async fn every_request_goes_to_the_endpoint() {
    for (path, sent) in [
        ("", ""),
        ("/", ""),
        ("/acc", "/acc"),
        ("/acc/", "/acc"),
        ("//acc", "//acc"),
        ("/a%2Fc%20c", "/a%2Fc%20c"),
    ] {
        let stub = Stub::start([page(&[])]).await;
        let endpoint = format!("{}{path}", stub.endpoint());
        let store = AzureStore::new(&endpoint, SharedKey::new("acc", KEY).unwrap()).unwrap();
        store.query(&RowQuery { top: Some(1), ..all_rows() }).await.unwrap();
        let request = &stub.requests()[0];
        assert!(request.starts_with(&format!("GET {sent}/People()?$top=1 HTTP/1.1")), "{request}");
    }
}

async fn typed_reads_ask_for_no_metadata() {
    let stub = Stub::start([page(&[]), page(&[])]).await;
    store(&stub).query(&all_rows()).await.unwrap();
    Tables::new(store(&stub)).table(people()).list("p", ..).collect().await.unwrap();
    let requests = stub.requests();
    assert!(requests[0].contains("accept: application/json;odata=nometadata\r\n"));
    assert!(requests[1].contains("accept: application/json;odata=minimalmetadata\r\n"));
}

async fn what_is_over_a_limit_is_not_sent() {
    let (store, stub) = answered(page(&[])).await;
    let delete = |row_key: String| Operation { row_key, action: Action::Delete(IfMatch::Any) };
    let insert =
        |row_key: String, body: &str| Operation { row_key, action: Action::Insert(json(body)) };
    let large = format!(r#"{{"A":"{}"}}"#, "x".repeat(50_000));
    for operations in [
        (0..101).map(|row| delete(row.to_string())).collect(),
        vec![delete("a".into()), delete("a".into())],
        vec![delete("a/b".into())],
        (0..85).map(|row| insert(row.to_string(), &large)).collect(),
        Vec::new(),
    ] {
        let transaction = Batch { partition_key: "p".into(), operations };
        store.commit(&people(), transaction).await.unwrap_err();
    }
    let keys = KeyRange { partition: Span::Exact("p".into()), row: Span::All };
    let query = RowQuery { top: Some(1001), ..RowQuery::new(people(), keys) };
    store.query(&query).await.unwrap_err();
    assert_eq!(stub.requests().len(), 0);
}

/// Azurite stores each of these.
async fn what_no_row_can_hold_is_not_sent() {
    let (store, stub) = answered(page(&[])).await;
    let table = Tables::new(store).table(people());
    let row = || DynamicEntity::new("p", "r");
    let many = (0..253).fold(row(), |row, n| row.with(format!("P{n}"), n));
    let large = (0..20).fold(row(), |row, n| row.with(format!("P{n}"), "x".repeat(30_000)));
    let mut rows = vec![many, large, row().with("A", "x".repeat(32 * 1024 + 1))];
    rows.push(row().with("A", vec![0; 64 * 1024 + 1]));
    for name in ["a-b", "a b", "", "1a", &"x".repeat(256), "RowKey", "Timestamp"] {
        rows.push(row().with(name, 1));
    }
    rows.push(DynamicEntity::new("p\t", "r"));
    rows.push(DynamicEntity::new("p", "x".repeat(513)));
    for row in rows {
        table.insert(&row).await.unwrap_err();
    }
    let compare = |n: i32| Filter::compare("A", Comparison::NotEqual, n);
    let filter = (1..15).fold(compare(0), |filter, n| filter.and(compare(n)));
    // The partition is compared too.
    let error = table.list("p", ..).filter(filter).collect().await.unwrap_err();
    assert!(matches!(error, Error::FilterTooLong(16)), "{error}");
    for name in ["ab", "1abc", "a_b", "tables", &"x".repeat(64)] {
        assert!(TableName::new(name).is_err(), "{name}");
    }
    assert_eq!(stub.requests().len(), 0);
}

/// Azurite leaves it out.
async fn a_selected_property_may_come_as_null() {
    let row = r#"{"PartitionKey":"p","RowKey":"r","A":null,"B":1}"#;
    let (store, _stub) = answered(Answer::new(200, format!(r#"{{"value":[{row}]}}"#))).await;
    let rows = Tables::new(store).table(people()).list("p", ..).collect().await.unwrap();
    assert_eq!(rows, [DynamicEntity { etag: None, ..DynamicEntity::new("p", "r").with("B", 1) }]);
}

/// The text of an error and all its causes.
pub fn everything(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(" {cause} {cause:?}"));
        source = cause.source();
    }
    text
}

/// An HTTP client whose errors show the URL, as those of reqwest do.
#[derive(Debug)]
pub struct Talkative;

#[async_trait::async_trait]
impl HttpClient for Talkative {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let kind = azure_core::error::ErrorKind::Connection;
        Err(azure_core::Error::new(kind, format!("cannot reach {}", request.url())))
    }
}

async fn a_signature_shows_up_nowhere() {
    let sas = Credential::sas("?sv=2020-12-06&sig=SeCrEt%3D").unwrap();
    let stub = Stub::start([page(&[]), Answer::Close]).await;
    let store = AzureStore::new(&stub.endpoint(), sas.clone()).unwrap();
    store.query(&all_rows()).await.unwrap();
    assert!(stub.requests()[0].starts_with("GET /People()?sv=2020-12-06&sig=SeCrEt%3D "));
    let error = store.query(&all_rows()).await.unwrap_err();
    let text = format!("{store:?} {sas:?} {}", everything(&error));
    assert!(!text.contains("SeCrEt"), "{text}");

    let mut options = ConnectOptions::default();
    options.client.transport = Some(Transport::new(Arc::new(Talkative)));
    let store = AzureStore::with_options("https://acc.table.core.windows.net", sas, options);
    let error = store.unwrap().query(&all_rows()).await.unwrap_err();
    assert_eq!(error.code.as_str(), "ConnectionFailed");
    assert!(!everything(&error).contains("SeCrEt"), "{}", everything(&error));

    let key = SharedKey::new("acc", KEY).unwrap();
    let store = AzureStore::new(&stub.endpoint(), key.clone()).unwrap();
    let text = format!("{key:?} {store:?} {:?}", Credential::from(key.clone()));
    assert!(!text.contains(KEY), "{text}");
}

/// A credential that counts its calls.
#[derive(Debug, Default)]
pub struct Tokens(Mutex<Vec<String>>);

#[async_trait::async_trait]
impl TokenCredential for Tokens {
    async fn get_token(
        &self,
        scopes: &[&str],
        _: Option<TokenRequestOptions<'_>>,
    ) -> azure_core::Result<AccessToken> {
        self.0.lock().unwrap().push(scopes.join(" "));
        let expires = time::OffsetDateTime::now_utc() + time::Duration::hours(1);
        Ok(AccessToken::new("ToKeN", expires))
    }
}

async fn tokens_are_not_sent_over_http() {
    let tokens = Arc::new(Tokens::default());
    let error = AzureStore::new("http://127.0.0.1:1", Arc::clone(&tokens)).unwrap_err();
    assert!(matches!(error, ConnectError::TokenOverHttp));
    assert!(tokens.0.lock().unwrap().is_empty());
}

/// An HTTP client that answers every request with an empty page.
#[derive(Debug, Default)]
struct Pages(Mutex<Vec<String>>);

#[async_trait::async_trait]
impl HttpClient for Pages {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let authorization = request.headers().get_str(&headers::AUTHORIZATION)?;
        self.0.lock().unwrap().push(authorization.to_owned());
        let body = r#"{"value":[]}"#;
        Ok(AsyncRawResponse::from_bytes(StatusCode::Ok, headers::Headers::new(), body))
    }
}

async fn tokens_are_asked_for_once_and_sent() {
    for (endpoint, scope) in [
        ("https://acc.table.core.windows.net", "https://storage.azure.com/.default"),
        ("https://acc.table.cosmos.azure.com", "https://cosmos.azure.com/.default"),
    ] {
        let (tokens, pages) = (Arc::new(Tokens::default()), Arc::new(Pages::default()));
        let mut options = ConnectOptions::default();
        options.client.transport = Some(Transport::new(Arc::<Pages>::clone(&pages)));
        let credential: Arc<dyn TokenCredential> = Arc::<Tokens>::clone(&tokens);
        let store = AzureStore::with_options(endpoint, credential, options).unwrap();
        store.query(&all_rows()).await.unwrap();
        store.query(&all_rows()).await.unwrap();
        assert_eq!(*pages.0.lock().unwrap(), ["Bearer ToKeN", "Bearer ToKeN"]);
        assert_eq!(*tokens.0.lock().unwrap(), [scope]);
        assert!(!format!("{store:?}").contains("ToKeN"));
    }
}
