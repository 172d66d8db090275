//! A writer of large values is killed before each of its requests: every entity reads whole, `verify` finds what no
//! entity refers to, and `repair` removes it.
//!
//! A child writes to a file. It stops for ever before the request that its parent chose, or after it, where it
//! is killed. At last, children are killed at random moments. The bytes are in rows, or in blobs of a folder. In the
//! long run, a value has 50 MiB, too.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::blobs::{BlobsAround, FileBlobs};
use support::clock::with_clock;
use support::stops::{Stop, Stops, with_stops};
use support::worker::{Worker, ready, task};
use support::{crash_seed, dose, draw, is_long};
use table_orm::blobs::PART_BYTES;
use table_orm::embedded::EmbeddedStore;
use table_orm::property::Large;
use table_orm::query::Complete;
use table_orm::store::Store;
use table_orm::{Repo, TableEntity, TableName, Tables};
use tokio::runtime::Runtime;

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

/// The trailer of a film with that title.
fn bytes(title: &str) -> Vec<u8> {
    match title {
        "short" => vec![1; 64 * 1024 + 1],
        // Two rows, or one part of a blob.
        "mebibyte" => vec![2; 1024 * 1024],
        // Two parts of a blob.
        "parts" => vec![3; PART_BYTES + 1],
        _ => vec![4; 50 * 1024 * 1024],
    }
}

/// How many rows a value has: in a blob two, which name it.
fn rows(title: &str, in_blobs: bool) -> usize {
    if in_blobs { 2 } else { bytes(title).len().div_ceil(CHUNK) }
}

/// The blobs beside a file of tables, if the test has them.
fn blobs_beside(path: &Path) -> Option<FileBlobs> {
    let folder = path.with_file_name("blobs");
    folder.is_dir().then(|| FileBlobs::open(&folder))
}

/// The tables of a store, and of the blobs beside their file.
fn tables(store: impl Store + 'static, path: &Path, stops: &Stops) -> Tables {
    let tables = Tables::builder(store).bare();
    match blobs_beside(path) {
        Some(blobs) => tables.blobs(BlobsAround::with_stops(blobs, stops)).build().unwrap(),
        None => tables.build().unwrap(),
    }
}

/// Deletes the film, if there is one. Inserts it anew, and gives it the trailer of each title in turn.
async fn work(films: &Repo<Film>, titles: &str) {
    if let Some(film) = films.load(key()).await.unwrap().optional().unwrap() {
        films.delete(film).await.unwrap();
    }
    for title in titles.split(',').map(str::to_owned) {
        let mut upload = films.upload(key()).unwrap();
        upload.add(bytes(&title)).await.unwrap();
        let trailer = upload.finish().await.unwrap();
        films.upsert(&Film { studio: "s".to_owned(), id: 1, title, trailer }).await.unwrap();
    }
}

async fn child(path: &Path, titles: &str, request: Option<usize>) {
    let (store, of_store) = with_stops(Arc::new(EmbeddedStore::open(path).unwrap()));
    // Requests of the store and those for blobs count as one row.
    let stops = Stops::default();
    let all = stops.clone();
    of_store.before_each(move |_, text| -> Option<Stop> {
        let (all, text) = (all.clone(), text.to_owned());
        Some(Box::pin(async move { all.request(text).await }))
    });
    match request {
        Some(request) => stops.before(request, async {
            ready();
            std::future::pending::<()>().await;
        }),
        None => ready(),
    }
    let films = tables(store, path, &stops).repo::<Film>();
    loop {
        work(&films, titles).await;
        if request.is_some() {
            return;
        }
    }
}

/// Checks a file after its writer was killed, and repairs it. Returns how many rows it removed.
async fn check(path: &Path) -> usize {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(path).unwrap());
    let (store, clock) = with_clock(store);
    let tables = tables(store, path, &Stops::default());
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
    let blobs = blobs_beside(path);
    let rows = stored.iter().map(|film| rows(&film.title, blobs.is_some())).sum::<usize>();
    assert_eq!(after, rows, "{stored:?}");
    if let Some(blobs) = blobs {
        assert_eq!(blobs.names().len(), stored.len(), "{stored:?}");
    }
    before - after
}

#[test]
fn a_killed_writer_leaves_whole_values_and_nothing_that_stays() {
    is_killed(
        "a_killed_writer_leaves_whole_values_and_nothing_that_stays",
        "mebibyte,short",
        false,
    );
}

#[test]
fn a_killed_writer_of_blobs_leaves_whole_values_and_nothing_that_stays() {
    let test = "a_killed_writer_of_blobs_leaves_whole_values_and_nothing_that_stays";
    is_killed(test, "parts,short,mebibyte", true);
}

#[test]
fn a_killed_writer_of_50_mebibytes_leaves_nothing_that_stays() {
    if is_long() || task().is_some() {
        is_killed("a_killed_writer_of_50_mebibytes_leaves_nothing_that_stays", "short,huge", false);
    }
}

#[test]
fn a_killed_writer_of_50_mebibytes_in_blobs_leaves_nothing_that_stays() {
    if is_long() || task().is_some() {
        let test = "a_killed_writer_of_50_mebibytes_in_blobs_leaves_nothing_that_stays";
        is_killed(test, "short,huge", true);
    }
}

fn is_killed(test: &str, titles: &str, in_blobs: bool) {
    let runtime = Runtime::new().unwrap();
    if let Some(task) = task() {
        let (request, path) = task.split_once(' ').unwrap();
        return runtime.block_on(child(path.as_ref(), titles, request.parse().ok()));
    }
    let test = format!("large_values::{test}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("films.redb");
    if in_blobs {
        std::fs::create_dir(folder.path().join("blobs")).unwrap();
    }
    let start = |request: &str| Worker::start(&test, &format!("{request} {}", path.display()));
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
    let (rounds, longest) = if titles.contains("huge") { (10, 3_000_000) } else { (300, 40_000) };
    for round in 0..dose(2, rounds) {
        let mut worker = start("always");
        worker.wait_until_ready();
        // The moment is random, because every moment must be safe.
        std::thread::sleep(Duration::from_micros(draw((seed, round), 0..longest)));
        worker.kill();
        runtime.block_on(check(&path));
    }
}
