//! Reads from a copy in another region: which reads go there, when, and what a caller learns.

use super::bench::paused;
use crate::embedded::EmbeddedStore;
use crate::error::Error;
use crate::layer::read_from::{OUTAGE_TIME, PRIMARY_TIME};
use crate::layer::{FaultStore, Faults, LayerError, ReadFrom};
use crate::query::PageToken;
use crate::store::{
    Middleware, Replication, ReplicationStatus, Secondary, Store, StoreAnswer, StoreError,
    StoreRequest,
};
use crate::{ScanPermit, TableEntity, TableUnion, Tables};
use async_trait::async_trait;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{owner}", row = "{id:05}", crate = crate)]
struct Note {
    owner: String,
    id: u32,
    text: String,
}

#[derive(Debug, TableUnion)]
#[table(crate = crate)]
enum Any {
    Note(Note),
}

/// A store that counts what it is asked, and does not answer while it hangs.
#[derive(Debug, Clone)]
struct Region {
    store: EmbeddedStore,
    reads: Arc<AtomicU64>,
    writes: Arc<AtomicU64>,
    hangs: Arc<Mutex<bool>>,
    copy: Option<Arc<Self>>,
}

impl Region {
    fn new() -> Self {
        let store = EmbeddedStore::in_memory().unwrap();
        Self {
            store,
            reads: Arc::default(),
            writes: Arc::default(),
            hangs: Arc::default(),
            copy: None,
        }
    }

    /// The reads and writes since the last call.
    fn asked(&self) -> (u64, u64) {
        (self.reads.swap(0, Relaxed), self.writes.swap(0, Relaxed))
    }
}

impl Middleware for Region {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    fn secondary(&self) -> Option<Arc<dyn Secondary>> {
        Some(self.copy.clone()?)
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        if request.is_write() { &self.writes } else { &self.reads }.fetch_add(1, Relaxed);
        if *self.hangs.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        next.await
    }
}

#[async_trait]
impl Secondary for Region {
    async fn replication(&self) -> Result<Replication, StoreError> {
        let last_sync = Some("2026-11-01T12:00:00Z".parse().unwrap());
        Ok(Replication::new(ReplicationStatus::Live, last_sync))
    }
}

/// Two regions. Note 1 has another text in each, and each partition has 5 notes.
struct World {
    primary: Region,
    copy: Arc<Region>,
    faults: FaultStore,
    tables: Tables,
}

impl World {
    async fn new(read_from: ReadFrom) -> Self {
        let (mut primary, copy) = (Region::new(), Arc::new(Region::new()));
        for (store, text) in [(&primary.store, "new"), (&copy.store, "old")] {
            let notes = Tables::new(store.clone()).repo::<Note>();
            notes.create_table().await.unwrap();
            for id in 1..=5 {
                notes.insert(&note(id, text)).await.unwrap();
            }
        }
        primary.copy = Some(Arc::clone(&copy));
        let faults = Faults::seeded(1).lost_requests(1.0).store(Arc::new(primary.clone())).unwrap();
        faults.disable();
        let builder = Tables::builder(faults.clone()).bare().read_from(read_from);
        let tables = builder.build().unwrap();
        Self { primary, copy, faults, tables }
    }
}

fn note(id: u32, text: &str) -> Note {
    Note { owner: "ann".to_owned(), id, text: text.to_owned() }
}

/// The texts that each call that reads without a version returns.
async fn texts(tables: &Tables) -> crate::Result<Vec<String>> {
    let (notes, ann) = (tables.repo::<Note>(), Note::partition("ann"));
    let mut found = Vec::new();
    found.extend(notes.get(ann.row().id(1)).await?);
    found.extend(notes.get_many([ann.row().id(1)]).await?.into_iter().flatten());
    found.extend(notes.list(&ann).first().await?);
    found.extend(notes.list_many(["ann"].map(Note::partition)).take_each(1).collect().await?);
    let Any::Note(of_union) = tables.union::<Any>(&ann).first().await?.unwrap();
    found.push(of_union);
    found.extend(notes.scan(ScanPermit::because("test")).collect().await?.pop());
    Ok(found.into_iter().map(|note| note.text).collect())
}

/// The texts that each call returns whose answer may decide a write.
async fn deciding(tables: &Tables) -> Vec<String> {
    let (notes, ann) = (tables.repo::<Note>(), Note::partition("ann"));
    let table = tables.table("notes".parse().unwrap());
    let mut found = vec![notes.load(ann.row().id(1)).await.unwrap().one().unwrap().into_inner()];
    found.push(notes.list(&ann).loaded().first().await.unwrap().unwrap().into_inner());
    found.extend(notes.list(&ann).from_primary().first().await.unwrap());
    let row = table.get("ann", "00001").await.unwrap().unwrap();
    let mut texts: Vec<_> = found.into_iter().map(|note| note.text).collect();
    texts.push(row.properties["Text"].to_string());
    texts
}

#[test]
fn each_mode_reads_where_it_says_and_what_decides_a_write_comes_from_the_primary() {
    for (mode, expected) in [
        (ReadFrom::PrimaryOnly, "new"),
        (ReadFrom::PrimaryThenSecondary, "new"),
        (ReadFrom::SecondaryOnly, "old"),
    ] {
        paused(async {
            let world = World::new(mode).await;
            world.copy.asked();
            assert_eq!(texts(&world.tables).await.unwrap(), [expected; 6], "{mode:?}");
            assert_eq!(world.copy.asked().0 > 0, mode == ReadFrom::SecondaryOnly, "{mode:?}");
            for text in deciding(&world.tables).await {
                assert!(text.contains("new"), "{mode:?}: {text}");
            }
            let notes = world.tables.repo::<Note>();
            notes.insert(&note(9, "new")).await.unwrap();
            let key = Note::partition("ann").row().id(1);
            notes.update(key, |note| note.text.push('!')).await.unwrap();
            assert_eq!(world.copy.asked(), (0, 0), "{mode:?}");
        });
    }
}

#[test]
fn with_a_failing_primary_reads_go_on_and_writes_fail_typed() {
    paused(async {
        let world = World::new(ReadFrom::PrimaryThenSecondary).await;
        world.faults.enable();
        assert_eq!(texts(&world.tables).await.unwrap(), ["old"; 6]);
        let notes = world.tables.repo::<Note>();
        let written = notes.insert(&note(9, "new")).await;
        assert!(matches!(written, Err(Error::Unavailable(_))), "{written:?}");
        let loaded = notes.load(Note::partition("ann").row().id(1)).await;
        assert!(matches!(loaded, Err(Error::Unavailable(_))), "{loaded:?}");
        assert_eq!(world.copy.asked().1, 0, "the copy is never written");
    });
}

#[test]
fn a_primary_that_does_not_answer_is_left_after_a_time() {
    paused(async {
        let world = World::new(ReadFrom::PrimaryThenSecondary).await;
        *world.primary.hangs.lock().unwrap() = true;
        let start = Instant::now();
        let found = world.tables.repo::<Note>().get(Note::partition("ann").row().id(1)).await;
        assert_eq!(found.unwrap().unwrap().text, "old");
        assert_eq!(start.elapsed(), PRIMARY_TIME);
    });
}

#[test]
fn an_outage_makes_one_read_of_each_half_minute_wait() {
    paused(async {
        let world = World::new(ReadFrom::PrimaryThenSecondary).await;
        let notes = world.tables.repo::<Note>();
        let read = || async {
            let began = Instant::now();
            let found = notes.get(Note::partition("ann").row().id(1)).await.unwrap().unwrap();
            (found.text, began.elapsed())
        };
        let (old, new) = (|| "old".to_owned(), || "new".to_owned());
        let set = |hangs: bool| *world.primary.hangs.lock().unwrap() = hangs;
        set(true);
        assert_eq!(read().await, (old(), PRIMARY_TIME));
        world.primary.asked();
        for _ in 0..20 {
            assert_eq!(read().await, (old(), Duration::ZERO));
        }
        assert_eq!(world.primary.asked().0, 0);
        // One asks again. Meanwhile, the others do not.
        sleep(OUTAGE_TIME).await;
        let (first, second) = tokio::join!(read(), read());
        assert_eq!([first, second], [(old(), PRIMARY_TIME), (old(), Duration::ZERO)]);
        assert_eq!(world.primary.asked().0, 1);
        // The copy fails, too: the primary is asked all the same.
        world.copy.store.delete_table(&"notes".parse().unwrap()).await.unwrap();
        set(false);
        assert_eq!(read().await, (new(), Duration::ZERO));
        assert_eq!(read().await, (new(), Duration::ZERO));
    });
}

#[test]
fn a_primary_that_fails_at_once_is_asked_by_each_read() {
    paused(async {
        let world = World::new(ReadFrom::PrimaryThenSecondary).await;
        world.faults.enable();
        assert_eq!(texts(&world.tables).await.unwrap(), ["old"; 6]);
        world.faults.disable();
        assert_eq!(texts(&world.tables).await.unwrap(), ["new"; 6]);
    });
}

#[test]
fn a_rejection_of_the_primary_is_the_answer() {
    paused(async {
        let world = World::new(ReadFrom::PrimaryThenSecondary).await;
        world.primary.store.delete_table(&"notes".parse().unwrap()).await.unwrap();
        world.copy.asked();
        let error = texts(&world.tables).await.unwrap_err();
        assert!(matches!(error, Error::TableNotFound(_)), "{error}");
        assert_eq!(world.copy.asked(), (0, 0));
    });
}

#[test]
fn where_both_fail_the_error_is_that_of_the_primary_and_names_both() {
    paused(async {
        let world = World::new(ReadFrom::PrimaryThenSecondary).await;
        world.faults.enable();
        world.copy.store.delete_table(&"notes".parse().unwrap()).await.unwrap();
        let error = texts(&world.tables).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        assert!(error.to_string().contains("the secondary location failed too"), "{error}");
    });
}

#[test]
fn a_query_stays_with_the_location_that_gave_its_continuation() {
    paused(async {
        let world = World::new(ReadFrom::PrimaryThenSecondary).await;
        let notes = world.tables.repo::<Note>();
        let pages = || notes.list(Note::partition("ann")).pages(2);
        let texts = |page: &[Note]| page.iter().map(|note| note.text.clone()).collect::<Vec<_>>();

        // Begun at the copy, it stays there when the primary answers again, also in another process.
        world.faults.enable();
        let first = pages().next().await.unwrap().unwrap();
        assert_eq!(texts(&first), ["old"; 2]);
        world.faults.disable();
        let token: PageToken = first.next.unwrap().to_string().parse().unwrap();
        // A query that decides a write does not follow it there.
        let deciding = notes.list(Note::partition("ann")).from_primary().pages(2);
        let error = deciding.resume(token.clone()).next().await.map(drop).unwrap_err();
        assert!(matches!(error, Error::Rejected(_)), "{error}");
        let second = pages().resume(token).next().await.unwrap().unwrap();
        assert_eq!(texts(&second), ["old"; 2]);
        let third = pages().resume(second.next.unwrap()).next().await.unwrap().unwrap();
        assert_eq!((texts(&third), third.next), (vec!["old".to_owned()], None));

        // Begun at the primary, it fails with it.
        let mut begun = pages();
        assert_eq!(texts(&begun.next().await.unwrap().unwrap()), ["new"; 2]);
        world.faults.enable();
        assert!(matches!(begun.next().await, Err(Error::Unavailable(_))));
        // And goes on there.
        world.faults.disable();
        assert_eq!(texts(&begun.next().await.unwrap().unwrap()), ["new"; 2]);
    });
}

#[test]
fn how_old_answers_are_is_told_and_a_store_without_a_copy_has_none() {
    paused(async {
        let world = World::new(ReadFrom::PrimaryThenSecondary).await;
        let replication = world.tables.replication().await.unwrap().unwrap();
        assert_eq!(replication.status, ReplicationStatus::Live);
        let alone = EmbeddedStore::in_memory().unwrap();
        assert_eq!(Tables::new(alone.clone()).replication().await.unwrap(), None);
        let refused = Tables::builder(alone).read_from(ReadFrom::SecondaryOnly).build();
        assert!(matches!(refused, Err(Error::Layer(LayerError::NoSecondary))));
    });
}
