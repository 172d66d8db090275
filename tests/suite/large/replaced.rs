//! A write that reads the entity first removes the large values that it replaces, and no others.

use bytes::Bytes;
use std::sync::Arc;
use support::recorder::recorded_around;
use support::stops::{Stop, with_stops};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::Faults;
use table_orm::plan::{Plan, Step};
use table_orm::property::Large;
use table_orm::query::Complete;
use table_orm::repo::Problem;
use table_orm::store::Store;
use table_orm::{Loaded, Repo, Result, TableEntity, TableName, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}")]
#[row(by_id, key = "FILM:{id:05}")]
#[row(by_title, key = "TITLE:{title}__{id:05}")]
struct Film {
    studio: String,
    id: u32,
    title: String,
    minutes: Option<u32>,
    #[table(overflow)]
    trailer: Large,
    #[table(overflow)]
    poster: Option<Large>,
}

/// An older version, which knows one value and no title.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "FILM:{id:05}")]
struct OldFilm {
    studio: String,
    id: u32,
    #[table(overflow)]
    trailer: Large,
}

const CHUNK: usize = 704 * 1024;
/// The bytes of a value in two rows.
const LONG: usize = CHUNK + 1;
/// Those of a value in one row.
const SHORT: usize = 64 * 1024 + 1;

fn bytes(length: usize, seed: u8) -> Bytes {
    (0..length).map(|at| (at % 251) as u8 ^ seed).collect::<Vec<_>>().into()
}

fn key() -> FilmById<Complete> {
    Film::partition("s").by_id().id(1)
}

fn film(trailer: Large) -> Film {
    Film {
        studio: "s".to_owned(),
        id: 1,
        title: "t".to_owned(),
        minutes: None,
        trailer,
        poster: None,
    }
}

async fn upload(films: &Repo<Film>, length: usize, seed: u8) -> Large {
    let mut upload = films.upload(key()).unwrap();
    upload.add(bytes(length, seed)).await.unwrap();
    upload.finish().await.unwrap()
}

async fn films(store: impl Store + 'static) -> Repo<Film> {
    let films = Tables::new(store).repo::<Film>();
    films.create_table().await.unwrap();
    films
}

/// How many rows of large values there are.
async fn chunks(store: &Arc<EmbeddedStore>) -> usize {
    let rows = Tables::new(Arc::clone(store)).table(TableName::new("films").unwrap());
    rows.list("s", "LOB:".."LOB;").count().await.unwrap()
}

async fn loaded(films: &Repo<Film>) -> Loaded<Film> {
    films.load(key()).await.unwrap().one().unwrap()
}

/// A write of the film with another trailer. Without one, the film is deleted.
async fn write(films: &Repo<Film>, kind: usize, trailer: Option<&Large>) -> Result<()> {
    let partition = Film::partition("s");
    let old = loaded(films).await;
    let Some(trailer) = trailer else {
        return match kind {
            0 => films.delete(old).await,
            1 => films.force_delete(&old).await,
            2 => films.delete_if(key(), old.etag()).await,
            3 => films.transaction(&partition).delete(old).commit().await.map(drop),
            4 => films.delete_partition(partition).await.map(drop),
            5 => films.delete_by_key(key()).await,
            _ => films.delete_many([old]).await.all().map(drop),
        };
    };
    let new = film(trailer.clone());
    match kind {
        0 => films.update(key(), |film| film.trailer = trailer.clone()).await.map(drop),
        1 => films.upsert(&new).await.map(drop),
        2 => films.replace(&new, old.etag()).await.map(drop),
        3 => {
            let patch = FilmPatch::default().trailer(trailer.clone());
            films.merge(key(), patch).await.map(drop)
        }
        _ => {
            let mut changed = old;
            changed.trailer = trailer.clone();
            if kind == 4 {
                return films.save(&mut changed).await.map(drop);
            }
            films.transaction(&partition).save(&mut changed).commit().await.map(drop)
        }
    }
}

#[tokio::test]
async fn each_write_that_reads_first_removes_the_value_that_it_replaces() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let films = films(store.clone()).await;
    films.insert(&film(upload(&films, LONG, 0).await)).await.unwrap();
    for (kind, length) in (0..6).map(|kind| (kind, LONG)).chain([(0, SHORT)]) {
        let trailer = upload(&films, length, kind as u8).await;
        write(&films, kind, Some(&trailer)).await.unwrap();
        assert_eq!(chunks(&store).await, length.div_ceil(CHUNK), "write {kind}");
        let whole = films.read_large(&*loaded(&films).await, |film| &film.trailer).await.unwrap();
        assert!(whole == Some(bytes(length, kind as u8)), "write {kind}");
    }
    for kind in 0..7 {
        write(&films, kind, None).await.unwrap();
        assert_eq!(chunks(&store).await, 0, "delete {kind}");
        films.insert(&film(upload(&films, SHORT, 0).await)).await.unwrap();
    }
}

#[tokio::test]
async fn a_value_that_the_entity_still_refers_to_stays() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let films = films(store.clone()).await;
    let trailer = upload(&films, LONG, 1).await;
    films.insert(&film(trailer.clone())).await.unwrap();
    films.update(key(), |film| film.title.push('!')).await.unwrap();
    films.merge(key(), FilmPatch::default().minutes(90)).await.unwrap();
    films.update(key(), |film| film.poster = Some(trailer.clone())).await.unwrap();
    // The other field has it still.
    films.update(key(), |film| film.trailer = Large::default()).await.unwrap();
    assert_eq!(chunks(&store).await, 2);
    let stored = loaded(&films).await;
    let poster = films.read_large(&*stored, |film| &film.poster).await.unwrap();
    assert!(poster == Some(bytes(LONG, 1)));
    films.update(key(), |film| film.poster = None).await.unwrap();
    assert_eq!(chunks(&store).await, 0);
}

#[tokio::test]
async fn an_older_version_of_the_type_removes_no_value_of_a_property_that_it_does_not_know() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let films = films(store.clone()).await;
    let (trailer, poster) = (upload(&films, SHORT, 1).await, upload(&films, SHORT, 2).await);
    films.insert(&Film { poster: Some(poster), ..film(trailer) }).await.unwrap();
    let old = Tables::new(store.clone()).repo::<OldFilm>();
    let key = OldFilm::partition("s").row().id(1);
    old.merge(key, OldFilmPatch::default().trailer(Large::default())).await.unwrap();
    // It does not read first.
    assert_eq!(chunks(&store).await, 2);
    old.update(OldFilm::partition("s").row().id(1), |film| film.trailer = vec![1].into())
        .await
        .unwrap();
    assert_eq!(chunks(&store).await, 2);
    assert!(films.remove_unused_values(self::key()).await.unwrap() > 0);
}

/// What a plan says, and what is sent: requests, and operations of writes.
#[track_caller]
fn check(plan: &Plan, sent: &[usize], reads: usize) {
    let cost = plan.cost();
    let (requests, rows) = ((sent.len() + reads) as u64, sent.iter().sum::<usize>() as u64);
    assert!(cost.transactions.contains(requests), "{requests} of {plan:#}");
    assert!(cost.rows_written.contains(rows), "{rows} of {plan:#}");
}

#[tokio::test]
async fn a_plan_has_the_operations_for_large_values_and_their_cost() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let (tables, record) = recorded_around(store);
    let films = tables.repo::<Film>();
    films.create_table().await.unwrap();
    let first = film(upload(&films, LONG + CHUNK, 1).await);
    record.take();
    let insert = films.insert(&first);
    let plan = insert.plan().unwrap();
    insert.await.unwrap();
    // Its two rows, and the first row of the value.
    assert_eq!((plan.operations().count(), record.take().writes), (3, vec![3]));

    let next = upload(&films, SHORT, 2).await;
    let mut changed = loaded(&films).await;
    changed.trailer = next.clone();
    record.take();
    let save = films.save(&mut changed);
    let plan = save.plan().unwrap();
    save.await.unwrap();
    let sent = record.take();
    // Both rows, a touch, a delete; then the other two rows of the old value.
    assert_eq!(sent.writes, [4, 2]);
    let Some(Step::DeleteValues { rows: Some(2), .. }) = plan.steps.last() else {
        panic!("{plan}")
    };
    assert_eq!(plan.operations().count(), 4);
    check(&plan, &sent.writes, sent.gets);
    let text =
        "deletes on `films` of the other 2 rows of the large values that it replaces, in 1 request";
    assert!(plan.to_string().ends_with(text), "{plan}");

    let long = upload(&films, LONG, 3).await;
    record.take();
    let update = films.update(key(), |film| film.trailer = long.clone());
    let plan = update.plan().unwrap();
    update.await.unwrap();
    let sent = record.take();
    check(&plan, &sent.writes, sent.gets);
    let Some(Step::DeleteValues { rows: None, .. }) = plan.steps.last() else { panic!("{plan}") };

    let delete = films.delete(loaded(&films).await);
    let plan = delete.plan().unwrap();
    record.take();
    delete.await.unwrap();
    let sent = record.take();
    assert_eq!(sent.writes, [3, 1]);
    check(&plan, &sent.writes, sent.gets);
}

/// Inserts films, each with a value in one row.
async fn insert_films(films: &Repo<Film>, count: u32) {
    for id in 1..=count {
        let key = Film::partition("s").by_id().id(id);
        let mut upload = films.upload(key).unwrap();
        upload.add(bytes(SHORT, 1)).await.unwrap();
        let trailer = upload.finish().await.unwrap();
        films.insert(&Film { id, ..film(trailer) }).await.unwrap();
    }
}

#[tokio::test]
async fn a_transaction_removes_as_many_values_as_it_has_room_for() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let films = films(store.clone()).await;
    insert_films(&films, 40).await;
    let mut all = films.load(Film::partition("s").by_id()).await.unwrap().into_vec();
    let mut transaction = films.transaction(&Film::partition("s"));
    for film in &mut all {
        film.trailer = Large::default();
        transaction = transaction.save(film);
    }
    assert_eq!(transaction.plan().unwrap().operations().count(), 100);
    transaction.commit().await.unwrap();
    // Two operations for each of 40 films, and 20 deletes.
    assert_eq!(chunks(&store).await, 20);
}

#[tokio::test]
async fn deletes_of_many_entities_take_their_values_along() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let films = films(store.clone()).await;
    insert_films(&films, 60).await;
    let all = films.load(Film::partition("s").by_id()).await.unwrap();
    // Three operations each, so more than one transaction.
    films.delete_many(all).await.all().unwrap();
    assert_eq!(chunks(&store).await, 0);
}

#[tokio::test]
async fn a_value_that_somebody_else_removed_does_not_stop_its_replacement() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let films = films(store.clone()).await;
    films.insert(&film(upload(&films, LONG, 1).await)).await.unwrap();
    let rows = Tables::new(store.clone()).table(TableName::new("films").unwrap());
    let head = rows.list("s", "LOB:".."LOB;").collect().await.unwrap().remove(0);
    rows.delete(&head).await.unwrap();
    films.update(key(), |film| film.trailer = vec![1].into()).await.unwrap();
    // What is left has no first row, and needs no day.
    let found = films.verify(Film::partition("s")).await.unwrap().findings;
    assert!(matches!(found[..], [ref one] if matches!(one.problem, Problem::UnusedValue { .. })));
    films.repair(found).await.all().unwrap();
    assert_eq!(chunks(&store).await, 0);
}

#[tokio::test]
async fn a_write_that_fails_removes_nothing() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let films = films(store.clone()).await;
    films.insert(&film(upload(&films, LONG, 1).await)).await.unwrap();
    let mut stale = loaded(&films).await;
    films.update(key(), |film| film.title.push('!')).await.unwrap();
    stale.trailer = Large::default();
    assert!(films.save(&mut stale).await.unwrap_err().is_conflict());
    assert!(films.delete(stale).await.unwrap_err().is_conflict());
    let faults = Faults::seeded(1).errors_before(1.0).store(store.clone()).unwrap();
    let among_faults = Tables::new(faults).repo::<Film>();
    among_faults.delete(loaded(&films).await).await.unwrap_err();
    let whole = films.read_large(&*loaded(&films).await, |film| &film.trailer).await.unwrap();
    assert!(whole == Some(bytes(LONG, 1)));
}

#[tokio::test]
async fn another_writer_between_any_two_requests_leaves_a_whole_value_and_no_other() {
    for (kind, at) in (0..4).flat_map(|kind| (1..=4).map(move |at| (kind, at))) {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let calm = films(store.clone()).await;
        calm.insert(&film(upload(&calm, LONG, 1).await)).await.unwrap();
        let (mine, others) = (upload(&calm, SHORT, 2).await, upload(&calm, SHORT, 3).await);
        let old = loaded(&calm).await;
        let (stopped, stops) = with_stops(store.clone());
        let other = calm.clone();
        let between = async move {
            match kind {
                0 => drop(other.update(key(), |film| film.trailer = others.clone()).await),
                // With the old value, as it was read before.
                1 => drop(other.upsert(&old).await),
                2 => drop(other.remove_unused_values(key()).await),
                _ => drop(other.delete(old).await),
            }
        };
        let between: Stop = Box::pin(between);
        stops.before(at, between);
        let busy = Tables::new(stopped).repo::<Film>();
        drop(busy.update(key(), |film| film.trailer = mine.clone()).await);
        let entity = calm.get(key()).await.unwrap();
        let mut rows = 0;
        if let Some(entity) = &entity {
            let whole = calm.read_large(entity, |film| &film.trailer).await.unwrap().unwrap();
            let is_one =
                [(LONG, 1), (SHORT, 2), (SHORT, 3)].map(|(length, seed)| bytes(length, seed));
            assert!(is_one.contains(&whole), "writer {kind} before request {at}");
            rows = whole.len().div_ceil(CHUNK);
        }
        // Values that were uploaded in vain are all that is left.
        calm.remove_unused_values(key()).await.unwrap();
        assert_eq!(chunks(&store).await, rows, "writer {kind} before request {at}");
    }
}
