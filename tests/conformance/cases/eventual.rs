//! What rows in other partitions rely on.

use crate::subject::{Subject, delete, row};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use table_orm::eventual::Settled;
use table_orm::layer::{Fault, Faults};
use table_orm::store::{Action, ErrorCode, IfMatch, Operation};
use table_orm::{ETag, Repo, ScanPermit, TableEntity, Tables};

fn consume(row_key: &str, etag: &ETag) -> Operation {
    let action = Action::Delete(IfMatch::ETag(etag.clone()));
    Operation { row_key: row_key.to_owned(), action }
}

fn upsert(row_key: &str, properties: &str) -> Operation {
    let action = Action::InsertOrReplace(row("p", row_key, properties));
    Operation { row_key: row_key.to_owned(), action }
}

pub async fn tickets_are_consumed_together_with_upserts_and_deletes(subject: Subject) {
    let ticket = subject.insert("p", "TKT:1", "").await;
    subject.insert("p", "old", r#""A":1"#).await;
    let operations =
        vec![consume("TKT:1", &ticket), upsert("new", r#""A":2"#), delete("old"), upsert("x", "")];
    let etags = subject.commit("p", operations).await.unwrap();
    assert_eq!(etags.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false, true]);
    for (row_key, is_there) in [("TKT:1", false), ("old", false), ("new", true), ("x", true)] {
        assert_eq!(subject.get("p", row_key).await.is_some(), is_there, "{row_key}");
    }
}

pub async fn a_refused_transaction_names_the_ticket_or_the_row_that_is_not_there(subject: Subject) {
    let gone = subject.insert("p", "TKT:1", "").await;
    let action = Action::Delete(IfMatch::ETag(gone.clone()));
    subject.write("p", "TKT:1", action).await.unwrap();
    // The ticket is gone.
    let refused = subject.commit("p", vec![consume("TKT:1", &gone), upsert("new", "")]).await;
    let refused = refused.unwrap_err();
    assert_eq!((refused.code, refused.operation), (ErrorCode::RESOURCE_NOT_FOUND, Some(0)));
    // Another one is there.
    let ticket = subject.insert("p", "TKT:1", "").await;
    let refused = subject.commit("p", vec![consume("TKT:1", &gone), upsert("new", "")]).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
    assert_eq!(refused.operation, Some(0));
    // A row to delete is not there.
    let operations = vec![consume("TKT:1", &ticket), upsert("new", ""), delete("absent")];
    let refused = subject.commit("p", operations).await.unwrap_err();
    assert_eq!((refused.code, refused.operation), (ErrorCode::RESOURCE_NOT_FOUND, Some(2)));
    assert_eq!(subject.get("p", "new").await, None);
    // The same ticket is good for the rest.
    subject.commit("p", vec![consume("TKT:1", &ticket), upsert("new", "")]).await.unwrap();
    assert!(subject.get("p", "new").await.is_some());
}

pub async fn the_etag_of_a_row_never_returns(subject: Subject) {
    let mut seen = HashSet::new();
    for round in 0..50 {
        let ticket = subject.insert("p", "TKT:1", r#""For":"x""#).await;
        assert!(seen.insert(ticket.clone()), "round {round}: {ticket:?} was there before");
        subject.commit("p", vec![consume("TKT:1", &ticket), upsert("x", "")]).await.unwrap();
    }
    let ticket = subject.insert("p", "TKT:1", r#""For":"x""#).await;
    for old in seen.iter().filter(|&old| *old != ticket) {
        let refused = subject.write("p", "TKT:1", Action::Delete(IfMatch::ETag(old.clone()))).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{number:05}")]
#[row(by_room, partition = "{room}", key = "USER:{user}__{number:05}", eventual)]
struct Member {
    user: String,
    number: u32,
    room: String,
    admin: bool,
}

fn member(user: &str, number: u32, room: &str) -> Member {
    Member { user: user.into(), number, room: room.into(), admin: false }
}

async fn in_room(members: &Repo<Member>, room: &str) -> Vec<Member> {
    members.list(Member::by_room(room)).collect().await.unwrap()
}

pub async fn rows_elsewhere_follow_their_entity(subject: Subject) {
    let members = subject.tables().repo_in::<Member>(subject.table.clone());
    let settled = Settled::default();
    let ann = member("ann", 1, "kitchen");
    members.insert(&ann).report_settled(&settled).await.unwrap();
    assert!(settled.get());
    assert_eq!(in_room(&members, "kitchen").await, std::slice::from_ref(&ann));

    let key = Member::partition("ann").row().number(1);
    let settled = Settled::default();
    let moved = members.update(&key, |ann| ann.room = "cellar".into()).report_settled(&settled);
    let moved = moved.await.unwrap();
    assert!(settled.get());
    assert_eq!(in_room(&members, "kitchen").await, []);
    assert_eq!(in_room(&members, "cellar").await, [member("ann", 1, "cellar")]);

    let many = (2..60).map(|number| member("ann", number, "cellar"));
    members.insert_many(many).await.all().unwrap();
    assert_eq!(in_room(&members, "cellar").await.len(), 59);
    let tenth = members.list(Member::by_room("cellar").user("ann").number(10)).loaded();
    let mut tenth = tenth.one().await.unwrap();
    tenth.admin = true;
    members.save(tenth).await.unwrap();
    let admins = members.list(Member::by_room("cellar")).filter(|row| row.admin.eq(true)).loaded();
    assert_eq!(admins.one().await.unwrap().number, 10);
    members.delete(moved).await.unwrap();
    assert_eq!(in_room(&members, "cellar").await.len(), 58);
    members.delete_partition(Member::partition("ann")).await.unwrap();
    assert_eq!(in_room(&members, "cellar").await, []);
    let rest = members.scan(ScanPermit::because("test")).count().await.unwrap();
    assert_eq!(rest.rows, 0);
    assert_eq!(subject.dynamic().scan(ScanPermit::because("test")).count().await.unwrap().rows, 0);
}

pub async fn rows_elsewhere_are_settled_after_their_writer_ended(subject: Subject) {
    let reject = Fault::Rejected(ErrorCode::OUT_OF_RANGE_INPUT);
    let ending =
        Faults::seeded(1).on("insert", 1, reject).store(Arc::clone(&subject.store)).unwrap();
    let ended = Tables::new(ending).repo_in::<Member>(subject.table.clone());
    let members = subject.tables().repo_in::<Member>(subject.table.clone());
    // The writer ends before it makes its ticket.
    ended.insert(&member("ann", 1, "kitchen")).await.unwrap();
    ended.insert(&member("bob", 1, "kitchen")).await.unwrap();
    assert_eq!(in_room(&members, "kitchen").await, [member("bob", 1, "kitchen")]);
    let permit = ScanPermit::because("test");
    let report = members.settle(permit).grace(Duration::ZERO).await.unwrap();
    assert_eq!((report.settled, report.failures.len()), (1, 0));
    let both = [member("ann", 1, "kitchen"), member("bob", 1, "kitchen")];
    assert_eq!(in_room(&members, "kitchen").await, both);
    let report = members.settle(Member::partition("ann")).await.unwrap();
    assert_eq!((report.settled, report.young), (0, 0));
    // Nothing but the two rows of each entity is left.
    let rows = subject.dynamic().scan(ScanPermit::because("test")).count().await.unwrap().rows;
    assert_eq!(rows, 4);
}
