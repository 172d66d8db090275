//! Calls that read an entity before they write it run one after another in one process.

use futures_util::poll;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use support::distant::Distant;
use support::recorder::{Record, recorded, recorded_around, recorded_in};
use table_orm::embedded::EmbeddedStore;
use table_orm::entity::{CanonicalKeyOf, CompleteKey};
use table_orm::model::Metadata;
use table_orm::plan::{Plan, Step};
use table_orm::repo::CONFLICT_RETRY_TIME;
use table_orm::store::{Middleware, Store, StoreError, StoredRow};
use table_orm::{Error, Repo, TableEntity, TableName, Tables};
use tokio::time::Instant;

const WRITERS: u32 = 32;

/// An entity whose writes read first.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "tallies", partition = "{space}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_owner, key = "OWN:{owner}__{id:05}")]
struct Tally {
    space: String,
    id: u32,
    owner: String,
    count: u32,
    note: Option<String>,
}

fn tally() -> Tally {
    Tally { space: "a".into(), id: 1, owner: "ann".into(), count: 0, note: None }
}

fn key() -> impl CompleteKey<Row = <Tally as TableEntity>::Canonical> + CanonicalKeyOf<Tally> {
    Tally::partition("a").by_id().id(1)
}

async fn stored(tables: &Tables) -> Repo<Tally> {
    let repo = tables.repo::<Tally>();
    repo.create_table().await.unwrap();
    repo.insert(&tally()).await.unwrap();
    repo
}

/// Runs the writers at once, each in a task. Returns how many of them succeed.
async fn at_once<F>(tables: &Tables, write: impl Fn(Repo<Tally>, u32) -> F) -> usize
where
    F: Future<Output = table_orm::Result<()>> + Send + 'static,
{
    let spawned = (0..WRITERS).map(|writer| tokio::spawn(write(tables.clone().repo(), writer)));
    let mut succeeded = 0;
    for task in spawned.collect::<Vec<_>>() {
        succeeded += usize::from(task.await.unwrap().is_ok());
    }
    succeeded
}

async fn assert_updates_do_not_conflict(tables: Tables, record: Record) {
    let repo = stored(&tables).await;
    record.take();
    let succeeded = at_once(&tables, |repo, _| async move {
        let mut ended = Ok(());
        for _ in 0..4 {
            ended = repo.update(key(), |tally| tally.count += 1).await.map(drop).and(ended);
        }
        ended
    })
    .await;
    let requests = record.take();
    let count = repo.get(key()).await.unwrap().unwrap().count;
    assert_eq!((requests.gets, requests.writes.len()), (128, 128));
    assert_eq!((succeeded, count), (32, 128));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn updates_of_one_entity_in_memory_send_one_read_and_one_write_each() {
    let (tables, record) = recorded();
    assert_updates_do_not_conflict(tables, record).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn updates_of_one_entity_in_a_file_send_one_read_and_one_write_each() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path().join("tallies.redb")).unwrap();
    let (tables, record) = recorded_in(store);
    assert_updates_do_not_conflict(tables, record).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_call_that_reads_first_waits_for_the_writer_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path().join("tallies.redb")).unwrap();
    let (tables, record) = recorded_in(store);
    stored(&tables).await;
    record.take();
    let succeeded = at_once(&tables, |repo, writer| async move {
        let tally = Tally { count: writer, owner: format!("w{writer}"), ..tally() };
        match writer % 5 {
            0 => {
                repo.merge(key(), TallyPatch::default().note(format!("n{writer}"))).await.map(drop)
            }
            1 => repo.upsert(&tally).await.map(drop),
            2 => repo.insert_or_merge(&tally).await.map(drop),
            3 => repo.force_replace(&tally).await.map(drop),
            _ => repo.upsert_many([tally]).await.all().map(drop),
        }
    })
    .await;
    let requests = record.take();
    assert_eq!((succeeded, requests.gets, requests.writes.len()), (32, 32, 32));
}

/// A store whose reads are slow.
#[derive(Debug)]
struct Slow(EmbeddedStore);

impl Middleware for Slow {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        tokio::task::yield_now().await;
        self.0.get(table, partition_key, row_key, select, metadata).await
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_unlocks_the_next() {
    let repo = stored(&Tables::new(Slow(EmbeddedStore::in_memory().unwrap()))).await;
    let add = || repo.update(key(), |tally| tally.count += 1).into_future();
    let mut first = add();
    assert!(poll!(&mut first).is_pending());
    let (mut waiting, mut next) = (add(), add());
    assert!(poll!(&mut waiting).is_pending() && poll!(&mut next).is_pending());
    drop((waiting, first));
    next.await.unwrap();
}

/// A store in which another process comes between each read and what follows it.
#[derive(Debug)]
struct Between {
    store: Arc<EmbeddedStore>,
    reads: Arc<AtomicU32>,
}

impl Middleware for Between {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        let read = self.store.get(table, partition_key, row_key, select, metadata).await;
        let other = Tables::new(Arc::clone(&self.store)).repo::<Tally>();
        other.update(key(), |tally| tally.count += 1).await.unwrap();
        self.reads.fetch_add(1, Ordering::Relaxed);
        read
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_that_reads_first_makes_as_many_attempts_as_asked() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    stored(&Tables::new(Arc::clone(&store))).await;
    let reads = Arc::new(AtomicU32::new(0));
    let between = Between { store, reads: Arc::clone(&reads) };
    let repo = Tables::new(between).on_virtual_time(1).repo::<Tally>();
    let conflict = |ended: table_orm::Result<()>, attempts| {
        assert!(matches!(ended, Err(Error::Conflict(_))), "{ended:?}");
        assert_eq!(reads.swap(0, Ordering::Relaxed), attempts);
    };
    let patch = || TallyPatch::default().note("x");
    let tally = tally();
    conflict(repo.merge(key(), patch()).attempts(3).await.map(drop), 3);
    conflict(repo.merge(key(), patch()).attempts(0).await.map(drop), 1);
    conflict(repo.update(key(), |tally| tally.count += 1).attempts(2).await.map(drop), 2);
    conflict(repo.upsert(&tally).attempts(4).await.map(drop), 4);
    conflict(repo.insert_or_merge(&tally).attempts(5).await.map(drop), 5);
    conflict(repo.force_replace(&tally).attempts(6).await.map(drop), 6);
    conflict(repo.force_delete(&tally).attempts(7).await, 7);
    let planned = |plan: Plan| match plan.steps.last() {
        Some(Step::CommitChanges { attempts, .. }) => *attempts,
        other => panic!("{other:?}"),
    };
    assert_eq!(planned(repo.upsert(&tally).attempts(20).plan().unwrap()), Some(20));
    assert_eq!(planned(repo.merge(key(), patch()).attempts(20).plan().unwrap()), Some(20));
}

#[tokio::test(start_paused = true)]
async fn every_call_that_reads_first_tries_for_as_long_as_asked() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    stored(&Tables::new(Arc::clone(&store))).await;
    let reads = Arc::new(AtomicU32::new(0));
    let between = Between { store, reads: Arc::clone(&reads) };
    let repo = Tables::new(between).on_virtual_time(1).repo::<Tally>();
    let mut began = Instant::now();
    let mut conflict = |ended: table_orm::Result<()>, time: Duration| {
        assert!(matches!(ended, Err(Error::Conflict(_))), "{ended:?}");
        let took = began.elapsed();
        assert!((time..time + Duration::from_millis(10)).contains(&took), "{took:?}");
        assert!(reads.swap(0, Ordering::Relaxed) > 8);
        began = Instant::now();
    };
    let patch = || TallyPatch::default().note("x");
    let tally = tally();
    let seconds = Duration::from_secs;
    conflict(repo.merge(key(), patch()).await.map(drop), CONFLICT_RETRY_TIME);
    conflict(repo.merge(key(), patch()).retry_for(seconds(1)).await.map(drop), seconds(1));
    let update = repo.update(key(), |tally| tally.count += 1).retry_for(seconds(2));
    conflict(update.await.map(drop), seconds(2));
    conflict(repo.upsert(&tally).retry_for(seconds(3)).await.map(drop), seconds(3));
    conflict(repo.insert_or_merge(&tally).retry_for(seconds(4)).await.map(drop), seconds(4));
    conflict(repo.force_replace(&tally).retry_for(seconds(5)).await.map(drop), seconds(5));
    conflict(repo.force_delete(&tally).retry_for(seconds(6)).await, seconds(6));
    let once = repo.upsert(&tally).retry_for(Duration::ZERO).await;
    assert!(matches!(once, Err(Error::Conflict(_))), "{once:?}");
    assert_eq!(reads.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_as_long_as_the_calls_before_it_go_on() {
    // Each read and write takes so long that 10 calls take longer than the wait for a stuck one.
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    let slow = Distant::new(memory, |_, _| Duration::from_millis(450));
    let (tables, record) = recorded_around(slow);
    let repo = stored(&tables.on_virtual_time(1)).await;
    record.take();
    let updates = (0..10).map(|_| repo.update(key(), |tally| tally.count += 1).into_future());
    for ended in futures_util::future::join_all(updates).await {
        ended.unwrap();
    }
    let requests = record.take();
    assert_eq!((requests.gets, requests.writes.len()), (10, 10));
}

#[tokio::test]
async fn a_call_that_was_set_aside_holds_up_another_of_its_task_for_a_time_only() {
    let repo = stored(&Tables::new(Slow(EmbeddedStore::in_memory().unwrap()))).await;
    let mut aside = Box::pin(repo.update(key(), |tally| tally.count += 1).into_future());
    assert!(poll!(&mut aside).is_pending());
    let other = repo.update(key(), |tally| tally.count += 10).await.unwrap();
    assert_eq!(other.count, 10);
    assert_eq!(aside.await.unwrap().count, 11);
}
