//! Large values in blobs: what an entity refers to is whole, and no blob stays that no row names.

use bytes::Bytes;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use support::blobs::{BlobsAround, FileBlobs};
use support::clock::{Clock, with_clock};
use support::dose;
use support::polls::poll_times;
use support::stops::{Stop, Stops};
use table_orm::blobs::{Blobs, MemoryBlobs, PART_BYTES};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, Retry};
use table_orm::model::DateTime;
use table_orm::property::Large;
use table_orm::query::Complete;
use table_orm::repo::{LargeValueError, Problem};
use table_orm::store::Store;
use table_orm::{Error, ErrorKind, Repo, Result, TableEntity, TableName, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}")]
#[row(by_id, key = "FILM:{id:05}")]
#[row(by_title, key = "TITLE:{title}__{id:05}")]
struct Film {
    studio: String,
    id: u32,
    title: String,
    #[table(overflow)]
    trailer: Large,
}

const INLINE: usize = 64 * 1024;
const DAYS: i64 = 2 * 24 * 60 * 60;

fn bytes(length: usize, seed: u8) -> Bytes {
    let pattern: Vec<_> = (0..251).map(|at: u8| at ^ seed).collect();
    let mut bytes = pattern.repeat(length / pattern.len() + 1);
    bytes.truncate(length);
    bytes.into()
}

fn key(id: u32) -> FilmById<Complete> {
    Film::partition("s").by_id().id(id)
}

fn film(id: u32, trailer: Large) -> Film {
    Film { studio: "s".to_owned(), id, title: "t".to_owned(), trailer }
}

/// A store and blobs, and the films in them.
struct Subject {
    store: Arc<EmbeddedStore>,
    blobs: MemoryBlobs,
    films: Repo<Film>,
    clock: Clock,
}

fn in_blobs(store: impl Store + 'static, blobs: impl Blobs + 'static) -> Repo<Film> {
    Tables::builder(store).bare().blobs(blobs).build().unwrap().repo()
}

impl Subject {
    async fn new() -> Self {
        let (store, blobs) = (Arc::new(EmbeddedStore::in_memory().unwrap()), MemoryBlobs::new());
        let (ahead, clock) = with_clock(store.clone());
        let films = in_blobs(ahead, blobs.clone());
        films.create_table().await.unwrap();
        Self { store, blobs, films, clock }
    }

    async fn stored(&self, id: u32) -> Film {
        self.films.get(key(id)).await.unwrap().unwrap()
    }

    /// The RowKeys of large values.
    async fn rows(&self) -> Vec<String> {
        let rows = Tables::new(self.store.clone()).table(TableName::new("films").unwrap());
        let rows = rows.list("s", "LOB:".."LOB;").collect().await.unwrap();
        rows.into_iter().map(|row| row.row_key).collect()
    }

    /// Removes what no entity refers to. Checks that so many values are left.
    async fn clean(&self, left: usize, what: &str) {
        self.clock.forward(DAYS);
        let found = self.films.verify(Film::partition("s")).await.unwrap().findings;
        // Other rows may have the id of a write.
        let values = found.into_iter().filter(|one| one.row == "large value");
        self.films.repair(values).await.all().unwrap();
        assert_eq!((self.rows().await.len(), self.blobs.names().len()), (2 * left, left), "{what}");
        let rows = self.rows().await;
        for name in self.blobs.names() {
            let id = name.strip_prefix("films.").unwrap();
            assert!(rows.iter().any(|row| row.contains(id)), "{what}: {name} of {rows:?}");
        }
    }
}

async fn upload(films: &Repo<Film>, id: u32, bytes: Bytes) -> Result<Large> {
    let mut upload = films.upload(key(id))?;
    upload.add(bytes).await?;
    upload.finish().await
}

async fn read(films: &Repo<Film>, film: &Film) -> Result<Option<Bytes>> {
    films.read_large(film, |film| &film.trailer).await
}

async fn are_read_back(lengths: &[usize]) {
    let subject = Subject::new().await;
    for &length in lengths {
        let trailer = upload(&subject.films, 1, bytes(length, 1)).await.unwrap();
        assert_eq!((trailer.len(), trailer.inline().is_some()), (length as u64, length <= INLINE));
        let old = subject.films.load(key(1)).await.unwrap().optional().unwrap();
        if let Some(mut old) = old {
            old.trailer = trailer;
            subject.films.save(old).await.unwrap();
        } else {
            subject.films.insert(&film(1, trailer)).await.unwrap();
        }
        let stored = subject.stored(1).await;
        assert!(read(&subject.films, &stored).await.unwrap() == Some(bytes(length, 1)), "{length}");
        let mut pieces = subject.films.stream_large(&stored, |film| &film.trailer);
        let (mut streamed, mut largest) = (0, 0);
        while let Some(piece) = pieces.next().await.unwrap() {
            (streamed, largest) = (streamed + piece.len(), largest.max(piece.len()));
        }
        assert!(streamed == length && largest <= PART_BYTES, "{length}");
        // The save has removed the value before.
        let left = usize::from(length > INLINE);
        assert_eq!((subject.blobs.names().len(), subject.rows().await.len()), (left, 2 * left));
    }
}

#[tokio::test]
async fn values_of_any_length_are_read_back_and_replaced_ones_removed() {
    are_read_back(&[0, INLINE, INLINE + 1, 1024 * 1024, PART_BYTES, PART_BYTES + 1]).await;
    if support::is_long() {
        are_read_back(&[2 * PART_BYTES, 50 * 1024 * 1024, INLINE + 1]).await;
    }
}

#[tokio::test]
async fn a_client_with_blobs_reads_and_removes_values_in_rows_and_one_without_says_what_is_missing()
{
    let subject = Subject::new().await;
    let without = Tables::new(subject.store.clone()).repo::<Film>();
    let trailer = upload(&without, 1, bytes(INLINE + 1, 1)).await.unwrap();
    without.insert(&film(1, trailer)).await.unwrap();
    assert_eq!(subject.blobs.names().len(), 0);
    let stored = subject.stored(1).await;
    assert!(read(&subject.films, &stored).await.unwrap() == Some(bytes(INLINE + 1, 1)));

    let trailer = upload(&subject.films, 1, bytes(INLINE + 2, 2)).await.unwrap();
    subject.films.update(key(1), |film| film.trailer = trailer.clone()).await.unwrap();
    assert_eq!((subject.blobs.names().len(), subject.rows().await.len()), (1, 2));
    let stored = subject.stored(1).await;
    let missing = read(&without, &stored).await.unwrap_err();
    assert!(matches!(missing, Error::LargeValue(LargeValueError::NoBlobs { .. })), "{missing}");
    assert!(missing.to_string().contains("TablesBuilder::blobs"), "{missing}");
    // It may change the entity. The blob that it cannot delete is found by its row.
    without.update(key(1), |film| film.trailer = Large::default()).await.unwrap();
    assert_eq!((subject.blobs.names().len(), subject.rows().await.len()), (1, 1));
    let refused = without.remove_unused_values(key(1)).await.unwrap_err();
    assert!(matches!(refused, Error::LargeValue(LargeValueError::NoBlobs { .. })), "{refused}");
    assert_eq!(subject.rows().await.len(), 1);
    subject.clock.forward(DAYS);
    let found = subject.films.verify(Film::partition("s")).await.unwrap().findings;
    assert!(matches!(found[..], [ref one] if matches!(one.problem, Problem::UnusedValue { .. })));
    subject.clean(0, "a client without blobs").await;
}

#[tokio::test]
async fn a_value_is_removed_by_whatever_removes_its_entity() {
    let subject = Subject::new().await;
    let films = &subject.films;
    for id in 1..=5 {
        let trailer = upload(films, id, bytes(INLINE + 1, id as u8)).await.unwrap();
        films.insert(&film(id, trailer)).await.unwrap();
    }
    assert_eq!(subject.blobs.names().len(), 5);
    films.delete(films.load(key(1)).await.unwrap().one().unwrap()).await.unwrap();
    let two = films.load(Film::partition("s").by_id().id_in(2..4)).await.unwrap().into_vec();
    films.delete_many(two).await.all().unwrap();
    assert_eq!((subject.blobs.names().len(), subject.rows().await.len()), (2, 4));
    films.delete_partition(Film::partition("s")).await.unwrap();
    assert_eq!((subject.blobs.names().len(), subject.rows().await.len()), (0, 0));
}

#[tokio::test]
async fn a_blob_that_is_lost_or_changed_is_never_returned_as_the_value() {
    let subject = Subject::new().await;
    let trailer = upload(&subject.films, 1, bytes(INLINE + 1, 1)).await.unwrap();
    subject.films.insert(&film(1, trailer)).await.unwrap();
    let (stored, name) = (subject.stored(1).await, subject.blobs.names().remove(0));
    subject.blobs.delete(&name).await.unwrap();
    for shown in [None, Some(bytes(INLINE, 1)), Some(bytes(INLINE + 1, 2)), Some(bytes(9, 1))] {
        if let Some(other) = shown {
            subject.blobs.delete(&name).await.unwrap();
            let version = subject.blobs.create(&name).await.unwrap();
            subject.blobs.stage(&name, 0, other).await.unwrap();
            subject.blobs.commit(&name, &version, 1).await.unwrap();
        }
        let damaged = read(&subject.films, &stored).await.unwrap_err();
        assert!(matches!(damaged, Error::LargeValue(LargeValueError::Damaged { .. })), "{damaged}");
    }
}

/// The blobs of a service that is down.
fn down(blobs: MemoryBlobs) -> impl Blobs {
    let stops = Stops::default();
    stops.before_each(|_, _| -> Option<Stop> { Some(Box::pin(std::future::pending())) });
    BlobsAround::with_stops(blobs, &stops)
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_the_service_does_not_answer_changes_no_entity_and_is_removed() {
    let subject = Subject::new().await;
    let old = upload(&subject.films, 1, bytes(INLINE + 1, 1)).await.unwrap();
    subject.films.insert(&film(1, old)).await.unwrap();
    // Each tenth request or so fails before it takes effect, and each tenth after. Five attempts are enough.
    for seed in 0..dose(8, 200) {
        let faulty = BlobsAround::with_faults(subject.blobs.clone(), seed);
        let films = in_blobs(subject.store.clone(), faulty);
        let new = upload(&films, 1, bytes(2 * PART_BYTES + 1, 2)).await;
        match new {
            Ok(new) => {
                films.update(key(1), |film| film.trailer = new.clone()).await.unwrap();
                let stored = subject.stored(1).await;
                let whole = read(&subject.films, &stored).await.unwrap();
                assert!(whole == Some(bytes(2 * PART_BYTES + 1, 2)), "seed {seed}");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "seed {seed}: {error}"),
        }
        subject.clean(1, "faults").await;
    }
    let films = in_blobs(subject.store.clone(), down(subject.blobs.clone()));
    let dropped = tokio::time::timeout(
        std::time::Duration::from_secs(60),
        upload(&films, 1, bytes(INLINE + 1, 3)),
    );
    assert!(dropped.await.is_err());
    subject.clean(1, "a dropped upload").await;
}

#[tokio::test]
async fn an_upload_that_was_removed_meanwhile_is_not_stored() {
    let subject = Subject::new().await;
    let mut late = subject.films.upload(key(1)).unwrap();
    late.add(bytes(PART_BYTES + 1, 1)).await.unwrap();
    assert_eq!(subject.films.remove_unused_values(key(1)).await.unwrap(), 1);
    is_gone(&late.finish().await.unwrap_err());
    assert_eq!(subject.blobs.names().len(), 0);
    // The row that stays for a day is counted once.
    assert_eq!(subject.rows().await.len(), 1);
    assert_eq!(subject.films.remove_unused_values(key(1)).await.unwrap(), 0);
    subject.clean(0, "a removed upload").await;
}

#[track_caller]
fn is_gone(error: &Error) {
    assert!(matches!(error, Error::LargeValue(LargeValueError::Gone { .. })), "{error}");
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

/// Films whose upload is removed before it creates its blob.
fn removed_before_the_blob(subject: &Subject) -> Repo<Film> {
    let (stops, films) = (Stops::default(), subject.films.clone());
    stops.before(1, async move {
        assert_eq!(films.remove_unused_values(key(1)).await.unwrap(), 1);
    });
    in_blobs(subject.store.clone(), BlobsAround::with_stops(subject.blobs.clone(), &stops))
}

#[tokio::test]
async fn an_upload_that_was_removed_before_it_creates_its_blob_deletes_it() {
    let subject = Subject::new().await;
    let films = removed_before_the_blob(&subject);
    is_gone(&upload(&films, 1, bytes(INLINE + 1, 1)).await.unwrap_err());
    assert_eq!(subject.blobs.names().len(), 0);
    subject.clean(0, "an upload without its rows").await;
}

#[tokio::test]
async fn a_blob_that_was_created_after_its_removal_is_found_by_its_row() {
    let subject = Subject::new().await;
    let films = removed_before_the_blob(&subject);
    let mut late = films.upload(key(1)).unwrap();
    let mut add = Box::pin(late.add(bytes(PART_BYTES, 1)));
    // The process ends as soon as there is a blob.
    poll_fn(|context| {
        let is_there = !subject.blobs.names().is_empty();
        let ended = is_there || add.as_mut().poll(context).is_ready();
        if ended { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    drop(add);
    assert_eq!((subject.rows().await.len(), subject.blobs.names().len()), (1, 1));
    let found = subject.films.verify(Film::partition("s")).await.unwrap().findings;
    assert_eq!(found.len(), 0, "{found:?}");
    subject.clean(0, "a blob after its removal").await;
}

/// Replaces the value of film 1, and drops the call after so many polls. Returns whether it ended.
async fn replace(films: &Repo<Film>, bytes: Bytes, polls: usize) -> Option<Result<()>> {
    let call = async {
        let trailer = upload(films, 1, bytes).await?;
        let mut stored = films.load(key(1)).await?.one()?;
        stored.trailer = trailer;
        films.save(stored).await.map(drop)
    };
    poll_times(call, polls).await
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_ends_anywhere_leaves_a_whole_value_and_nothing_that_stays() {
    let (old, new) = (bytes(INLINE + 1, 1), bytes(PART_BYTES + 1, 2));
    let mut replaced = 0;
    for seed in 0..dose(3, 30) {
        for polls in 1.. {
            let subject = Subject::new().await;
            let trailer = upload(&subject.films, 1, old.clone()).await.unwrap();
            subject.films.insert(&film(1, trailer)).await.unwrap();
            let faults = Faults::seeded(seed).errors_before(0.05).errors_after(0.1);
            let faults = faults.lost_requests(0.05).lost_replies(0.1);
            let store = faults.store(subject.store.clone()).unwrap();
            let blobs = BlobsAround::with_faults(subject.blobs.clone(), seed);
            let tables = Tables::builder(store.clone()).bare().blobs(blobs).build().unwrap();
            let tables = tables.layer(Retry::interactive().write_id("WriteId")).unwrap();
            let end = replace(&tables.repo(), new.clone(), polls).await;
            store.disable();
            let stored = subject.stored(1).await;
            let whole = read(&subject.films, &stored).await.unwrap().unwrap();
            assert!(whole == old || whole == new, "seed {seed}, {polls} polls");
            subject.clean(1, &format!("seed {seed}, {polls} polls")).await;
            replaced += usize::from(whole == new);
            if end.is_some() {
                break;
            }
        }
    }
    assert!(replaced > 0);
}

#[tokio::test]
async fn another_writer_between_any_two_requests_leaves_a_whole_value_and_no_other() {
    for (kind, at) in (0..4).flat_map(|kind| (1..=12).map(move |at| (kind, at))) {
        let subject = Subject::new().await;
        let calm = subject.films.clone();
        let trailer = upload(&calm, 1, bytes(INLINE + 1, 1)).await.unwrap();
        let old = calm.insert_loaded(&film(1, trailer)).await.unwrap();
        let others = upload(&calm, 1, bytes(INLINE + 1, 3)).await.unwrap();
        let stops = Stops::default();
        let blobs = BlobsAround::with_stops(subject.blobs.clone(), &stops);
        let (store, of_store) = support::stops::with_stops(subject.store.clone());
        // Both count as one row of requests.
        let through = stops.clone();
        of_store.before_each(move |_, text| -> Option<Stop> {
            let (stops, text) = (through.clone(), text.to_owned());
            Some(Box::pin(async move { stops.request(text).await }))
        });
        let other = calm.clone();
        let between: Stop = Box::pin(async move {
            match kind {
                0 => drop(other.update(key(1), |film| film.trailer = others.clone()).await),
                1 => drop(other.upsert(&old).await),
                2 => drop(other.remove_unused_values(key(1)).await),
                _ => drop(other.delete(old).await),
            }
        });
        stops.before(at, between);
        let busy = in_blobs(store, blobs);
        drop(replace(&busy, bytes(PART_BYTES + 1, 2), usize::MAX).await);
        let mut left = 0;
        if let Some(entity) = calm.get(key(1)).await.unwrap() {
            let whole = read(&calm, &entity).await.unwrap().unwrap();
            let seed = [(INLINE + 1, 1), (PART_BYTES + 1, 2), (INLINE + 1, 3)];
            let is_one = seed.map(|(length, seed)| bytes(length, seed)).contains(&whole);
            assert!(is_one, "writer {kind} before request {at}");
            left = 1;
        }
        calm.remove_unused_values(key(1)).await.unwrap();
        subject.clean(left, &format!("writer {kind} before request {at}")).await;
    }
}

/// Other blobs, whose names nearly begin as those of the table.
async fn near(blobs: &impl Blobs, names: &[&str]) {
    for name in names {
        blobs.create(name).await.unwrap();
    }
}

#[tokio::test]
async fn a_table_is_deleted_with_its_blobs_and_no_others_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (store, blobs) =
        (Arc::new(EmbeddedStore::in_memory().unwrap()), FileBlobs::open(folder.path()));
    let others = ["film.1", "films2.1", "filmsx.1"];
    near(&blobs, &others).await;
    let films = in_blobs(store.clone(), blobs.clone());
    films.create_table().await.unwrap();
    for id in 0..5 {
        let trailer = upload(&films, id, bytes(INLINE + 1, 1)).await.unwrap();
        films.insert(&film(id, trailer)).await.unwrap();
    }
    // Left unfinished.
    let mut unfinished = films.upload(key(9)).unwrap();
    unfinished.add(bytes(PART_BYTES + 1, 2)).await.unwrap();
    assert_eq!(blobs.names().len(), 6 + others.len());
    let bare: Repo<Film> = Tables::builder(store.clone()).bare().build().unwrap().repo();
    let refused = bare.delete_table().delete_blobs().await;
    let none = |error: Error| matches!(error, Error::LargeValue(LargeValueError::NoContainer));
    assert!(none(refused.unwrap_err()));
    films.delete_table().delete_blobs().await.unwrap();
    assert_eq!(blobs.names(), others);
    is_gone(&unfinished.finish().await.unwrap_err());
    // Without being asked, they stay; the next call finds them although the table is gone.
    films.create_table().await.unwrap();
    upload(&films, 1, bytes(INLINE + 1, 1)).await.unwrap();
    films.delete_table().await.unwrap();
    assert_eq!(blobs.names().len(), 1 + others.len());
    let again = films.delete_table().delete_blobs().await;
    assert!(matches!(again, Err(Error::TableNotFound(_))), "{again:?}");
    assert_eq!(blobs.names(), others);
}

#[tokio::test]
async fn a_table_that_is_created_again_meanwhile_keeps_its_values() {
    let (store, blobs) = (Arc::new(EmbeddedStore::in_memory().unwrap()), MemoryBlobs::new());
    let films = in_blobs(store.clone(), blobs.clone());
    films.create_table().await.unwrap();
    let trailer = upload(&films, 1, bytes(INLINE + 1, 1)).await.unwrap();
    films.insert(&film(1, trailer)).await.unwrap();
    // Between the drop of the table and the delete of the first blob, which follows the list of blobs.
    let (stops, again) = (Stops::default(), films.clone());
    stops.before(2, async move {
        again.create_table().await.unwrap();
        let trailer = upload(&again, 1, bytes(INLINE + 1, 2)).await.unwrap();
        again.insert(&film(1, trailer)).await.unwrap();
    });
    let around = BlobsAround::with_stops(blobs.clone(), &stops);
    in_blobs(store, around).delete_table().delete_blobs().await.unwrap();
    assert_eq!(blobs.names().len(), 1);
    let stored = films.get(key(1)).await.unwrap().unwrap();
    assert_eq!(read(&films, &stored).await.unwrap().unwrap(), bytes(INLINE + 1, 2));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "shots", partition = "{camera}", row = "{at}", bucket(month, at))]
struct Shot {
    camera: String,
    at: DateTime,
    #[table(overflow)]
    picture: Large,
}

#[tokio::test]
async fn old_periods_are_dropped_with_their_blobs_whatever_ended_the_call_before() {
    for polls in 0..dose(20, 200) {
        let folder = tempfile::tempdir().unwrap();
        let (store, blobs) =
            (Arc::new(EmbeddedStore::in_memory().unwrap()), FileBlobs::open(folder.path()));
        let others = ["shots.1", "shots2026.1", "shots202609x.1", "shotsx202609.1"];
        near(&blobs, &others).await;
        let connect = |blobs: BlobsAround| {
            let tables = Tables::builder(store.clone()).bare().blobs(blobs).build().unwrap();
            tables.periods::<Shot>()
        };
        let shots = connect(BlobsAround::with_stops(blobs.clone(), &Stops::default()));
        for month in [8, 9, 10, 11] {
            for second in 0..3 {
                let at: DateTime = format!("2026-{month:02}-03T00:00:0{second}Z").parse().unwrap();
                let (of_month, key) = (shots.at(at), Shot::partition("c").row().at(at));
                let picture = Large::from(bytes(10, 1));
                shots.insert(&Shot { camera: "c".into(), at, picture }).await.unwrap();
                let mut upload = of_month.upload(&key).unwrap();
                upload.add(bytes(INLINE + 1, 1)).await.unwrap();
                let picture = upload.finish().await.unwrap();
                of_month.update(&key, |shot| shot.picture = picture.clone()).await.unwrap();
            }
        }
        assert_eq!(blobs.names().len(), 12 + others.len());
        let now: DateTime = "2026-11-20T00:00:00Z".parse().unwrap();
        let plan = shots.retain(2, now).delete_blobs().plan().await.unwrap();
        assert_eq!((plan.drops.len(), plan.blobs), (2, 6));
        // The first call ends somewhere.
        let ended = connect(BlobsAround::with_stops(blobs.clone(), &Stops::default()));
        poll_times(ended.retain(2, now).delete_blobs().into_future(), polls).await;
        shots.retain(2, now).delete_blobs().await.all().unwrap();
        assert_eq!(shots.existing().await.unwrap().len(), 2);
        let mut left = blobs.names();
        left.retain(|name| !others.contains(&name.as_str()));
        assert_eq!(left.len(), 6, "{polls} polls: {left:?}");
        let is_kept = |name: &String| {
            ["shots202610.", "shots202611."].iter().any(|kept| name.starts_with(kept))
        };
        assert!(left.iter().all(is_kept), "{left:?}");
        assert_eq!(blobs.names().len(), 6 + others.len());
    }
}
