//! What a bulk write leaves to be settled: groups, their bounds, and their ends.

use super::world::{Change, KIND, State, client, create, table};
use crate as table_orm;
use crate::dose::dose;
use crate::embedded::EmbeddedStore;
use crate::entity::{DynamicEntity, read_row, split_page};
use crate::eventual::{
    DueEntry, EventualKey, EventualType, Gathered, Group, Intent, MAX_ENTITIES, MAX_WAITING,
    Pending, Settled, Settling,
};
use crate::model::{ETag, Edm, Metadata, TableName};
use crate::plan::{MAX_IN_BACKGROUND, TableClient};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Batch, Middleware, Operation, Store, StoreError};
use crate::{ScanPermit, TableEntity, Tables};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// A store in which writes to one table wait until it is opened.
#[derive(Debug)]
struct Gate {
    inner: EmbeddedStore,
    closed: TableName,
    opened: Semaphore,
}

impl Gate {
    async fn new(closed: &str) -> Arc<Self> {
        let inner = EmbeddedStore::in_memory().unwrap();
        create(&inner).await;
        Arc::new(Self { inner, closed: table(closed), opened: Semaphore::new(0) })
    }

    fn let_pass(&self, writes: usize) {
        self.opened.add_permits(writes);
    }

    fn open(&self) {
        self.let_pass(1_000_000);
    }

    async fn pass(&self, table: &TableName) {
        if *table == self.closed {
            self.opened.acquire().await.unwrap().forget();
        }
    }
}

impl Middleware for Gate {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.pass(table).await;
        self.inner.write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        self.pass(table).await;
        self.inner.commit(table, batch).await
    }
}

async fn written(client: &TableClient, entity: usize) -> Vec<Group> {
    let name = format!("E:{entity:03}");
    let state = State::new(&format!("copies p{entity} FULL:a:{entity:03}"), "1");
    let change = Change::of(client, &[(&name, None, Some(state))]).unwrap();
    vec![(KIND, vec![change.send(client).await.unwrap().unwrap()])]
}

#[tokio::test(start_paused = true)]
async fn as_many_calls_settle_in_the_background_as_there_is_room_and_one_more_waits() {
    let gate = Gate::new("copies").await;
    let client = client(gate.clone(), 1);
    let later = |report: &Settled| Settling {
        later: true,
        report: Some(report.clone()),
        ..Settling::default()
    };
    let mut reports = Vec::new();
    for entity in 0..MAX_IN_BACKGROUND {
        let report = Settled::default();
        let groups = written(&client, entity).await;
        later(&report).settle(&client, groups).await;
        reports.push(report);
    }
    let (last, groups) = (Settled::default(), written(&client, 999).await);
    let settling = later(&last);
    let mut waits = Box::pin(settling.settle(&client, groups));
    assert!(timeout(Duration::from_secs(60), &mut waits).await.is_err());
    assert!(!reports.iter().any(Settled::get));
    gate.open();
    waits.await;
    sleep(Duration::from_secs(60)).await;
    assert!(last.get() && reports.iter().all(Settled::get));
    assert_eq!(client.connection.background.available_permits(), MAX_IN_BACKGROUND);
}

/// Each is in a partition of its own.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "things", partition = "{room:05}", row = "ROOM", crate = table_orm)]
#[row(by_day, table = "copies", partition = "{day}", key = "DAY:{room:05}", eventual)]
struct Room {
    room: u32,
    day: String,
}

fn room(room: u32) -> Room {
    Room { room, day: "2026-11-23".into() }
}

#[tokio::test(start_paused = true)]
async fn a_bulk_write_whose_eventual_rows_cannot_follow_waits_for_them() {
    let gate = Gate::new("copies").await;
    let rooms = Tables::new(Arc::clone(&gate)).on_virtual_time(1).repo::<Room>();
    let read = AtomicUsize::new(0);
    let input = (0..20_000).inspect(|_| _ = read.fetch_add(1, Relaxed)).map(room);
    let mut write = rooms.insert_many(input).settle_later().into_future();
    assert!(timeout(Duration::from_secs(60), &mut write).await.is_err());
    // Those that wait, that are settled in the background, that are settled in the call, and that wait for others
    // of their partition.
    let waiting = MAX_WAITING + MAX_IN_BACKGROUND + 16;
    let most = waiting + crate::repo::OPEN_OPERATIONS + 32;
    let read = read.load(Relaxed);
    assert!((waiting..=most).contains(&read), "{read} entities were read");
    let tasks = Handle::current().metrics().num_alive_tasks();
    assert!(tasks <= MAX_IN_BACKGROUND + 16, "{tasks} tasks");
}

#[tokio::test(start_paused = true)]
async fn what_a_dropped_bulk_write_wrote_is_settled_in_the_background() {
    let gate = Gate::new("things").await;
    let rooms = Tables::new(Arc::clone(&gate)).on_virtual_time(1).repo::<Room>();
    gate.let_pass(300);
    let write = rooms.insert_many((0..500).map(room)).into_future();
    assert!(timeout(Duration::from_secs(60), write).await.is_err());
    gate.open();
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(rooms.list(Room::by_day("2026-11-23")).count().await.unwrap(), 300);
    let left = rooms.settle(ScanPermit::because("test")).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(left.settled, 0);
}

/// The intent of one transaction, with entities of two keys each.
fn intent(client: &TableClient, partition_key: &str, entities: usize) -> Vec<Group> {
    let key = |row: usize| {
        let (partition_key, row_key) = ("p".to_owned(), format!("FULL:{row}:0"));
        let key = EventualKey { table: table("copies"), partition_key, row_key };
        ("by_key".to_owned(), key)
    };
    let entry = |entity| DueEntry {
        canonical: format!("E:{entity:03}"),
        keys: vec![key(entity), key(entity + 1000)],
        values: Vec::new(),
    };
    let due = (0..entities).map(entry).collect();
    let intent = Intent::new(&client.connection, partition_key, due);
    let etag = ETag::new("1");
    vec![(KIND, vec![Pending { intent, etag, written: None, cover: None, prepared: None }])]
}

/// The intents that are settled together, by their names.
fn take(gathered: &mut Gathered, taken: &mut BTreeMap<String, Vec<String>>) {
    while let Some((_, group)) = gathered.next() {
        let partition_key = &group[0].intent.partition_key;
        assert!(group.iter().all(|one| one.intent.partition_key == *partition_key));
        let entities: usize = group.iter().map(|one| one.intent.due.len()).sum();
        assert!(entities <= MAX_ENTITIES, "{entities} entities");
        let names = group.iter().map(|one| one.intent.row_key.clone());
        taken.entry(partition_key.clone()).or_default().extend(names);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(50, 5120)))]

    #[test]
    fn each_intent_is_settled_once_in_its_order_and_few_wait(
        transactions in prop::collection::vec((0..200_u32, 1..99_usize), 1..300),
    ) {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let client = client(store, 1);
        let mut gathered = Gathered::new(client.clone(), Settling::default());
        let (mut added, mut taken) = (BTreeMap::<String, Vec<String>>::new(), BTreeMap::new());
        let mut waiting = 0;
        for (partition, entities) in transactions {
            let partition_key = (partition % 20).to_string();
            let groups = intent(&client, &partition_key, entities);
            let name = groups[0].1[0].intent.row_key.clone();
            added.entry(partition_key).or_default().push(name);
            let settling = gathered.settling();
            futures_util::future::FutureExt::now_or_never(settling.settle(&client, groups)).unwrap();
            take(&mut gathered, &mut taken);
            waiting = waiting.max(gathered.waiting());
        }
        prop_assert!(waiting <= MAX_WAITING);
        gathered.close();
        take(&mut gathered, &mut taken);
        prop_assert_eq!(added, taken);
    }
}

/// A post, found under each of its labels on another shelf.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "things", partition = "{blog}", row = "POST:{id:05}", crate = table_orm)]
#[row(
    by_label, table = "copies", partition = "{blog}", key = "L:{label}__{id:05}",
    each(label in labels), eventual
)]
struct Post {
    blog: String,
    id: u32,
    #[table(json)]
    labels: Vec<String>,
}

fn posts() -> impl Strategy<Value = Vec<Post>> {
    let letter = prop_oneof![Just('x'), Just('é'), Just('好'), Just('"'), Just('🏃')];
    let label =
        (letter, 1..200_usize).prop_map(|(letter, length)| char::to_string(&letter).repeat(length));
    let labels = prop::collection::vec(label, 0..60);
    (1..200_usize, prop::collection::vec(labels, 1..150)).prop_map(|(blog, all)| {
        let post = |(id, labels): (u32, Vec<String>)| {
            let numbered = labels.into_iter().enumerate();
            let labels = numbered.map(|(number, label)| format!("{number}{label}")).collect();
            Post { blog: "b".repeat(blog), id, labels }
        };
        (0..).zip(all).map(post).collect()
    })
}

/// Inserts posts of one blog, whose rows in other partitions never follow. Checks the intents.
async fn check_intents(posts: Vec<Post>) {
    let gate = Gate::new("copies").await;
    let repo = Tables::new(Arc::clone(&gate)).repo::<Post>();
    let (blog, count) = (posts[0].blog.clone(), posts.len() as u64);
    let labels: usize = posts.iter().map(|post| post.labels.len()).sum();
    let written = repo.insert_many(posts).parallelism(1).settle_later().await.all().unwrap();
    assert_eq!(written.entities, count);
    let query = KeyRange { partition: Span::Exact(blog), row: Span::prefix("DUE:") };
    let query = RowQuery { metadata: Metadata::Minimal, ..RowQuery::new(table("things"), query) };
    let page = gate.inner.query(&query).await.unwrap();
    let mut intents: Vec<(usize, usize)> = Vec::new();
    for row in split_page(&page.body).unwrap() {
        let row: DynamicEntity = read_row(0, row.get().as_bytes()).unwrap();
        let texts = row.properties.values().filter_map(|value| match value {
            Edm::String(text) => Some(text.encode_utf16().count()),
            _ => None,
        });
        let units = texts.sum();
        let pending = Pending::read(row, &table("things"), EventualType::of::<Post>()).unwrap();
        let due = pending.unwrap().intent.due;
        intents.push((units, due.iter().map(DueEntry::len).sum()));
    }
    assert_eq!(intents.iter().map(|(_, keys)| keys).sum::<usize>(), labels);
    // They are as few as they can be: of 99 entities, or as large as a row can be, less the next entity.
    let full = intents.iter().filter(|(units, _)| *units > 480 * 1024 - 60 * 1100).count();
    assert!(intents.len() <= full + count.div_ceil(99) as usize, "{intents:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(4, 240)))]

    #[test]
    fn the_intent_of_each_transaction_of_a_bulk_write_fits_a_row(posts in posts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check_intents(posts));
    }
}
