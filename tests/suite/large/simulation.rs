//! Large values among clients that meet faults, late writes and each other, and end anywhere: what an entity refers to is
//! whole and its own, answers are true, and nothing stays.

use super::tampering::{LeftOut, Tampering};
use bytes::Bytes;
use futures_util::future::join_all;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::panic::catch_unwind;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::blobs::BlobsAround;
use support::clock::{Clock, with_clock};
use support::{dose, draw, on_virtual_time};
use table_orm::blobs::{Blobs as _, MemoryBlobs, PART_BYTES};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, Retry};
use table_orm::model::{ETag, Edm};
use table_orm::property::Large;
use table_orm::query::Complete;
use table_orm::repo::{LargeValueError, Table};
use table_orm::store::{Batch, Middleware, Operation, Store, StoreError};
use table_orm::{Error, Repo, Result, TableEntity, TableName, Tables};
use tokio::time::{sleep, timeout};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}")]
#[row(by_id, key = "FILM:{id:05}")]
#[row(by_title, key = "TITLE:{title}__{id:05}")]
struct Film {
    studio: String,
    id: u32,
    title: String,
    /// Of the write that stored it, as are both values.
    stamp: i64,
    #[table(overflow)]
    trailer: Large,
    #[table(overflow)]
    poster: Option<Large>,
}

const CHUNK: usize = 704 * 1024;
const INLINE: usize = 64 * 1024;
const LENGTHS: [usize; 8] = [0, 9, INLINE, INLINE + 1, INLINE + 2, CHUNK - 1, CHUNK, CHUNK + 1];
const LATEST: Duration = Duration::from_secs(20);

fn key(id: u32) -> FilmById<Complete> {
    Film::partition("s").by_id().id(id)
}

/// The bytes of a value of that write.
fn bytes(stamp: i64, length: usize) -> Bytes {
    let mut bytes = stamp.to_le_bytes().repeat(length / 8 + 1);
    bytes.truncate(length);
    bytes.into()
}

fn length(stamp: i64, seed: u64, field: &str) -> usize {
    LENGTHS[draw(("length", seed, stamp, field), 0..LENGTHS.len() as u64) as usize]
}

/// What took effect, seen in the store itself.
#[derive(Debug)]
struct Observer {
    inner: Arc<EmbeddedStore>,
    applied: Arc<Mutex<BTreeSet<i64>>>,
}

impl Observer {
    fn saw(&self, operations: &[Operation]) {
        for operation in operations.iter().filter(|one| one.row_key.starts_with("FILM:")) {
            let Some(body) = operation.action.body() else { continue };
            let row: serde_json::Value = serde_json::from_slice(body).unwrap();
            let stamp = row.get("Stamp").and_then(|stamp| stamp.as_str());
            self.applied.lock().unwrap().extend(stamp.map(|stamp| stamp.parse::<i64>().unwrap()));
        }
    }
}

impl Middleware for Observer {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let answer = self.inner.write(table, partition_key, operation.clone()).await?;
        self.saw(&[operation]);
        Ok(answer)
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let answer = self.inner.commit(table, batch.clone()).await?;
        self.saw(&batch.operations);
        Ok(answer)
    }
}

/// What the writes were told.
#[derive(Debug, Default)]
struct Told {
    done: Mutex<BTreeSet<i64>>,
    refused: Mutex<BTreeMap<i64, String>>,
}

struct Client<'t> {
    films: Repo<Film>,
    seed: u64,
    number: u64,
    told: &'t Told,
}

impl Client<'_> {
    fn dice(&self, step: u64, name: &str, most: u64) -> u64 {
        draw((self.seed, self.number, step, name), 0..most)
    }

    async fn upload(&self, id: u32, stamp: i64, field: &str) -> Result<Large> {
        let whole = bytes(stamp, length(stamp, self.seed, field));
        let mut upload = self.films.upload(key(id))?;
        let cut = self.dice(stamp as u64, field, whole.len() as u64 + 1) as usize;
        upload.add(whole.slice(..cut)).await?;
        upload.add(whole.slice(cut..)).await?;
        upload.finish().await
    }

    async fn film(&self, id: u32, stamp: i64) -> Result<Film> {
        let trailer = self.upload(id, stamp, "trailer").await?;
        let has_poster = stamp % 3 == 0;
        let poster = if has_poster { Some(self.upload(id, stamp, "poster").await?) } else { None };
        let (studio, title) = ("s".to_owned(), format!("t{}", stamp % 2));
        Ok(Film { studio, id, title, stamp, trailer, poster })
    }

    async fn write(&self, step: u64, id: u32, stamp: i64) -> Result<()> {
        let new = self.film(id, stamp).await?;
        if self.dice(step, "waits", 3) == 0 {
            // No entity refers to its values yet.
            sleep(Duration::from_millis(self.dice(step, "wait", 8_000))).await;
        }
        let films = &self.films;
        match self.dice(step, "write", 9) {
            0 => films.insert(&new).await.map(drop),
            1 => films.upsert(&new).await.map(drop),
            2 => films.update(key(id), |film| *film = new.clone()).await.map(drop),
            3 if new.poster.is_none() => {
                // Of both values, one would stay of an earlier write.
                let mut stored = films.load(key(id)).await?.one()?;
                *stored = new;
                films.transaction(Film::partition("s")).save(&mut stored).commit().await.map(drop)
            }
            3 => {
                let patch = FilmPatch::default().stamp(stamp).trailer(new.trailer.clone());
                let patch = patch.poster(new.poster.clone().unwrap_or_default());
                films.merge(key(id), patch).await.map(drop)
            }
            4 => films.insert_many([new]).await.all().map(drop),
            5 => films.upsert_many([new]).await.all().map(drop),
            6 => {
                let stored = films.load(key(id)).await?.one()?;
                let version = stored.etag().clone();
                sleep(Duration::from_millis(self.dice(step, "pause", 400))).await;
                films.replace(&new, &version).await.map(drop)
            }
            _ => {
                let mut stored = films.load(key(id)).await?.one()?;
                sleep(Duration::from_millis(self.dice(step, "pause", 400))).await;
                *stored = new;
                films.save(&mut stored).await.map(drop)
            }
        }
    }

    /// What is read is a value of one write, whole.
    fn check(&self, whole: &[u8], field: &str) {
        let Some(first) = whole.get(..8) else { return assert!(whole.is_empty()) };
        let stamp = i64::from_le_bytes(first.try_into().unwrap());
        let expected = bytes(stamp, length(stamp, self.seed, field));
        assert!(whole == expected, "seed {}: {stamp}, {} bytes", self.seed, whole.len());
        let refused = self.told.refused.lock().unwrap();
        assert!(!refused.contains_key(&stamp), "seed {}: {stamp} is read", self.seed);
    }

    async fn read(&self, id: u32, streams: bool) -> Result<()> {
        let Some(film) = self.films.get(key(id)).await? else { return Ok(()) };
        if streams {
            let mut pieces = self.films.stream_large(&film, |film| &film.trailer);
            let mut whole = Vec::new();
            while let Some(piece) = pieces.next().await? {
                whole.extend_from_slice(&piece);
                sleep(Duration::from_millis(50)).await;
            }
            self.check(&whole, "trailer");
        } else {
            if let Some(whole) = self.films.read_large(&film, |film| &film.trailer).await? {
                self.check(&whole, "trailer");
            }
            if let Some(whole) = self.films.read_large(&film, |film| &film.poster).await? {
                self.check(&whole, "poster");
            }
        }
        Ok(())
    }

    async fn clean(&self, id: u32) -> Result<()> {
        if id == 1 {
            return self.films.remove_unused_values(key(id)).await.map(drop);
        }
        let found = self.films.verify(Film::partition("s")).await?.findings;
        self.films.repair(found).await.all().map(drop)
    }

    async fn step(&self, step: u64) {
        let id = 1 + self.dice(step, "id", 2) as u32;
        let stamp = (self.number * 1000 + step + 1) as i64;
        let (end, writes) = match self.dice(step, "kind", 12) {
            0 => (self.life(step, self.read(id, true)).await, false),
            1 => (self.life(step, self.read(id, false)).await, false),
            2..5 => (self.life(step, self.clean(id)).await, false),
            5 => (self.life(step, self.delete(step, id)).await, false),
            _ => (self.life(step, self.write(step, id, stamp)).await, true),
        };
        match end {
            // It ended before its answer.
            None => {}
            Some(Ok(())) if writes => drop(self.told.done.lock().unwrap().insert(stamp)),
            Some(Ok(()) | Err(Error::Ambiguous(_))) => {}
            Some(Err(error)) => {
                self.expected(&error);
                if writes {
                    self.told.refused.lock().unwrap().insert(stamp, error.to_string());
                }
            }
        }
    }

    async fn delete(&self, step: u64, id: u32) -> Result<()> {
        let Some(stored) = self.films.load(key(id)).await?.optional()? else { return Ok(()) };
        sleep(Duration::from_millis(self.dice(step, "pause", 200))).await;
        self.films.delete(stored).await
    }

    async fn all(&self) -> Vec<Film> {
        self.films.list(Film::partition("s").by_id()).collect().await.unwrap()
    }

    /// Every value is there as its write stored it, and nothing else. Returns the number of rows with values.
    async fn whole(&self, rows: &Table, blobs: Option<&MemoryBlobs>) -> usize {
        let (seed, mut ids, mut expected) = (self.seed, 0, 0);
        for film in self.all().await {
            let title =
                self.films.get(Film::partition("s").by_title().title(&film.title).id(film.id));
            assert_eq!(title.await.unwrap().as_ref(), Some(&film), "seed {seed}");
            let trailer = self.films.read_large(&film, |film| &film.trailer).await.unwrap();
            let poster = self.films.read_large(&film, |film| &film.poster).await.unwrap();
            assert_eq!(poster.is_some(), film.stamp % 3 == 0, "seed {seed}: {film:?}");
            for (value, field) in [(trailer, "trailer"), (poster, "poster")] {
                let Some(value) = value else { continue };
                self.check(&value, field);
                let is_own = value == bytes(film.stamp, length(film.stamp, seed, field));
                assert!(is_own, "seed {seed}: {field} of {film:?}");
                if value.len() > INLINE {
                    ids += 1;
                    expected += if blobs.is_some() { 2 } else { value.len().div_ceil(CHUNK) };
                }
            }
        }
        let left = rows.list("s", "LOB:".."LOB;").collect().await.unwrap();
        assert_eq!(left.len(), expected, "seed {seed}");
        if let Some(blobs) = blobs {
            assert_eq!(blobs.names().len(), ids, "seed {seed}");
        }
        expected
    }

    /// A write that is refused removes no value, and none is stored that was removed.
    async fn refused(&self) {
        for (film, stamp) in self.all().await.iter().zip(200_000..) {
            let mut stale = self.films.load(key(film.id)).await.unwrap().one().unwrap();
            self.films.update(key(film.id), |film| film.title = "u".to_owned()).await.unwrap();
            let new = self.film(film.id, stamp).await.unwrap();
            *stale = new.clone();
            let refused = self.films.save(&mut stale).await;
            assert!(matches!(refused, Err(Error::Conflict(_))), "seed {}: {refused:?}", self.seed);
            self.films.remove_unused_values(key(film.id)).await.unwrap();
            let stored = self.films.update(key(film.id), |film| *film = new.clone()).await;
            let mut values = iter::once(&new.trailer).chain(&new.poster);
            let is_right = match stored {
                Ok(_) => values.all(|value| value.inline().is_some()),
                Err(Error::LargeValue(LargeValueError::Gone { .. })) => true,
                Err(_) => false,
            };
            assert!(is_right, "seed {}: {new:?}", self.seed);
        }
    }

    /// No value is read whose bytes are others.
    async fn damaged(&self, rows: &Table, blobs: Option<&MemoryBlobs>) {
        for name in blobs.map(MemoryBlobs::names).into_iter().flatten() {
            let blobs = blobs.unwrap();
            let mut data = blobs.read(&name, 0, PART_BYTES).await.unwrap().unwrap().to_vec();
            data[9] ^= 1;
            blobs.delete(&name).await.unwrap();
            let version = blobs.create(&name).await.unwrap();
            blobs.stage(&name, 0, data.into()).await.unwrap();
            blobs.commit(&name, &version, 1).await.unwrap();
        }
        for mut row in rows.list("s", "LOB:".."LOB;").collect().await.unwrap() {
            if let Some(Edm::Binary(data)) = row.properties.get_mut("Data00") {
                data[0] ^= 1;
                rows.insert_or_replace(&row).await.unwrap();
            }
        }
        for film in self.all().await.iter().filter(|film| film.trailer.len() > INLINE as u64) {
            let read = self.films.read_large(film, |film| &film.trailer).await;
            let is_found = matches!(&read, Err(Error::LargeValue(LargeValueError::Damaged { .. })));
            assert!(
                is_found,
                "seed {}: {:?}",
                self.seed,
                read.map(|read| read.map(|read| read.len()))
            );
        }
    }

    /// One call, some of which end on their way.
    async fn life(&self, step: u64, call: impl Future<Output = Result<()>>) -> Option<Result<()>> {
        if self.dice(step, "dies", 4) > 0 {
            return Some(call.await);
        }
        timeout(Duration::from_millis(self.dice(step, "life", 3000)), call).await.ok()
    }

    fn expected(&self, error: &Error) {
        let fine = match error {
            Error::LargeValue(error) => {
                matches!(
                    error,
                    LargeValueError::Gone { .. }
                        | LargeValueError::Replaced { .. }
                        | LargeValueError::Blob(_)
                )
            }
            error => error.is_unavailable() || error.is_conflict() || error.is_not_found(),
        };
        assert!(fine, "seed {}: {error:?}", self.seed);
    }
}

async fn run(seed: u64, left_out: Option<LeftOut>) -> [usize; 3] {
    let inner = Arc::new(EmbeddedStore::in_memory().unwrap());
    let applied = Arc::<Mutex<BTreeSet<i64>>>::default();
    let observer = Observer { inner: inner.clone(), applied: Arc::clone(&applied) };
    let (ahead, clock): (_, Clock) = with_clock(Arc::new(observer));
    // Pages are cut at random, also when nothing else fails.
    let pages = Faults::seeded(seed).cut_pages(0.3).short_pages(0.3).empty_pages(0.2);
    let pages = pages.store(Arc::new(ahead)).unwrap();
    let network = Faults::seeded(seed)
        .late(0.03)
        .latest(LATEST)
        .errors_before(0.03)
        .errors_after(0.03)
        .lost_replies(0.05)
        .lost_requests(0.03)
        .slow(0.5)
        .slowest(Duration::from_millis(300))
        .store(Arc::new(pages))
        .unwrap();
    network.disable();
    let blobs = (seed % 2 == 1).then(MemoryBlobs::new);
    let connect = |number: u64| {
        let store = Tampering { inner: Arc::new(network.clone()), left_out };
        let builder = Tables::builder(store).bare();
        let builder = match &blobs {
            Some(blobs) if number == 99 => builder.blobs(blobs.clone()),
            Some(blobs) => {
                builder.blobs(BlobsAround::with_faults(blobs.clone(), seed * 100 + number))
            }
            None => builder,
        };
        let tables = builder.build().unwrap();
        let tables = tables.layer(Retry::interactive().write_id("WriteId")).unwrap();
        tables.on_virtual_time(seed * 100 + number).repo::<Film>()
    };
    let last = connect(99);
    last.create_table().await.unwrap();
    network.enable();
    let told = Told::default();
    let clients = (0..4).map(|number| {
        let client = Client { films: connect(number), seed, number, told: &told };
        async move {
            for step in 0..14 {
                client.step(step).await;
            }
        }
    });
    join_all(clients).await;
    network.disable();
    // What is late arrives.
    sleep(LATEST + Duration::from_secs(1)).await;
    let (done, refused) = (told.done.lock().unwrap().clone(), told.refused.lock().unwrap().clone());
    {
        let applied = applied.lock().unwrap();
        for stamp in &done {
            assert!(applied.contains(stamp), "seed {seed}: {stamp} was told it is done");
        }
        for (stamp, error) in &refused {
            assert!(!applied.contains(stamp), "seed {seed}: {stamp} was told: {error}");
        }
    }
    let reader = Client { films: last.clone(), seed, number: 99, told: &told };
    reader.refused().await;
    clock.forward(2 * 24 * 60 * 60);
    let found = last.verify(Film::partition("s")).await.unwrap().findings;
    let values = found.into_iter().filter(|one| one.row == "large value");
    last.repair(values).await.all().unwrap();
    let rows = Tables::new(inner).table(TableName::new("films").unwrap());
    let stored = reader.whole(&rows, blobs.as_ref()).await;
    // A write that meets no fault leaves nothing of what it replaces.
    for (film, stamp) in reader.all().await.iter().zip(100_000..) {
        let new = reader.film(film.id, stamp).await.unwrap();
        last.update(key(film.id), |film| *film = new.clone()).await.unwrap();
    }
    reader.whole(&rows, blobs.as_ref()).await;
    reader.damaged(&rows, blobs.as_ref()).await;
    [done.len(), refused.len(), stored]
}

#[test]
fn values_are_whole_answers_true_and_nothing_stays_whatever_is_late_or_ends() {
    let mut sum = [0; 3];
    for seed in 0..dose(16, 200) {
        let ran = on_virtual_time(run(seed, None));
        sum = [0, 1, 2].map(|at| sum[at] + ran[at]);
    }
    assert!(sum.iter().all(|count| *count > 4), "{sum:?}");
}

#[test]
fn each_part_of_the_protocol_of_large_values_is_needed() {
    for part in LeftOut::ALL {
        let holds = |seed, part| catch_unwind(|| on_virtual_time(run(seed, part))).is_ok();
        let breaks = |seed| !holds(seed, Some(part)) && holds(seed, None);
        assert!((0..40).any(breaks), "nothing breaks without {part:?}");
    }
}
