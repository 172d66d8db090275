//! Entities that have expired.

use crate::subject::Subject;
use table_orm::{Error, TableEntity};
use time::{Duration, OffsetDateTime};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "sessions", partition = "{user}", unique(token), expires = until, purge_index)]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_device, key = "DEV:{device}__{id:05}", include(user))]
struct Session {
    user: String,
    id: u32,
    token: Option<String>,
    device: String,
    until: Option<OffsetDateTime>,
}

pub async fn are_left_out_make_room_and_are_purged(subject: Subject) {
    let sessions = subject.tables().repo_in::<Session>(subject.table.clone());
    let now = OffsetDateTime::now_utc();
    let (past, future) = (Some(now - Duration::DAY), Some(now + Duration::DAY));
    let session = |id: u32, token: Option<&str>, until: Option<OffsetDateTime>| Session {
        user: "ann".to_owned(),
        id,
        token: token.map(str::to_owned),
        device: "phone".to_owned(),
        until,
    };
    for (id, until) in [(1, past), (2, future), (3, None), (4, past)] {
        sessions.insert(&session(id, Some(&id.to_string()), until)).await.unwrap();
    }
    let ann = Session::partition("ann");
    let ids = sessions.list(ann.by_id()).collect().await.unwrap();
    assert_eq!(ids.iter().map(|session| session.id).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(sessions.list(ann.by_device().device("phone")).count().await.unwrap(), 2);
    assert_eq!(sessions.get(ann.by_id().id(1)).await.unwrap(), None);
    assert_eq!(sessions.including_expired().list(ann.by_id()).count().await.unwrap(), 4);
    // The value of one that has expired is free, and that of another one is not.
    sessions.insert(&session(5, Some("1"), future)).await.unwrap();
    let taken = sessions.insert(&session(6, Some("2"), future)).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    assert_eq!(sessions.including_expired().get(ann.by_id().id(1)).await.unwrap(), None);
    let report = sessions.purge().await.all().unwrap();
    assert_eq!(report.purged, 1, "{report:?}");
    let left = sessions.including_expired().list(ann.by_id()).collect().await.unwrap();
    assert_eq!(left.iter().map(|session| session.id).collect::<Vec<_>>(), [2, 3, 5]);
    assert!(sessions.verify(&ann).await.unwrap().findings.is_empty());
}
