//! Transactions of entities with large values, totals and events: how much fits, and that nothing is too large.

use std::sync::Arc;
use support::recorder::recorded_around;
use support::{dose, draw};
use table_orm::embedded::EmbeddedStore;
use table_orm::property::Large;
use table_orm::{Error, Loaded, Repo, Sum, TableEntity, TableName, Tables};

/// An entity that is added up by group, and reported.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}", outbox, sums = Film::SUMS)]
#[row(by_id, key = "FILM:{id:05}")]
#[row(by_title, key = "TITLE:{title}__{id:05}", include(genre))]
struct Film {
    studio: String,
    id: u32,
    title: String,
    genre: String,
    #[table(overflow)]
    trailer: Large,
}

impl Film {
    const COUNT: Sum<Self> = Sum::count("films");
    const BY_GENRE: Sum<Self> = Sum::by_group("by-genre", |film| (film.genre.clone(), 1));
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT, Self::BY_GENRE];
}

/// An entity of the same table without any of these.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "NOTE:{id:05}")]
struct Note {
    studio: String,
    id: u32,
}

/// One with large values alone.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "CLIP:{id:05}")]
struct Clip {
    studio: String,
    id: u32,
    #[table(overflow)]
    clip: Large,
}

/// The bytes of a value in one row.
const SHORT: usize = 64 * 1024 + 1;
/// The operations that a film needs at most: two rows that move, a touch, a delete, two totals and an event.
const MOST: usize = 4 + 1 + 1 + 2 + 1;

fn film(id: u32, genre: &str, trailer: Large) -> Film {
    Film { studio: "s".into(), id, title: format!("title{id}"), genre: genre.into(), trailer }
}

fn note(id: u32) -> Note {
    Note { studio: "s".into(), id }
}

async fn upload(films: &Repo<Film>, id: u32) -> Large {
    let mut upload = films.upload(Film::partition("s").by_id().id(id)).unwrap();
    upload.add(vec![7; SHORT]).await.unwrap();
    upload.finish().await.unwrap()
}

async fn films_in(tables: &Tables, count: u32) -> Repo<Film> {
    let films = tables.repo::<Film>();
    films.create_table().await.unwrap();
    for id in 1..=count {
        films.insert(&film(id, "drama", upload(&films, id).await)).await.unwrap();
    }
    films
}

async fn load_all(films: &Repo<Film>) -> Vec<Loaded<Film>> {
    films.load(Film::partition("s").by_id()).await.unwrap().into_vec()
}

/// The first rows of the values that are stored.
async fn values(tables: &Tables) -> usize {
    let rows = tables.table(TableName::new("films").unwrap());
    let rows = rows.list("s", "LOB:".."LOB;").collect().await.unwrap();
    rows.iter().filter(|row| row.row_key.ends_with(":000000")).count()
}

#[tokio::test]
async fn deletes_of_replaced_values_leave_room_for_totals_and_events() {
    for (count, left) in [(20, 2), (24, 22), (45, 45)] {
        let tables = Tables::in_memory().unwrap();
        let films = films_in(&tables, count).await;
        let mut all = load_all(&films).await;
        let mut transaction = films.transaction(Film::partition("s"));
        for film in &mut all {
            film.trailer = Large::default();
            transaction = transaction.save(film);
        }
        transaction.commit().await.unwrap();
        // Of 100 operations, each film takes 4: its row, two totals and its event; all films take the count and the
        // number of the next event.
        assert_eq!(values(&tables).await, left, "{count} films");
        assert_eq!(films.verify_sums(Film::partition("s")).await.unwrap(), []);
    }
}

#[tokio::test]
async fn room_counts_what_each_entity_of_a_transaction_needs() {
    let tables = Tables::in_memory().unwrap();
    let films = films_in(&tables, 3).await;
    let [mut first, second, third] = <[_; 3]>::try_from(load_all(&films).await).unwrap();
    let trailer = upload(&films, 4).await;
    let empty = || tables.transaction(Film::partition("s"));
    let room = |transaction: table_orm::repo::Transaction<'_>| transaction.room().operations;
    // The count and the number of the next event; two rows, a touch, a total and an event.
    assert_eq!(room(empty().insert(&film(4, "drama", trailer))), 100 - 2 - 5);
    // Two rows, a total and an event; notes need themselves alone.
    let notes = |count| (0..count).fold(empty(), |all, id| all.insert(&note(id)));
    assert_eq!(room(notes(40).insert(&film(5, "drama", Large::default()))), 100 - 2 - 40 - 4);
    // It is one of films, so what all of them share is kept free from the start.
    assert_eq!(room(notes(40)), 100 - 2 - 40);
    // A requirement changes nothing else.
    assert_eq!(room(empty().require(&second)), 100 - 2 - 1);
    // Two rows, the value, a total and an event.
    assert_eq!(room(empty().delete(third)), 100 - 2 - 5);
    first.trailer = Large::default();
    assert_eq!(room(empty().save(&mut first)), 100 - 2 - 1 - 1 - 2 - 1);
}

#[tokio::test]
async fn a_transaction_that_has_room_is_never_too_large() {
    for seed in 0..dose(4, 40) {
        let dice = |what: &str, at: u32, sides: u64| draw((seed, at, what), 0..sides);
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let tables = Tables::new(store.clone());
        let films = films_in(&tables, 30).await;
        let (recorded, record) = recorded_around(store);
        let mut all = load_all(&films).await;
        let mut transaction = recorded.transaction(Film::partition("s"));
        let (mut at, mut moved) = (0, false);
        let mut old = all.iter_mut();
        while transaction.room().operations >= MOST {
            at += 1;
            let kind = dice("kind", at, 6);
            transaction = match (kind, old.next()) {
                (0, Some(film)) => transaction.delete(film.clone()),
                (1, Some(film)) => {
                    film.trailer = Large::default();
                    transaction.save(film)
                }
                (2, Some(film)) => {
                    (film.genre, moved) = (format!("genre{}", dice("genre", at, 3)), true);
                    transaction.save(film)
                }
                (3, Some(film)) => {
                    (film.title, film.trailer) = (format!("other{at}"), Large::default());
                    transaction.save(film)
                }
                (4, Some(film)) => transaction.require(&*film),
                (5, _) => transaction.insert(&note(at)),
                _ => transaction.insert(&film(100 + at, "new", Large::default())),
            };
        }
        let room = transaction.room().operations;
        record.take();
        transaction.commit().await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let sent = record.take().writes[0];
        assert!(sent <= 100 - room, "seed {seed}: {sent} operations with room for {room}");
        // A film of a known genre may have changed no total.
        assert!(moved || sent + 2 * at as usize >= 100 - room, "seed {seed}: {sent}, {room}");
        assert_eq!(films.verify_sums(Film::partition("s")).await.unwrap(), [], "seed {seed}");
        let found = films.verify(Film::partition("s")).await.unwrap().findings;
        assert!(found.is_empty(), "seed {seed}: {found:?}");
        for film in films.list(Film::partition("s").by_id()).collect().await.unwrap() {
            let whole = films.read_large(&film, |film| &film.trailer).await.unwrap().unwrap();
            assert!(whole.is_empty() || whole.len() == SHORT, "seed {seed}");
        }
    }
}

#[tokio::test]
async fn a_bulk_write_has_room_for_the_values_of_all_entities_of_a_transaction() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let (tables, record) = recorded_around(store);
    let clips = tables.repo::<Clip>();
    clips.create_table().await.unwrap();
    let mut all = Vec::new();
    for id in 0..100 {
        let mut clip = Large::default();
        if id < 40 {
            let mut upload = clips.upload(Clip::partition("s").row().id(id)).unwrap();
            upload.add(vec![7; SHORT]).await.unwrap();
            clip = upload.finish().await.unwrap();
        }
        all.push(Clip { studio: "s".into(), id, clip });
    }
    record.take();
    clips.insert_many(all).await.all().unwrap();
    // 40 clips with a touch each, and 20 without; then the other 40.
    assert_eq!(record.take().writes, [100, 40]);
}

#[tokio::test]
async fn more_than_a_transaction_takes_is_refused_whole() {
    let tables = Tables::in_memory().unwrap();
    let films = films_in(&tables, 1).await;
    let empty = || tables.transaction(Film::partition("s"));
    let of = |count| (0..count).fold(empty(), |all, id| all.insert(&note(id)));
    let new = film(2, "drama", Large::default());
    assert_eq!(of(94).insert(&new).room().operations, 0);
    let refused = of(95).insert(&new).commit().await.unwrap_err();
    assert!(matches!(refused, Error::TooLarge(_)), "{refused}");
    of(94).insert(&new).commit().await.unwrap();
    assert_eq!(films.list(Film::partition("s").by_id()).count().await.unwrap(), 2);
}
