//! Values of any size of entities whose keys change: read and written in either form, copied by a move.

use super::types::{Counter, Loses, permit};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use support::clock::{Clock, with_clock};
use table_orm::blobs::MemoryBlobs;
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::{Migrating, StoredForm};
use table_orm::model::Edm;
use table_orm::property::Large;
use table_orm::query::Complete;
use table_orm::repo::{LargeValueError, Problem, Table};
use table_orm::{Error, Repo, TableEntity, TableName, Tables};

/// Within a partition.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "F:{n:03}", outbox)]
struct FilmV1 {
    studio: String,
    n: u32,
    title: String,
    #[table(overflow)]
    trailer: Large,
    #[table(overflow)]
    poster: Option<Large>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "FILM:{n:05}", outbox, migrate_from = FilmV1)]
#[row(by_title, key = "TITLE:{title}__{n:05}")]
struct Film {
    studio: String,
    n: u32,
    title: String,
    #[table(overflow)]
    trailer: Large,
    #[table(overflow)]
    poster: Option<Large>,
}

both_ways!(Film, FilmV1 { studio, n, title, trailer, poster });

/// To another partition of the same table, whose rows have the same keys.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "songs", partition = "{band:03}", row = "SONG:{n:03}")]
struct SongV1 {
    band: u32,
    n: u32,
    #[table(overflow)]
    sound: Large,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "songs", partition = "B{band:03}", row = "SONG:{n:03}", migrate_from = SongV1)]
struct Song {
    band: u32,
    n: u32,
    #[table(overflow)]
    sound: Large,
}

both_ways!(Song, SongV1 { band, n, sound });

/// With an index row that another entity may have.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clips", partition = "{band:03}", row = "CLIP:{n:03}")]
struct ClipV1 {
    band: u32,
    n: u32,
    code: String,
    #[table(overflow)]
    sound: Large,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clips", partition = "B{band:03}", migrate_from = ClipV1)]
#[row(by_number, key = "CLIP:{n:03}")]
#[row(by_code, key = "CODE:{code}", allow_key_conflict)]
struct Clip {
    band: u32,
    n: u32,
    code: String,
    #[table(overflow)]
    sound: Large,
}

both_ways!(Clip, ClipV1 { band, n, code, sound });

/// To another table, with the same keys.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "tapes", partition = "{band:03}", row = "TAPE:{n:03}")]
struct TapeV1 {
    band: u32,
    n: u32,
    name: String,
    #[table(overflow)]
    sound: Large,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "tapesnew", partition = "{band:03}", row = "TAPE:{n:03}", migrate_from = TapeV1)]
struct Tape {
    band: u32,
    n: u32,
    name: String,
    #[table(overflow)]
    sound: Large,
}

both_ways!(Tape, TapeV1 { band, n, name, sound });

/// With a row for each element.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "talks", partition = "{band:03}", row = "TALK:{n:03}")]
#[row(by_word, key = "WORD:{word}__{n:03}", each(word in words))]
struct TalkV1 {
    band: u32,
    n: u32,
    #[table(json)]
    words: Vec<String>,
    #[table(overflow)]
    sound: Large,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "talks", partition = "B{band:03}", row = "TALK:{n:03}", migrate_from = TalkV1)]
#[row(by_word, key = "WORD:{word}__{n:03}", each(word in words))]
struct Talk {
    band: u32,
    n: u32,
    #[table(json)]
    words: Vec<String>,
    #[table(overflow)]
    sound: Large,
}

both_ways!(Talk, TalkV1 { band, n, words, sound });

const INLINE: usize = 64 * 1024;
const CHUNK: usize = 704 * 1024;

fn bytes(length: usize, seed: u8) -> Bytes {
    (0..length).map(|at| (at % 251) as u8 ^ seed).collect::<Vec<_>>().into()
}

fn film_v1(n: u32) -> FilmV1Row<Complete> {
    FilmV1::partition("s").row().n(n)
}

fn film(n: u32) -> FilmRow<Complete> {
    Film::partition("s").row().n(n)
}

fn song(n: u32) -> SongRow<Complete> {
    Song::partition(7).row().n(n)
}

struct Subject {
    store: Arc<Loses>,
    clock: Clock,
    tables: Tables,
    blobs: Option<Arc<MemoryBlobs>>,
}

impl Subject {
    async fn new(has_blobs: bool) -> Self {
        let inner = EmbeddedStore::in_memory().unwrap();
        let store = Arc::new(Loses { inner, landings: AtomicBool::new(false) });
        let (ahead, clock) = with_clock(store.clone());
        let blobs = has_blobs.then(|| Arc::new(MemoryBlobs::default()));
        let mut tables = Tables::builder(ahead);
        if let Some(blobs) = &blobs {
            tables = tables.blobs(Arc::clone(blobs));
        }
        let tables = tables.build().unwrap().on_virtual_time(1);
        tables.repo::<FilmV1>().create_table().await.unwrap();
        tables.repo::<SongV1>().create_table().await.unwrap();
        Self { store, clock, tables, blobs }
    }

    fn films_v1(&self) -> Repo<FilmV1> {
        self.tables.repo()
    }

    fn films(&self) -> Migrating<Film> {
        self.tables.migrating().unwrap()
    }

    fn songs(&self) -> Migrating<Song> {
        self.tables.migrating().unwrap()
    }

    fn rows(&self, table: &str) -> Table {
        self.tables.table(TableName::new(table).unwrap())
    }

    /// How many values are stored in rows of a partition, and how many rows those are.
    async fn values(&self, table: &str, partition: &str) -> (usize, usize) {
        let rows = self.rows(table).list(partition, "LOB:".."LOB;").collect().await.unwrap();
        (rows.iter().filter(|row| row.row_key.ends_with(":000000")).count(), rows.len())
    }

    async fn insert_film(&self, n: u32, trailer: Bytes, poster: Option<Bytes>) {
        let films = self.films_v1();
        let upload = async |bytes: Bytes| {
            let mut upload = films.upload(film_v1(n)).unwrap();
            upload.add(bytes).await.unwrap();
            upload.finish().await.unwrap()
        };
        let trailer = upload(trailer).await;
        let poster = match poster {
            Some(poster) => Some(upload(poster).await),
            None => None,
        };
        let (studio, title) = ("s".to_owned(), format!("t{n}"));
        films.insert(&FilmV1 { studio, n, title, trailer, poster }).await.unwrap();
    }

    async fn insert_song(&self, n: u32, sound: Bytes) {
        let songs = self.tables.repo::<SongV1>();
        let mut upload = songs.upload(SongV1::partition(7).row().n(n)).unwrap();
        upload.add(sound).await.unwrap();
        let sound = upload.finish().await.unwrap();
        songs.insert(&SongV1 { band: 7, n, sound }).await.unwrap();
    }
}

async fn upload(films: &Migrating<Film>, n: u32, bytes: Bytes) -> Large {
    let mut upload = films.upload(film(n)).unwrap();
    upload.add(bytes).await.unwrap();
    upload.finish().await.unwrap()
}

async fn trailer(films: &Migrating<Film>, n: u32) -> Bytes {
    let stored = films.get(film(n)).await.unwrap().unwrap();
    films.read_large(&stored, |film| &film.trailer).await.unwrap().unwrap()
}

async fn is_moved(subject: &Subject, by: impl AsyncFn(&Migrating<Film>)) {
    let (whole, poster) = (bytes(2 * CHUNK + 9, 1), bytes(INLINE + 1, 2));
    subject.insert_film(1, whole.clone(), Some(poster.clone())).await;
    subject.insert_film(2, bytes(INLINE, 3), None).await;
    let films = subject.films();
    assert_eq!(trailer(&films, 1).await, whole);
    let before = subject.values("films", "s").await;
    by(&films).await;
    assert!(films.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_eq!(trailer(&films, 1).await, whole);
    assert_eq!(trailer(&films, 2).await, bytes(INLINE, 3));
    let stored = films.get(film(1)).await.unwrap().unwrap();
    let read = films.read_large(&stored, |film| &film.poster).await.unwrap();
    assert_eq!(read, Some(poster));
    let mut pieces = films.stream_large(&stored, |film| &film.trailer);
    let mut streamed = Vec::new();
    while let Some(piece) = pieces.next().await.unwrap() {
        streamed.extend_from_slice(&piece);
    }
    assert!(streamed == whole);
    // The values of the old key are gone.
    assert_eq!(subject.values("films", "s").await, before);
    let row = subject.rows("films").list("s", "LOB:".."LOB;").first().await.unwrap().unwrap();
    let owner = row.properties.get("Owner").unwrap();
    assert_eq!(owner, &Edm::String("FILM:00001".to_owned()));
    films.retire(&permit()).await.all().unwrap();
    assert_eq!(trailer(&films, 1).await, whole);
}

#[tokio::test(start_paused = true)]
async fn a_mover_copies_each_value_and_removes_those_of_the_old_key() {
    for has_blobs in [false, true] {
        let subject = Subject::new(has_blobs).await;
        is_moved(&subject, async |films| {
            let plan = films.migrate(&permit()).plan().await.unwrap();
            assert_eq!((plan.entities, plan.requests, plan.values), (2, 2, 2));
            assert_eq!(plan.value_bytes, (2 * CHUNK + 9 + INLINE + 1) as u64);
            assert_eq!(films.migrate(&permit()).await.all().unwrap(), 2);
        })
        .await;
        assert_eq!(subject.blobs.map(|blobs| blobs.names().len()), has_blobs.then_some(2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_mover_in_bulk_copies_each_value_too() {
    let subject = Subject::new(false).await;
    is_moved(&subject, async |films| {
        assert_eq!(films.migrate(&permit()).in_bulk().await.all().unwrap(), 2);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_save_copies_the_values_that_stay() {
    let subject = Subject::new(false).await;
    is_moved(&subject, async |films| {
        for n in [1, 2] {
            let mut held = films.load(film(n)).await.unwrap().unwrap();
            held.title = "new".to_owned();
            films.save(&mut held).await.unwrap();
            // And again, in its new form.
            held.title = "newer".to_owned();
            films.save(&mut held).await.unwrap();
            assert_eq!(films.get(film(n)).await.unwrap().as_ref(), Some(&*held));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_transaction_copies_the_values_of_what_it_moves() {
    let subject = Subject::new(false).await;
    is_moved(&subject, async |films| {
        let studio = Film::partition("s");
        let mut one = films.load(film(1)).await.unwrap().unwrap();
        one.title = "new".to_owned();
        let two = films.load(film(2)).await.unwrap().unwrap();
        let mut again = films.load(film(1)).await.unwrap().unwrap();
        let transaction = films.transaction(&studio).require(two).require(&mut again);
        transaction.save(&mut one).commit().await.unwrap();
        assert_eq!(films.get(film(1)).await.unwrap().as_ref(), Some(&*one));
        one.title = "newer".to_owned();
        films.save(&mut one).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_move_alone_adds_no_event_and_a_save_that_moves_adds_one() {
    let subject = Subject::new(false).await;
    subject.insert_film(1, bytes(CHUNK, 1), None).await;
    let films = subject.films();
    let events = async || {
        let rows = subject.rows("films");
        rows.list("s", "OUT:".."OUT;").collect().await.unwrap().len()
    };
    let before = events().await;
    assert_eq!(films.migrate(&permit()).await.all().unwrap(), 1);
    assert_eq!(events().await, before);
    subject.insert_film(2, bytes(CHUNK, 1), None).await;
    let mut held = films.load(film(2)).await.unwrap().unwrap();
    held.title = "new".to_owned();
    films.save(&mut held).await.unwrap();
    assert_eq!(events().await, before + 2);
}

#[tokio::test(start_paused = true)]
async fn values_are_replaced_in_either_form() {
    let subject = Subject::new(false).await;
    subject.insert_film(1, bytes(CHUNK, 1), None).await;
    let (version1, films) = (subject.films().inserting(StoredForm::Old), subject.films());
    // In place, and uploaded for the old key.
    let new = bytes(INLINE + 5, 4);
    let uploaded = upload(&version1, 1, new.clone()).await;
    version1.update(film(1), |film| film.trailer = uploaded.clone()).await.unwrap();
    assert_eq!(version1.load(film(1)).await.unwrap().unwrap().form(), StoredForm::Old);
    assert_eq!((trailer(&films, 1).await, subject.values("films", "s").await), (new, (1, 1)));
    // A save that moves takes one that was uploaded for the new key.
    let new = bytes(INLINE + 6, 5);
    let uploaded = upload(&films, 1, new.clone()).await;
    films.update(film(1), |film| film.trailer = uploaded.clone()).await.unwrap();
    assert_eq!((trailer(&films, 1).await, subject.values("films", "s").await), (new, (1, 1)));
    // One that was uploaded for the old key is copied, and the upload itself is left.
    let new = bytes(INLINE + 7, 6);
    let uploaded = upload(&version1, 1, new.clone()).await;
    version1.update(film(1), |film| film.trailer = uploaded.clone()).await.unwrap();
    assert_eq!((trailer(&films, 1).await, subject.values("films", "s").await), (new, (2, 2)));
    assert_eq!(films.remove_unused_values(film(1)).await.unwrap(), 1);
    assert_eq!(subject.values("films", "s").await, (1, 1));
    let held = films.load(film(1)).await.unwrap().unwrap();
    films.delete(held).await.unwrap();
    assert_eq!(subject.values("films", "s").await, (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_merge_takes_a_value_of_either_key() {
    let subject = Subject::new(false).await;
    subject.insert_film(1, bytes(CHUNK, 1), None).await;
    let (version1, films) = (subject.films().inserting(StoredForm::Old), subject.films());
    let merge = async |client: &Migrating<Film>, seed: u8, uploads: &Migrating<Film>| {
        let value = upload(uploads, 1, bytes(CHUNK, seed)).await;
        client.merge(film(1), FilmPatch::default().trailer(value)).await
    };
    let form = async || films.load(film(1)).await.unwrap().unwrap().form();
    // In the old form, in a merge that moves, and in the new form.
    merge(&version1, 2, &version1).await.unwrap();
    assert_eq!((trailer(&films, 1).await, form().await), (bytes(CHUNK, 2), StoredForm::Old));
    merge(&films, 3, &films).await.unwrap();
    assert_eq!((trailer(&films, 1).await, form().await), (bytes(CHUNK, 3), StoredForm::New));
    merge(&version1, 4, &version1).await.unwrap();
    assert_eq!(trailer(&films, 1).await, bytes(CHUNK, 4));
    let absent = FilmPatch::default().trailer(upload(&version1, 2, bytes(CHUNK, 5)).await);
    let refused = films.merge(film(2), absent).await;
    assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
    let of_another = FilmPatch::default().trailer(upload(&version1, 2, bytes(CHUNK, 5)).await);
    let refused = films.merge(film(1), of_another).await;
    let is_other =
        |error: &Error| matches!(error, Error::LargeValue(LargeValueError::OfAnotherEntity { .. }));
    assert!(refused.as_ref().is_err_and(is_other), "{refused:?}");
    assert_eq!(trailer(&films, 1).await, bytes(CHUNK, 4));
}

#[tokio::test(start_paused = true)]
async fn inserts_take_values_of_either_key_and_deletes_remove_them() {
    let subject = Subject::new(false).await;
    let (version1, films) = (subject.films().inserting(StoredForm::Old), subject.films());
    let (studio, poster) = ("s".to_owned(), None);
    let of = |n: u32, trailer| Film {
        studio: studio.clone(),
        n,
        title: String::new(),
        trailer,
        poster: poster.clone(),
    };
    version1.insert(&of(1, upload(&version1, 1, bytes(CHUNK, 1)).await)).await.unwrap();
    films.insert(&of(2, upload(&films, 2, bytes(CHUNK, 2)).await)).await.unwrap();
    // A client of the new form, which was given an upload of another process.
    films.insert(&of(3, upload(&version1, 3, bytes(CHUNK, 3)).await)).await.unwrap();
    // A marker is there: the entity was inserted in its new form before, and deleted.
    let held = films.load(film(2)).await.unwrap().unwrap();
    films.delete(held).await.unwrap();
    let report = version1.insert_many([of(2, upload(&version1, 2, bytes(CHUNK, 4)).await)]).await;
    report.all().unwrap();
    for (n, seed, form) in
        [(1, 1, StoredForm::Old), (2, 4, StoredForm::New), (3, 3, StoredForm::New)]
    {
        assert_eq!(trailer(&films, n).await, bytes(CHUNK, seed));
        assert_eq!(films.load(film(n)).await.unwrap().unwrap().form(), form);
    }
    let mut all = Vec::new();
    for n in 1..=3 {
        films.remove_unused_values(film(n)).await.unwrap();
        all.push(films.load(film(n)).await.unwrap().unwrap());
    }
    assert_eq!(subject.values("films", "s").await, (3, 3));
    assert_eq!(films.delete_many(all).await.all().unwrap(), 3);
    assert_eq!(subject.values("films", "s").await, (0, 0));
    // The other way round, nothing is written.
    let new = upload(&films, 4, bytes(CHUNK, 5)).await;
    let refused = version1.insert(&of(4, new)).await;
    assert!(matches!(refused, Err(Error::LargeValue(LargeValueError::OfAnotherEntity { .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_move_costs_two_requests_for_each_row_of_a_value_and_one_for_the_others() {
    let subject = Subject::new(false).await;
    subject.insert_film(1, bytes(2 * CHUNK + 1, 1), Some(bytes(INLINE + 1, 2))).await;
    subject.insert_song(1, bytes(CHUNK + 1, 1)).await;
    let counter = Arc::new(Counter::around(subject.store.clone()));
    let tables = Tables::new(counter.clone());
    let films = tables.migrating::<Film>().unwrap();
    let mut held = films.load(film(1)).await.unwrap().unwrap();
    counter.take();
    films.save(&mut held).await.unwrap();
    // The values have three rows and one.
    assert_eq!(counter.take(), 1 + (2 * 3 + 1) + 2);
    let songs = tables.migrating::<Song>().unwrap();
    let mut held = songs.load(song(1)).await.unwrap().unwrap();
    counter.take();
    songs.save(&mut held).await.unwrap();
    assert_eq!(counter.take(), 3 + (2 * 2 + 1));
}

#[tokio::test(start_paused = true)]
async fn a_value_is_left_while_its_entity_is_on_its_way() {
    let subject = Subject::new(false).await;
    subject.insert_song(1, bytes(CHUNK + 1, 1)).await;
    let songs = subject.songs();
    let mut held = songs.load(song(1)).await.unwrap().unwrap();
    subject.store.landings.store(true, Relaxed);
    songs.save(&mut held).await.unwrap();
    subject.store.landings.store(false, Relaxed);
    let report = songs.verify_migrated(&permit()).await.unwrap();
    assert_eq!((report.in_transit.len(), report.unmoved.len()), (1, 0), "{report:?}");
    subject.clock.forward(2 * 24 * 60 * 60);
    let stored = songs.get(song(1)).await.unwrap().unwrap();
    let read = async |song: &Song| songs.read_large(song, |song| &song.sound).await.unwrap();
    assert_eq!(read(&stored).await, Some(bytes(CHUNK + 1, 1)));
    // Neither a removal of unused values nor a version 0 removes it.
    assert_eq!(songs.remove_unused_values(song(1)).await.unwrap(), 0);
    let old = subject.tables.repo::<SongV1>();
    let found = old.verify_table(permit()).await.unwrap().findings;
    let unused = found.into_iter().filter(|one| matches!(one.problem, Problem::UnusedValue { .. }));
    assert_eq!(unused.count(), 0);
    let held = songs.load(song(1)).await.unwrap().unwrap();
    assert_eq!(held.form(), StoredForm::New);
    assert_eq!(read(&held).await, Some(bytes(CHUNK + 1, 1)));
    assert_eq!(subject.values("songs", "007").await, (0, 0));
    assert_eq!(subject.values("songs", "B007").await, (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_value_goes_with_the_entity_that_waits_in_its_parcel() {
    for deletes in [false, true] {
        let subject = Subject::new(false).await;
        let old = subject.tables.repo::<ClipV1>();
        old.create_table().await.unwrap();
        let mut upload = old.upload(ClipV1::partition(7).row().n(2)).unwrap();
        upload.add(bytes(CHUNK + 1, 1)).await.unwrap();
        let sound = upload.finish().await.unwrap();
        old.insert(&ClipV1 { band: 7, n: 2, code: "x".to_owned(), sound }).await.unwrap();
        let clips = subject.tables.migrating::<Clip>().unwrap();
        let key = Clip::partition(7).by_number().n(2);
        let mut held = clips.load(&key).await.unwrap().unwrap();
        subject.store.landings.store(true, Relaxed);
        clips.save(&mut held).await.unwrap();
        subject.store.landings.store(false, Relaxed);
        // Another entity takes the index row.
        let sound = Large::default();
        clips.insert(&Clip { band: 7, n: 1, code: "x".to_owned(), sound }).await.unwrap();
        let mut held = clips.load(&key).await.unwrap().unwrap();
        assert_eq!((held.form(), held.etag()), (StoredForm::New, None));
        let read = clips.read_large(&held, |clip| &clip.sound).await.unwrap();
        assert_eq!(read, Some(bytes(CHUNK + 1, 1)));
        if deletes {
            clips.delete(held).await.unwrap();
            assert_eq!(subject.values("clips", "B007").await, (0, 0));
            continue;
        }
        let mut upload = clips.upload(&key).unwrap();
        upload.add(bytes(INLINE + 1, 2)).await.unwrap();
        (held.code, held.sound) = ("y".to_owned(), upload.finish().await.unwrap());
        clips.save(&mut held).await.unwrap();
        assert_eq!(subject.values("clips", "B007").await, (1, 1));
        let read = clips.read_large(&held, |clip| &clip.sound).await.unwrap();
        assert_eq!(read, Some(bytes(INLINE + 1, 2)));
    }
}

#[tokio::test(start_paused = true)]
async fn values_of_keys_that_stay_go_to_the_other_table() {
    for has_blobs in [false, true] {
        let subject = Subject::new(has_blobs).await;
        let old = subject.tables.repo::<TapeV1>();
        old.create_table().await.unwrap();
        for n in 1..=2 {
            let mut upload = old.upload(TapeV1::partition(7).row().n(n)).unwrap();
            upload.add(bytes(CHUNK + 1, n as u8)).await.unwrap();
            let (name, sound) = ("old".to_owned(), upload.finish().await.unwrap());
            old.insert(&TapeV1 { band: 7, n, name, sound }).await.unwrap();
        }
        let tapes = subject.tables.migrating::<Tape>().unwrap();
        tapes.create_table_if_not_exists().await.unwrap();
        let key = |n: u32| Tape::partition(7).row().n(n);
        let are_whole = async || {
            for n in 1..=2 {
                let tape = tapes.get(key(n)).await.unwrap().unwrap();
                let read = tapes.read_large(&tape, |tape| &tape.sound).await.unwrap();
                assert_eq!(read, Some(bytes(CHUNK + 1, n as u8)));
            }
        };
        are_whole().await;
        let version1 = tapes.clone().inserting(StoredForm::Old);
        version1.update(key(1), |tape| tape.name = "new".to_owned()).await.unwrap();
        are_whole().await;
        tapes.update(key(1), |tape| tape.name = "newer".to_owned()).await.unwrap();
        are_whole().await;
        let of_one = subject.values("tapesnew", "007").await;
        // A write of what has moved copies nothing.
        tapes.update(key(1), |tape| tape.name = "newest".to_owned()).await.unwrap();
        assert_eq!(subject.values("tapesnew", "007").await, of_one);
        assert_eq!(tapes.migrate(&permit()).await.all().unwrap(), 1);
        are_whole().await;
        assert_eq!(subject.values("tapes", "007").await, (0, 0));
        assert_eq!(subject.values("tapesnew", "007").await, (2, 4));
    }
}

#[tokio::test(start_paused = true)]
async fn an_entity_that_was_read_before_its_move_is_written_with_its_value() {
    let subject = Subject::new(false).await;
    subject.insert_film(1, bytes(CHUNK, 1), None).await;
    let films = subject.films();
    let mut read = films.get(film(1)).await.unwrap().unwrap();
    assert_eq!(films.migrate(&permit()).await.all().unwrap(), 1);
    read.title = "new".to_owned();
    films.upsert(&read).await.unwrap();
    assert_eq!(trailer(&films, 1).await, bytes(CHUNK, 1));
    films
        .update(film(1), |film| *film = Film { title: "newer".to_owned(), ..read.clone() })
        .await
        .unwrap();
    let stored = films.load(film(1)).await.unwrap().unwrap();
    assert_eq!((stored.title.as_str(), trailer(&films, 1).await), ("newer", bytes(CHUNK, 1)));
    let mut held = stored;
    held.trailer = read.trailer.clone();
    films.transaction(Film::partition("s")).save(&mut held).commit().await.unwrap();
    assert_eq!(trailer(&films, 1).await, bytes(CHUNK, 1));
    assert_eq!(subject.values("films", "s").await, (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_value_of_another_entity_moves_nothing() {
    let subject = Subject::new(false).await;
    for n in [1, 2] {
        subject.insert_song(n, bytes(CHUNK, n as u8)).await;
    }
    let songs = subject.songs();
    let mut two = songs.load(song(2)).await.unwrap().unwrap();
    songs.save(&mut two).await.unwrap();
    let mut one = songs.load(song(1)).await.unwrap().unwrap();
    one.sound = two.sound.clone();
    let refused = songs.save(&mut one).await;
    let is_other =
        |error: &Error| matches!(error, Error::LargeValue(LargeValueError::OfAnotherEntity { .. }));
    assert!(refused.as_ref().is_err_and(is_other), "{refused:?}");
    assert_eq!(songs.load(song(1)).await.unwrap().unwrap().form(), StoredForm::Old);
    // One that was removed is told as such.
    let uploaded = {
        let mut upload = songs.upload(song(1)).unwrap();
        upload.add(bytes(CHUNK, 3)).await.unwrap();
        upload.finish().await.unwrap()
    };
    songs.remove_unused_values(song(1)).await.unwrap();
    let refused = songs.update(song(1), |song| song.sound = uploaded.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::LargeValue(LargeValueError::Gone { .. })), "{refused}");
    assert!(songs.migrate(&permit()).await.all().is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_entity_whose_rows_and_values_are_too_many_for_its_landing_stays() {
    let subject = Subject::new(false).await;
    let old = subject.tables.repo::<TalkV1>();
    old.create_table().await.unwrap();
    let mut upload = old.upload(TalkV1::partition(7).row().n(1)).unwrap();
    upload.add(bytes(CHUNK, 1)).await.unwrap();
    let sound = upload.finish().await.unwrap();
    let words = (0..98).map(|word| format!("w{word:02}")).collect();
    old.insert(&TalkV1 { band: 7, n: 1, words, sound }).await.unwrap();
    let talks = subject.tables.migrating::<Talk>().unwrap();
    let plan = talks.migrate(&permit()).plan().await.unwrap();
    assert_eq!(plan.unmovable.len(), 1);
    let report = talks.migrate(&permit()).await;
    assert!(matches!(report.skipped[0].reason, Error::TooLarge(_)), "{:?}", report.skipped);
    let key = Talk::partition(7).row().n(1);
    talks.update(&key, |talk| drop(talk.words.pop())).await.unwrap();
    assert_eq!(talks.load(&key).await.unwrap().unwrap().form(), StoredForm::New);
    assert!(talks.verify_migrated(&permit()).await.unwrap().is_complete());
}

#[tokio::test(start_paused = true)]
async fn what_a_mover_that_lost_to_a_writer_copied_is_removed() {
    let subject = Subject::new(false).await;
    subject.insert_film(1, bytes(CHUNK, 1), None).await;
    let films = subject.films();
    let mut stale = films.load(film(1)).await.unwrap().unwrap();
    let version1 = films.clone().inserting(StoredForm::Old);
    version1.update(film(1), |film| film.title = "new".to_owned()).await.unwrap();
    stale.title = "lost".to_owned();
    let lost = films.save(&mut stale).await;
    assert!(matches!(lost, Err(Error::Conflict(_))), "{lost:?}");
    assert_eq!(subject.values("films", "s").await, (1, 1));
    // One whose value another writer has replaced since has nothing to copy.
    let mut stale = films.load(film(1)).await.unwrap().unwrap();
    let uploaded = upload(&version1, 1, bytes(CHUNK, 2)).await;
    version1.update(film(1), |film| film.trailer = uploaded.clone()).await.unwrap();
    stale.title = "lost".to_owned();
    let lost = films.save(&mut stale).await;
    assert!(matches!(lost, Err(Error::Conflict(_))), "{lost:?}");
    assert_eq!(trailer(&films, 1).await, bytes(CHUNK, 2));
}

#[tokio::test(start_paused = true)]
async fn an_entity_whose_value_is_damaged_is_reported_and_the_others_move() {
    let subject = Subject::new(false).await;
    for n in [1, 2, 3] {
        subject.insert_film(n, bytes(CHUNK + 1, n as u8), None).await;
    }
    let rows = subject.rows("films");
    let all = rows.list("s", "LOB:".."LOB;").collect().await.unwrap();
    let owned = |key: &str| {
        let key = Edm::String(key.to_owned());
        all.iter().filter(move |row| row.properties.get("Owner") == Some(&key)).cloned()
    };
    let last = owned("F:001").next_back().unwrap();
    rows.delete(&last).await.unwrap();
    let mut other = owned("F:002").next_back().unwrap();
    other.properties.insert("Data00".to_owned(), Edm::Binary(b"x".to_vec()));
    rows.insert_or_replace(&other).await.unwrap();
    let films = subject.films();
    let report = films.migrate(&permit()).await;
    assert_eq!(report.progress.moved, 1);
    assert!(report.ended.is_none(), "{:?}", report.ended);
    let damaged = report.skipped.iter().filter(|skipped| {
        matches!(skipped.reason, Error::LargeValue(LargeValueError::Damaged { .. }))
    });
    assert_eq!(damaged.count(), 2, "{:?}", report.skipped);
    // With another value, they move.
    for n in [1, 2] {
        let uploaded = upload(&films, n, bytes(INLINE + 1, n as u8)).await;
        films.update(film(n), |film| film.trailer = uploaded.clone()).await.unwrap();
    }
    assert!(films.verify_migrated(&permit()).await.unwrap().is_complete());
    for n in [1, 2] {
        assert_eq!(trailer(&films, n).await, bytes(INLINE + 1, n as u8));
    }
}
