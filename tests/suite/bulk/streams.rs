//! Bulk writes that read a stream: the promises of those that read an iterator, and no poll too many.

use super::{Value, value};
use fastrand::Rng;
use futures_util::{StreamExt as _, stream};
use proptest::prelude::*;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use support::{dose, on_virtual_time};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults};
use table_orm::repo::OPEN_OPERATIONS;
use table_orm::store::{ErrorCode, Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use table_orm::{DynamicEntity, Error, Repo, ScanPermit, TableName, Tables};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

const HOUR: Duration = Duration::from_secs(3600);

/// A store that answers as often as it was allowed to.
#[derive(Debug)]
struct Gated {
    store: EmbeddedStore,
    answers: Arc<Semaphore>,
}

impl Middleware for Gated {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.answers.acquire().await.unwrap().forget();
        next.await
    }
}

async fn gated() -> (Repo<Value>, Arc<Semaphore>) {
    let answers = Arc::new(Semaphore::new(1));
    let store = EmbeddedStore::in_memory().unwrap();
    let repo = Tables::new(Gated { store, answers: Arc::clone(&answers) }).repo();
    repo.create_table().await.unwrap();
    (repo, answers)
}

async fn stored(repo: &Repo<Value>) -> Vec<Value> {
    repo.scan(ScanPermit::because("test")).collect().await.unwrap()
}

/// A stream that waits now and then, and panics when it is polled after its end.
struct Halting<I> {
    input: Option<I>,
    random: Rng,
}

fn halting<I: Iterator>(input: I, seed: u64) -> Halting<I> {
    Halting { input: Some(input), random: Rng::with_seed(seed) }
}

impl<I: Iterator + Unpin> futures_util::Stream for Halting<I> {
    type Item = I::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<I::Item>> {
        if self.random.u8(..) < 60 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.input.as_mut().expect("polled after its end").next();
        if next.is_none() {
            self.input = None;
        }
        Poll::Ready(next)
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_read_no_further_than_the_write_has_room() {
    for (spaces, room) in [(1, 300), (200, OPEN_OPERATIONS as u32 + 300)] {
        let (repo, answers) = gated().await;
        let read = AtomicU32::new(0);
        let values = stream::iter(0..10_000).map(|key| {
            read.fetch_add(1, Relaxed);
            Value { space: (key % spaces) as u8, key, version: 1 }
        });
        let mut write = repo.insert_many(values).parallelism(1).into_future();
        assert!(timeout(HOUR, &mut write).await.is_err());
        let ahead = read.load(Relaxed);
        assert!(ahead <= room, "{ahead} read with nothing written, {room} of them in memory");
        answers.add_permits(1);
        assert!(timeout(HOUR, &mut write).await.is_err());
        assert!((1..=100).contains(&(read.load(Relaxed) - ahead)), "{}", read.load(Relaxed));
        answers.add_permits(10_000);
        assert_eq!(write.await.all().unwrap().entities, 10_000);
        assert_eq!(read.load(Relaxed), 10_000);
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_stream_waits_answers_are_taken_and_full_transactions_sent() {
    let repo = Tables::in_memory().unwrap().repo::<Value>();
    repo.create_table().await.unwrap();
    let values = stream::iter(0..250).then(|key| async move {
        if key == 220 {
            sleep(HOUR).await;
        }
        value(key, 1)
    });
    let mut answered = Vec::new();
    {
        let write =
            repo.insert_many(values).on_progress(|progress| answered.push(progress.entities));
        let mut write = write.into_future();
        assert!(timeout(HOUR / 2, &mut write).await.is_err());
        assert_eq!(stored(&repo).await.len(), 200);
        assert_eq!(write.await.all().unwrap().entities, 250);
    }
    assert_eq!(answered, [100, 200, 250]);
}

#[tokio::test]
async fn a_stream_that_was_not_read_to_its_end_is_the_remainder() {
    let repo = Tables::in_memory().unwrap().repo::<Value>();
    repo.create_table().await.unwrap();
    repo.insert(&value(250, 0)).await.unwrap();
    let values = halting((0..1000).map(|key| value(key, 1)), 7);
    let report = repo.insert_many(values).parallelism(2).await;
    assert_eq!(report.failures.len(), 1);
    assert!(matches!(report.failures[0].error, Error::AlreadyExists(_)));
    assert!(report.remainder.unsent() >= 99);
    let written = report.written.entities;
    // The same call takes it, and another one the rest of that.
    let rest = repo.upsert_many(report.remainder).await;
    assert_eq!((rest.failures.len(), written + rest.written.entities), (0, 999));
    assert_eq!(rest.remainder.count().await, 0);
    assert_eq!(stored(&repo).await.len(), 1000);
}

#[tokio::test]
async fn entities_and_rows_are_inserted_replaced_and_deleted_from_streams() {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Value>();
    repo.create_table().await.unwrap();
    let values = |version| stream::iter((0..150).map(move |key| value(key, version)));
    repo.insert_many(values(1)).await.all().unwrap();
    repo.upsert_many(values(2)).await.all().unwrap();
    assert!(stored(&repo).await.iter().all(|value| value.version == 2));
    let loaded = repo.load(Value::partition(1)).await.unwrap();
    repo.delete_many(stream::iter(loaded)).await.all().unwrap();
    assert!(stored(&repo).await.is_empty());

    let table = tables.table(TableName::new("values").unwrap());
    let rows = || stream::iter((0..150).map(|row| DynamicEntity::new("1", format!("{row:05}"))));
    table.insert_many(rows()).await.all().unwrap();
    table.insert_or_replace_many(rows()).await.all().unwrap();
    assert_eq!(table.delete_many(rows()).await.all().unwrap().rows, 150);
}

#[tokio::test]
async fn a_stream_whose_write_is_dropped_is_dropped_with_it() {
    let (repo, _answers) = gated().await;
    let alive = Arc::new(());
    let held = Arc::clone(&alive);
    let values = stream::iter(0..1000).map(move |key| {
        let _held = &held;
        value(key, 1)
    });
    let mut write = repo.insert_many(values).into_future();
    assert!(futures_util::poll!(&mut write).is_pending());
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(write);
    assert_eq!(Arc::strong_count(&alive), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(48, 2000)))]

    /// Whatever the stream's waits and the store's faults: each entity is written, failed, or in the remainder,
    /// once; and the outcome is that of an iterator.
    #[test]
    fn a_stream_is_written_as_an_iterator_is(
        keys in prop::collection::vec((0..5_u8, 0..400_u32), 0..500),
        taken in prop::collection::vec((0..5_u8, 0..400_u32), 0..4),
        fails_at in prop::option::of(1..8_u64),
        parallelism in 1..5_usize,
        continues in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut outcomes = Vec::new();
        for from_stream in [false, true] {
            outcomes.push(on_virtual_time(async {
                let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
                let mut faults = Faults::seeded(seed);
                if let Some(nth) = fails_at {
                    faults = faults.on("commit", nth, Fault::Rejected(ErrorCode::SERVER_BUSY));
                }
                let below = Tables::new(Arc::clone(&store)).repo::<Value>();
                below.create_table().await.unwrap();
                let at = |&(space, key): &(u8, u32)| Value { space, key, version: 1 };
                below.upsert_many(taken.iter().map(at)).await.all().unwrap();
                let before = stored(&below).await.len();
                let repo = Tables::new(faults.store(store).unwrap()).repo::<Value>();
                let values: Vec<_> = keys.iter().map(at).collect();
                let (written, failed, left) = if from_stream {
                    let write = repo.insert_many(halting(values.into_iter(), seed)).parallelism(parallelism);
                    let write = if continues { write.continue_on_failure() } else { write };
                    let report = write.await;
                    let failed: Vec<_> = report.failures.into_iter().filter_map(|failure| failure.entity).collect();
                    (report.written, failed, report.remainder.collect::<Vec<_>>().await)
                } else {
                    let write = repo.insert_many(values).parallelism(parallelism);
                    let write = if continues { write.continue_on_failure() } else { write };
                    let report = write.await;
                    let failed: Vec<_> = report.failures.into_iter().filter_map(|failure| failure.entity).collect();
                    (report.written, failed, report.remainder.collect::<Vec<_>>())
                };
                let now = stored(&below).await.len();
                assert_eq!((now - before) as u64, written.entities);
                assert_eq!(written.entities as usize + failed.len() + left.len(), keys.len());
                (written.entities, failed.len(), left.len(), now)
            }));
        }
        // With several in flight, the waits decide which answer is first.
        if parallelism == 1 {
            prop_assert_eq!(outcomes[0], outcomes[1]);
        }
    }
}
