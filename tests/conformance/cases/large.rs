//! Values in rows of their own, and the transactions that touch them.

use crate::subject::Subject;
use table_orm::property::Large;
use table_orm::repo::LargeValueError;
use table_orm::{Error, TableEntity};

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

pub async fn are_kept_while_an_entity_refers_to_them(subject: Subject) {
    let films = subject.tables().repo_in::<Film>(subject.table.clone());
    let key = || Film::partition("s").by_id().id(1);
    let film = |trailer| Film { studio: "s".to_owned(), id: 1, title: "t".to_owned(), trailer };
    let bytes = |length: usize| (0..length).map(|at| (at % 251) as u8).collect::<Vec<u8>>();
    let upload = async |length: usize| {
        let mut upload = films.upload(key()).unwrap();
        upload.add(bytes(length)).await.unwrap();
        upload.finish().await.unwrap()
    };
    let old = film(upload(704 * 1024 + 1).await);
    films.insert(&old).await.unwrap();
    let new = upload(64 * 1024 + 1).await;
    films.merge(key(), FilmPatch::default().trailer(new.clone())).await.unwrap();
    let stored = films.get(key()).await.unwrap().unwrap();
    assert_eq!(stored, film(new));
    // The write has removed what it replaced.
    assert_eq!(films.remove_unused_values(key()).await.unwrap(), 0);
    // Nothing is stored with the value that was removed, and its reader gets the new one.
    let refused = films.upsert(&old).await.unwrap_err();
    assert!(matches!(refused, Error::LargeValue(LargeValueError::Gone { .. })), "{refused}");
    let read = films.read_large(&old, |film| &film.trailer).await.unwrap();
    assert!(read == Some(bytes(64 * 1024 + 1).into()));
    // A value without an entity.
    upload(704 * 1024 + 1).await;
    films.force_delete(&stored).await.unwrap();
    assert_eq!(films.remove_unused_values(key()).await.unwrap(), 1);
    assert!(subject.dynamic().list("s", ..).collect().await.unwrap().is_empty());
}
