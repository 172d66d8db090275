//! Values that are unique over all partitions.

use crate::subject::Subject;
use futures_util::future::join_all;
use table_orm::{Error, Repo, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "handles", partition = "{owner:04}", row = "HANDLE", unique(handle, across))]
struct Handle {
    owner: u32,
    handle: String,
}

fn handles(subject: &Subject) -> Repo<Handle> {
    subject.tables().repo_in(subject.table.clone())
}

fn handle(owner: u32, handle: &str) -> Handle {
    Handle { owner, handle: handle.to_owned() }
}

pub async fn values_have_one_holder_among_32_contenders(subject: Subject) {
    // Each contender is a client of its own.
    let contend = async |owner: u32| handles(&subject).insert(&handle(owner, "h\u{f8}t")).await;
    let written = join_all((1..=32).map(contend)).await;
    let won: Vec<_> = (1..=32).zip(&written).filter(|(_, result)| result.is_ok()).collect();
    let [(winner, _)] = won[..] else { panic!("{written:?}") };
    for result in written.iter().filter(|result| result.is_err()) {
        let refused = matches!(result, Err(Error::UniqueViolation { .. }));
        assert!(refused, "{result:?}");
    }
    let guard = subject.dynamic().get("UNQ:handle:h\u{f8}t", "UNQ").await.unwrap().unwrap();
    let owner = guard.properties["Partition"].to_string();
    assert!(owner.contains(&format!("{winner:04}")), "{owner}");
    for owner in 1..=32 {
        let left = subject.dynamic().list(format!("{owner:04}"), ..).collect().await.unwrap();
        assert_eq!(left.len(), usize::from(owner == winner), "{left:?}");
    }
}

pub async fn values_go_from_entity_to_entity(subject: Subject) {
    let repo = handles(&subject);
    repo.insert(&handle(1, "a")).await.unwrap();
    let mut first = repo.load(Handle::partition(1).row()).await.unwrap().one().unwrap();
    first.handle = "b".into();
    repo.save(&mut first).await.unwrap();
    repo.insert(&handle(2, "a")).await.unwrap();
    let taken = repo.upsert(&handle(3, "b")).await;
    let Err(Error::UniqueViolation { holder: Some(holder), .. }) = taken else {
        panic!("{taken:?}");
    };
    assert_eq!((&*holder.partition_key, &*holder.row_key), ("0001", "HANDLE"));
    repo.delete(first).await.unwrap();
    repo.upsert(&handle(3, "b")).await.unwrap();
}
