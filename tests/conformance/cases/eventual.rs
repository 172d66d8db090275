//! What rows in other partitions rely on.

use crate::subject::{Subject, delete, row};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use support::clock::with_clock;
use table_orm::layer::{Fault, Faults};
use table_orm::query::Span;
use table_orm::repo::{Problem, SkipReason};
use table_orm::store::{Action, ErrorCode, IfMatch, Operation};
use table_orm::{DynamicEntity, ETag, Repo, ScanPermit, TableEntity, TableUnion, Tables};

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

pub async fn transactions_of_deletes_and_upserts_name_what_refused_them(subject: Subject) {
    // The versions of the rows that are there, and one that each row had before.
    let mut stored: BTreeMap<String, ETag> = BTreeMap::new();
    let mut old: BTreeMap<String, ETag> = BTreeMap::new();
    let mut random = fastrand::Rng::with_seed(1);
    let (mut done, mut refused) = (0, HashSet::new());
    for round in 0..150 {
        let mut operations = Vec::new();
        let mut first_refusal = None;
        for row_key in (0..8).map(|row| format!("r{row}")) {
            let action = random.u8(0..12);
            let (operation, refusal) = match (action, stored.get(&row_key), old.get(&row_key)) {
                (0..=4, ..) => (upsert(&row_key, &format!(r#""A":{round}"#)), None),
                (5, Some(_), Some(old)) => {
                    let changed = ErrorCode::UPDATE_CONDITION_NOT_SATISFIED;
                    (consume(&row_key, old), Some(changed))
                }
                (6 | 7, Some(etag), _) => (consume(&row_key, etag), None),
                (8 | 9, Some(_), _) => (delete(&row_key), None),
                (5, None, Some(old)) => {
                    (consume(&row_key, old), Some(ErrorCode::RESOURCE_NOT_FOUND))
                }
                (6, None, _) => (delete(&row_key), Some(ErrorCode::RESOURCE_NOT_FOUND)),
                _ => continue,
            };
            let index = operations.len();
            operations.push(operation);
            first_refusal = first_refusal.or(refusal.map(|code| (code, index)));
        }
        if operations.is_empty() {
            continue;
        }
        match (subject.commit("p", operations.clone()).await, first_refusal) {
            (Ok(etags), None) => {
                done += 1;
                assert_eq!(etags.len(), operations.len());
                for (Operation { row_key, action }, etag) in operations.iter().zip(etags) {
                    assert_eq!(etag.is_some(), action.body().is_some(), "round {round}: {row_key}");
                    if let Some(before) = stored.remove(row_key) {
                        old.insert(row_key.clone(), before);
                    }
                    stored.extend(etag.map(|etag| (row_key.clone(), etag)));
                }
            }
            (Err(error), Some((code, index))) => {
                assert_eq!((&error.code, error.operation), (&code, Some(index)), "round {round}");
                refused.insert((code, index));
            }
            (answer, expected) => panic!("round {round}: {answer:?}, not {expected:?}"),
        }
        for row_key in operations.iter().map(|operation| &operation.row_key) {
            let etag = subject.get("p", row_key).await.map(|row| row.etag().unwrap());
            assert_eq!(etag.as_ref(), stored.get(row_key), "round {round}: {row_key}");
        }
    }
    assert!(done > 20 && refused.len() > 5, "{done} done, {refused:?}");
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

pub async fn eventual_rows_follow_their_entity(subject: Subject) {
    let members = subject.tables().repo_in::<Member>(subject.table.clone());
    let ann = member("ann", 1, "kitchen");
    assert!(members.insert(&ann).report_settled().await.unwrap().settled.get());
    assert_eq!(in_room(&members, "kitchen").await, std::slice::from_ref(&ann));

    let key = Member::partition("ann").row().number(1);
    let moved = members.update(&key, |ann| ann.room = "cellar".into()).report_settled();
    let moved = moved.await.unwrap();
    assert!(moved.settled.get());
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
    members.delete(moved.answer).await.unwrap();
    assert_eq!(in_room(&members, "cellar").await.len(), 58);
    members.delete_partition(Member::partition("ann")).await.unwrap();
    assert_eq!(in_room(&members, "cellar").await, []);
    let rest = members.scan(ScanPermit::because("test")).count().await.unwrap();
    assert_eq!(rest.rows, 0);
    assert_eq!(subject.dynamic().scan(ScanPermit::because("test")).count().await.unwrap().rows, 0);
}

pub async fn eventual_rows_are_settled_after_their_writer_ended(subject: Subject) {
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
    let report = members.settle(permit).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(report.settled, 1);
    let both = [member("ann", 1, "kitchen"), member("bob", 1, "kitchen")];
    assert_eq!(in_room(&members, "kitchen").await, both);
    let report = members.settle(Member::partition("ann")).await.all().unwrap();
    assert_eq!((report.settled, report.young), (0, 0));
    // Nothing but the two rows of each entity is left.
    let rows = subject.dynamic().scan(ScanPermit::because("test")).count().await.unwrap().rows;
    assert_eq!(rows, 4);
}

pub async fn what_an_ended_writer_left_is_named_in_the_register(subject: Subject) {
    let reject = Fault::Rejected(ErrorCode::OUT_OF_RANGE_INPUT);
    let ending =
        Faults::seeded(1).on("insert", 1, reject).store(Arc::clone(&subject.store)).unwrap();
    let ended = Tables::new(ending).repo_in::<Member>(subject.table.clone());
    let members = subject.tables().repo_in::<Member>(subject.table.clone());
    ended.register().await.unwrap();
    // The table exists.
    let register = members.register().await.unwrap();
    ended.insert(&member("ann", 1, "kitchen")).await.unwrap();
    members.insert(&member("bob", 1, "kitchen")).await.unwrap();
    let pointers = subject.tables().table(register.table().clone());
    let named = pointers.scan(ScanPermit::because("test")).collect().await.unwrap();
    let mut named: Vec<_> =
        named.iter().map(|row| row.properties["Partition"].to_string()).collect();
    named.sort();
    assert_eq!(named, ["'ann'", "'bob'"]);
    let report = members.settle(&register).await.all().unwrap();
    assert_eq!(report.settled, 0, "young pointers are left alone");
    let report = members.settle(&register).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(report.settled, 1);
    let both = [member("ann", 1, "kitchen"), member("bob", 1, "kitchen")];
    assert_eq!(in_room(&members, "kitchen").await, both);
    subject.store.delete_table(register.table()).await.unwrap();
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{room}", row = "A:{number:02}")]
struct Sign {
    room: String,
    number: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{room}", row = "Z:{number:02}")]
struct Desk {
    room: String,
    number: u32,
}

/// Between signs and desks are rows in other partitions, intents and tickets.
#[derive(Debug, Clone, PartialEq, TableUnion)]
enum Furniture {
    Sign(Sign),
    Desk(Desk),
    Member(Member),
}

pub async fn eventual_rows_and_helper_rows_are_in_no_union(subject: Subject) {
    let tables = subject.tables();
    let members = tables.repo_in::<Member>(subject.table.clone());
    let (sign, desk) =
        (Sign { room: "kitchen".into(), number: 1 }, Desk { room: "kitchen".into(), number: 1 });
    tables.repo_in(subject.table.clone()).insert(&sign).await.unwrap();
    tables.repo_in(subject.table.clone()).insert(&desk).await.unwrap();
    members.insert(&member("ann", 1, "kitchen")).await.unwrap();
    let reject = Fault::Rejected(ErrorCode::OUT_OF_RANGE_INPUT);
    let ending =
        Faults::seeded(1).on("insert", 1, reject).store(Arc::clone(&subject.store)).unwrap();
    // One who is called as the room is, and whose writer ends before it settles.
    let ended = Tables::new(ending).repo_in::<Member>(subject.table.clone());
    let kitchen = member("kitchen", 1, "cellar");
    ended.insert(&kitchen).await.unwrap();
    subject.insert("kitchen", &format!("TKT:{:032x}", 1), r#""For":"x""#).await;
    let starts = |keys: Vec<(String, String)>| {
        let start = |(_, row_key): (String, String)| row_key.split(':').next().map(str::to_owned);
        keys.into_iter().filter_map(start).collect::<Vec<_>>()
    };
    let exact = Span::Exact("kitchen".to_owned());
    let keys = subject.keys(subject.query(exact, Span::All)).await;
    assert_eq!(starts(keys), ["A", "DUE", "ROOM", "TKT", "USER", "Z"]);

    let room = || tables.union_in::<Furniture>(subject.table.clone(), Sign::partition("kitchen"));
    let expected = [Furniture::Sign(sign), Furniture::Member(kitchen), Furniture::Desk(desk)];
    assert_eq!(room().collect().await.unwrap(), expected);
    assert_eq!(room().count().await.unwrap(), 3);
    let mut pages = room().pages(1);
    let mut found = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        found.extend(page.items);
    }
    assert_eq!(found, expected);
    assert_eq!(in_room(&members, "kitchen").await, [member("ann", 1, "kitchen")]);
}

pub async fn a_joined_verify_finds_what_point_queries_find(subject: Subject) {
    let members = subject.tables().repo_in::<Member>(subject.table.clone());
    members
        .insert_many((0..30).map(|number| member("ann", number, "kitchen")))
        .await
        .all()
        .unwrap();
    let rows = subject.dynamic();
    let lost = rows.get("kitchen", "USER:ann__00003").await.unwrap().unwrap();
    rows.delete(&lost).await.unwrap();
    let gone = rows.get("ann", "ROOM:00007").await.unwrap().unwrap();
    rows.delete(&gone).await.unwrap();
    let permit = || ScanPermit::because("test");
    let report = members.verify_table(permit()).join(permit()).await.unwrap();
    assert_eq!(report.findings, members.verify_table(permit()).await.unwrap().findings);
    assert_eq!(report.findings.len(), 1);
    let by_room = || members.verify_eventual_table::<MemberByRoom>(permit());
    let report = by_room().join(permit()).await.unwrap();
    assert_eq!(report.findings, by_room().await.unwrap().findings);
    assert_eq!((report.entities, report.findings.len()), (28, 1));
}

pub async fn tickets_that_a_late_insert_left_are_found_and_deleted_when_old(subject: Subject) {
    let reject = Fault::Rejected(ErrorCode::OUT_OF_RANGE_INPUT);
    let ending =
        Faults::seeded(1).on("commit", 2, reject).store(Arc::clone(&subject.store)).unwrap();
    let ended = Tables::new(ending).repo_in::<Member>(subject.table.clone());
    let (store, clock) = with_clock(Arc::clone(&subject.store));
    let members = Tables::new(store).repo_in::<Member>(subject.table.clone());
    // The writer ends after it made its ticket.
    ended.insert(&member("ann", 1, "kitchen")).await.unwrap();
    let rows = subject.dynamic();
    let tickets = || rows.list("kitchen", "TKT:"..="TKT;").collect();
    let ticket = tickets().await.unwrap().remove(0);
    let settled =
        members.settle(Member::partition("ann")).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!((settled.settled, tickets().await.unwrap().len()), (1, 0));
    // The insert of the ticket was sent twice, and takes effect again.
    rows.insert(&DynamicEntity { etag: None, timestamp: None, ..ticket }).await.unwrap();
    // As is the ticket of a value, which settling finds.
    let reserved = DynamicEntity::new("kitchen", "TKT:01ARYZ6S410000000000000042");
    rows.insert(&reserved.with("Entity", "Member").with("Due", "[]")).await.unwrap();

    let kitchen = || members.verify_eventual(Member::by_room("kitchen"));
    assert_eq!(kitchen().await.unwrap().findings, [], "it may be in use");
    clock.forward(3600);
    let report = kitchen().await.unwrap();
    assert_eq!((report.entities, report.findings.len()), (1, 1));
    let found = report.findings[0].clone();
    let Problem::Leftover { seconds } = found.problem else { panic!("{found}") };
    assert!((3590..4000).contains(&seconds), "{seconds}");
    assert_eq!(found.canonical.as_deref(), Some("ROOM:00001"));
    let skipped = members.repair([found.clone()]).await.skipped;
    assert_eq!(skipped.iter().map(|one| one.reason).collect::<Vec<_>>(), [SkipReason::Young]);
    assert_eq!(tickets().await.unwrap().len(), 2);

    clock.forward(24 * 3600);
    let permit = ScanPermit::because("test");
    let all = members.verify_eventual_table::<MemberByRoom>(permit).await.unwrap().findings;
    assert_eq!((all.len(), &all[0].row_key), (1, &found.row_key));
    assert_eq!(members.repair(all).await.all().unwrap(), 1);
    let left: Vec<_> = tickets().await.unwrap().into_iter().map(|row| row.row_key).collect();
    assert_eq!(left, ["TKT:01ARYZ6S410000000000000042"]);
    assert_eq!(in_room(&members, "kitchen").await, [member("ann", 1, "kitchen")]);
}
