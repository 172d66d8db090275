//! The behaviours of every `Blobs`.

use crate::Run;
use bytes::Bytes;
use std::sync::Arc;
use table_orm::azure::AzureBlobs;
use table_orm::blobs::{BlobError, BlobErrorKind, Blobs, MAX_PARTS, PART_BYTES};
use table_orm::property::Large;
use table_orm::store::Store;
use table_orm::{Repo, TableEntity, TableName, Tables};

/// One behaviour of every `Blobs`, and of tables that keep large values there.
pub struct Case {
    pub name: &'static str,
    pub run: fn(Arc<dyn Blobs>, Arc<dyn Store>) -> Run,
}

/// Names functions as cases.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub fn all() -> Vec<Case> {
            vec![$(Case {
                name: concat!("blobs::", stringify!($name)),
                run: |blobs, store| Box::pin($name(Subject::new(blobs, store))),
            }),+]
        }
    };
}

cases! {
    are_read_whole_once_they_are_committed,
    are_created_twice_while_they_are_empty,
    have_of_each_part_what_was_staged_last,
    are_committed_once_and_not_after_a_delete,
    are_not_committed_without_all_their_parts,
    end_a_read_where_they_end,
    that_are_absent_are_no_error,
    refuse_parts_that_no_blob_can_have,
    are_listed_by_the_start_of_their_names,
    hold_large_values_while_an_entity_refers_to_them,
    stream_50_mebibytes_in_and_out,
}

/// Blobs under test, with a name that no other test has.
struct Subject {
    blobs: Arc<dyn Blobs>,
    store: Arc<dyn Store>,
    name: String,
}

impl Subject {
    fn new(blobs: Arc<dyn Blobs>, store: Arc<dyn Store>) -> Self {
        Self { blobs, store, name: format!("b.{}", uuid::Uuid::new_v4().simple()) }
    }

    async fn create(&self) -> String {
        self.blobs.create(&self.name).await.unwrap()
    }

    async fn stage(&self, part: u32, bytes: impl Into<Bytes>) {
        self.blobs.stage(&self.name, part, bytes.into()).await.unwrap();
    }

    async fn commit(&self, version: &str, parts: u32) -> Result<(), BlobError> {
        self.blobs.commit(&self.name, version, parts).await
    }

    async fn read(&self, from: u64, most: usize) -> Option<Vec<u8>> {
        self.blobs.read(&self.name, from, most).await.unwrap().map(|bytes| bytes.to_vec())
    }
}

#[track_caller]
fn is(kind: BlobErrorKind, answer: Result<(), BlobError>) {
    assert_eq!(answer.unwrap_err().kind, kind);
}

async fn are_read_whole_once_they_are_committed(subject: Subject) {
    let version = subject.create().await;
    let parts = [vec![1; PART_BYTES], vec![2; 1000]];
    for (number, part) in parts.iter().enumerate() {
        subject.stage(number as u32, part.clone()).await;
    }
    assert_eq!(subject.read(0, 10).await, Some(Vec::new()));
    subject.commit(&version, 2).await.unwrap();
    assert!(subject.read(0, PART_BYTES).await.as_ref() == Some(&parts[0]));
    assert!(subject.read(PART_BYTES as u64, PART_BYTES).await.as_ref() == Some(&parts[1]));
}

async fn are_created_twice_while_they_are_empty(subject: Subject) {
    let version = subject.create().await;
    assert_eq!(subject.create().await, version);
    subject.stage(0, "bytes").await;
    subject.commit(&version, 1).await.unwrap();
    is(BlobErrorKind::Changed, subject.blobs.create(&subject.name).await.map(drop));
    assert_eq!(subject.read(0, 10).await, Some(b"bytes".to_vec()));
}

async fn have_of_each_part_what_was_staged_last(subject: Subject) {
    let version = subject.create().await;
    for (part, bytes) in [(1, "b"), (0, "x"), (0, "a"), (2, "left out")] {
        subject.stage(part, bytes).await;
    }
    subject.commit(&version, 2).await.unwrap();
    assert_eq!(subject.read(0, 10).await, Some(b"ab".to_vec()));
}

async fn are_committed_once_and_not_after_a_delete(subject: Subject) {
    let version = subject.create().await;
    subject.stage(0, "first").await;
    subject.commit(&version, 1).await.unwrap();
    subject.stage(0, "second").await;
    is(BlobErrorKind::Changed, subject.commit(&version, 1).await);
    assert_eq!(subject.read(0, 10).await, Some(b"first".to_vec()));
    subject.blobs.delete(&subject.name).await.unwrap();
    subject.stage(0, "third").await;
    is(BlobErrorKind::Changed, subject.commit(&version, 1).await);
    assert_eq!(subject.read(0, 10).await, None);
}

async fn are_not_committed_without_all_their_parts(subject: Subject) {
    let version = subject.create().await;
    subject.stage(0, "a").await;
    subject.stage(2, "c").await;
    is(BlobErrorKind::Changed, subject.commit(&version, 3).await);
    assert_eq!(subject.read(0, 10).await, Some(Vec::new()));
}

async fn end_a_read_where_they_end(subject: Subject) {
    let version = subject.create().await;
    assert_eq!(subject.read(5, 10).await, Some(Vec::new()));
    subject.stage(0, "0123456789").await;
    subject.commit(&version, 1).await.unwrap();
    for (from, most, expected) in [(0, 4, "0123"), (4, 2, "45"), (8, 10, "89"), (9, 1, "9")] {
        assert_eq!(subject.read(from, most).await.unwrap(), expected.as_bytes(), "{from} {most}");
    }
    assert_eq!(subject.read(10, 5).await, Some(Vec::new()));
    assert_eq!(subject.read(3, 0).await, Some(Vec::new()));
}

async fn are_listed_by_the_start_of_their_names(subject: Subject) {
    let names: Vec<_> = (0..4).map(|number| format!("{}.{number}", subject.name)).collect();
    for name in &names {
        subject.blobs.create(name).await.unwrap();
    }
    let version = subject.blobs.create(&names[1]).await.unwrap();
    subject.blobs.stage(&names[1], 0, "bytes".into()).await.unwrap();
    subject.blobs.commit(&names[1], &version, 1).await.unwrap();
    subject.blobs.delete(&names[2]).await.unwrap();
    let list = async |prefix: String| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = subject.blobs.list(&prefix, after.as_deref()).await.unwrap();
            found.extend(page.names);
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    };
    let stored = [&names[0], &names[1], &names[3]].map(String::clone);
    assert_eq!(list(format!("{}.", subject.name)).await, stored);
    assert_eq!(list(names[1].clone()).await, [names[1].clone()]);
    assert_eq!(list(format!("{}x", subject.name)).await, [""; 0]);
}

async fn that_are_absent_are_no_error(subject: Subject) {
    assert_eq!(subject.read(0, 10).await, None);
    subject.blobs.delete(&subject.name).await.unwrap();
    is(BlobErrorKind::Changed, subject.commit("\"0x8DE000000000000\"", 0).await);
}

async fn refuse_parts_that_no_blob_can_have(subject: Subject) {
    let stage = |part, bytes: &'static str| subject.blobs.stage(&subject.name, part, bytes.into());
    is(BlobErrorKind::Invalid, stage(0, "").await);
    is(BlobErrorKind::Invalid, stage(MAX_PARTS, "a").await);
    stage(MAX_PARTS - 1, "a").await.unwrap();
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "FILM:{id:05}")]
struct Film {
    studio: String,
    id: u32,
    #[table(overflow)]
    trailer: Large,
}

/// The films of a table of its own.
async fn films(subject: &Subject) -> Repo<Film> {
    let table = TableName::new(&format!("T{}", uuid::Uuid::new_v4().simple())).unwrap();
    let tables = Tables::builder(subject.store.clone()).blobs(subject.blobs.clone());
    let films: Repo<Film> = tables.build().unwrap().repo_in(table);
    films.create_table().await.unwrap();
    films
}

async fn hold_large_values_while_an_entity_refers_to_them(subject: Subject) {
    let films = films(&subject).await;
    let key = || Film::partition("s").row().id(1);
    let bytes = |length: usize| (0..length).map(|at| (at % 251) as u8).collect::<Vec<u8>>();
    let upload = async |length: usize| {
        let mut upload = films.upload(key()).unwrap();
        upload.add(bytes(length)).await.unwrap();
        upload.finish().await.unwrap()
    };
    let film = |trailer| Film { studio: "s".to_owned(), id: 1, trailer };
    let old = film(upload(64 * 1024 + 1).await);
    let mut stored = films.insert_loaded(&old).await.unwrap();
    stored.trailer = upload(PART_BYTES + 1).await;
    films.save(&mut stored).await.unwrap();
    // The save has removed what it replaced, so its reader gets the new value.
    let read = films.read_large(&old, |film| &film.trailer).await.unwrap();
    assert!(read == Some(bytes(PART_BYTES + 1).into()));
    // A value without an entity.
    upload(64 * 1024 + 1).await;
    assert_eq!(films.remove_unused_values(key()).await.unwrap(), 1);
    let read = films.read_large(&stored, |film| &film.trailer).await.unwrap();
    assert!(read == Some(bytes(PART_BYTES + 1).into()));
    let reader = (*stored).clone();
    films.delete(stored).await.unwrap();
    assert_eq!(films.read_large(&reader, |film| &film.trailer).await.unwrap(), None);
}

async fn stream_50_mebibytes_in_and_out(subject: Subject) {
    const PIECE: usize = 1024 * 1024 - 1;
    const LENGTH: usize = 50 * 1024 * 1024;
    let films = films(&subject).await;
    let piece = |at: usize| Bytes::from(vec![(at / PIECE) as u8; PIECE.min(LENGTH - at)]);
    let pieces = (0..LENGTH).step_by(PIECE).map(|at| Ok::<_, std::io::Error>(piece(at)));
    let mut upload = films.upload(Film::partition("s").row().id(1)).unwrap();
    upload.add_all(futures_util::stream::iter(pieces)).await.unwrap();
    let trailer = upload.finish().await.unwrap();
    assert_eq!(trailer.len(), LENGTH as u64);
    let film = Film { studio: "s".to_owned(), id: 1, trailer };
    films.insert(&film).await.unwrap();
    let (mut at, mut read) = (0, films.stream_large(&film, |film| &film.trailer));
    while let Some(bytes) = read.next().await.unwrap() {
        assert!(bytes.len() <= PART_BYTES);
        let expected = bytes.iter().enumerate().all(|(i, byte)| *byte == ((at + i) / PIECE) as u8);
        assert!(expected, "the bytes from {at} on");
        at += bytes.len();
    }
    assert_eq!(at, LENGTH);
}

/// What a container says that does not exist, or that no container can be.
pub async fn without_container(account: String) {
    let open = |name| AzureBlobs::from_connection_string(&account, name).unwrap();
    let absent = open("absent");
    let created = absent.create("films.1").await.unwrap_err();
    assert_eq!(created.kind, BlobErrorKind::ContainerNotFound);
    assert!(created.to_string().ends_with("create it first"), "{created}");
    is(BlobErrorKind::ContainerNotFound, absent.read("films.1", 0, 1).await.map(drop));
    is(BlobErrorKind::ContainerNotFound, absent.delete("films.1").await);
    for name in ["No", "a_container"] {
        is(BlobErrorKind::Invalid, open(name).create_container().await);
    }
    // Creating it twice is no error.
    open("created-twice").create_container().await.unwrap();
    open("created-twice").create_container().await.unwrap();
}
