//! Spans and the histogram, name by name, as OpenTelemetry's conventions for database clients state them.

use super::bench::paused;
use super::observe::exclusive;
use crate::azure::{AzureStore, ConnectOptions, SharedKey};
use crate::embedded::EmbeddedStore;
use crate::layer::as_pattern;
use crate::layer::observe::DURATION_BUCKETS;
use crate::query::ScanPermit;
use crate::store::Store;
use crate::{DynamicEntity, TableEntity, Tables};
use async_trait::async_trait;
use azure_core::error::{Error as CoreError, ErrorKind};
use azure_core::http::headers::Headers;
use azure_core::http::{AsyncRawResponse, HttpClient, Request, Transport};
use metrics::Unit;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, SubscriberExt as _};

#[derive(Debug, TableEntity)]
#[table(name = "registrations", partition = "{race}", crate = crate)]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_age, key = "AGE:{age:03}__{bib:05}")]
struct Registration {
    race: String,
    bib: u32,
    age: u8,
    city: String,
}

type Fields = BTreeMap<String, String>;

/// A span: its fields when it began, and those that it got later.
#[derive(Debug, Default, Clone)]
struct Seen {
    begun: Fields,
    ended: Fields,
}

impl Seen {
    #[track_caller]
    fn check(&self, begun: &[(&str, &str)], ended: &[(&str, &str)]) {
        let fields = |fields: &[(&str, &str)]| -> Fields {
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let conventional = |fields: &Fields| -> Fields {
            let of_others = fields.iter().filter(|(name, _)| !name.starts_with("table_orm."));
            of_others.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        assert_eq!(conventional(&self.begun), fields(begun));
        assert_eq!(conventional(&self.ended), fields(ended));
    }
}

struct Collect<'f>(&'f mut Fields);

impl Visit for Collect<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    /// Of what is no text, the type matters too.
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), format!("{value}_u64"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

#[derive(Clone, Default)]
struct Subscriber(Arc<Mutex<Vec<(Id, Seen)>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Subscriber {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        if attributes.metadata().target() != "table_orm" {
            return;
        }
        let mut seen = Seen::default();
        attributes.record(&mut Collect(&mut seen.begun));
        self.0.lock().unwrap().push((id.clone(), seen));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut spans = self.0.lock().unwrap();
        let last = spans.iter_mut().rev().find(|(other, _)| other == id);
        if let Some((_, seen)) = last {
            values.record(&mut Collect(&mut seen.ended));
        }
    }
}

/// The spans of what these calls send.
fn spans_of<T>(calls: impl Future<Output = T>) -> (Vec<Seen>, T) {
    let _exclusive = exclusive();
    let seen = Subscriber::default();
    let subscriber = tracing_subscriber::registry().with(seen.clone());
    let answer = tracing::subscriber::with_default(subscriber, || paused(calls));
    let spans = seen.0.lock().unwrap().iter().map(|(_, seen)| seen.clone()).collect();
    (spans, answer)
}

/// A server that gives these answers, and none where there is `None`.
#[derive(Debug)]
struct Server(Mutex<VecDeque<Option<(u16, &'static str)>>>);

#[async_trait]
impl HttpClient for Server {
    async fn execute_request(&self, _: &Request) -> azure_core::Result<AsyncRawResponse> {
        let answer = self.0.lock().unwrap().pop_front().unwrap();
        let Some((status, body)) = answer else {
            return Err(CoreError::with_message(ErrorKind::Io, "the connection failed"));
        };
        let headers = [("x-ms-request-id", "7f-01"), ("etag", "W/\"1\"")];
        let headers: HashMap<_, _> =
            headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Ok(AsyncRawResponse::from_bytes(status.into(), Headers::from(headers), body))
    }
}

fn azure<const N: usize>(
    endpoint: &str,
    answers: [Option<(u16, &'static str)>; N],
) -> crate::Result<Tables> {
    let server = Server(Mutex::new(VecDeque::from(answers)));
    let mut options = ConnectOptions::default();
    options.client.transport = Some(Transport::new(Arc::new(server)));
    let key = SharedKey::new("runs", "a2V5").unwrap();
    let store = AzureStore::with_options(endpoint, key, options).unwrap();
    Tables::builder(store).limit(None).rate(None).retry(None).build()
}

const EXISTS: &str = r#"{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en","value":"Ann exists"}}}"#;

fn ann() -> Registration {
    Registration { race: "Boston".to_owned(), bib: 7, age: 55, city: "Berlin".to_owned() }
}

const CLOUD: [(&str, &str); 5] = [
    ("otel.kind", "client"),
    ("db.system.name", "azure.table"),
    ("db.namespace", "runs"),
    ("server.address", "runs.table.core.windows.net"),
    ("db.collection.name", "registrations"),
];

#[test]
fn a_query_is_named_by_its_access_pattern_and_shows_no_value() {
    let page = r#"{"value":[]}"#;
    let (spans, ()) = spans_of(async {
        let endpoint = "https://runs.table.core.windows.net";
        let repo = azure(endpoint, [Some((200, page)); 4]).unwrap().repo::<Registration>();
        let boston = Registration::partition("Boston");
        let fifties = repo.list(boston.by_age().age_in(50..60));
        fifties.filter(|row| row.city.eq("Berlin")).collect().await.unwrap();
        repo.list(&boston).collect().await.unwrap();
        let permit = ScanPermit::because("a test");
        repo.scan(permit).collect().await.unwrap();
    });
    let mut begun = CLOUD.to_vec();
    begun.extend([
        ("otel.name", "list registrations.by_age"),
        ("db.operation.name", "query"),
        ("db.query.summary", "list registrations.by_age"),
        ("db.query.text", "PartitionKey eq ? and RowKey ge ? and RowKey lt ? and City eq ?"),
    ]);
    let ended = [("db.response.returned_rows", "0_u64"), ("azure.service.request.id", "7f-01")];
    spans[0].check(&begun, &ended);
    assert_eq!(spans[1].begun["otel.name"], "list registrations");
    assert_eq!(spans[2].begun["otel.name"], "scan registrations");
    let shown = format!("{spans:?}");
    assert!(!shown.contains("Boston") && !shown.contains("Berlin"), "{shown}");
}

#[test]
fn a_span_names_the_pattern_of_the_call_that_sends_its_request() {
    let (spans, ()) = spans_of(async {
        let endpoint = "https://runs.table.core.windows.net";
        let page = r#"{"value":[]}"#;
        let repo = azure(endpoint, [Some((200, page)); 3]).unwrap().repo::<Registration>();
        let list = || repo.list(Registration::partition("Boston")).collect();
        as_pattern("the list of a race", list()).await.unwrap();
        list().await.unwrap();
        let scan = repo.scan(ScanPermit::because("a test"));
        as_pattern("every runner", scan.collect()).await.unwrap();
    });
    let patterns = spans.iter().map(|span| span.begun.get("table_orm.pattern").map(String::as_str));
    let expected = [Some("the list of a race"), None, Some("every runner")];
    assert_eq!(patterns.collect::<Vec<_>>(), expected);
}

#[test]
fn a_point_query_is_named_by_its_row_and_finding_nothing_is_no_error() {
    let absent =
        r#"{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en","value":""}}}"#;
    let (spans, ()) = spans_of(async {
        let endpoint = "https://runs.table.core.windows.net";
        let repo = azure(endpoint, [Some((404, absent))]).unwrap().repo::<Registration>();
        let key = Registration::partition("Boston").by_age().age(55).bib(7);
        assert!(repo.get(key).await.unwrap().is_none());
    });
    let mut begun = CLOUD.to_vec();
    begun.extend([
        ("otel.name", "get registrations.by_age"),
        ("db.operation.name", "get"),
        ("db.query.summary", "get registrations.by_age"),
        ("db.query.text", "PartitionKey eq ? and RowKey eq ?"),
    ]);
    let ended = [("db.response.returned_rows", "0_u64"), ("azure.service.request.id", "7f-01")];
    spans[0].check(&begun, &ended);
}

#[test]
fn a_refused_batch_has_its_size_status_and_code() {
    let (spans, ()) = spans_of(async {
        let endpoint = "https://runs.table.core.windows.net";
        let repo = azure(endpoint, [Some((409, EXISTS))]).unwrap().repo::<Registration>();
        repo.insert(&ann()).await.unwrap_err();
    });
    let mut begun = CLOUD.to_vec();
    begun.extend([
        ("otel.name", "BATCH insert registrations"),
        ("db.operation.name", "BATCH insert"),
        ("db.operation.batch.size", "2_u64"),
    ]);
    let ended = [
        ("otel.status_code", "ERROR"),
        ("db.response.status_code", "409"),
        ("error.type", "EntityAlreadyExists"),
        ("azure.service.request.id", "7f-01"),
    ];
    spans[0].check(&begun, &ended);
    let shown = format!("{spans:?}");
    assert!(!shown.contains("Ann") && !shown.contains("Boston"), "{shown}");
}

#[test]
fn a_call_without_an_answer_has_no_status_and_another_port_is_named() {
    let (spans, ()) = spans_of(async {
        let tables = azure("http://127.0.0.1:10002/devstoreaccount1", [None]).unwrap();
        let people = tables.table("people".parse().unwrap());
        people.insert(&DynamicEntity::new("Boston", "7")).await.unwrap_err();
    });
    let begun = [
        ("otel.name", "insert people"),
        ("otel.kind", "client"),
        ("db.system.name", "azure.table"),
        ("db.namespace", "devstoreaccount1"),
        ("server.address", "127.0.0.1"),
        ("server.port", "10002_u64"),
        ("db.collection.name", "people"),
        ("db.operation.name", "insert"),
    ];
    spans[0].check(&begun, &[("otel.status_code", "ERROR"), ("error.type", "NoAnswer")]);
}

#[test]
fn cosmos_db_and_an_embedded_store_have_names_of_their_own() {
    let (spans, ()) = spans_of(async {
        let cosmos = azure("https://runs.table.cosmos.azure.com", [None]).unwrap();
        cosmos.list().await.unwrap_err();
        let embedded = EmbeddedStore::in_memory().unwrap();
        embedded.create_table(&"registrations".parse().unwrap()).await.unwrap();
        let repo = Tables::builder(embedded).build().unwrap().repo::<Registration>();
        repo.insert(&ann()).await.unwrap();
        repo.insert(&ann()).await.unwrap_err();
    });
    let cosmos = [
        ("otel.name", "list_tables"),
        ("otel.kind", "client"),
        ("db.system.name", "azure.cosmosdb"),
        ("db.namespace", "runs"),
        ("server.address", "runs.table.cosmos.azure.com"),
        ("db.operation.name", "list_tables"),
    ];
    spans[0].check(&cosmos, &[("otel.status_code", "ERROR"), ("error.type", "NoAnswer")]);
    let embedded = [
        ("otel.name", "BATCH insert registrations"),
        ("otel.kind", "internal"),
        ("db.system.name", "table_orm.embedded"),
        ("db.collection.name", "registrations"),
        ("db.operation.name", "BATCH insert"),
        ("db.operation.batch.size", "2_u64"),
    ];
    spans[1].check(&embedded, &[]);
    let refused = [
        ("otel.status_code", "ERROR"),
        ("db.response.status_code", "409"),
        ("error.type", "EntityAlreadyExists"),
    ];
    spans[2].check(&embedded, &refused);
}

#[test]
fn the_histogram_of_durations_has_the_labels_of_the_span_and_is_in_seconds() {
    let _exclusive = exclusive();
    let recorder = DebuggingRecorder::new();
    metrics::with_local_recorder(&recorder, || {
        paused(async {
            let endpoint = "http://runs.table.core.windows.net:8080";
            let answers = [Some((200, r#"{"value":[]}"#)), Some((409, EXISTS))];
            let repo = azure(endpoint, answers).unwrap().repo::<Registration>();
            let boston = Registration::partition("Boston");
            let list = repo.list(boston.by_age().age(55)).collect();
            as_pattern("who is 55", list).await.unwrap();
            repo.insert(&ann()).await.unwrap_err();
        });
    });
    let mut recorded = Vec::new();
    for (key, unit, _, value) in recorder.snapshotter().snapshot().into_vec() {
        if key.key().name() != "db.client.operation.duration" {
            continue;
        }
        let DebugValue::Histogram(times) = value else { panic!("{value:?}") };
        assert_eq!((times.len(), unit), (1, Some(Unit::Seconds)));
        let labels = key.key().labels();
        let labels = labels.map(|label| (label.key().to_owned(), label.value().to_owned()));
        recorded.push(labels.collect::<Fields>());
    }
    recorded.sort_by_key(|labels| labels.contains_key("error.type"));
    let mut common = CLOUD[1..].to_vec();
    common.push(("server.port", "8080"));
    let expected = |more: &[(&str, &str)]| -> Fields {
        let all = common.iter().chain(more);
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let list = "list registrations.by_age";
    let succeeded = expected(&[
        ("db.operation.name", "query"),
        ("db.query.summary", list),
        ("table_orm.pattern", "who is 55"),
    ]);
    let refused = expected(&[
        ("db.operation.name", "BATCH insert"),
        ("db.response.status_code", "409"),
        ("error.type", "EntityAlreadyExists"),
    ]);
    assert_eq!(recorded, [succeeded, refused]);
    assert_eq!(DURATION_BUCKETS, [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0]);
}
