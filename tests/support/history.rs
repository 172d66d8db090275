//! Concurrent histories of single rows that are read and compared-and-set, through any store.

use crate::draw;
use crate::linear::{Did, Operation, is_linearizable};
use bytes::Bytes;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use table_orm::TableName;
use table_orm::model::Metadata;
use table_orm::store::{Action, ErrorCode, IfMatch, Store, StoreError, StoredRow};

const ROWS: u64 = 2;
const CLIENTS: i64 = 4;

/// The operations on each row, in the order of their returns, and a clock of events.
#[derive(Debug, Default)]
pub struct Recorder {
    clock: AtomicU64,
    histories: Mutex<BTreeMap<u64, Vec<Operation>>>,
}

impl Recorder {
    /// The moment of a call.
    pub fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Records what a call did, as its caller knew it when it returned.
    pub fn record(&self, row: u64, called: u64, did: Did) {
        let returned = if did.is_unknown() { u64::MAX } else { self.now() };
        let operation = Operation { called, returned, did };
        self.histories.lock().unwrap().entry(row).or_default().push(operation);
    }

    /// Checks that there is an order that explains all answers. Returns how many operations
    /// that were.
    pub fn check(&self, seed: u64) -> usize {
        let histories = self.histories.lock().unwrap();
        for history in histories.values() {
            assert!(is_linearizable(history), "seed {seed}: {history:#?}");
        }
        histories.values().map(Vec::len).sum()
    }
}

/// Where clients work: the rows of one partition, a separate one for each seed.
#[derive(Debug, Clone)]
struct Place {
    store: Arc<dyn Store>,
    table: TableName,
    seed: u64,
}

impl Place {
    fn row_key(&self, row: u64) -> String {
        format!("{}-{row}", self.seed)
    }

    async fn get(&self, row: u64) -> Result<Option<StoredRow>, StoreError> {
        self.store.get(&self.table, "p", &self.row_key(row), None, Metadata::None).await
    }

    async fn set(&self, row: u64, over: Option<StoredRow>, to: i64) -> Result<(), StoreError> {
        let body = Bytes::from(format!("{{\"V\":{to}}}"));
        let action = match over {
            None => Action::Insert(body),
            Some(row) => Action::Replace(body, IfMatch::ETag(row.etag().unwrap())),
        };
        let operation = table_orm::store::Operation { row_key: self.row_key(row), action };
        self.store.write(&self.table, "p", operation).await.map(drop)
    }
}

fn value(row: &StoredRow) -> i64 {
    serde_json::from_slice::<Value>(&row.body).unwrap()["V"].as_i64().unwrap()
}

async fn client(place: Place, name: i64, steps: i64, recorder: Arc<Recorder>) {
    for step in 0..steps {
        let draw = |what, range| draw((place.seed, name, step, what), range);
        let row = draw("row", 0..ROWS);
        let called = recorder.now();
        let Ok(stored) = place.get(row).await else { continue };
        let from = stored.as_ref().map(value);
        recorder.record(row, called, Did::Read(from));
        if draw("reads only", 0..3) == 0 {
            continue;
        }
        let to = name * 1000 + step;
        let called = recorder.now();
        let done = match place.set(row, stored, to).await {
            Ok(()) => Some(true),
            Err(error) if error.code == ErrorCode::AMBIGUOUS_WRITE => None,
            // A throttled call says nothing about the row.
            Err(error) if error.code.status() == Some(503) => continue,
            Err(_) => Some(false),
        };
        recorder.record(row, called, Did::Set { from, to: Some(to), done });
    }
}

/// Lets clients read and set rows, `steps` times each, and checks that there is an order that
/// explains all their answers. A write that a store does not call ambiguous, and not done, must
/// not have taken effect, as after `Retry`. Returns how many operations that were.
pub async fn check(store: Arc<dyn Store>, table: TableName, seed: u64, steps: i64) -> usize {
    let (recorder, place) = (Arc::new(Recorder::default()), Place { store, table, seed });
    let clients = (0..CLIENTS)
        .map(|name| tokio::spawn(client(place.clone(), name, steps, Arc::clone(&recorder))));
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    recorder.check(seed)
}
