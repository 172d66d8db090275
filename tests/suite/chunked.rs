//! Values in chunks: what is written is read, nothing of an earlier value is, and what has no room is refused.

use bytes::Bytes;
use proptest::prelude::*;
use std::collections::BTreeMap;
use support::recorder::recorded;
use table_orm::entity::Schema;
use table_orm::model::Edm;
use table_orm::property::PropertyFault;
use table_orm::query::Complete;
use table_orm::repo::Table;
use table_orm::schema_lock::SchemaLock;
use table_orm::{
    DynamicEntity, Error, Projection, Properties, Repo, TableEntity, TableName, Tables,
};

#[derive(Debug, Clone, Default, PartialEq, TableEntity)]
#[table(name = "pictures", partition = "{album}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_name, key = "NAME:{name}__{id:05}", include(thumb))]
#[row(newest, key = "NEW:{id:05}", exclude(photo))]
struct Picture {
    album: String,
    id: u32,
    name: String,
    #[table(chunked)]
    photo: Option<Vec<u8>>,
    #[table(chunked)]
    thumb: Bytes,
    #[table(chunked)]
    notes: String,
    #[table(json, chunked)]
    tags: Option<Vec<String>>,
    #[table(json, chunked)]
    points: BTreeMap<u32, f64>,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Picture)]
struct Photo {
    #[projection(chunked)]
    photo: Option<Vec<u8>>,
    #[projection(json, chunked)]
    tags: Option<Vec<String>>,
}

const CHUNK: usize = 64 * 1024;

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

fn picture(photo: usize) -> Picture {
    Picture {
        album: "a".to_owned(),
        id: 1,
        name: "n".to_owned(),
        photo: Some(bytes(photo)),
        ..Picture::default()
    }
}

struct Pictures {
    repo: Repo<Picture>,
    table: Table,
}

async fn pictures() -> Pictures {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Picture>();
    repo.create_table().await.unwrap();
    Pictures { repo, table: tables.table(TableName::new("pictures").unwrap()) }
}

impl Pictures {
    async fn stored(&self, row_key: &str) -> DynamicEntity {
        self.table.get("a", row_key).await.unwrap().unwrap()
    }

    async fn read(&self) -> Picture {
        self.repo.get(key()).await.unwrap().unwrap()
    }
}

fn key() -> PictureById<Complete> {
    Picture::partition("a").by_id().id(1)
}

/// The names and sizes of the properties that begin with that.
fn sizes(row: &DynamicEntity, start: &str) -> Vec<(String, usize)> {
    let own = row.properties.iter().filter(|(name, _)| name.starts_with(start));
    own.map(|(name, value)| match value {
        Edm::Binary(bytes) => (name.clone(), bytes.len()),
        Edm::String(text) => (name.clone(), text.encode_utf16().count()),
        Edm::Int32(length) => (format!("{name}={length}"), 0),
        other => panic!("{other:?}"),
    })
    .collect()
}

fn named(sizes: &[(&str, usize)]) -> Vec<(String, usize)> {
    sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect()
}

#[tokio::test]
async fn a_value_is_stored_in_chunks_of_64_kib_behind_its_length() {
    let all = pictures().await;
    let pictures = &all.repo;
    let mut picture = picture(CHUNK + 1);
    // Two units to a character: the first chunk ends before the character that it has half room for.
    picture.notes = "x".to_owned() + &"\u{1F3C3}".repeat(CHUNK / 4);
    picture.points = (0..9_000).map(|at| (at, f64::from(at) / 7.0)).collect();
    pictures.insert(&picture).await.unwrap();
    let row = all.stored("ID:00001").await;
    let photo = named(&[("Photo=65537", 0), ("Photo00", CHUNK), ("Photo01", 1)]);
    assert_eq!(sizes(&row, "Photo"), photo);
    let notes = named(&[("Notes=32769", 0), ("Notes00", CHUNK / 2 - 1), ("Notes01", 2)]);
    assert_eq!(sizes(&row, "Notes"), notes);
    assert_eq!(sizes(&row, "Thumb"), named(&[("Thumb=0", 0)]));
    assert_eq!(sizes(&row, "Tags"), []);
    assert!(sizes(&row, "Points").len() > 3);
    assert_eq!(pictures.get(key()).await.unwrap(), Some(picture));
    let row = all.stored("NEW:00001").await;
    assert_eq!(sizes(&row, "Photo"), []);
}

#[tokio::test]
async fn an_empty_value_is_told_from_an_absent_one() {
    let all = pictures().await;
    let pictures = &all.repo;
    for (photo, tags) in [(None, None), (Some(vec![]), Some(vec![])), (None, Some(vec![]))] {
        let picture = Picture { photo, tags, ..picture(0) };
        pictures.upsert(&picture).await.unwrap();
        assert_eq!(pictures.get(key()).await.unwrap(), Some(picture.clone()));
        let partition = Picture::partition("a");
        let read = pictures.list(partition.by_id()).project::<Photo>().collect().await.unwrap();
        let Picture { photo, tags, .. } = picture;
        assert_eq!(read, [Photo { photo, tags }]);
    }
}

#[tokio::test]
async fn nothing_is_read_of_a_longer_value_that_a_merge_left() {
    let all = pictures().await;
    let pictures = &all.repo;
    let mut picture = picture(3 * CHUNK);
    picture.tags = Some((0..20_000).map(|tag| tag.to_string()).collect());
    picture.thumb = bytes(2 * CHUNK).into();
    pictures.insert(&picture).await.unwrap();
    let patch = PicturePatch::default().photo(bytes(5)).thumb(Bytes::new()).tags(Vec::new());
    pictures.merge(key(), patch).await.unwrap();
    (picture.photo, picture.thumb) = (Some(bytes(5)), Bytes::new());
    picture.tags = Some(Vec::new());
    assert_eq!(pictures.get(key()).await.unwrap(), Some(picture.clone()));
    // A merge cannot remove them.
    let row = all.stored("ID:00001").await;
    let photo = [("Photo=5", 0), ("Photo00", 5), ("Photo01", CHUNK), ("Photo02", CHUNK)];
    assert_eq!(sizes(&row, "Photo"), named(&photo));
    assert_eq!(sizes(&all.stored("NAME:n__00001").await, "Thumb").len(), 3);
    assert_eq!(pictures.verify(Picture::partition("a")).await.unwrap().findings, []);
    // A whole write does.
    picture.notes = "new".to_owned();
    pictures.upsert(&picture).await.unwrap();
    let row = all.stored("ID:00001").await;
    assert_eq!(sizes(&row, "Photo"), named(&[("Photo=5", 0), ("Photo00", 5)]));
}

#[tokio::test]
async fn a_row_from_before_the_field_was_chunked_is_read() {
    let all = pictures().await;
    let pictures = &all.repo;
    pictures.insert(&picture(0)).await.unwrap();
    let mut row = all.stored("ID:00001").await;
    row.properties.insert("Photo".to_owned(), Edm::Binary(bytes(7)));
    row.properties.insert("Notes".to_owned(), Edm::String("12".to_owned()));
    row.properties.insert("Tags".to_owned(), Edm::String("[\"x\"]".to_owned()));
    all.table.insert_or_replace(&row).await.unwrap();
    let read = pictures.get(key()).await.unwrap().unwrap();
    assert_eq!((read.photo.as_deref(), &*read.notes), (Some(&*bytes(7)), "12"));
    assert_eq!(read.tags, Some(vec!["x".to_owned()]));
}

#[tokio::test]
async fn a_missing_chunk_is_an_error_that_names_it() {
    let all = pictures().await;
    let pictures = &all.repo;
    pictures.insert(&picture(3 * CHUNK)).await.unwrap();
    let mut row = all.stored("ID:00001").await;
    row.properties.remove("Photo01");
    all.table.insert_or_replace(&row).await.unwrap();
    let Err(Error::Property(error)) = pictures.get(key()).await else { panic!() };
    assert_eq!((&*error.property, error.fault), ("Photo01", PropertyFault::MissingChunk));
    row.properties.insert("Photo01".to_owned(), Edm::Binary(bytes(9)));
    all.table.insert_or_replace(&row).await.unwrap();
    let Err(Error::Property(error)) = pictures.get(key()).await else { panic!() };
    assert!(matches!(error.fault, PropertyFault::MissingChunk | PropertyFault::Unreadable(_)));
}

#[tokio::test]
async fn a_value_that_no_entity_has_room_for_is_refused_before_anything_is_sent() {
    let (tables, record) = recorded();
    let pictures = tables.repo::<Picture>();
    pictures.create_table().await.unwrap();
    record.take();
    let too_large = [
        picture(1024 * 1024),
        picture(50 * 1024 * 1024),
        Picture { notes: "x".repeat(600_000), ..picture(1) },
        Picture { notes: "x".repeat(300_000), ..picture(600_000) },
    ];
    for picture in too_large {
        let Err(Error::Property(error)) = pictures.insert(&picture).await else { panic!() };
        assert!(matches!(error.fault, PropertyFault::EntityTooLarge(_)), "{error}");
    }
    let patch = PicturePatch::default().photo(bytes(2 * 1024 * 1024));
    assert!(matches!(pictures.merge(key(), patch).await, Err(Error::Property(_))));
    assert!(record.take().writes.is_empty());
    pictures.insert(&picture(1024 * 1024 - 2_000)).await.unwrap();
}

#[derive(Debug, Clone, PartialEq, Properties)]
struct Scan {
    #[table(chunked)]
    front: String,
    #[table(chunked)]
    back: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "papers", partition = "{shelf}", row = "{id:05}")]
struct Paper {
    shelf: String,
    id: u32,
    #[table(flatten)]
    scan: Scan,
    #[table(flatten)]
    rest: BTreeMap<String, Edm>,
}

#[tokio::test]
async fn a_flattened_group_has_chunked_fields_and_a_map_takes_none_of_them() {
    let papers = Tables::in_memory().unwrap().repo::<Paper>();
    papers.create_table().await.unwrap();
    let scan = Scan { front: "f".repeat(CHUNK), back: Some(bytes(CHUNK + 9)) };
    let rest = BTreeMap::from([("Other".to_owned(), Edm::Int32(1))]);
    let mut paper = Paper { shelf: "s".to_owned(), id: 1, scan, rest };
    papers.insert(&paper).await.unwrap();
    let key = Paper::partition("s").row().id(1);
    assert_eq!(papers.get(key).await.unwrap(), Some(paper.clone()));
    paper.rest.insert("Back03".to_owned(), Edm::Int32(1));
    let refused = papers.upsert(&paper).await;
    assert!(matches!(refused, Err(Error::Property(_))), "{refused:?}");
}

#[test]
fn schema_and_lock_say_what_is_in_chunks() {
    let schema = Schema::of::<Picture>();
    let photo = schema.properties.iter().find(|property| property.name == "Photo").unwrap();
    assert_eq!(photo.to_string(), "Photo, in chunks, at most 17  Edm.Binary");
    assert_eq!((photo.max_bytes, photo.chunked), (Some(1024 * 1024), true));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tables.lock");
    SchemaLock::new(&path).with([picture(3)]).update().check().unwrap();
    SchemaLock::new(&path).with([picture(5 * CHUNK)]).check().unwrap_err();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("chunked"), "{text}");
}

fn text() -> impl Strategy<Value = String> {
    let character =
        prop_oneof![Just('a'), Just('"'), Just('\u{e9}'), Just('\u{20AC}'), Just('\u{1F3C3}')];
    let around =
        prop_oneof![0_usize..3, CHUNK / 4 - 2..CHUNK / 4 + 3, CHUNK / 2 - 2..CHUNK / 2 + 3];
    (character, around, 0_usize..3).prop_map(|(character, length, before)| {
        "b".repeat(before) + &character.to_string().repeat(length)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_in_chunks_is_read_back(
        photo in proptest::option::of(prop_oneof![0_usize..3, CHUNK - 1..CHUNK + 2, 3 * CHUNK - 1..3 * CHUNK + 2]),
        notes in text(),
        tag in proptest::option::of(text()),
    ) {
        let picture = Picture {
            photo: photo.map(bytes),
            notes,
            tags: tag.map(|tag| vec![tag]),
            ..picture(0)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let pictures = pictures().await;
            pictures.repo.insert(&picture).await.unwrap();
            prop_assert_eq!(pictures.read().await, picture);
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn a_value_whose_json_is_null_is_stored_and_is_no_none() {
    use serde_json::{Value, json};
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "answers", partition = "{form}", row = "{id:05}")]
    struct Answer {
        form: String,
        id: u32,
        #[table(json, chunked)]
        value: Value,
        #[table(json, chunked)]
        note: Option<Value>,
        #[table(json, chunked)]
        grade: Option<Option<u8>>,
    }
    let answers = Tables::in_memory().unwrap().repo::<Answer>();
    answers.create_table().await.unwrap();
    let values = [json!(5), Value::Null];
    let notes = [None, Some(Value::Null), Some(json!("x"))];
    let grades = [None, Some(None), Some(Some(1))];
    let mut id = 0;
    for value in &values {
        for note in &notes {
            for grade in grades {
                id += 1;
                let form = "f".to_owned();
                let answer = Answer { form, id, value: value.clone(), note: note.clone(), grade };
                answers.insert(&answer).await.unwrap();
                let key = || Answer::partition("f").row().id(id);
                assert_eq!(answers.get(key()).await.unwrap().as_ref(), Some(&answer));
                let null = Answer { value: Value::Null, ..answer.clone() };
                answers.insert_or_merge(&null).await.unwrap();
                assert_eq!(answers.get(key()).await.unwrap(), Some(null));
                let patch = AnswerPatch::default().value(json!([1])).note(Value::Null);
                answers.merge(key(), patch).await.unwrap();
                let patched = answers.get(key()).await.unwrap().unwrap();
                assert_eq!((patched.value, patched.note), (json!([1]), Some(Value::Null)));
                assert_eq!(patched.grade, grade);
            }
        }
    }
}
