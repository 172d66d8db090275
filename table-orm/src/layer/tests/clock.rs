//! Lost answers without a write id, while the clocks of the client and the service differ by any
//! amount: what is judged, is judged by the service's clock.

use super::bench::{below, for_seeds, insert, merge, operation, replace};
use super::table;
use crate::embedded::EmbeddedStore;
use crate::layer::{Faults, Layer, Retry, RetryStrategy};
use crate::model::{DateTime, ETag, Metadata, TIMESTAMP, TableName};
use crate::store::{
    Action, Batch, ErrorCode, IfMatch, Middleware, Operation, Store, StoreError, StoredRow,
};
use crate::sync::Random;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MINUTE: i64 = 60 * 10_000_000;

/// A service whose clock is ahead of this machine's by any amount, and jumps.
#[derive(Debug, Clone)]
struct Service {
    store: Arc<EmbeddedStore>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// From when on by this machine's clock the service's was ahead by how much, in ticks.
    ahead: Vec<(i64, i64)>,
    has_answered: bool,
    /// The writes that took effect.
    done: Vec<String>,
}

impl Service {
    async fn new(ahead: i64) -> Self {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        store.create_table(&table()).await.unwrap();
        let service = Self { store, state: Arc::default() };
        service.state.lock().unwrap().ahead.push((0, ahead));
        service
    }

    /// Lets time pass for the service.
    fn advance(&self, ticks: i64) {
        let mut state = self.state.lock().unwrap();
        let (_, ahead) = *state.ahead.last().unwrap();
        state.ahead.push((DateTime::now().ticks(), ahead + ticks));
    }

    /// The service's time of a moment of this machine.
    fn time(&self, moment: DateTime) -> DateTime {
        let state = self.state.lock().unwrap();
        let since = state.ahead.iter().rfind(|(from, _)| *from <= moment.ticks());
        DateTime::from_ticks(moment.ticks() + since.unwrap().1).unwrap()
    }

    /// Whether that write took effect.
    fn did(&self, write: &str) -> bool {
        self.state.lock().unwrap().done.iter().any(|done| done == write)
    }
}

/// What tells a write from all others: its value, or the version that it deletes.
fn name(operation: &Operation) -> String {
    match (operation.action.body(), operation.action.if_match()) {
        (Some(body), _) => String::from_utf8(body.to_vec()).unwrap(),
        (None, Some(IfMatch::ETag(etag))) => format!("delete {etag}"),
        (None, _) => panic!("an unguarded delete has no name"),
    }
}

impl Middleware for Service {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    fn service_time(&self) -> Option<DateTime> {
        let has_answered = self.state.lock().unwrap().has_answered;
        has_answered.then(|| self.time(DateTime::now()))
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        let row = self.store.get(table, partition_key, row_key, select, metadata).await?;
        self.state.lock().unwrap().has_answered = true;
        Ok(row.map(|row| {
            let etag = row.etag().unwrap();
            let mut body: Value = serde_json::from_slice(&row.body).unwrap();
            let written: DateTime = body[TIMESTAMP].as_str().unwrap().parse().unwrap();
            body[TIMESTAMP] = json!(self.time(written).to_string());
            StoredRow { body: body.to_string().into(), header: Some(etag) }
        }))
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let name = name(&operation);
        let written = self.store.write(table, partition_key, operation).await;
        let mut state = self.state.lock().unwrap();
        state.has_answered = true;
        state.done.extend(written.is_ok().then_some(name));
        written
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let names: Vec<_> = transaction.operations.iter().map(name).collect();
        let written = self.store.commit(table, transaction).await;
        let mut state = self.state.lock().unwrap();
        state.has_answered = true;
        state.done.extend(written.is_ok().then_some(names).into_iter().flatten());
        written
    }
}

/// A client of the service whose answers are lost at times.
fn client(service: &Service, seed: u64) -> Arc<dyn Store> {
    let faults = Faults::seeded(seed).lost_replies(0.3).errors_after(0.1).lost_requests(0.1);
    let flaky = faults.around(Arc::new(service.clone())).unwrap();
    let wait = Duration::from_millis(300);
    Retry::new(RetryStrategy::Fixed { retries: 3, wait }).seed(seed).around(flaky).unwrap()
}

/// One row's write, guarded by the version that was read, if any.
fn any_write(
    random: &Random,
    row_key: &str,
    value: i64,
    version: Option<ETag>,
    may_delete: bool,
) -> Operation {
    match (version, random.below(4)) {
        (None, _) | (_, 0) => insert(row_key, value),
        (Some(etag), 1) if may_delete => operation(row_key, Action::Delete(IfMatch::ETag(etag))),
        (Some(etag), 2) => merge(row_key, value, etag),
        (Some(etag), _) => replace(row_key, value, etag),
    }
}

async fn version(store: &dyn Store, row_key: &str) -> Option<ETag> {
    let row = store.get(&table(), "p", row_key, None, Metadata::None).await;
    row.ok().flatten().map(|row| row.etag().unwrap())
}

async fn writer(service: Service, seed: u64) -> [u32; 3] {
    let (store, random) = (client(&service, seed), Random::seeded(seed));
    let mut outcomes = [0; 3];
    for step in 0..20 {
        let value = i64::try_from(seed % (1 << 30)).unwrap() * 100 + step * 2;
        let mut operations = Vec::new();
        // One row or two. Both writers use the same ones.
        for row in 0..=below(&random, 2) {
            let row_key = row.to_string();
            let stale = random.below(4) == 0;
            let version =
                if stale { Some(ETag::new("old")) } else { version(&store, &row_key).await };
            // Each writer deletes a row of its own, so that its deletions are not taken for those of others'.
            let may_delete = row == i64::from(seed % 2 == 1);
            operations.push(any_write(&random, &row_key, value + row, version, may_delete));
        }
        if random.below(2) == 0 {
            service.advance(below(&random, 40) * MINUTE);
        }
        let names: Vec<_> = operations.iter().map(name).collect();
        let answer = if operations.len() == 1 {
            store.write(&table(), "p", operations.remove(0)).await.map(drop)
        } else {
            let batch = Batch { partition_key: "p".into(), operations };
            store.commit(&table(), batch).await.map(drop)
        };
        let took_effect = names.iter().all(|name| service.did(name));
        match answer {
            Ok(()) => {
                assert!(took_effect, "success without an effect: {names:?}");
                outcomes[0] += 1;
            }
            Err(error) if error.code == ErrorCode::AMBIGUOUS_WRITE => outcomes[1] += 1,
            Err(error) => {
                let did = names.iter().any(|name| service.did(name));
                assert!(!did, "{error}, but it took effect: {names:?}");
                outcomes[2] += 1;
            }
        }
    }
    outcomes
}

#[test]
fn a_lost_answer_is_never_misjudged_whatever_the_clocks_say() {
    let total = Mutex::new([0; 3]);
    for_seeds(0..2000, |seed| {
        let total = &total;
        async move {
            let random = Random::seeded(seed);
            let service = Service::new((below(&random, 361) - 180) * MINUTE).await;
            let first = tokio::spawn(writer(service.clone(), seed << 1));
            let second = tokio::spawn(writer(service, seed << 1 | 1));
            for outcomes in [first.await.unwrap(), second.await.unwrap()] {
                for (sum, more) in total.lock().unwrap().iter_mut().zip(outcomes) {
                    *sum += more;
                }
            }
        }
    });
    let [done, ambiguous, rejected] = total.into_inner().unwrap();
    assert!(done > 0 && rejected > 0 && ambiguous > 0, "{done} {ambiguous} {rejected}");
}

/// Sends a write whose first answer is lost. Sent again, it is rejected.
async fn lose_an_answer(service: &Service, operations: Vec<Operation>) -> Result<(), ErrorCode> {
    let names: Vec<_> = operations.iter().map(name).collect();
    let flaky = Faults::seeded(1).lost_replies(1.0).store(Arc::new(service.clone())).unwrap();
    let retry = Retry::new(RetryStrategy::Fixed { retries: 2, wait: Duration::from_secs(1) });
    let store = retry.around(Arc::new(flaky.clone())).unwrap();
    let until_done = async {
        while !names.iter().all(|name| service.did(name)) {
            tokio::task::yield_now().await;
        }
        flaky.disable();
    };
    let batch = Batch { partition_key: "p".into(), operations };
    let table = table();
    let (answer, ()) = tokio::join!(store.commit(&table, batch), until_done);
    answer.map(drop).map_err(|error| error.code)
}

#[tokio::test(start_paused = true)]
async fn a_write_is_not_taken_for_anothers_by_a_client_whose_clock_is_fast() {
    // The client's clock is 2 hours fast.
    let service = Service::new(-120 * MINUTE).await;
    let read = || version(&service, "r");
    read().await;
    let ambiguous = Err(ErrorCode::AMBIGUOUS_WRITE);
    assert_eq!(lose_an_answer(&service, vec![insert("r", 1)]).await, ambiguous);
    let update = replace("r", 2, read().await.unwrap());
    assert_eq!(lose_an_answer(&service, vec![update]).await, ambiguous);
    let update = merge("r", 3, read().await.unwrap());
    assert_eq!(lose_an_answer(&service, vec![update]).await, ambiguous);
    let update = merge("r", 4, read().await.unwrap());
    assert_eq!(lose_an_answer(&service, vec![insert("s", 5), update]).await, ambiguous);
    let delete = operation("r", Action::Delete(IfMatch::ETag(read().await.unwrap())));
    assert_eq!(lose_an_answer(&service, vec![delete]).await, ambiguous);
}
