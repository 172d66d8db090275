//! Every read leaves out what has expired, and all agree.

use super::{Clock, Session, session, tables};
use table_orm::{Projection, Repo, ScanPermit, TableEntity, TableUnion, Tables};
use time::OffsetDateTime;

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Session)]
struct Place {
    place: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "sessions", partition = "{user}", row = "NOTE:{id:05}")]
struct Note {
    user: String,
    id: u32,
}

/// A version that called the instant `Ends`.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "links", partition = "{id}", row = "LINK")]
struct OldLink {
    id: String,
    target: String,
    ends: OffsetDateTime,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "links", partition = "{id}", row = "LINK", expires = until)]
struct Link {
    id: String,
    target: String,
    #[table(alias = "Ends")]
    until: OffsetDateTime,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Link)]
struct Target {
    target: String,
}

#[derive(Debug, PartialEq, TableUnion)]
enum OfUser {
    Session(Session),
    Note(Note),
}

/// What each read says: the sessions that it returns.
async fn ids(tables: &Tables, sessions: &Repo<Session>, including: bool) -> Vec<Vec<u32>> {
    let ann = Session::partition("ann");
    let of = |sessions: Vec<Session>| -> Vec<u32> {
        let mut ids: Vec<_> = sessions.iter().map(|session| session.id).collect();
        ids.sort_unstable();
        ids
    };
    let numbers = |count: usize, all: &[u32]| {
        assert_eq!(count, all.len());
        all.to_vec()
    };
    let listed = of(sessions.list(ann.by_id()).collect().await.unwrap());
    let every = [1, 2, 3, 4].map(|id| ann.by_id().id(id));
    let got = sessions.get_many(every.clone()).await.unwrap().into_iter().flatten().collect();
    let mut one_by_one = Vec::new();
    for key in every.clone() {
        one_by_one.extend(sessions.get(key).await.unwrap());
    }
    let loaded = sessions.load(ann.by_id()).await.unwrap();
    let loaded = loaded.into_iter().map(table_orm::Loaded::into_inner).collect();
    let through = sessions.load(ann.by_place().place("home")).await.unwrap();
    let through = through.into_iter().map(table_orm::Loaded::into_inner).collect();
    let many = sessions.load_many(every.clone()).await.unwrap().into_iter().flatten();
    let many = many.map(table_orm::Loaded::into_inner).collect();
    let projected = sessions.list(ann.by_device().device("phone")).project::<Place>();
    let (counted, projected) =
        (projected.clone().count().await.unwrap(), projected.collect().await.unwrap());
    assert_eq!(counted, projected.len());
    let mut paged = Vec::new();
    let mut pages = sessions.list(ann.by_id()).pages(1);
    while let Some(page) = pages.next().await.unwrap() {
        paged.extend(page.items);
    }
    let permit = || ScanPermit::because("test");
    let scanned = sessions.scan(permit()).collect().await.unwrap();
    let places = sessions.scan(permit()).project::<Place>().collect().await.unwrap();
    let scan_pages = sessions.scan(permit()).pages(2).collect().await.unwrap();
    let each = sessions.list_many([ann.by_id().id(1), ann.by_id().id(2)]).count().await.unwrap();
    assert_eq!(each, listed.iter().filter(|id| **id < 3).count());
    let mut union = tables.union::<OfUser>(&ann);
    if including {
        union = union.including_expired();
    }
    let union_count = union.clone().count().await.unwrap();
    let union = union.collect().await.unwrap();
    assert_eq!(union_count, union.len());
    assert_eq!(union.iter().filter(|one| matches!(one, OfUser::Note(_))).count(), 1);
    let union = union.into_iter().filter_map(|one| match one {
        OfUser::Session(session) => Some(session),
        OfUser::Note(_) => None,
    });
    vec![
        of(got),
        of(one_by_one),
        of(loaded),
        of(through),
        of(many),
        of(paged),
        of(scanned),
        of(scan_pages),
        of(union.collect()),
        numbers(projected.len(), &listed),
        numbers(places.len(), &listed),
        numbers(sessions.scan(permit()).count().await.unwrap().rows as usize, &listed),
        numbers(sessions.list(ann.by_id()).count().await.unwrap(), &listed),
        numbers(sessions.list(&ann).explain().await.unwrap().matching as usize, &listed),
        listed,
    ]
}

async fn filled() -> (Tables, Repo<Session>, Clock) {
    let (tables, clock) = tables();
    let sessions = tables.repo::<Session>();
    sessions.create_table().await.unwrap();
    for (id, seconds) in [(1, 10), (2, 20), (3, 30)] {
        sessions.insert(&session(id, clock.after(seconds))).await.unwrap();
    }
    sessions.insert(&session(4, None)).await.unwrap();
    tables.repo::<Note>().insert(&Note { user: "ann".into(), id: 1 }).await.unwrap();
    (tables, sessions, clock)
}

#[tokio::test]
async fn every_read_leaves_out_an_entity_from_the_instant_at_which_it_expires() {
    let (tables, sessions, clock) = filled().await;
    for expected in [vec![1, 2, 3, 4], vec![2, 3, 4], vec![3, 4], vec![4]] {
        for (place, read) in ids(&tables, &sessions, false).await.into_iter().enumerate() {
            assert_eq!(read, expected, "read {place}");
        }
        for (place, read) in
            ids(&tables, &sessions.including_expired(), true).await.into_iter().enumerate()
        {
            assert_eq!(read, [1, 2, 3, 4], "read {place}");
        }
        clock.pass(time::Duration::seconds(10));
    }
}

#[tokio::test]
async fn a_page_token_opens_its_next_page_after_rows_have_expired() {
    let (_, sessions, clock) = filled().await;
    let pages = || sessions.list(Session::partition("ann").by_id()).pages(1);
    let first = pages().next().await.unwrap().unwrap();
    assert_eq!(first.items[0].id, 1);
    clock.pass(time::Duration::seconds(25));
    let next = pages().resume(first.next.unwrap()).next().await.unwrap().unwrap();
    assert_eq!(next.items[0].id, 3);
}

#[tokio::test]
async fn a_stream_leaves_out_what_expires_while_it_is_read() {
    let (_, sessions, clock) = filled().await;
    let mut pages = sessions.list(Session::partition("ann").by_id()).pages(1);
    let mut read = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        read.extend(page.items.iter().map(|session| session.id));
        clock.pass(time::Duration::seconds(15));
    }
    assert_eq!(read, [1, 2, 4]);
}

#[tokio::test]
async fn the_store_is_asked_for_rows_that_are_alive_only() {
    let (_, sessions, clock) = filled().await;
    let plan = sessions.list(Session::partition("ann").by_id()).plan().unwrap().to_string();
    let now = table_orm::model::DateTime::try_from(clock.now()).unwrap();
    assert!(plan.contains(&format!("not (Until le datetime'{now}')")), "{plan}");
    let all = sessions.including_expired().list(Session::partition("ann").by_id()).plan().unwrap();
    assert!(!all.to_string().contains("Until"), "{all}");
}

#[tokio::test]
async fn every_read_knows_the_instant_by_its_former_name() {
    let (tables, clock) = tables();
    let links = tables.repo::<Link>();
    links.create_table().await.unwrap();
    let old = OldLink { id: "a".to_owned(), target: "b".to_owned(), ends: clock.after(10) };
    tables.repo::<OldLink>().insert(&old).await.unwrap();
    let link = Link::partition("a");
    let permit = || ScanPermit::because("test");
    for expected in [1, 0] {
        assert_eq!(links.list(&link).collect().await.unwrap().len(), expected);
        assert_eq!(links.list(&link).count().await.unwrap(), expected);
        let targets = links.list(&link).project::<Target>().collect().await.unwrap();
        assert_eq!(targets.len(), expected);
        let target = links.get(link.row()).project::<Target>().await.unwrap();
        assert_eq!(target.is_some(), expected == 1);
        assert_eq!(links.scan(permit()).count().await.unwrap().rows as usize, expected);
        clock.pass(time::Duration::seconds(10));
    }
}

#[tokio::test]
async fn an_instant_that_an_older_version_moved_counts_in_every_read() {
    let (tables, clock) = tables();
    let (links, old) = (tables.repo::<Link>(), tables.repo::<OldLink>());
    links.create_table().await.unwrap();
    let new = Link { id: "a".to_owned(), target: "b".to_owned(), until: clock.after(10) };
    links.insert(&new).await.unwrap();
    // A merge leaves the present name, with the former instant, beside its own.
    let longer = OldLinkPatch::default().ends(clock.after(30));
    old.merge(OldLink::partition("a").row(), longer).await.unwrap();
    let link = Link::partition("a");
    for expected in [1, 1, 0] {
        assert_eq!(links.get(link.row()).await.unwrap().is_some(), expected == 1);
        assert_eq!(links.list(&link).collect().await.unwrap().len(), expected);
        assert_eq!(links.list(&link).count().await.unwrap(), expected);
        let scanned = links.scan(ScanPermit::because("test")).count().await.unwrap();
        assert_eq!(scanned.rows as usize, expected);
        clock.pass(time::Duration::seconds(15));
    }
}
