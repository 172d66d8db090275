//! Lost answers, where the clocks of the client and the service differ and no write id is used.

use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::dose;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{FaultStore, Faults, Retry, RetryStrategy};
use table_orm::model::{DateTime, Metadata};
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest, StoredRow};
use table_orm::{EntityKeys as _, Error, Repo, TableEntity, TableName, Tables};

/// The name of the property that a store sets.
const TIMESTAMP: &str = "Timestamp";
const MINUTE: i64 = 60 * 10_000_000;

/// An update of it is one write.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "counts", partition = "{space}", row = "N:{id:05}")]
struct Count {
    space: String,
    id: u32,
    n: u32,
}

/// An update of it is a transaction.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "counts", partition = "{space}", unique(id))]
#[row(by_id, key = "I:{id:05}")]
#[row(by_n, key = "V:{n:05}__{id:05}")]
struct Indexed {
    space: String,
    id: u32,
    n: u32,
}

trait Counter: TableEntity + Clone + 'static {
    fn new(id: u32) -> Self;
    fn n(&mut self) -> &mut u32;
}

macro_rules! counters {
    ($($name:ident)+) => {$(
        impl Counter for $name {
            fn new(id: u32) -> Self {
                Self { space: "a".into(), id, n: 0 }
            }

            fn n(&mut self) -> &mut u32 {
                &mut self.n
            }
        }
    )+};
}

counters! { Count Indexed }

/// A service whose clock is ahead of this machine's by that many ticks, or behind it.
#[derive(Debug)]
struct Service {
    store: EmbeddedStore,
    ahead: i64,
    has_answered: AtomicBool,
}

impl Service {
    fn time(&self, moment: DateTime) -> DateTime {
        DateTime::from_ticks(moment.ticks() + self.ahead).unwrap()
    }
}

impl Middleware for Service {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let answer = next.await;
        self.has_answered.store(true, Ordering::Relaxed);
        answer
    }

    fn service_time(&self) -> Option<DateTime> {
        self.has_answered.load(Ordering::Relaxed).then(|| self.time(DateTime::now()))
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
        self.has_answered.store(true, Ordering::Relaxed);
        Ok(row.map(|row| {
            let etag = row.etag().unwrap();
            let mut body: Value = serde_json::from_slice(&row.body).unwrap();
            if let Some(written) = body[TIMESTAMP].as_str() {
                let written = self.time(written.parse().unwrap());
                body[TIMESTAMP] = json!(written.to_string());
            }
            StoredRow { body: body.to_string().into(), header: Some(etag) }
        }))
    }
}

/// How many calls succeeded, and how many may have.
#[derive(Debug, Default, Clone, Copy)]
struct Ended {
    done: u32,
    ambiguous: u32,
}

impl Ended {
    fn add<T>(&mut self, ended: Result<T, Error>) {
        match ended {
            Ok(_) => self.done += 1,
            Err(Error::Ambiguous(_)) => self.ambiguous += 1,
            Err(_) => {}
        }
    }
}

/// Adds one to the entity 0, and inserts others that nobody else does.
async fn writer<E: Counter>(repo: Repo<E>, first: u32) -> Ended {
    let mut updates = Ended::default();
    for id in first..first + 6 {
        let inserted = repo.insert(&E::new(id)).await;
        assert!(!matches!(inserted, Err(Error::AlreadyExists(_))), "{inserted:?}");
        assert!(!matches!(inserted, Err(Error::UniqueViolation { .. })), "{inserted:?}");
        updates.add(repo.update(E::new(0).key(), |entity| *entity.n() += 1).await);
    }
    updates
}

async fn check<E: Counter>(ahead: i64, seed: u64) -> Ended {
    let store = EmbeddedStore::in_memory().unwrap();
    let service = Arc::new(Service { store, ahead, has_answered: AtomicBool::new(false) });
    let plain = Tables::new(Arc::clone(&service)).repo::<E>();
    plain.create_table().await.unwrap();
    plain.insert(&E::new(0)).await.unwrap();
    let client = |seed| {
        let faults = Faults::seeded(seed).lost_replies(0.3).errors_after(0.1).lost_requests(0.1);
        let flaky: FaultStore = faults.store(Arc::clone(&service) as Arc<dyn Store>).unwrap();
        let wait = Duration::from_millis(300);
        let retry = Retry::new(RetryStrategy::Fixed { retries: 3, wait }).seed(seed);
        Tables::new(flaky).layer(retry).unwrap().repo::<E>()
    };
    let first = writer(client(seed << 1), 100);
    let second = writer(client(seed << 1 | 1), 200);
    let (first, second) = tokio::join!(first, second);
    let ended =
        Ended { done: first.done + second.done, ambiguous: first.ambiguous + second.ambiguous };
    let n = *plain.get(E::new(0).key()).await.unwrap().unwrap().n();
    assert!((ended.done..=ended.done + ended.ambiguous).contains(&n), "{n} after {ended:?}");
    ended
}

#[tokio::test(start_paused = true)]
async fn no_clock_makes_a_client_take_its_own_write_for_anothers() {
    for minutes in [-180, -16, 0, 16, 180] {
        let mut total = Ended::default();
        for seed in 0..dose(20, 1000) {
            for ended in [
                check::<Count>(minutes * MINUTE, seed).await,
                check::<Indexed>(minutes * MINUTE, seed).await,
            ] {
                total.done += ended.done;
                total.ambiguous += ended.ambiguous;
            }
        }
        assert!(total.done > 0 && total.ambiguous > 0, "{minutes} minutes: {total:?}");
    }
}
