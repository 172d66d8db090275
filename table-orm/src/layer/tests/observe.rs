//! The reports of calls.

use super::bench::{insert, paused};
use super::script::{Script, lost, status};
use super::table;
use crate::embedded::EmbeddedStore;
use crate::layer::{Layer, Observe, Retry};
use crate::store::{ErrorCode, Store};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One test at a time: tracing caches for all threads which spans have a subscriber.
pub(super) fn exclusive() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn observed(store: Arc<dyn Store>) -> Arc<dyn Store> {
    Observe.around(Retry::interactive().around(store).unwrap()).unwrap()
}

/// Writes after two retries; then writes again and is rejected.
async fn write_twice() {
    let script = Script::new([status(503), lost()]);
    observed(script).write(&table(), "secret", insert("r", 1)).await.unwrap();
    let rejected = super::script::failed(ErrorCode::ENTITY_ALREADY_EXISTS);
    let script = Script::new([rejected]);
    observed(script).write(&table(), "secret", insert("r", 1)).await.unwrap_err();
}

/// Reads a page that returns one of 50 rows looked at.
async fn sparse_page() {
    use crate::query::{Comparison, Filter, KeyRange, RowQuery};
    let embedded = EmbeddedStore::in_memory().unwrap();
    embedded.create_table(&table()).await.unwrap();
    for row in 0..50 {
        embedded.write(&table(), "p", insert(&format!("{row:02}"), row)).await.unwrap();
    }
    let mut query = RowQuery::new(table(), KeyRange::ALL);
    query.filter = Some(Filter::compare("V", Comparison::Equal, 7));
    observed(Arc::new(embedded)).query(&query).await.unwrap();
}

#[cfg(feature = "tracing")]
mod spans {
    use super::{exclusive, paused, sparse_page, write_twice};
    use std::future::Future;
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines_of(call: impl Future<Output = ()>) -> Vec<String> {
        let _exclusive = exclusive();
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || paused(call));
        let lines = lines.0.lock().unwrap().clone();
        String::from_utf8(lines).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_plain_subscriber_shows_each_call_once_with_what_it_did() {
        let lines = lines_of(write_twice());
        assert_eq!(lines.len(), 2, "{lines:#?}");
        for field in [
            "INFO table_orm.call{",
            "the call ended db.client.operation.duration=",
            "otel.kind=\"client\"",
            "db.collection.name=\"People\"",
            "db.operation.name=\"insert\"",
            "table_orm.requests=3",
            "table_orm.retries=2",
            "table_orm.throttles=1",
            "table_orm.bytes.sent=7",
        ] {
            assert!(lines[0].contains(field), "{field}: {}", lines[0]);
        }
        assert!(lines[1].contains("db.response.status_code=\"409\""), "{}", lines[1]);
        assert!(lines[1].contains("error.type=\"EntityAlreadyExists\""), "{}", lines[1]);
        assert!(!lines.concat().contains("secret"), "keys are not reported");
    }

    #[test]
    fn a_sparse_page_gets_a_warning_with_both_numbers() {
        let lines = lines_of(sparse_page());
        let [warning] = &*lines else { panic!("{lines:#?}") };
        assert!(warning.contains("WARN"), "{warning}");
        let event = warning.rsplit('}').next().unwrap();
        assert!(event.contains("returned_rows=1") && event.contains("rows.scanned=50"), "{event}");
        assert!(warning.contains("table_orm.query.class=table scan"), "{warning}");
    }
}

#[cfg(feature = "metrics")]
mod counters {
    use super::{exclusive, paused, sparse_page, write_twice};
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};
    use std::collections::BTreeMap;

    #[test]
    fn counters_add_up() {
        let _exclusive = exclusive();
        let recorder = DebuggingRecorder::new();
        metrics::with_local_recorder(&recorder, || {
            paused(async {
                write_twice().await;
                sparse_page().await;
            });
        });
        let counters: BTreeMap<(String, String), u64> = recorder
            .snapshotter()
            .snapshot()
            .into_vec()
            .into_iter()
            .filter_map(|(key, _, _, value)| {
                let operation = key.key().labels().find(|label| label.key() == "operation")?;
                let name = (operation.value().to_owned(), key.key().name().to_owned());
                match value {
                    DebugValue::Counter(count) => Some((name, count)),
                    _ => None,
                }
            })
            .collect();
        let counter = |operation: &str, name: &str| {
            counters[&(operation.to_owned(), format!("table_orm.{name}"))]
        };
        assert_eq!(counter("insert", "calls"), 2);
        assert_eq!(counter("insert", "errors"), 1);
        assert_eq!(counter("insert", "requests"), 4);
        assert_eq!(counter("insert", "retries"), 2);
        assert_eq!(counter("insert", "throttles"), 1);
        assert_eq!(counter("insert", "bytes.sent"), 14);
        assert_eq!(counter("query", "rows.returned"), 1);
        assert_eq!(counter("query", "rows.scanned"), 50);
    }
}
