//! Calls by a key and a version, and from an entity to its keys.

use support::recorder::recorded;
use table_orm::entity::Query as _;
use table_orm::plan::{Step, WhenAbsent};
use table_orm::query::Span;
use table_orm::store::IfMatch;
use table_orm::{EntityKeys, Error, Repo, TableEntity, TableName, Tables};
use time::{Duration, OffsetDateTime};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{club}", unique(email))]
#[row(by_id, key = "M:{id:05}")]
#[row(by_name, key = "N:{name}__{id:05}")]
#[row(board, key = "B:{seat:03}__{id:05}")]
struct Member {
    club: String,
    id: u32,
    name: String,
    seat: Option<u16>,
    email: Option<String>,
    #[table(skip)]
    cached: u32,
    joined: OffsetDateTime,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{club}", row = "RULE:{number:03}")]
struct Rule {
    club: String,
    number: u16,
    text: String,
    note: Option<String>,
}

fn member(id: u32) -> Member {
    let email = Some(format!("{id}@ski"));
    let name = format!("N{id}");
    let joined = OffsetDateTime::UNIX_EPOCH + Duration::days(id.into());
    Member { club: "ski".into(), id, name, seat: None, email, cached: 0, joined }
}

fn rule(number: u16) -> Rule {
    Rule { club: "ski".into(), number, text: "Be kind".into(), note: None }
}

async fn repos() -> (Tables, Repo<Member>, Repo<Rule>) {
    let tables = Tables::in_memory().unwrap();
    let (members, rules) = (tables.repo::<Member>(), tables.repo::<Rule>());
    members.create_table().await.unwrap();
    (tables, members, rules)
}

#[tokio::test]
async fn the_keys_of_an_entity_are_those_of_its_builders() {
    let seated = Member { seat: Some(3), ..member(7) };
    let ski = Member::partition("ski");
    let keys = |query: Result<_, _>| query.unwrap();
    assert_eq!(keys(seated.key().into_keys()), keys(ski.by_id().id(7).into_keys()));
    assert_eq!(keys(seated.partition().into_keys()), keys(ski.clone().into_keys()));
    let by_name = seated.key_in::<MemberByName>().unwrap();
    assert_eq!(keys(by_name.into_keys()), keys(ski.by_name().name("N7").id(7).into_keys()));
    let board = seated.key_in::<MemberBoard>().unwrap();
    assert_eq!(keys(board.into_keys()), keys(ski.board().seat(3).id(7).into_keys()));
    assert!(member(7).key_in::<MemberBoard>().is_none());
    assert_eq!(rule(1).key().into_texts().unwrap(), ("ski".into(), "RULE:001".into()));
    let slash = Member { club: "a/b".into(), ..member(1) };
    assert!(slash.key().into_texts().is_err() && slash.partition().into_keys().is_err());
    let (_, members, _) = repos().await;
    assert!(matches!(members.get(slash.key()).await, Err(Error::Key(_))));
    assert!(matches!(members.reload(&slash).await, Err(Error::Key(_))));
}

#[tokio::test]
async fn many_are_loaded_in_the_order_of_their_keys() {
    let (tables, record) = recorded();
    let members = tables.repo::<Member>();
    members.create_table().await.unwrap();
    for id in [3, 1] {
        members.insert(&member(id)).await.unwrap();
    }
    record.take();
    let keys = (0..40).map(|index| member([1, 2, 3][index % 3]).key());
    let load = members.load_many(keys);
    assert_eq!(load.plan().unwrap().steps.len(), 40);
    let loaded = load.await.unwrap();
    assert_eq!(record.take().gets, 40);
    for (index, found) in loaded.iter().enumerate() {
        let expected = [Some(1), None, Some(3)][index % 3];
        assert_eq!(found.as_ref().map(|member| member.id), expected);
    }
    let mut first = loaded.into_iter().next().unwrap().unwrap();
    first.name = "Ann".into();
    members.save(first).await.unwrap();
    let invalid = [member(1).key(), Member { club: "a/b".into(), ..member(1) }.key()];
    assert!(matches!(members.load_many(invalid.clone()).await, Err(Error::Key(_))));
    assert!(matches!(members.load_many(invalid).plan(), Err(Error::Key(_))));
    assert_eq!(record.take().gets, 0);
}

#[tokio::test]
async fn an_entity_is_reloaded_as_it_is_now() {
    let (_, members, _) = repos().await;
    let absent = members.reload(&member(1)).await;
    assert!(matches!(absent, Err(Error::NotFound(_))));
    members.insert(&member(1)).await.unwrap();
    members.update(member(1).key(), |member| member.seat = Some(4)).await.unwrap();
    let now = members.reload(&member(1)).await.unwrap();
    assert_eq!(now.seat, Some(4));
    assert_eq!(members.reload(&now).await.unwrap(), now);
    assert_eq!(members.reload(&now).plan().unwrap().steps.len(), 1);
}

#[tokio::test]
async fn a_delete_by_key_and_version_takes_all_rows_along() {
    let (tables, members, rules) = repos().await;
    let etag = members.insert(&Member { seat: Some(3), ..member(1) }).await.unwrap();
    members.insert(&member(2)).await.unwrap();
    let newer = members.update(member(1).key(), |member| member.seat = Some(4)).await.unwrap();
    let stale = members.delete_if(member(1).key(), &etag).await;
    assert!(matches!(stale, Err(Error::Conflict(_))));
    let absent = members.delete_if(member(3).key(), &etag).await;
    assert!(matches!(absent, Err(Error::NotFound(_))));
    let delete = members.delete_if(member(1).key(), newer.etag());
    assert!(delete.plan().unwrap().to_string().contains("under the ETag that was read; once"));
    delete.await.unwrap();
    let rows = tables.table(TableName::new("members").unwrap());
    assert_eq!(rows.list("ski", ..).count().await.unwrap(), 3);

    let etag = rules.insert(&rule(1)).await.unwrap();
    let newer = rules.merge(rule(1).key(), RulePatch::default().note("!")).await.unwrap();
    let stale = rules.delete_if(rule(1).key(), &etag).await;
    assert!(matches!(stale, Err(Error::Conflict(_))));
    let delete = rules.delete_if(rule(1).key(), &newer);
    assert!(matches!(&delete.plan().unwrap().steps[..], [Step::Write { .. }]));
    delete.await.unwrap();
    assert!(matches!(rules.delete_if(rule(1).key(), &newer).await, Err(Error::NotFound(_))));
}

#[tokio::test]
async fn a_delete_by_key_takes_all_rows_along_in_any_version() {
    let (tables, members, rules) = repos().await;
    members.insert(&Member { seat: Some(3), ..member(1) }).await.unwrap();
    members.insert(&member(2)).await.unwrap();
    members.update(member(1).key(), |member| member.seat = Some(4)).await.unwrap();
    let absent = members.delete_by_key(member(3).key()).await;
    assert!(matches!(absent, Err(Error::NotFound(_))));
    let delete = members.delete_by_key(member(1).key());
    let plan = delete.plan().unwrap().to_string();
    assert!(plan.contains("under the ETag that was read") && !plan.contains("once"), "{plan}");
    let once = members.delete_by_key(member(1).key()).attempts(1).plan().unwrap().to_string();
    assert!(once.contains("under the ETag that was read; once"), "{once}");
    delete.await.unwrap();
    let rows = tables.table(TableName::new("members").unwrap());
    assert_eq!(rows.list("ski", ..).count().await.unwrap(), 3);

    rules.insert(&rule(1)).await.unwrap();
    rules.merge(rule(1).key(), RulePatch::default().note("!")).await.unwrap();
    let delete = rules.delete_by_key(rule(1).key());
    assert!(matches!(&delete.plan().unwrap().steps[..], [Step::Write { .. }]));
    delete.await.unwrap();
    let absent = rules.delete_by_key(rule(1).key()).await;
    assert!(matches!(absent, Err(Error::NotFound(_))), "{absent:?}");
}

#[tokio::test]
async fn a_merge_by_version_fails_at_another_one() {
    let (_, members, rules) = repos().await;
    let (old, rule_old) =
        (members.insert(&member(1)).await.unwrap(), rules.insert(&rule(1)).await.unwrap());
    let joined = |days| MemberPatch::default().joined(member(days).joined);
    let note = |text: &str| RulePatch::default().note(text);
    let new = members.merge(member(1).key(), joined(2)).if_match(&old).await.unwrap();
    let rule_new = rules.merge(rule(1).key(), note("a")).if_match(&rule_old).await.unwrap();
    for or_insert in [false, true] {
        let merge = members.merge(member(1).key(), joined(3)).if_match(&old);
        let merge = if or_insert { merge.or_insert() } else { merge };
        assert!(matches!(merge.await, Err(Error::Conflict(_))));
        let merge = rules.merge(rule(1).key(), note("b")).if_match(&rule_old);
        let merge = if or_insert { merge.or_insert() } else { merge };
        assert!(matches!(merge.await, Err(Error::Conflict(_))));
        let merge = rules.merge(rule(2).key(), note("b")).if_match(&rule_new);
        let merge = if or_insert { merge.or_insert() } else { merge };
        let plan = merge.plan().unwrap();
        let operation = plan.operations().next().unwrap();
        assert_eq!(operation.action.if_match(), Some(&IfMatch::ETag(rule_new.clone())));
        assert!(matches!(merge.await, Err(Error::NotFound(_))));
    }
    assert_eq!(members.reload(&member(1)).await.unwrap().etag(), &new);
    assert_eq!(rules.reload(&rule(1)).await.unwrap().etag(), &rule_new);
}

#[tokio::test]
async fn an_inserted_entity_can_be_saved_without_a_read() {
    let (_, members, _) = repos().await;
    let new = Member { cached: 9, seat: Some(1), ..member(1) };
    assert_eq!(members.insert_loaded(&new).plan().unwrap().operations().count(), 4);
    let mut loaded = members.insert_loaded(&new).await.unwrap();
    // It is what a read returns.
    assert_eq!(members.reload(&new).await.unwrap(), loaded);
    assert_eq!(loaded.cached, 0);
    loaded.seat = None;
    members.save(&mut loaded).await.unwrap();
    assert_eq!(members.reload(&new).await.unwrap(), loaded);
    assert!(matches!(members.insert_loaded(&new).await, Err(Error::AlreadyExists(_))));
    let same = Member { email: new.email.clone(), ..member(2) };
    assert!(matches!(members.insert_loaded(&same).await, Err(Error::UniqueViolation { .. })));
}

#[tokio::test]
async fn an_update_inserts_what_is_absent_and_changes_what_is_there() {
    let (_, members, _) = repos().await;
    let update = || members.update(member(1).key(), |member| member.seat = Some(5));
    assert!(matches!(update().await, Err(Error::NotFound(_))));
    let absent = |plan: table_orm::plan::Plan| match plan.steps.last() {
        Some(Step::CommitChanges { absent, .. }) => absent.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(absent(update().plan().unwrap()), WhenAbsent::Fail);
    let first = update().or_insert_with(|| member(1));
    assert_eq!(absent(first.plan().unwrap()), WhenAbsent::InsertMade);
    let mut loaded = first.await.unwrap();
    assert_eq!(*loaded, member(1));
    loaded.name = "Ann".into();
    members.save(&mut loaded).await.unwrap();
    let second = update().or_insert_with(|| unreachable!()).await.unwrap();
    assert_eq!((second.seat, second.name.as_str()), (Some(5), "Ann"));

    let other = members.update(member(2).key(), |_| ()).or_insert_with(|| member(3)).await;
    let Err(Error::OtherKey { row_key, made_row_key, .. }) = &other else { panic!("{other:?}") };
    assert_eq!((row_key.as_str(), made_row_key.as_str()), ("M:00002", "M:00003"));
    let taken = || Member { email: member(1).email, ..member(2) };
    let taken = members.update(member(2).key(), |_| ()).or_insert_with(taken).await;
    assert!(matches!(taken, Err(Error::UniqueViolation { .. })));
    assert_eq!(members.list(member(1).partition()).count().await.unwrap(), 1);
    assert_eq!(member(1).partition().into_keys().unwrap().row, Span::prefix("M:"));
}

#[tokio::test]
async fn an_instant_between_ticks_is_given_back_as_it_is_read() {
    let (_, members, _) = repos().await;
    for (id, day, nanoseconds) in [(1, 7, 50), (2, 7, 1), (3, 7, 99), (4, -7, 50), (5, -7, 199)] {
        let tick = OffsetDateTime::UNIX_EPOCH + Duration::days(day);
        let at = |id, nanoseconds: i64| Member {
            joined: tick + Duration::nanoseconds(nanoseconds),
            ..member(id)
        };
        let floor = at(id, nanoseconds - nanoseconds % 100);
        let between = at(id, nanoseconds);
        assert_ne!(between, floor);
        let now = async || members.reload(&floor).await.unwrap();

        let inserted = members.insert_loaded(&between).await.unwrap();
        assert_eq!((&*inserted, &inserted), (&floor, &now().await));
        members.delete(inserted).await.unwrap();

        let etag = members.insert(&between).await.unwrap();
        let read = now().await;
        assert_eq!((&*read, read.etag()), (&floor, &etag));
        members.delete(read).await.unwrap();

        let made = members.update(floor.key(), |_| ()).or_insert_with(|| between.clone());
        let made = made.await.unwrap();
        assert_eq!((&*made, &made), (&floor, &now().await));
    }
}
