//! Loads of slow servers: they end, at whatever speed the server has.

use super::table;
use crate::embedded::EmbeddedStore;
use crate::layer::{ConcurrencyLimit, RateLimit, Retry, RetryStrategy};
use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use crate::tables::{Tables, TablesBuilder};
use crate::testing::{FakeService, KeySet, ServiceSettings};
use crate::{DynamicEntity, Within as _};
use futures_util::stream::{self, StreamExt as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, sleep};

/// A server that works on one request at a time, in order, the longer the more wait. It works on
/// requests that were given up, too.
#[derive(Debug)]
struct Serial {
    inner: Arc<dyn Store>,
    /// For one entity, while no other request waits.
    each: Duration,
    turn: Arc<Mutex<()>>,
    waiting: Arc<AtomicU64>,
}

impl Serial {
    fn new(each: Duration) -> Arc<Self> {
        let inner = Arc::new(EmbeddedStore::in_memory().unwrap());
        Arc::new(Self { inner, each, turn: Arc::default(), waiting: Arc::default() })
    }
}

impl Middleware for Serial {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let entities = u32::try_from(request.entities.max(1)).unwrap();
        let others = self.waiting.fetch_add(1, Relaxed);
        let time = (self.each * entities).mul_f64(1.0 + others as f64 / 20.0);
        let (turn, waiting) = (Arc::clone(&self.turn), Arc::clone(&self.waiting));
        let working = async move {
            let turn: OwnedMutexGuard<()> = turn.lock_owned().await;
            sleep(time).await;
            waiting.fetch_sub(1, Relaxed);
            drop(turn);
        };
        let answer = next.await;
        tokio::spawn(working).await.unwrap();
        answer
    }
}

fn rows(count: usize) -> impl Iterator<Item = DynamicEntity> + Send {
    (0..count).map(|row| DynamicEntity::new("race", format!("{row:06}")).with("V", row as i64))
}

/// Inserts rows one by one, 256 at once, and counts those that are not there as sent.
async fn load(
    store: Arc<dyn Store>,
    count: usize,
    build: fn(TablesBuilder) -> TablesBuilder,
) -> usize {
    store.create_table(&table()).await.unwrap();
    let tables = build(Tables::builder(store)).build().unwrap().table(table());
    let inserts = stream::iter(rows(count)).map(|row| {
        let table = tables.clone();
        async move {
            match table.insert(&row).await {
                Err(error) if error.is_stored_as_sent() => 0,
                inserted => usize::from(inserted.is_err()),
            }
        }
    });
    inserts.buffer_unordered(256).fold(0, async |sum, failed| sum + failed).await
}

const SLOW: Duration = Duration::from_millis(400);

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_one_request_at_a_time_is_loaded_at_its_own_speed() {
    let start = Instant::now();
    assert_eq!(load(Serial::new(SLOW), 1500, |tables| tables).await, 0);
    // 1500 of 400 ms each, and not twice as long.
    let seconds = start.elapsed().as_secs();
    assert!((600..1000).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_that_adapts_the_same_load_drives_the_server_to_silence() {
    let failed =
        load(Serial::new(SLOW), 1500, |tables| tables.limit(ConcurrencyLimit::default())).await;
    assert!(failed > 100, "{failed}");
}

#[tokio::test(start_paused = true)]
async fn bulk_inserts_of_full_transactions_end_too() {
    let store = Serial::new(Duration::from_millis(50));
    store.create_table(&table()).await.unwrap();
    let tables = Tables::builder(store).build().unwrap();
    let report = tables.table(table()).insert_or_replace_many(rows(10_000)).parallelism(64).await;
    assert_eq!(report.all().unwrap().entities, 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_slows_down_with_each_request_in_flight_gets_few_at_once() {
    let keys = KeySet::new((0..4000).map(|row| ("race".to_owned(), format!("{row:06}"))));
    let settings = ServiceSettings {
        latency: (Duration::from_millis(400), Duration::from_millis(500)),
        latency_in_flight: Duration::from_millis(450),
        page_rows: 10,
        ..ServiceSettings::default()
    };
    let service = FakeService::new(keys, settings);
    let attempts = Retry::new(RetryStrategy::None).attempt_timeout(Duration::from_secs(20));
    let tables = Tables::builder(service.clone()).rate(None).retry(attempts).build().unwrap();
    let tables = tables.table(table());
    let pages = stream::iter(0..400).map(|page| {
        let tables = tables.clone();
        async move {
            let from = format!("{:06}", page * 10);
            tables.list("race", from..=format!("{:06}", page * 10 + 9)).collect().await
        }
    });
    let read = pages.buffer_unordered(200).map(|page| page.unwrap().len());
    assert_eq!(read.fold(0, async |sum, rows| sum + rows).await, 4000);
    let busiest = service.figures().busiest;
    assert!((4..=20).contains(&busiest), "{busiest}");
}

#[tokio::test(start_paused = true)]
async fn a_fast_service_is_not_held_back() {
    let keys = KeySet::new((0..4000).map(|row| ("race".to_owned(), format!("{row:06}"))));
    let latency = (Duration::from_millis(10), Duration::from_millis(25));
    let service = FakeService::new(keys, ServiceSettings { latency, ..Default::default() });
    let tables = Tables::builder(service.clone()).rate(RateLimit::default()).build().unwrap();
    let tables = tables.table(table());
    let start = Instant::now();
    let gets = stream::iter(0..4000).map(|row| {
        let tables = tables.clone();
        async move { tables.get("race", &format!("{row:06}")).await.unwrap().unwrap() }
    });
    assert_eq!(gets.buffer_unordered(200).count().await, 4000);
    // 64 at once take 1.1 s; the partition's target allows 2,000 a second.
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 2.5, "{seconds}");
    assert_eq!(service.figures().busiest, 64);
}

/// An insert whose first answer comes late and whose second finds its own rows.
#[tokio::test(start_paused = true)]
async fn bulk_inserts_go_on_after_a_lost_answer_when_their_rows_are_there() {
    use crate::TableEntity;
    use crate::layer::{Fault, Faults};
    #[derive(Debug, TableEntity)]
    #[table(name = "People", partition = "{race}", row = "{bib:05}", crate = crate)]
    struct Runner {
        race: String,
        bib: u32,
        seconds: f64,
    }
    let runners =
        || (0..350).map(|bib| Runner { race: "b".into(), bib, seconds: 0.5 * f64::from(bib) });
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
    store.create_table(&table()).await.unwrap();
    let faults = Faults::seeded(1).on("commit", 2, Fault::LostReply);
    let flaky = faults.store(Arc::clone(&store)).unwrap();
    let repo = Tables::builder(flaky).build().unwrap().repo::<Runner>();
    let written = tokio::spawn(async move {
        let insert = async { repo.insert_many(runners()).await.all() };
        insert.within(Duration::from_secs(600)).await
    });
    let written = written.await.unwrap().unwrap();
    assert_eq!((written.entities, written.present), (250, 100));
    assert_eq!(
        Tables::new(store).repo::<Runner>().list(Runner::partition("b")).count().await.unwrap(),
        350
    );
}

/// A loop that writes what a stream of reads yields: while it writes, it does not poll the reads.
#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_for_permits_of_calls_that_wait_for_it() {
    let keys = KeySet::new((0..200).map(|row| ("race".to_owned(), format!("{row:06}"))));
    let latency = (Duration::from_millis(10), Duration::from_millis(25));
    for limit in [ConcurrencyLimit::default().adaptive(), ConcurrencyLimit::in_flight(2)] {
        let service =
            FakeService::new(keys.clone(), ServiceSettings { latency, ..Default::default() });
        let tables = Tables::builder(service).limit(limit).build().unwrap().table(table());
        let reads = stream::iter(0..200).map(|row| {
            let tables = tables.clone();
            async move { tables.get("race", &format!("{row:06}")).await.unwrap().unwrap() }
        });
        let mut reads = reads.buffer_unordered(8);
        let copy = async {
            while let Some(row) = reads.next().await {
                tables.get("race", &row.row_key).await.unwrap().unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(600), copy).await.expect("it ends");
    }
}
