//! A writer of large values is killed before each of its requests: every entity reads whole, `verify` finds what no
//! entity refers to, and `repair` removes it.
//!
//! A child writes to a file. It stops for ever before the request that its parent chose, or after it, where it
//! is killed. At last, children are killed at random moments.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::clock::with_clock;
use support::stops::with_stops;
use support::worker::{Worker, ready, task};
use support::{crash_seed, dose, draw};
use table_orm::embedded::EmbeddedStore;
use table_orm::property::Large;
use table_orm::query::Complete;
use table_orm::store::Store;
use table_orm::{Repo, TableEntity, TableName, Tables};
use tokio::runtime::Runtime;

const TEST: &str = "large_values::a_killed_writer_leaves_whole_values_and_nothing_that_stays";
const CHUNK: usize = 704 * 1024;
const DAYS: i64 = 2 * 24 * 60 * 60;

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

fn key() -> FilmById<Complete> {
    Film::partition("s").by_id().id(1)
}

/// The trailer of a film with that title: of two rows, or of one.
fn bytes(title: &str) -> Vec<u8> {
    if title == "long" { vec![1; CHUNK + 1] } else { vec![2; 64 * 1024 + 1] }
}

fn rows(title: &str) -> usize {
    bytes(title).len().div_ceil(CHUNK)
}

/// Deletes the film, if there is one. Inserts it anew, and gives it another trailer.
async fn work(films: &Repo<Film>) {
    if let Some(film) = films.load(key()).await.unwrap().optional().unwrap() {
        films.delete(film).await.unwrap();
    }
    for title in ["long", "short"].map(str::to_owned) {
        let mut upload = films.upload(key()).unwrap();
        upload.add(bytes(&title)).await.unwrap();
        let trailer = upload.finish().await.unwrap();
        films.upsert(&Film { studio: "s".to_owned(), id: 1, title, trailer }).await.unwrap();
    }
}

async fn child(path: &Path, request: Option<usize>) {
    let (store, stops) = with_stops(Arc::new(EmbeddedStore::open(path).unwrap()));
    match request {
        Some(request) => stops.before(request, async {
            ready();
            std::future::pending::<()>().await;
        }),
        None => ready(),
    }
    let films = Tables::new(store).repo::<Film>();
    loop {
        work(&films).await;
        if request.is_some() {
            return;
        }
    }
}

/// Checks a file after its writer was killed, and repairs it. Returns how many rows it removed.
async fn check(path: &Path) -> usize {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(path).unwrap());
    let (store, clock) = with_clock(store);
    let tables = Tables::new(store);
    let films = tables.repo::<Film>();
    let stored = films.list(Film::partition("s").by_id()).collect().await.unwrap();
    for film in &stored {
        let whole = films.read_large(film, |film| &film.trailer).await.unwrap().unwrap();
        assert!(whole == bytes(&film.title), "a {} trailer", film.title);
    }
    clock.forward(DAYS);
    let table = tables.table(TableName::new("films").unwrap());
    let before = table.list("s", "LOB:".."LOB;").count().await.unwrap();
    let found = films.verify(Film::partition("s")).await.unwrap().findings;
    assert!(found.iter().all(|finding| finding.row == "large value"), "{found:?}");
    films.repair(found).await.all().unwrap();
    let after = table.list("s", "LOB:".."LOB;").count().await.unwrap();
    assert_eq!(after, stored.iter().map(|film| rows(&film.title)).sum::<usize>(), "{stored:?}");
    before - after
}

#[test]
fn a_killed_writer_leaves_whole_values_and_nothing_that_stays() {
    let runtime = Runtime::new().unwrap();
    if let Some(task) = task() {
        let (request, path) = task.split_once(' ').unwrap();
        return runtime.block_on(child(path.as_ref(), request.parse().ok()));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("films.redb");
    let start = |request: &str| Worker::start(TEST, &format!("{request} {}", path.display()));
    runtime.block_on(async {
        Tables::open(&path).unwrap().repo::<Film>().create_table().await.unwrap();
    });
    let (mut requests, mut removed) = (0, 0);
    loop {
        let mut worker = start(&format!("{}", requests + 1));
        if !worker.is_ready() {
            // It came to its end without that request.
            break;
        }
        requests += 1;
        worker.kill();
        removed += runtime.block_on(check(&path));
    }
    assert!(requests > 8 && removed > 5, "{removed} rows after {requests} requests");
    let seed = crash_seed();
    for round in 0..dose(2, 300) {
        let mut worker = start("always");
        worker.wait_until_ready();
        // The moment is random, because every moment must be safe.
        std::thread::sleep(Duration::from_micros(draw((seed, round), 0..40_000)));
        worker.kill();
        runtime.block_on(check(&path));
    }
}
