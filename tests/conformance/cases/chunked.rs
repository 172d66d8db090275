//! Values in chunks: as many as an entity has room for.

use crate::subject::Subject;
use table_orm::TableEntity;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "pictures", partition = "{album}", row = "{id:05}")]
struct Picture {
    album: String,
    id: u32,
    #[table(chunked)]
    photo: Option<Vec<u8>>,
    #[table(chunked)]
    notes: String,
}

const CHUNK: usize = 64 * 1024;

/// A failure does not print the values.
fn assert_same(read: &[Picture], stored: &[Picture]) {
    assert_eq!(read.len(), stored.len());
    for (read, stored) in read.iter().zip(stored) {
        let lengths = |own: &Picture| (own.id, own.photo.as_ref().map(Vec::len), own.notes.len());
        assert_eq!(lengths(read), lengths(stored));
        assert!(read == stored, "picture {} differs", stored.id);
    }
}

pub async fn are_stored_shortened_and_read(subject: Subject) {
    let pictures = subject.tables().repo_in::<Picture>(subject.table.clone());
    let photo = |length: usize| Some((0..length).map(|at| (at % 251) as u8).collect::<Vec<u8>>());
    let picture = |id: u32, photo: Option<Vec<u8>>, notes: String| Picture {
        album: "a".to_owned(),
        id,
        photo,
        notes,
    };
    // The last one fills its entity.
    let mut stored = [
        picture(1, None, String::new()),
        // Azurite damages other characters where they lie at the border of two packets.
        picture(2, photo(0), "y".repeat(CHUNK / 2 + 1)),
        picture(3, photo(CHUNK), "x".to_owned()),
        picture(4, photo(CHUNK + 1), "x".repeat(CHUNK)),
        picture(5, photo(1024 * 1024 - 1_000), String::new()),
    ];
    for picture in &stored {
        pictures.insert(picture).await.unwrap();
    }
    let read = pictures.list(Picture::partition("a")).collect().await.unwrap();
    assert_same(&read, &stored);
    let key = Picture::partition("a").row().id(5);
    pictures.merge(key, PicturePatch::default().photo(vec![9; 3])).await.unwrap();
    stored[4].photo = Some(vec![9; 3]);
    let read = pictures.list(Picture::partition("a")).collect().await.unwrap();
    assert_same(&read, &stored);
}
