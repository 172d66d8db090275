//! Pages forward and back, each as its own web request would ask for it.

use proptest::prelude::*;
use std::collections::BTreeSet;
use support::on_virtual_time;
use table_orm::layer::Faults;
use table_orm::query::PageToken;
use table_orm::repo::{Pages, RowPage, Table};
use table_orm::{DynamicEntity, Error, Projection, Repo, TableEntity, TableUnion, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{owner}", row = "NOTE:{id:03}")]
#[row(by_tag, key = "TAG:{tag}__{id:03}")]
struct Note {
    owner: String,
    id: u16,
    tag: String,
}

#[derive(Debug, Clone, PartialEq, Projection)]
#[projection(of = Note)]
struct Tag {
    tag: String,
}

#[derive(Debug, Clone, PartialEq, TableUnion)]
enum Any {
    Note(Note),
}

fn note(id: u16) -> Note {
    Note { owner: "ann".into(), id, tag: format!("t{}", id % 3) }
}

async fn notes(tables: &Tables, ids: &BTreeSet<u16>) -> Repo<Note> {
    let notes = tables.repo::<Note>();
    notes.create_table().await.unwrap();
    notes.insert_many(ids.iter().copied().map(note)).await.all().unwrap();
    notes
}

/// The page of a token, which has crossed the wire as text.
async fn page<T>(pages: Pages<T>, token: Option<PageToken>) -> RowPage<T> {
    let mut pages = match token {
        Some(token) => pages.resume(token.to_string().parse().unwrap()),
        None => pages,
    };
    pages.next().await.unwrap().unwrap()
}

/// Reads all pages forward, then all backward, then forward again.
async fn there_and_back<T: Clone + PartialEq + std::fmt::Debug>(
    pages: impl Fn() -> Pages<T>,
) -> Vec<T> {
    let mut walked = vec![page(pages(), None).await];
    while let Some(next) = walked[walked.len() - 1].next.clone() {
        walked.push(page(pages(), Some(next)).await);
    }
    let mut at = walked[walked.len() - 1].clone();
    for before in walked.iter().rev().skip(1) {
        at = page(pages(), at.previous).await;
        assert_eq!(at.items, before.items);
        assert_eq!(at.next.is_some(), before.next.is_some());
    }
    assert_eq!(at.previous, None);
    for after in &walked[1..] {
        at = page(pages(), at.next).await;
        assert_eq!(at.items, after.items);
    }
    assert_eq!(at.next, None);
    walked.into_iter().flat_map(|page| page.items).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_pages_backward_are_the_pages_forward(
        ids in prop::collection::btree_set(0_u16..400, 0..25),
        size in 1_usize..6,
        tag in 0_u16..3,
    ) {
        on_virtual_time(async {
            let tables = Tables::in_memory().unwrap();
            let notes = notes(&tables, &ids).await;
            let ann = Note::partition("ann");
            let all = there_and_back(|| notes.list(ann.row()).pages(size)).await;
            assert!(all.iter().map(|note| note.id).eq(ids.iter().copied()));
            // The rows that a filter leaves out make some pages empty.
            let tag = format!("t{tag}");
            let tagged = || notes.list(ann.row()).filter(|row| row.tag.eq(&*tag)).pages(size);
            there_and_back(tagged).await;
            there_and_back(|| notes.list(ann.by_tag()).pages(size)).await;
            there_and_back(|| notes.list(ann.row()).project::<Tag>().pages(size)).await;
            there_and_back(|| tables.union::<Any>(&ann).pages(size)).await;
            let rows = tables.table(notes.table().clone());
            let rows = there_and_back(|| rows.list("ann", ..).pages(size)).await;
            assert_eq!(rows.len(), 2 * ids.len());
        });
    }
}

/// One step of a client, after another client wrote.
#[derive(Debug, Clone)]
struct Step {
    back: bool,
    size: usize,
    inserted: BTreeSet<u16>,
    deleted: BTreeSet<u16>,
}

fn step() -> impl Strategy<Value = Step> {
    let keys = || prop::collection::btree_set(0_u16..60, 0..4);
    (any::<bool>(), 1_usize..7, keys(), keys()).prop_map(|(back, size, inserted, deleted)| Step {
        back,
        size,
        inserted,
        deleted,
    })
}

async fn write(rows: &Table, stored: &mut BTreeSet<u16>, step: &Step) {
    for id in &step.inserted {
        if stored.insert(*id) {
            rows.insert(&DynamicEntity::new("p", format!("{id:03}"))).await.unwrap();
        }
    }
    for id in &step.deleted {
        if stored.remove(id) {
            rows.delete(&DynamicEntity::new("p", format!("{id:03}"))).await.unwrap();
        }
    }
}

async fn ids(
    rows: &Table,
    size: usize,
    token: Option<PageToken>,
) -> (Vec<u16>, RowPage<DynamicEntity>) {
    let page = page(rows.list("p", ..).pages(size), token).await;
    (page.items.iter().map(|row| row.row_key.parse().unwrap()).collect(), page)
}

/// Walks while another client writes. Pages beside each other share no row, whatever the order of the
/// steps, and from every page on, `next` finds each row that stays.
async fn walk(tables: Tables, steps: Vec<Step>) {
    let name = "rows".parse().unwrap();
    tables.create(&name).await.unwrap();
    let rows = tables.table(name);
    let mut stored = BTreeSet::new();
    let (mut here, mut at) = ids(&rows, 3, None).await;
    for step in steps {
        let before = stored.clone();
        write(&rows, &mut stored, &step).await;
        let token = if step.back { at.previous.clone() } else { at.next.clone() };
        let Some(token) = token else {
            (here, at) = ids(&rows, step.size, None).await;
            continue;
        };
        let (there, page) = ids(&rows, step.size, Some(token)).await;
        assert!(there.len() <= step.size && there.is_sorted());
        let (low, high) = if step.back { (&there, &here) } else { (&here, &there) };
        if let (Some(last), Some(first)) = (low.last(), high.first()) {
            assert!(last < first, "{low:?} {high:?}");
            if !step.back {
                let missed =
                    before.intersection(&stored).find(|id| (last + 1..*first).contains(id));
                assert_eq!(missed, None);
            }
        }
        let mut token = page.next.clone();
        let mut rest = there.clone();
        while let Some(next) = token {
            let (ids, page) = ids(&rows, step.size, Some(next)).await;
            rest.extend(ids);
            token = page.next;
        }
        assert!(rest.is_sorted_by(|left, right| left < right));
        if let Some(first) = there.first() {
            assert!(stored.range(first..).eq(&rest), "{stored:?} {rest:?}");
        }
        (here, at) = (there, page);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_beside_each_other_share_no_row_while_others_write(
        steps in prop::collection::vec(step(), 1..30),
    ) {
        on_virtual_time(walk(Tables::in_memory().unwrap(), steps));
    }

    #[test]
    fn pages_that_the_service_ends_early_are_walked_back_as_well(
        steps in prop::collection::vec(step(), 1..30),
        seed in any::<u64>(),
    ) {
        let faults = Faults::seeded(seed).empty_pages(0.2).short_pages(0.5);
        on_virtual_time(walk(Tables::in_memory().unwrap().layer(faults).unwrap(), steps));
    }
}

#[tokio::test]
async fn a_smaller_page_backward_starts_where_the_page_did_and_a_larger_one_ends_where_it_did() {
    let tables = Tables::in_memory().unwrap();
    let notes = notes(&tables, &(0..12).collect()).await;
    let list = || notes.list(Note::partition("ann").row());
    let ids = |page: &RowPage<Note>| page.iter().map(|note| note.id).collect::<Vec<_>>();
    let first = page(list().pages(4), None).await;
    let second = page(list().pages(4), first.next.clone()).await;
    assert_eq!(ids(&second), [4, 5, 6, 7]);
    let small = page(list().pages(3), second.previous.clone()).await;
    assert_eq!((ids(&small), small.previous), (vec![0, 1, 2], None));
    assert_eq!(ids(&page(list().pages(3), small.next).await), [3, 4, 5]);
    let large = page(list().pages(9), second.previous.clone()).await;
    assert_eq!(ids(&large), [0, 1, 2, 3]);
    // The page after it is the second one, and knows the first.
    let again = page(list().pages(4), large.next).await;
    assert_eq!(again.items, second.items);
    assert_eq!(ids(&page(list().pages(4), again.previous).await), [0, 1, 2, 3]);
}

#[tokio::test]
async fn a_previous_page_shows_what_its_keys_hold_now() {
    let tables = Tables::in_memory().unwrap();
    let notes = notes(&tables, &(0..12).map(|id| 10 * id).collect()).await;
    let list = || notes.list(Note::partition("ann").row()).pages(4);
    let ids = |page: &RowPage<Note>| page.iter().map(|note| note.id).collect::<Vec<_>>();
    let first = page(list(), None).await;
    let second = page(list(), first.next).await;
    for id in [0, 10, 20] {
        notes.force_delete(&note(id)).await.unwrap();
    }
    notes.insert(&note(35)).await.unwrap();
    let back = page(list(), second.previous.clone()).await;
    assert_eq!(ids(&back), [30, 35]);
    assert_eq!(page(list(), back.next).await.items, second.items);
    for id in [30, 35] {
        notes.force_delete(&note(id)).await.unwrap();
    }
    let back = page(list(), second.previous.clone()).await;
    assert!(back.is_empty());
    assert_eq!(page(list(), back.next).await.items, second.items);
}

#[tokio::test]
async fn a_previous_token_belongs_to_its_query_and_is_short() {
    let tables = Tables::in_memory().unwrap();
    let notes = notes(&tables, &(0..300).collect()).await;
    let ann = Note::partition("ann");
    let mut at = page(notes.list(ann.row()).pages(1), None).await;
    while let Some(next) = at.next.clone() {
        assert!(next.to_string().len() <= 1_500);
        at = page(notes.list(ann.row()).pages(1), Some(next)).await;
    }
    let previous = at.previous.clone().unwrap();
    let mut other = notes.list(ann.by_tag()).pages(1).resume(previous);
    assert!(matches!(other.next().await, Err(Error::Token(_))));
    // The oldest pages are forgotten, the nearest are not.
    let mut back = 0;
    while let Some(previous) = at.previous.clone() {
        at = page(notes.list(ann.row()).pages(1), Some(previous)).await;
        back += 1;
        assert_eq!(at[0].id, 299 - back);
    }
    assert!((80..299).contains(&back), "{back}");
}

#[tokio::test]
async fn pages_that_ended_resume() {
    let tables = Tables::in_memory().unwrap();
    let notes = notes(&tables, &(0..4).collect()).await;
    let mut pages = notes.list(Note::partition("ann").row()).pages(2);
    let first = pages.next().await.unwrap().unwrap();
    let last = pages.next().await.unwrap().unwrap();
    assert!(pages.next().await.unwrap().is_none());
    let mut pages = pages.resume(last.previous.unwrap());
    assert_eq!(pages.next().await.unwrap().unwrap().items, first.items);
}
