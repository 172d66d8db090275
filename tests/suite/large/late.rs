//! Large values whose requests are late or not answered, and sources that end early.

use bytes::Bytes;
use futures_util::stream;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::blobs::BlobsAround;
use support::stops::{Stop, Stops};
use table_orm::blobs::{Blobs, MemoryBlobs, PART_BYTES};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::Retry;
use table_orm::model::ETag;
use table_orm::property::Large;
use table_orm::query::Complete;
use table_orm::repo::LargeValueError;
use table_orm::store::{Batch, ErrorCode, Middleware, Operation, Store, StoreError};
use table_orm::{Error, Repo, Result, TableEntity, TableName, Tables, Within as _};
use time::OffsetDateTime;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "FILM:{id:05}")]
struct Film {
    studio: String,
    id: u32,
    #[table(overflow)]
    trailer: Large,
}

const CHUNK: usize = 704 * 1024;

fn key() -> FilmRow<Complete> {
    Film::partition("s").row().id(1)
}

fn film(trailer: Large) -> Film {
    Film { studio: "s".into(), id: 1, trailer }
}

async fn upload(films: &Repo<Film>, length: usize) -> Result<Large> {
    let mut upload = films.upload(key())?;
    upload.add(vec![7; length]).await?;
    upload.finish().await
}

/// A store that keeps the first write of a large value back, without an answer.
#[derive(Debug)]
struct Late {
    inner: EmbeddedStore,
    is_armed: AtomicBool,
    kept: Mutex<Option<(TableName, Batch)>>,
}

impl Late {
    fn new() -> Arc<Self> {
        let inner = EmbeddedStore::in_memory().unwrap();
        Arc::new(Self { inner, is_armed: AtomicBool::new(false), kept: Mutex::default() })
    }

    fn keeps(&self, table: &TableName, batch: &Batch) -> bool {
        let is_value = batch.operations.iter().any(|row| row.row_key.starts_with("LOB:"));
        let keeps = is_value && self.is_armed.swap(false, SeqCst);
        if keeps {
            *self.kept.lock().unwrap() = Some((table.clone(), batch.clone()));
        }
        keeps
    }

    /// Lets it take effect.
    async fn arrives(&self) {
        let (table, batch) = self.kept.lock().unwrap().take().unwrap();
        let _answer = self.inner.commit(&table, batch).await;
    }
}

fn lost() -> StoreError {
    StoreError::new(ErrorCode::NO_ANSWER, "it is late")
}

impl Middleware for Late {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> std::result::Result<Option<ETag>, StoreError> {
        let partition_key = partition_key.to_owned();
        let batch = Batch { partition_key, operations: vec![operation] };
        let etags = Middleware::commit(self, table, batch).await?;
        Ok(etags.into_iter().next().flatten())
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> std::result::Result<Vec<Option<ETag>>, StoreError> {
        if self.keeps(table, &batch) { Err(lost()) } else { self.inner.commit(table, batch).await }
    }
}

fn through_retries(store: Arc<Late>, blobs: Option<MemoryBlobs>) -> Repo<Film> {
    let builder = Tables::builder(store).bare();
    let builder = match blobs {
        Some(blobs) => builder.blobs(blobs),
        None => builder,
    };
    builder.build().unwrap().layer(Retry::interactive()).unwrap().repo()
}

#[tokio::test]
async fn a_late_first_row_brings_no_removed_value_back() {
    for blobs in [None, Some(MemoryBlobs::new())] {
        let store = Late::new();
        let films = through_retries(store.clone(), blobs);
        films.create_table().await.unwrap();
        store.is_armed.store(true, SeqCst);
        let first = upload(&films, CHUNK + 1).await.unwrap();
        films.insert(&film(first)).await.unwrap();
        let before = films.get(key()).await.unwrap().unwrap();
        let second = upload(&films, CHUNK + 2).await.unwrap();
        films.update(key(), |film| film.trailer = second.clone()).await.unwrap();
        store.arrives().await;
        let error = films.upsert(&before).await.unwrap_err();
        assert!(matches!(error, Error::LargeValue(LargeValueError::Gone { .. })), "{error}");
        let stored = films.get(key()).await.unwrap().unwrap();
        let bytes = films.read_large(&stored, |film| &film.trailer).await.unwrap();
        assert_eq!(bytes.map(|bytes| bytes.len()), Some(CHUNK + 2));
    }
}

#[tokio::test]
async fn a_late_first_row_completes_no_upload_that_was_removed() {
    let store = Late::new();
    let films = through_retries(store.clone(), None);
    films.create_table().await.unwrap();
    store.is_armed.store(true, SeqCst);
    let mut upload = films.upload(key()).unwrap();
    upload.add(vec![7; 3 * CHUNK]).await.unwrap();
    assert_eq!(films.remove_unused_values(key()).await.unwrap(), 1);
    store.arrives().await;
    upload.add(vec![8; CHUNK]).await.unwrap();
    let trailer = upload.finish().await.unwrap();
    let error = films.insert(&film(trailer)).await.unwrap_err();
    assert!(matches!(error, Error::LargeValue(LargeValueError::Gone { .. })), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_upload_whose_source_ended_early_does_not_go_on() {
    let films = Tables::in_memory().unwrap().repo::<Film>();
    films.create_table().await.unwrap();
    let is_interrupted = |error: &Error| {
        assert!(matches!(error, Error::LargeValue(LargeValueError::Interrupted)), "{error}");
    };
    for adds in [false, true] {
        let mut failed = films.upload(key()).unwrap();
        let source = [Ok(vec![7; 10]), Err(std::io::Error::other("the disk is gone"))];
        let error = failed.add_all(stream::iter(source)).await.unwrap_err();
        assert!(matches!(error, Error::LargeValue(LargeValueError::Source(_))), "{error}");
        let mut dropped = films.upload(key()).unwrap();
        let source = stream::once(pending::<std::io::Result<Vec<u8>>>());
        let second = Duration::from_secs(1);
        assert!(tokio::time::timeout(second, dropped.add_all(source)).await.is_err());
        for mut upload in [failed, dropped] {
            if adds {
                is_interrupted(&upload.add(vec![1]).await.unwrap_err());
                is_interrupted(
                    &upload.add_all(stream::empty::<Result<Bytes>>()).await.unwrap_err(),
                );
            }
            is_interrupted(&upload.finish().await.unwrap_err());
        }
    }
}

/// Blobs that do not answer the request of that number.
fn silent_once(blobs: MemoryBlobs, number: usize) -> impl Blobs {
    let stops = Stops::default();
    stops.before_each(move |now, _| -> Option<Stop> {
        (now == number).then(|| -> Stop { Box::pin(pending()) })
    });
    BlobsAround::with_stops(blobs, &stops)
}

#[tokio::test(start_paused = true)]
async fn a_request_for_a_blob_that_is_never_answered_is_sent_again() {
    for number in 1..=4 {
        let blobs = silent_once(MemoryBlobs::new(), number);
        let tables = Tables::builder(EmbeddedStore::in_memory().unwrap()).bare().blobs(blobs);
        let films: Repo<Film> = tables.build().unwrap().on_virtual_time(1).repo();
        films.create_table().await.unwrap();
        // Created, two parts, committed.
        let trailer = upload(&films, PART_BYTES + 1).await.unwrap();
        films.insert(&film(trailer)).await.unwrap();
        let stored = films.get(key()).await.unwrap().unwrap();
        let bytes = films.read_large(&stored, |film| &film.trailer).await.unwrap();
        assert_eq!(bytes.map(|bytes| bytes.len()), Some(PART_BYTES + 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_says_that_a_blob_may_have_been_written() {
    let blobs = silent_once(MemoryBlobs::new(), 3);
    let tables = Tables::builder(EmbeddedStore::in_memory().unwrap()).bare().blobs(blobs);
    let films: Repo<Film> = tables.build().unwrap().on_virtual_time(1).repo();
    films.create_table().await.unwrap();
    let mut upload = films.upload(key()).unwrap();
    upload.add(vec![7; PART_BYTES]).await.unwrap();
    // The commit.
    match upload.finish().within(Duration::from_secs(1)).await {
        Err(Error::Deadline(late)) => assert!(!late.wrote_nothing(), "{late:?}"),
        other => panic!("{other:?}"),
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clips", partition = "{studio}", row = "CLIP:{id:05}", expires = until)]
struct Clip {
    studio: String,
    id: u32,
    until: OffsetDateTime,
    #[table(overflow)]
    trailer: Large,
}

#[tokio::test]
async fn an_expired_entity_that_is_inserted_again_keeps_its_value() {
    for blobs in [None, Some(MemoryBlobs::new())] {
        let builder = Tables::builder(EmbeddedStore::in_memory().unwrap()).bare();
        let builder = match blobs {
            Some(blobs) => builder.blobs(blobs),
            None => builder,
        };
        let clips: Repo<Clip> = builder.build().unwrap().repo();
        clips.create_table().await.unwrap();
        let key = Clip::partition("s").row().id(1);
        let mut upload = clips.upload(&key).unwrap();
        upload.add(vec![7; CHUNK + 1]).await.unwrap();
        let trailer = upload.finish().await.unwrap();
        let until = OffsetDateTime::now_utc() - time::Duration::days(1);
        clips.insert(&Clip { studio: "s".into(), id: 1, until, trailer }).await.unwrap();
        let mut clip = clips.including_expired().get(&key).await.unwrap().unwrap();
        clip.until = OffsetDateTime::now_utc() + time::Duration::days(1);
        clips.insert(&clip).await.unwrap();
        let stored = clips.get(&key).await.unwrap().unwrap();
        let bytes = clips.read_large(&stored, |clip| &clip.trailer).await.unwrap();
        assert_eq!(bytes.map(|bytes| bytes.len()), Some(CHUNK + 1));
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "spots", partition = "{studio}", row = "SPOT:{id:05}", expires = until, purge_index)]
struct Spot {
    studio: String,
    id: u32,
    until: OffsetDateTime,
    #[table(overflow)]
    trailer: Large,
}

#[tokio::test]
async fn an_expired_value_goes_with_its_entity_by_a_purge_or_the_insert_that_takes_its_place() {
    for blobs in [None, Some(MemoryBlobs::new())] {
        let builder = Tables::builder(EmbeddedStore::in_memory().unwrap()).bare();
        let builder = match &blobs {
            Some(blobs) => builder.blobs(blobs.clone()),
            None => builder,
        };
        let tables = builder.build().unwrap();
        let spots = tables.repo::<Spot>();
        spots.create_table().await.unwrap();
        let until = OffsetDateTime::now_utc() - time::Duration::days(1);
        let spot = |id, until, trailer| Spot { studio: "s".into(), id, until, trailer };
        for id in 1..=4 {
            let mut upload = spots.upload(Spot::partition("s").row().id(id)).unwrap();
            upload.add(vec![7; CHUNK + 1]).await.unwrap();
            let trailer = upload.finish().await.unwrap();
            spots.insert(&spot(id, until, trailer)).await.unwrap();
        }
        let rows = tables.table(TableName::new("spots").unwrap());
        let left = async || {
            let rows = rows.list("s", "LOB:".."LOB;").count().await.unwrap();
            (rows, blobs.as_ref().map(|blobs| blobs.names().len()))
        };
        let with = |values| (2 * values, blobs.as_ref().map(|_| values));
        assert_eq!(left().await, with(4));
        let later = OffsetDateTime::now_utc() + time::Duration::days(1);
        spots.insert(&spot(1, later, Large::default())).await.unwrap();
        assert_eq!(left().await, with(3));
        spots.upsert(&spot(2, later, Large::default())).await.unwrap();
        spots.remove_unused_values(Spot::partition("s").row().id(2)).await.unwrap();
        assert_eq!(spots.purge().await.all().unwrap().purged, 2);
        // Of a blob that was uploaded today, the second row stays for a day.
        let (rows, left) = left().await;
        assert!(rows <= 1 && left.is_none_or(|blobs| blobs == 0), "{rows} rows, {left:?} blobs");
        assert_eq!(spots.list(Spot::partition("s").row()).count().await.unwrap(), 2);
    }
}

#[tokio::test]
async fn a_writer_keeps_what_its_entities_refer_to_and_takes_none_that_was_removed() {
    let films = Tables::in_memory().unwrap().repo::<Film>();
    films.create_table().await.unwrap();
    let (kept, removed) = (upload(&films, CHUNK + 1).await.unwrap(), upload(&films, CHUNK).await);
    let writer = films.writer().await.unwrap();
    writer.send(film(kept)).await.unwrap();
    writer.close().await.unwrap().all().unwrap();
    assert_eq!(films.remove_unused_values(key()).await.unwrap(), 1);
    let stored = films.get(key()).await.unwrap().unwrap();
    let bytes = films.read_large(&stored, |film| &film.trailer).await.unwrap();
    assert_eq!(bytes.map(|bytes| bytes.len()), Some(CHUNK + 1));
    films.delete(films.load(key()).await.unwrap().one().unwrap()).await.unwrap();
    let writer = films.writer().await.unwrap();
    writer.send(film(removed.unwrap())).await.unwrap();
    let error = writer.close().await.unwrap().all().unwrap_err();
    assert!(matches!(error, Error::LargeValue(LargeValueError::Gone { .. })), "{error}");
    assert_eq!(films.get(key()).await.unwrap(), None);
}
