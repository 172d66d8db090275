//! Large values: what an entity refers to is whole, and what no entity refers to is removed.

mod in_blobs;
mod late;
mod replaced;
mod retained;
mod room;
mod simulation;
mod tampering;

use bytes::Bytes;
use futures_util::stream;
use std::sync::Arc;
use support::clock::{Clock, with_clock};
use support::polls::poll_times;
use support::recorder::recorded_around;
use support::stops::with_stops;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{FaultStore, Faults, Retry};
use table_orm::model::Edm;
use table_orm::property::{Large, PropertyFault};
use table_orm::query::Complete;
use table_orm::repo::{LargeValueError, Problem, SkipReason, Table};
use table_orm::{DynamicEntity, Error, Properties, Repo, Result, TableEntity, TableName, Tables};

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
    #[table(overflow)]
    poster: Option<Large>,
}

const INLINE: usize = 64 * 1024;
const CHUNK: usize = 704 * 1024;
const DAY: i64 = 24 * 60 * 60;

fn bytes(length: usize, seed: u8) -> Bytes {
    (0..length).map(|at| (at % 251) as u8 ^ seed).collect::<Vec<_>>().into()
}

fn key(id: u32) -> FilmById<Complete> {
    Film::partition("s").by_id().id(id)
}

fn film(id: u32, trailer: Large) -> Film {
    Film { studio: "s".to_owned(), id, title: "t".to_owned(), trailer, poster: None }
}

struct Subject {
    store: Arc<EmbeddedStore>,
    films: Repo<Film>,
    rows: Table,
    clock: Clock,
}

impl Subject {
    async fn new() -> Self {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let (ahead, clock) = with_clock(store.clone());
        let tables = Tables::new(ahead);
        let films = tables.repo::<Film>();
        films.create_table().await.unwrap();
        Self { rows: tables.table(TableName::new("films").unwrap()), store, films, clock }
    }

    async fn upload(&self, id: u32, bytes: Bytes) -> Large {
        upload(&self.films, id, bytes).await.unwrap()
    }

    async fn stored(&self, id: u32) -> Film {
        self.films.get(key(id)).await.unwrap().unwrap()
    }

    /// The rows of large values.
    async fn chunks(&self) -> Vec<DynamicEntity> {
        self.rows.list("s", "LOB:".."LOB;").collect().await.unwrap()
    }

    async fn problems(&self) -> Vec<Problem> {
        let report = self.films.verify(Film::partition("s")).await.unwrap();
        report.findings.into_iter().map(|finding| finding.problem).collect()
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

async fn is_read_back(lengths: &[usize]) {
    let subject = Subject::new().await;
    for &length in lengths {
        let trailer = subject.upload(1, bytes(length, 1)).await;
        assert_eq!((trailer.len(), trailer.inline().is_some()), (length as u64, length <= INLINE));
        subject.films.upsert(&film(1, trailer)).await.unwrap();
        let stored = subject.stored(1).await;
        let whole = read(&subject.films, &stored).await.unwrap().unwrap();
        assert!(whole == bytes(length, 1), "{length}");
        let mut pieces = subject.films.stream_large(&stored, |film| &film.trailer);
        let (mut streamed, mut largest) = (0, 0);
        while let Some(piece) = pieces.next().await.unwrap() {
            (streamed, largest) = (streamed + piece.len(), largest.max(piece.len()));
        }
        assert!(streamed == length && largest <= CHUNK, "{length}");
        subject.films.remove_unused_values(key(1)).await.unwrap();
        assert_eq!(
            subject.chunks().await.len(),
            if length > INLINE { length.div_ceil(CHUNK) } else { 0 }
        );
    }
}

#[tokio::test]
async fn values_of_any_length_are_read_back_and_replaced_ones_removed() {
    is_read_back(&[0, INLINE, INLINE + 1, CHUNK, CHUNK + 1]).await;
    if support::is_long() {
        is_read_back(&[1024 * 1024, 2 * CHUNK, 50 * 1024 * 1024]).await;
    }
}

#[tokio::test]
async fn an_upload_takes_the_pieces_of_a_stream_and_stops_at_its_error() {
    let subject = Subject::new().await;
    let mut upload = subject.films.upload(key(1)).unwrap();
    let pieces = (0..300).map(|at| Ok::<_, std::io::Error>(bytes(10_000, at as u8)));
    upload.add_all(stream::iter(pieces)).await.unwrap();
    let trailer = upload.finish().await.unwrap();
    subject.films.insert(&film(1, trailer)).await.unwrap();
    let whole: Vec<u8> = (0..300).flat_map(|at| bytes(10_000, at as u8)).collect();
    assert!(read(&subject.films, &subject.stored(1).await).await.unwrap().unwrap() == whole);
    let mut upload = subject.films.upload(key(1)).unwrap();
    let failing = [Ok(bytes(10, 1)), Err(std::io::Error::other("the disk is gone"))];
    let error = upload.add_all(stream::iter(failing)).await.unwrap_err();
    assert!(matches!(&error, Error::LargeValue(LargeValueError::Source(_))), "{error}");
}

#[tokio::test]
async fn an_upload_that_lost_bytes_does_not_go_on() {
    let subject = Subject::new().await;
    let faults = Faults::seeded(1).errors_before(1.0).store(subject.store.clone()).unwrap();
    let mut upload = Tables::new(faults.clone()).repo::<Film>().upload(key(1)).unwrap();
    upload.add(bytes(CHUNK - 1, 1)).await.unwrap();
    assert!(!matches!(upload.add(bytes(2, 1)).await, Ok(()) | Err(Error::LargeValue(_))));
    faults.disable();
    let again = upload.add(bytes(2, 1)).await;
    assert!(matches!(again, Err(Error::LargeValue(LargeValueError::Interrupted))));
    let end = upload.finish().await;
    assert!(matches!(end, Err(Error::LargeValue(LargeValueError::Interrupted))));
}

#[tokio::test]
async fn an_entity_is_read_and_listed_without_its_large_values() {
    let (tables, record) = recorded_around(EmbeddedStore::in_memory().unwrap());
    let films = tables.repo::<Film>();
    films.create_table().await.unwrap();
    for id in 1..=3 {
        let trailer = upload(&films, id, bytes(CHUNK + 1, 1)).await.unwrap();
        films.insert(&film(id, trailer)).await.unwrap();
    }
    record.take();
    let listed = films.list(Film::partition("s").by_id()).collect().await.unwrap();
    let requests = record.take();
    assert_eq!((listed.len(), requests.queries.len(), requests.gets), (3, 1, 0));
    read(&films, &listed[0]).await.unwrap();
    assert_eq!(record.take().gets, 2);
}

#[tokio::test]
async fn every_kind_of_write_keeps_what_it_refers_to() {
    let subject = Subject::new().await;
    let films = &subject.films;
    let mut many = Vec::new();
    for id in 1..=40 {
        many.push(film(id, subject.upload(id, bytes(INLINE + 1, 1)).await));
    }
    films.insert_many(many.clone()).await.all().unwrap();
    let poster = subject.upload(1, bytes(CHUNK + 1, 2)).await;
    films.merge(key(1), FilmPatch::default().poster(poster.clone())).await.unwrap();
    let trailer = subject.upload(2, bytes(INLINE + 2, 3)).await;
    films.update(key(2), |film| film.trailer = trailer.clone()).await.unwrap();
    let more = film(41, subject.upload(41, bytes(INLINE + 1, 1)).await);
    films.transaction(&Film::partition("s")).insert(&more).commit().await.unwrap();
    // Nobody else's value is removed. The update has removed its own.
    subject.clock.forward(DAY + 1);
    assert_eq!(films.remove_unused_values(key(2)).await.unwrap(), 0);
    assert_eq!(subject.problems().await, []);
    for id in 1..=41 {
        let stored = subject.stored(id).await;
        assert!(read(films, &stored).await.unwrap().is_some_and(|bytes| bytes.len() > INLINE));
    }
    let first = subject.stored(1).await;
    assert_eq!(first.poster.as_ref(), Some(&poster));
    let poster = films.read_large(&first, |film| &film.poster).await.unwrap();
    assert!(poster == Some(bytes(CHUNK + 1, 2)));
    assert_eq!(
        films.read_large(&subject.stored(2).await, |film| &film.poster).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn no_entity_is_stored_with_a_value_that_was_removed_or_is_anothers() {
    let subject = Subject::new().await;
    let old = film(1, subject.upload(1, bytes(INLINE + 1, 1)).await);
    subject.films.insert(&old).await.unwrap();
    let new = film(1, subject.upload(1, bytes(INLINE + 1, 2)).await);
    subject.films.upsert(&new).await.unwrap();
    assert_eq!(subject.chunks().await.len(), 1);
    let gone = subject.films.upsert(&old).await.unwrap_err();
    assert!(matches!(&gone, Error::LargeValue(LargeValueError::Gone { .. })), "{gone}");
    assert!(gone.is_conflict());
    let others = subject.films.insert(&film(2, new.trailer.clone())).await.unwrap_err();
    let refused = matches!(&others, Error::LargeValue(LargeValueError::OfAnotherEntity { .. }));
    assert!(refused && others.is_client_error(), "{others}");
    assert_eq!(subject.stored(1).await, new);
    assert_eq!(subject.films.get(key(2)).await.unwrap(), None);
}

#[tokio::test]
async fn a_value_without_an_entity_is_left_to_its_upload_for_a_day_and_then_removed() {
    let subject = Subject::new().await;
    subject.upload(1, bytes(CHUNK + 1, 1)).await;
    let kept = film(2, subject.upload(2, bytes(INLINE + 1, 2)).await);
    subject.films.insert(&kept).await.unwrap();
    assert_eq!(subject.problems().await, []);
    subject.clock.forward(DAY + 1);
    let found = subject.films.verify(Film::partition("s")).await.unwrap().findings;
    assert!(
        matches!(found[..], [ref one] if matches!(one.problem, Problem::UnusedValue { seconds } if seconds > 86_400))
    );
    // A younger one at the same place.
    subject.clock.forward(-DAY);
    let young = subject.films.repair(found.clone()).await;
    assert_eq!(young.skipped[0].reason, SkipReason::Young);
    subject.clock.forward(DAY);
    assert!(subject.films.repair(found.clone()).plan().await.unwrap().operations().count() >= 2);
    assert_eq!(subject.films.repair(found).await.all().unwrap(), 1);
    assert_eq!((subject.problems().await, subject.chunks().await.len()), (vec![], 1));
    // Without its entity, the other one, too: here the rows are deleted by hand.
    for row_key in ["FILM:00002", "TITLE:t__00002"] {
        subject.rows.delete(&subject.rows.get("s", row_key).await.unwrap().unwrap()).await.unwrap();
    }
    let found = subject.films.verify(Film::partition("s")).await.unwrap().findings;
    assert_eq!(subject.films.repair(found).await.all().unwrap(), 1);
    assert_eq!(subject.chunks().await.len(), 0);
}

#[derive(Debug, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "FILM:{id:05}")]
struct Renamed {
    studio: String,
    id: u32,
    title: String,
    #[table(overflow, alias = "Poster")]
    picture: Option<Large>,
}

#[tokio::test]
async fn a_value_that_another_version_of_the_type_refers_to_is_not_removed() {
    let subject = Subject::new().await;
    let poster = Some(subject.upload(1, bytes(INLINE + 1, 2)).await);
    let trailer = subject.upload(1, bytes(INLINE + 1, 1)).await;
    let film = Film { poster: poster.clone(), ..film(1, trailer) };
    subject.films.insert(&film).await.unwrap();
    let renamed = Tables::new(subject.store.clone()).repo::<Renamed>();
    let key = || Renamed::partition("s").row().id(1);
    // The one under its former name, the other in a property that this version does not know.
    assert_eq!(renamed.remove_unused_values(key()).await.unwrap(), 0);
    assert_eq!(renamed.get(key()).await.unwrap().unwrap().picture, poster);
    assert_eq!(subject.chunks().await.len(), 2);
}

#[tokio::test]
async fn a_value_that_an_entity_gets_in_between_is_not_removed() {
    for at in 1..=8 {
        let subject = Subject::new().await;
        let new = film(1, subject.upload(1, bytes(INLINE + 1, 1)).await);
        let (store, stops) = with_stops(subject.store.clone());
        let (films, writer, new) =
            (Tables::new(store).repo::<Film>(), subject.films.clone(), new.clone());
        stops.before(at, async move { drop(writer.upsert(&new).await) });
        let removed = films.remove_unused_values(key(1)).await.unwrap();
        let entity = subject.films.get(key(1)).await.unwrap();
        match entity {
            Some(entity) => {
                assert_eq!(removed, 0, "before request {at}");
                assert!(read(&subject.films, &entity).await.unwrap().is_some());
            }
            // The value was gone first.
            None => return assert!(at > 3 && removed == 1),
        }
    }
    panic!("the value was never removed");
}

#[tokio::test]
async fn a_reader_of_a_replaced_value_gets_the_new_one_or_an_error() {
    for at in 1..=2 {
        let subject = Subject::new().await;
        let old = film(1, subject.upload(1, bytes(CHUNK + 1, 1)).await);
        subject.films.insert(&old).await.unwrap();
        let new = film(1, subject.upload(1, bytes(INLINE + 1, 2)).await);
        let replace = || {
            let (films, new) = (subject.films.clone(), new.clone());
            async move {
                films.upsert(&new).await.unwrap();
                films.remove_unused_values(key(1)).await.unwrap();
            }
        };
        let (store, stops) = with_stops(subject.store.clone());
        let films = Tables::new(store).repo::<Film>();
        stops.before(at, replace());
        let whole = read(&films, &old).await.unwrap().unwrap();
        assert!(whole == bytes(INLINE + 1, 2), "before request {at}");

        subject
            .films
            .delete(subject.films.load(key(1)).await.unwrap().one().unwrap())
            .await
            .unwrap();
        let old = film(1, subject.upload(1, bytes(CHUNK + 1, 3)).await);
        subject.films.insert(&old).await.unwrap();
        let new = film(1, subject.upload(1, bytes(INLINE + 1, 4)).await);
        let (films_now, new_now) = (subject.films.clone(), new.clone());
        stops.take();
        stops.before(at, async move {
            films_now.upsert(&new_now).await.unwrap();
            films_now.remove_unused_values(key(1)).await.unwrap();
        });
        let mut pieces = films.stream_large(&old, |film| &film.trailer);
        let mut streamed = Vec::new();
        let end = loop {
            match pieces.next().await {
                Ok(Some(piece)) => streamed.extend_from_slice(&piece),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        if at == 1 {
            assert!(end.is_none() && streamed == bytes(INLINE + 1, 4));
        } else {
            assert!(streamed == bytes(CHUNK + 1, 3)[..(at - 1) * CHUNK]);
            let replaced = matches!(end, Some(Error::LargeValue(LargeValueError::Replaced { .. })));
            assert!(replaced, "{end:?}");
        }
    }
}

#[tokio::test]
async fn a_damaged_value_is_never_returned() {
    let subject = Subject::new().await;
    let whole = film(1, subject.upload(1, bytes(CHUNK + 9, 1)).await);
    subject.films.insert(&whole).await.unwrap();
    let mut last = subject.chunks().await.pop().unwrap();
    let Some(Edm::Binary(data)) = last.properties.get_mut("Data00") else { panic!("{last:?}") };
    data[7] ^= 1;
    subject.rows.insert_or_replace(&last).await.unwrap();
    let error = read(&subject.films, &whole).await.unwrap_err();
    assert!(matches!(error, Error::LargeValue(LargeValueError::Damaged { .. })), "{error}");
    subject.rows.delete(&subject.chunks().await.pop().unwrap()).await.unwrap();
    let error = read(&subject.films, &whole).await.unwrap_err();
    assert!(matches!(error, Error::LargeValue(LargeValueError::Damaged { .. })), "{error}");
    subject.films.force_delete(&whole).await.unwrap();
    assert_eq!(read(&subject.films, &whole).await.unwrap(), None);
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct Media {
    clip: Large,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "CLIP:{id:05}")]
struct Clip {
    studio: String,
    id: u32,
    #[table(flatten)]
    media: Media,
}

#[tokio::test]
async fn a_reference_is_stored_only_where_its_value_is_kept() {
    let subject = Subject::new().await;
    let clips = Tables::new(subject.store.clone()).repo::<Clip>();
    let clip = |clip| Clip { studio: "s".to_owned(), id: 1, media: Media { clip } };
    clips.insert(&clip(Large::from(vec![1; 100]))).await.unwrap();
    let error = clips.upsert(&clip(subject.upload(1, bytes(CHUNK, 1)).await)).await.unwrap_err();
    let Error::Property(error) = error else { panic!("{error}") };
    assert_eq!((&*error.property, error.fault), ("Clip", PropertyFault::NotOverflowing));
    let error = clips.upsert(&clip(Large::from(bytes(INLINE + 1, 1)))).await.unwrap_err();
    let Error::Property(error) = error else { panic!("{error}") };
    assert_eq!((&*error.property, error.fault), ("Clip", PropertyFault::NotUploaded(INLINE + 1)));
}

/// A store whose requests take one poll more, so that a call can be dropped before each.
fn among_faults(store: Arc<EmbeddedStore>, seed: u64) -> (Tables, FaultStore) {
    let faults = Faults::seeded(seed).errors_before(0.05).errors_after(0.1);
    let faults = faults.lost_requests(0.05).lost_replies(0.1).store(store).unwrap();
    let tables = Tables::new(faults.clone());
    (tables.layer(Retry::interactive().write_id("WriteId")).unwrap(), faults)
}

/// Replaces the value of film 1, and drops the call after so many polls. Returns whether it ended.
async fn replace(films: &Repo<Film>, bytes: Bytes, polls: usize) -> Option<Result<()>> {
    let call = async {
        let trailer = upload(films, 1, bytes).await?;
        films.upsert(&film(1, trailer)).await?;
        films.remove_unused_values(key(1)).await.map(drop)
    };
    poll_times(call, polls).await
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_ends_anywhere_leaves_a_whole_value_and_nothing_that_stays() {
    let (old, new) = (bytes(INLINE + 1, 1), bytes(INLINE + 2, 2));
    let mut replaced = 0;
    for seed in 0..3 {
        for polls in 1.. {
            let subject = Subject::new().await;
            let trailer = subject.upload(1, old.clone()).await;
            subject.films.insert(&film(1, trailer)).await.unwrap();
            let (tables, faults) = among_faults(subject.store.clone(), seed);
            let end = replace(&tables.repo::<Film>(), new.clone(), polls).await;
            faults.disable();
            let stored = subject.stored(1).await;
            let whole = read(&subject.films, &stored).await.unwrap().unwrap();
            assert!(whole == old || whole == new, "seed {seed}, {polls} polls");
            subject.clock.forward(2 * DAY);
            let found = subject.films.verify(Film::partition("s")).await.unwrap().findings;
            let found = found.into_iter().filter(|one| one.row == "large value");
            subject.films.repair(found).await.all().unwrap();
            assert_eq!(subject.chunks().await.len(), 1, "seed {seed}, {polls} polls");
            replaced += usize::from(whole == new);
            if end.is_some() {
                break;
            }
        }
    }
    assert!(replaced > 0);
}
