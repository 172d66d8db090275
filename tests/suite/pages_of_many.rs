//! Pages over several queries, such as those of all shards, with one token.

use proptest::prelude::*;
use std::collections::BTreeSet;
use support::on_virtual_time;
use support::recorder::recorded;
use table_orm::layer::Faults;
use table_orm::query::{PageToken, TokenError};
use table_orm::repo::{ManyPages, RowPage};
use table_orm::{DynamicEntity, Error, Repo, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "events", partition = "{share}__{day}", row = "EV:{id:05}")]
#[row(by_tag, key = "TAG:{tag}__{id:05}")]
#[component(share = shard(id, 16))]
struct Event {
    day: u32,
    id: u32,
    tag: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "wide", partition = "{share}", row = "{id:010}")]
#[component(share = shard(id, 1000))]
struct Wide {
    id: u32,
}

async fn events(tables: &Tables, ids: BTreeSet<u32>) -> Repo<Event> {
    let events = tables.repo::<Event>();
    events.create_table().await.unwrap();
    let all = ids.into_iter().map(|id| Event { day: 1, id, tag: id % 3 });
    events.insert_many(all).await.all().unwrap();
    events
}

/// Reads all pages, each as its own web request would ask for it, and asks again after a refusal.
async fn walk<T: PartialEq + std::fmt::Debug>(
    pages: impl Fn() -> ManyPages<T>,
    size: usize,
) -> Vec<T> {
    let (mut all, mut token) = (Vec::new(), None::<PageToken>);
    loop {
        let mut request = match token {
            Some(token) => pages().resume(token.to_string().parse().unwrap()),
            None => pages(),
        };
        let page = loop {
            match request.next().await {
                Ok(Some(page)) => break page,
                // A limit of no rows.
                Ok(None) => return all,
                Err(error) => assert!(matches!(error, Error::Throttled(_)), "{error}"),
            }
        };
        assert!(page.len() == size || page.next.is_none() && page.len() < size);
        assert_eq!(page.previous.is_some(), !all.is_empty());
        all.extend(page.items);
        token = page.next;
        if token.is_none() {
            return all;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_pages_over_all_shards_hold_what_collect_returns_in_its_order(
        ids in prop::collection::btree_set(0_u32..400, 0..60),
        size in 1_usize..20,
        each in 0_usize..4,
        tag in 0_u32..3,
    ) {
        on_virtual_time(async {
            let events = events(&Tables::in_memory().unwrap(), ids).await;
            let all = || events.list_many(Event::partitions(1));
            assert_eq!(walk(|| all().pages(size), size).await, all().collect().await.unwrap());
            let some = || all().take_each(each);
            assert_eq!(walk(|| some().pages(size), size).await, some().collect().await.unwrap());
            let tagged = || all().filter(|row| row.tag.eq(tag));
            assert_eq!(walk(|| tagged().pages(size), size).await, tagged().collect().await.unwrap());
            let by_tag = || events.list_many(Event::partitions(1).iter().map(|day| day.by_tag().tag(tag)));
            assert_eq!(walk(|| by_tag().pages(size), size).await, by_tag().collect().await.unwrap());
        });
    }

    #[test]
    fn shards_that_end_their_pages_early_or_refuse_requests_lose_no_row(
        ids in prop::collection::btree_set(0_u32..400, 0..60),
        size in 1_usize..20,
        each in 0_usize..9,
        seed in any::<u64>(),
    ) {
        on_virtual_time(async {
            let tables = Tables::in_memory().unwrap();
            let calm = events(&tables, ids).await;
            let faults = Faults::seeded(seed).empty_pages(0.2).short_pages(0.4).throttled(0.2);
            let events = tables.layer(faults).unwrap().repo::<Event>();
            let expected = calm.list_many(Event::partitions(1)).take_each(each).collect().await;
            let pages = || events.list_many(Event::partitions(1)).take_each(each).pages(size);
            assert_eq!(walk(pages, size).await, expected.unwrap());
        });
    }
}

#[tokio::test]
async fn a_token_of_other_queries_is_a_typed_error_and_sends_nothing() {
    let (tables, record) = recorded();
    let events = events(&tables, (0..40).collect()).await;
    let pages = |day| events.list_many(Event::partitions(day)).pages(3);
    let token = pages(1).next().await.unwrap().unwrap().next.unwrap();
    let single = events.list(&Event::partition(0, 1)).pages(1).next().await.unwrap().unwrap();
    let single = single.next.unwrap();
    record.take();

    let fewer = events.list_many(Event::partitions(1).into_iter().skip(1)).pages(3);
    let reversed = events.list_many(Event::partitions(1).into_iter().rev()).pages(3);
    let filtered = events.list_many(Event::partitions(1)).filter(|row| row.tag.eq(1)).pages(3);
    for other in [pages(2), fewer, reversed, filtered] {
        let error = other.resume(token.clone()).next().await.unwrap_err();
        assert!(matches!(error, Error::Token(TokenError::OtherQuery)), "{error}");
    }
    // The token counts the rows of one query that were read.
    let each = |rows| events.list_many(Event::partitions(1)).take_each(rows).pages(3);
    let of_three = each(3).next().await.unwrap().unwrap().next.unwrap();
    record.take();
    for other in [each(5), pages(1)] {
        let error = other.resume(of_three.clone()).next().await.unwrap_err();
        assert!(matches!(error, Error::Token(TokenError::OtherQuery)), "{error}");
    }
    let mut other = pages(1).resume(single);
    assert!(other.plan().steps.is_empty());
    assert!(matches!(other.next().await, Err(Error::Token(TokenError::OtherQuery))));
    assert_eq!(other.next().await.unwrap(), None);
    let one = events.list(&Event::partition(0, 1)).pages(1).resume(token).next().await;
    assert!(matches!(one, Err(Error::Token(TokenError::OtherQuery))));
    assert!(record.take().queries.is_empty());
}

#[tokio::test]
async fn a_token_over_a_thousand_shards_is_short() {
    let wide = Tables::in_memory().unwrap().repo::<Wide>();
    wide.create_table().await.unwrap();
    wide.insert_many((0..40).map(|id| Wide { id })).await.all().unwrap();
    let mut pages = wide.list_many(Wide::partitions()).pages(7);
    let (mut read, mut most) = (0, 60);
    while let Some(page) = pages.next().await.unwrap() {
        read += page.len();
        let text = page.next.map(|token| token.to_string()).unwrap_or_default();
        // Each earlier page adds its start.
        most += 28;
        assert!(text.len() <= most, "{} {text}", text.len());
    }
    assert_eq!(read, 40);
}

#[tokio::test]
async fn a_page_asks_each_shard_for_no_more_rows_than_it_lacks() {
    let (tables, record) = recorded();
    let events = events(&tables, (0..100).collect()).await;
    record.take();
    let mut pages = events.list_many(Event::partitions(1)).pages(10);
    assert!(pages.plan().to_string().contains("$top          10"));
    assert_eq!(pages.next().await.unwrap().unwrap().len(), 10);
    let asked: Vec<_> = record.take().queries.iter().map(|query| query.top.unwrap()).collect();
    assert_eq!(asked[0], 10);
    assert!(asked.len() > 1 && asked.is_sorted_by(|more, less| more > less), "{asked:?}");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "letters", partition = "{box}", row = "L:{id:04}")]
struct Folder {
    r#box: u8,
    id: u32,
}

/// A row whose key continues that of its folder.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "letters", partition = "{box}", row = "L:{folder:04}__{id:05}")]
struct Sheet {
    r#box: u8,
    folder: u32,
    id: u32,
}

#[tokio::test]
async fn rows_of_other_types_between_those_of_a_page_cost_few_requests() {
    let (tables, record) = recorded();
    let (folders, sheets) = (tables.repo::<Folder>(), tables.repo::<Sheet>());
    folders.create_table().await.unwrap();
    let boxes = [1, 2];
    for (r#box, most) in boxes.into_iter().zip([900, 0]) {
        folders.insert_many((0..6).map(|id| Folder { r#box, id })).await.all().unwrap();
        let of = |folder| (0..most).map(move |id| Sheet { r#box, folder, id });
        sheets.insert_many((0..6).flat_map(of)).await.all().unwrap();
    }
    let pages = || folders.list_many(boxes.map(Folder::partition)).pages(4);
    record.take();
    let found = walk(pages, 4).await;
    let requests = record.take().queries.len();
    assert!(requests < 60, "{requests} requests for 5,412 rows");
    let all = folders.list_many(boxes.map(Folder::partition)).collect().await.unwrap();
    assert_eq!(found, all);
    assert_eq!(found.len(), 12);
    // And back.
    let mut page = pages().next().await.unwrap().unwrap();
    while let Some(next) = page.next {
        page = pages().resume(next).next().await.unwrap().unwrap();
    }
    let mut back = vec![page.items];
    while let Some(previous) = page.previous {
        page = pages().resume(previous).next().await.unwrap().unwrap();
        back.insert(0, page.items);
    }
    assert_eq!(back.concat(), all);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_fails_only_the_page_that_it_is_on() {
    let tables = Tables::in_memory().unwrap();
    let (folders, sheets) = (tables.repo::<Folder>(), tables.repo::<Sheet>());
    folders.create_table().await.unwrap();
    folders.insert_many((0..9).map(|id| Folder { r#box: 1, id })).await.all().unwrap();
    let of = |folder| (0..40).map(move |id| Sheet { r#box: 1, folder, id });
    sheets.insert_many((0..9).flat_map(of)).await.all().unwrap();
    let unreadable = DynamicEntity::new("1", "L:0005").with("Id", "five");
    tables.table(folders.table().clone()).insert_or_replace(&unreadable).await.unwrap();
    let mut pages = folders.list_many([Folder::partition(1)]).pages(2);
    for ids in [[0, 1], [2, 3]] {
        let page = pages.next().await.unwrap().unwrap();
        assert_eq!(page.items.iter().map(|folder| folder.id).collect::<Vec<_>>(), ids);
    }
    assert!(matches!(pages.next().await, Err(Error::Property(_))));
    assert!(pages.next().await.unwrap().is_none());
}

#[tokio::test]
async fn wrong_sizes_and_values_are_errors_of_the_first_page_alone() {
    let events = events(&Tables::in_memory().unwrap(), (0..3).collect()).await;
    for size in [0, 1001] {
        let mut pages = events.list_many(Event::partitions(1)).pages(size);
        assert!(matches!(pages.next().await, Err(Error::PageSize(wrong)) if wrong == size));
        assert_eq!(pages.next().await.unwrap(), None);
    }
    let too_wide = Event::partitions(1).into_iter().map(|day| day.row().id(100_000));
    let mut pages = events.list_many(too_wide).pages(2);
    assert!(matches!(pages.next().await, Err(Error::Key(_))));
    assert_eq!(pages.next().await.unwrap(), None);
    let none: [table_orm::query::RowRange<EventRow>; 0] = [];
    assert_eq!(events.list_many(none).pages(2).next().await.unwrap(), None);
}

#[tokio::test]
async fn pages_after_a_token_follow_also_where_pages_were_read_already() {
    let events = events(&Tables::in_memory().unwrap(), (0..50).collect()).await;
    let pages = || events.list_many(Event::partitions(1)).pages(4);
    let mut reader = pages();
    let first = reader.next().await.unwrap().unwrap();
    let rest: BTreeSet<_> = reader.collect().await.unwrap().iter().map(|event| event.id).collect();
    let mut far = pages();
    for _ in 0..9 {
        far.next().await.unwrap();
    }
    let again = far.resume(first.next.unwrap()).collect().await.unwrap();
    assert_eq!(again.iter().map(|event| event.id).collect::<BTreeSet<_>>(), rest);
}

/// A row of one of three partitions, which are read in the order of `PLACES`.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "letters", partition = "{place}", row = "{id:03}")]
struct Letter {
    place: String,
    id: u16,
}

const PLACES: [&str; 3] = ["b", "c", "a"];

impl Letter {
    fn at((place, id): (usize, u16)) -> Self {
        Self { place: PLACES[place].into(), id }
    }

    fn position(&self) -> (usize, u16) {
        (PLACES.iter().position(|place| *place == self.place).unwrap(), self.id)
    }
}

/// A step of a client, after another client wrote.
#[derive(Debug, Clone)]
struct Step {
    back: bool,
    size: usize,
    inserted: BTreeSet<(usize, u16)>,
    deleted: BTreeSet<(usize, u16)>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let keys = || prop::collection::btree_set((0..3_usize, 0..12_u16), 0..5);
    let step = (any::<bool>(), 1_usize..7, keys(), keys())
        .prop_map(|(back, size, inserted, deleted)| Step { back, size, inserted, deleted });
    prop::collection::vec(step, 1..30)
}

async fn write(letters: &Repo<Letter>, stored: &mut BTreeSet<(usize, u16)>, step: &Step) {
    for at in &step.inserted {
        if stored.insert(*at) {
            letters.insert(&Letter::at(*at)).await.unwrap();
        }
    }
    for at in &step.deleted {
        if stored.remove(at) {
            letters.force_delete(&Letter::at(*at)).await.unwrap();
        }
    }
}

async fn read(
    letters: &Repo<Letter>,
    size: usize,
    token: Option<PageToken>,
) -> (Vec<(usize, u16)>, RowPage<Letter>) {
    let mut pages = letters.list_many(PLACES.map(Letter::partition)).pages(size);
    if let Some(token) = token {
        pages = pages.resume(token.to_string().parse().unwrap());
    }
    let page = pages.next().await.unwrap().expect("a page");
    (page.iter().map(Letter::position).collect(), page)
}

/// Walks while another client writes. Pages beside each other share no row, whatever the order of the
/// steps, and from every page on, `next` finds each row that stays.
async fn walk_while_others_write(tables: Tables, steps: Vec<Step>) {
    let letters = tables.repo::<Letter>();
    letters.create_table().await.unwrap();
    let mut stored = BTreeSet::new();
    let (mut here, mut at) = read(&letters, 3, None).await;
    for step in steps {
        let before = stored.clone();
        write(&letters, &mut stored, &step).await;
        let token = if step.back { at.previous.clone() } else { at.next.clone() };
        let Some(token) = token else {
            (here, at) = read(&letters, step.size, None).await;
            continue;
        };
        let (there, page) = read(&letters, step.size, Some(token)).await;
        assert!(there.len() <= step.size && there.is_sorted());
        let (low, high) = if step.back { (&there, &here) } else { (&here, &there) };
        if let (Some(last), Some(first)) = (low.last(), high.first()) {
            assert!(last < first, "{low:?} {high:?}");
            let stays = before.intersection(&stored);
            let missed = stays.filter(|at| last < at && at < &first).count();
            assert!(step.back || missed == 0, "{low:?} {high:?}");
        }
        let (mut token, mut rest) = (page.next.clone(), there.clone());
        while let Some(next) = token {
            let (more, page) = read(&letters, step.size, Some(next)).await;
            rest.extend(more);
            token = page.next;
        }
        if let Some(first) = there.first() {
            assert!(stored.range(first..).eq(&rest), "{stored:?} {rest:?}");
        }
        (here, at) = (there, page);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pages_over_several_queries_share_no_row_with_those_beside_them_while_others_write(
        steps in steps(),
    ) {
        on_virtual_time(walk_while_others_write(Tables::in_memory().unwrap(), steps));
    }

    #[test]
    fn pages_over_several_queries_that_the_service_ends_early_are_walked_back_as_well(
        steps in steps(),
        seed in any::<u64>(),
    ) {
        let faults = Faults::seeded(seed).empty_pages(0.2).short_pages(0.5);
        let tables = Tables::in_memory().unwrap().layer(faults).unwrap();
        on_virtual_time(walk_while_others_write(tables, steps));
    }

    #[test]
    fn the_pages_over_all_shards_come_back_in_reverse(
        ids in prop::collection::btree_set(0_u32..400, 0..60),
        size in 1_usize..20,
        each in 1_usize..6,
    ) {
        on_virtual_time(async {
            let events = events(&Tables::in_memory().unwrap(), ids).await;
            let pages = |token: Option<PageToken>| {
                let pages = events.list_many(Event::partitions(1)).take_each(each).pages(size);
                match token {
                    Some(token) => pages.resume(token),
                    None => pages,
                }
            };
            let mut forward = Vec::new();
            let mut at = pages(None).next().await.unwrap().unwrap();
            while let Some(next) = at.next.clone() {
                forward.push(at.items);
                at = pages(Some(next)).next().await.unwrap().unwrap();
            }
            while let Some(previous) = at.previous.clone() {
                at = pages(Some(previous)).next().await.unwrap().unwrap();
                assert_eq!(Some(&at.items), forward.last());
                forward.pop();
            }
            assert_eq!(forward, Vec::<Vec<Event>>::new());
        });
    }
}
