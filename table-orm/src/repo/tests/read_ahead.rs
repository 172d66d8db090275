//! Streams read one page ahead, and no more than is wanted.

use crate::embedded::EmbeddedStore;
use crate::layer::ConcurrencyLimit;
use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use crate::{Error, TableEntity, Tables};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::{Instant, sleep};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{owner}", row = "{id:05}", crate = crate)]
struct Note {
    #[table(key_only)]
    owner: String,
    #[table(key_only)]
    id: u32,
}

const SECOND: Duration = Duration::from_secs(1);

/// A store whose pages take a second.
#[derive(Debug, Clone)]
struct Slow {
    store: EmbeddedStore,
    asked: Arc<AtomicU64>,
    answered: Arc<AtomicU64>,
    /// The page that fails, from 1.
    failing: u64,
}

impl Middleware for Slow {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if request.operation != "query" {
            return next.await;
        }
        let number = self.asked.fetch_add(1, Relaxed) + 1;
        sleep(SECOND).await;
        self.answered.fetch_add(1, Relaxed);
        if number == self.failing { Err(StoreError::no_answer("lost")) } else { next.await }
    }
}

impl Slow {
    /// A store with three pages: 2,500 rows.
    async fn new() -> Self {
        let store = EmbeddedStore::in_memory().unwrap();
        let notes = Tables::new(store.clone()).repo::<Note>();
        notes.create_table().await.unwrap();
        let rows = (0..2500).map(|id| Note { owner: "ann".to_owned(), id });
        notes.insert_many(rows).await.all().unwrap();
        Self { store, asked: Arc::default(), answered: Arc::default(), failing: 0 }
    }

    fn asked(&self) -> u64 {
        self.asked.load(Relaxed)
    }

    fn answered(&self) -> u64 {
        self.answered.load(Relaxed)
    }

    fn stream(&self, take: Option<usize>) -> crate::repo::RowStream<Note> {
        let list = Tables::new(self.clone()).repo::<Note>().list(Note::partition("ann"));
        take.map_or(list.clone(), |rows| list.take(rows)).stream()
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_is_read_while_the_rows_of_the_one_before_are_used() {
    let store = Slow::new().await;
    let (start, mut rows, mut ids) = (Instant::now(), store.stream(None), Vec::new());
    while let Some(note) = rows.next().await.unwrap() {
        ids.push(note.id);
        if note.id % 1000 == 0 {
            sleep(SECOND).await;
        }
    }
    assert_eq!(ids, (0..2500).collect::<Vec<_>>());
    // The first page, then three times a page in use beside the next one.
    assert_eq!((start.elapsed(), store.asked()), (4 * SECOND, 3));
}

#[tokio::test(start_paused = true)]
async fn only_one_page_is_read_ahead() {
    let store = Slow::new().await;
    let mut rows = store.stream(None);
    rows.next().await.unwrap();
    sleep(100 * SECOND).await;
    assert_eq!((store.asked(), store.answered()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn no_page_is_read_that_the_limit_does_not_need() {
    for (take, expected) in [(1, 1), (999, 1), (1000, 1), (1500, 2), (2000, 2), (2400, 3)] {
        let store = Slow::new().await;
        let mut rows = store.stream(Some(take));
        for _ in 0..take {
            assert!(rows.next().await.unwrap().is_some());
        }
        sleep(10 * SECOND).await;
        assert_eq!(rows.next().await.unwrap(), None);
        assert_eq!(store.asked(), expected, "{take}");
    }
    let store = Slow::new().await;
    let notes = Tables::new(store.clone()).repo::<Note>();
    assert!(notes.list(Note::partition("ann")).first().await.unwrap().is_some());
    sleep(10 * SECOND).await;
    assert_eq!(store.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_ends_the_request_for_the_page_ahead() {
    let store = Slow::new().await;
    let mut rows = store.stream(None);
    rows.next().await.unwrap();
    sleep(SECOND / 2).await;
    assert_eq!(store.asked(), 2);
    drop(rows);
    sleep(10 * SECOND).await;
    assert_eq!(store.answered(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_error_of_the_page_ahead_comes_after_the_rows_before_it() {
    let mut store = Slow::new().await;
    store.failing = 2;
    let mut rows = store.stream(None);
    for id in 0..1000 {
        assert_eq!(rows.next().await.unwrap().unwrap().id, id);
        sleep(SECOND / 100).await;
    }
    assert!(matches!(rows.next().await, Err(Error::Unavailable(_))));
    assert_eq!(rows.next().await.unwrap(), None);
    assert_eq!(store.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_page_ahead_does_not_hold_up_what_its_caller_awaits() {
    let store = Slow::new().await;
    let builder = Tables::builder(store.clone()).rate(None).retry(None);
    let notes = builder.limit(ConcurrencyLimit::in_flight(1)).build().unwrap().repo::<Note>();
    let mut rows = notes.list(Note::partition("ann")).stream();
    let mut copied = 0;
    while let Some(note) = rows.next().await.unwrap() {
        if note.id % 500 == 0 {
            notes.insert(&Note { owner: "bob".to_owned(), ..note }).await.unwrap();
            copied += 1;
        }
    }
    assert_eq!((copied, store.asked()), (5, 3));
}
