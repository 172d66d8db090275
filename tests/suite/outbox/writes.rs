//! Which event each write adds.

use super::{
    Line, LinePatch, Order, OrderPatch, dispatch, line, order, orders_in, outbox_rows, said,
};
use std::collections::BTreeMap;
use support::recorder::recorded;
use table_orm::outbox::Change::{self, Deleted, Inserted, Moved, Updated};
use table_orm::{DynamicEntity, Error, Sum, TableEntity, Tables};

fn one(change: Change, row_key: &str) -> Vec<(Change, String)> {
    vec![(change, row_key.to_owned())]
}

#[tokio::test]
async fn each_write_of_an_entity_that_is_read_first_says_what_it_did() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let acme = Order::partition("acme");
    let key = acme.by_number().number(1);
    let row_key = "ORD:00001";

    orders.insert(&order(1, "open", 100)).await.unwrap();
    assert_eq!(said(&orders).await, one(Inserted, row_key), "insert");
    assert!(matches!(orders.insert(&order(1, "x", 1)).await, Err(Error::AlreadyExists(_))));
    assert_eq!(said(&orders).await, [], "a refused insert");
    orders.upsert(&order(1, "open", 150)).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "upsert of a stored one");
    orders.upsert(&order(2, "open", 10)).await.unwrap();
    assert_eq!(said(&orders).await, one(Inserted, "ORD:00002"), "upsert of a new one");
    orders.insert_or_merge(&order(1, "paid", 20)).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "insert_or_merge");
    orders.merge(&key, OrderPatch::default().cents(30)).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "merge");
    orders.update(&key, |order| order.cents += 5).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "update");
    let made = || order(4, "open", 7);
    let four = acme.by_number().number(4);
    orders.update(&four, |order| order.cents += 1).or_insert_with(made).await.unwrap();
    assert_eq!(said(&orders).await, one(Inserted, "ORD:00004"), "or_insert_with");
    orders.force_replace(&order(1, "open", 40)).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "force_replace");
    let etag = orders.load(&key).await.unwrap().one().unwrap().etag().clone();
    orders.replace(&order(1, "open", 45), &etag).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "replace");
    let mut loaded = orders.load(&key).await.unwrap().one().unwrap();
    orders.save(&mut loaded).await.unwrap();
    assert_eq!(said(&orders).await, [], "a save of nothing");
    loaded.cents = 50;
    orders.save(&mut loaded).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "save");
    orders.delete(loaded).await.unwrap();
    assert_eq!(said(&orders).await, one(Deleted, row_key), "delete");
    orders.insert_loaded(&order(1, "open", 1)).await.unwrap();
    assert_eq!(said(&orders).await, one(Inserted, row_key), "insert_loaded");
    orders.force_delete(&order(1, "open", 1)).await.unwrap();
    assert_eq!(said(&orders).await, one(Deleted, row_key), "force_delete");
    let four = orders.load(&four).await.unwrap().one().unwrap();
    let etag = four.etag().clone();
    orders.delete_if(acme.by_number().number(4), &etag).await.unwrap();
    assert_eq!(said(&orders).await, one(Deleted, "ORD:00004"), "delete_if");
    orders.delete_partition(&acme).await.unwrap();
    assert_eq!(said(&orders).await, one(Deleted, "ORD:00002"), "delete_partition");
    // The numbers and the lease stay, and no event.
    let keys: Vec<_> =
        outbox_rows(&tables, "acme").await.into_iter().map(|row| row.row_key).collect();
    assert_eq!(keys, ["OUT:-LEASE", "OUT:-NEXT"]);
}

#[tokio::test]
async fn each_write_without_a_read_says_what_it_did() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let lines = tables.repo::<Line>();
    let acme = Line::partition("acme");
    let key = acme.row().number(1);
    let row_key = "LINE:00001";

    lines.upsert(&line(1, 5)).await.unwrap();
    assert_eq!(said(&orders).await, one(Inserted, row_key), "upsert of a new one");
    lines.upsert(&line(1, 6)).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "upsert of a stored one");
    lines.insert_or_merge(&line(2, 1)).await.unwrap();
    assert_eq!(said(&orders).await, one(Inserted, "LINE:00002"), "insert_or_merge");
    lines.merge(&key, LinePatch::default().pieces(7)).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "merge");
    let absent = lines.merge(acme.row().number(9), LinePatch::default().pieces(7)).await;
    assert!(matches!(absent, Err(Error::NotFound(_))), "{absent:?}");
    lines.merge(acme.row().number(3), LinePatch::default().pieces(7)).or_insert().await.unwrap();
    assert_eq!(said(&orders).await, one(Inserted, "LINE:00003"), "merge or insert");
    lines.force_replace(&line(1, 8)).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "force_replace");
    assert!(matches!(lines.force_replace(&line(9, 8)).await, Err(Error::NotFound(_))));
    let etag = lines.load(&key).await.unwrap().one().unwrap().etag().clone();
    lines.replace(&line(1, 9), &etag).await.unwrap();
    assert_eq!(said(&orders).await, one(Updated, row_key), "replace");
    let etag = lines.load(&key).await.unwrap().one().unwrap().etag().clone();
    lines.delete_if(&key, &etag).await.unwrap();
    assert_eq!(said(&orders).await, one(Deleted, row_key), "delete_if");
    lines.insert(&line(1, 9)).await.unwrap();
    assert_eq!(said(&orders).await, one(Inserted, row_key), "insert");
    lines.delete_by_key(&key).await.unwrap();
    assert_eq!(said(&orders).await, one(Deleted, row_key), "delete_by_key");
    lines.force_delete(&line(2, 1)).await.unwrap();
    assert_eq!(said(&orders).await, one(Deleted, "LINE:00002"), "force_delete");
    assert!(matches!(lines.force_delete(&line(2, 1)).await, Err(Error::NotFound(_))));
    assert_eq!(said(&orders).await, [], "refused writes");
    lines.insert_many((10..130).map(|number| line(number, 1))).await.all().unwrap();
    let inserted = said(&orders).await;
    assert_eq!(inserted.len(), 120);
    assert!(inserted.iter().all(|(change, _)| *change == Inserted));
    lines.upsert_many((100..200).map(|number| line(number, 2))).await.all().unwrap();
    let upserted: BTreeMap<_, _> =
        said(&orders).await.into_iter().map(|(change, key)| (key, change)).collect();
    let updated = upserted.values().filter(|change| **change == Updated).count();
    assert_eq!((updated, upserted.len()), (30, 100));
    lines.delete_partition(&acme).await.unwrap();
    assert_eq!(said(&orders).await.len(), 191);
}

#[tokio::test]
async fn an_event_has_the_rows_that_the_type_asks_for() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let key = Order::partition("acme").by_number().number(1);
    orders.insert(&order(1, "open", 100)).await.unwrap();
    orders.merge(&key, OrderPatch::default().cents(30)).await.unwrap();
    let mut loaded = orders.load(&key).await.unwrap().one().unwrap();
    loaded.number = 2;
    orders.save(&mut loaded).await.unwrap();
    orders.delete(loaded).await.unwrap();
    tables.repo::<Line>().upsert(&line(1, 5)).await.unwrap();
    let (events, report) = dispatch(&orders).await;
    let numbers: Vec<_> = events.iter().map(|event| event.number).collect();
    assert_eq!((numbers, report.progress.handed_on), (vec![1, 2, 3, 4, 5], 5));
    let of = |index: usize| {
        let event = &events[index];
        (event.change, event.before::<Order>().unwrap(), event.after::<Order>().unwrap())
    };
    let (first, second) = (order(1, "open", 100), order(1, "open", 30));
    assert_eq!(of(0), (Inserted, None, Some(first.clone())));
    assert_eq!(of(1), (Updated, Some(first), Some(second.clone())));
    let moved = order(2, "open", 30);
    assert_eq!(of(2), (Moved, Some(second), Some(moved.clone())));
    assert_eq!(events[2].moved_from.as_deref(), Some("ORD:00001"));
    assert_eq!(events[2].row_key, "ORD:00002");
    assert_eq!(of(3), (Deleted, Some(moved), None));
    assert_eq!(of(4), (Inserted, None, None));
    assert!(events[4].is::<Line>() && !events[4].is::<Order>());
    assert_eq!((events[4].before_json(), events[4].after_json()), (None, None));
    assert!(events.iter().all(|event| !event.before_left_out && !event.after_left_out));
}

#[tokio::test]
async fn a_transaction_adds_an_event_for_each_entity_that_it_writes() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let acme = Order::partition("acme");
    for number in 1..=4 {
        orders.insert(&order(number, "open", 1)).await.unwrap();
    }
    said(&orders).await;
    let load =
        async |number| orders.load(acme.by_number().number(number)).await.unwrap().one().unwrap();
    let (mut one, mut two) = (load(1).await, load(2).await);
    (one.number, two.cents) = (7, 2);
    let transaction = orders.transaction(&acme).save(&mut one).save(&mut two);
    let transaction = transaction.delete(load(3).await).insert(&order(5, "new", 1));
    let four = load(4).await;
    let transaction = transaction.require(&four).upsert(&line(1, 1));
    transaction.commit().await.unwrap();
    let key = |change, key: &str| (change, key.to_owned());
    let mut expected = vec![
        key(Moved, "ORD:00007"),
        key(Updated, "ORD:00002"),
        key(Deleted, "ORD:00003"),
        key(Inserted, "ORD:00005"),
        key(Inserted, "LINE:00001"),
    ];
    let mut found = said(&orders).await;
    expected.sort_by_key(|(_, key)| key.clone());
    found.sort_by_key(|(_, key)| key.clone());
    assert_eq!(found, expected, "what is only required has no event");
    // A deletion and an insertion of two entities are no move.
    let transaction = orders.transaction(&acme).delete(load(5).await).insert(&order(6, "new", 1));
    transaction.commit().await.unwrap();
    let found = said(&orders).await;
    assert_eq!(found, [key(Deleted, "ORD:00005"), key(Inserted, "ORD:00006")]);
    // Two that exchange their keys: each key has another entity.
    let (mut six, mut seven) = (load(6).await, load(7).await);
    (six.number, seven.number) = (7, 6);
    orders.transaction(&acme).save(&mut six).save(&mut seven).commit().await.unwrap();
    let mut found = said(&orders).await;
    found.sort_by_key(|(_, key)| key.clone());
    assert_eq!(found, [key(Updated, "ORD:00006"), key(Updated, "ORD:00007")]);
}

#[tokio::test]
async fn what_changes_no_entity_adds_no_event() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let acme = Order::partition("acme");
    orders.insert(&order(1, "open", 1)).await.unwrap();
    said(&orders).await;
    let table = tables.table(orders.table().clone());
    table.delete(&DynamicEntity::new("acme", "STA:open__00001")).await.unwrap();
    let findings = orders.verify(&acme).await.unwrap().findings;
    assert_eq!(orders.repair(findings).await.repaired.len(), 1);
    assert!(orders.rewrite_partition(&acme).await.failures.is_empty());
    assert!(orders.backfill(&acme).await.ended.is_none());
    assert_eq!(said(&orders).await, []);
    // Other programs write without events.
    table.delete(&DynamicEntity::new("acme", "ORD:00001")).await.unwrap();
    assert_eq!(said(&orders).await, []);
}

#[tokio::test]
async fn an_event_costs_a_read_of_the_number_and_two_operations() {
    let (tables, record) = recorded();
    let orders = orders_in(&tables).await;
    let lines = tables.repo::<Line>();
    let requests = |what: &str, gets: usize, writes: &[usize]| {
        let sent = record.take();
        assert_eq!((sent.gets, &*sent.writes), (gets, writes), "{what}");
    };
    record.take();
    lines.insert(&line(1, 1)).await.unwrap();
    requests("insert", 1, &[3]);
    lines.upsert(&line(1, 2)).await.unwrap();
    requests("upsert: what is stored, too", 2, &[3]);
    lines.force_replace(&line(1, 3)).await.unwrap();
    requests("a replacement needs no read", 1, &[3]);
    let two = [line(2, 1), line(3, 1)];
    lines.insert_many(two).await.all().unwrap();
    requests("bulk: one number for all", 1, &[5]);
    orders.insert(&order(1, "open", 1)).await.unwrap();
    requests("insert of two rows", 1, &[4]);
}

#[tokio::test]
async fn events_count_among_the_operations_of_a_transaction() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let acme = Order::partition("acme");
    let of = |count: u32| {
        let transaction = orders.transaction(&acme);
        (0..count).fold(transaction, |all, number| all.insert(&line(number, 1)))
    };
    // 49 rows, 49 events and the number.
    of(49).commit().await.unwrap();
    assert_eq!(orders.outbox().backlog(&acme).await.unwrap().events, 49);
    assert_eq!(of(40).room().operations, 100 - 1 - 2 * 40);
    let transaction =
        (100..150).fold(orders.transaction(&acme), |all, number| all.insert(&line(number, 1)));
    let refused = transaction.commit().await.unwrap_err();
    assert!(matches!(refused, Error::TooLarge(_)), "{refused}");
    assert!(refused.to_string().contains("101 operations"), "{refused}");
    assert_eq!(orders.outbox().backlog(&acme).await.unwrap().events, 49);
}

/// An entity with long text, whose events hold it.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "NOTE:{number:05}", outbox(before, after))]
struct Note {
    customer: String,
    number: u32,
    text: String,
}

#[tokio::test]
async fn rows_that_no_property_can_hold_are_named_as_left_out() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let notes = tables.repo::<Note>();
    let note = |number, text: String| Note { customer: "acme".into(), number, text };
    notes.insert(&note(1, "x".repeat(32_000))).await.unwrap();
    notes.upsert(&note(1, "x".repeat(32_768))).await.unwrap();
    notes.upsert(&note(1, "\"\u{1}é".repeat(10_000))).await.unwrap();
    notes.upsert(&note(1, "short".into())).await.unwrap();
    let (events, _) = dispatch(&orders).await;
    let left_out: Vec<_> =
        events.iter().map(|event| (event.before_left_out, event.after_left_out)).collect();
    assert_eq!(left_out, [(false, false), (false, true), (true, true), (true, false)]);
    assert_eq!(events[0].after::<Note>().unwrap().unwrap().text.len(), 32_000);
    assert_eq!(events[2].before_json(), None);
    assert_eq!(events[3].after::<Note>().unwrap(), Some(note(1, "short".into())));
}

#[tokio::test]
async fn bulk_writes_of_long_rows_fit_their_transactions() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let notes = tables.repo::<Note>();
    let texts = ["\"".repeat(10_000), "é".repeat(30_000), "x".repeat(32_768)];
    let all = (0..150).map(|number| Note {
        customer: "acme".into(),
        number,
        text: texts[number as usize % 3].clone(),
    });
    notes.insert_many(all.clone()).await.all().unwrap();
    assert_eq!(said(&orders).await.len(), 150);
    notes.upsert_many(all).await.all().unwrap();
    assert_eq!(said(&orders).await.len(), 150);
    notes.delete_partition(Note::partition("acme")).await.unwrap();
    assert_eq!(said(&orders).await.len(), 150);
}

/// Two types with the same keys, told by their kind. Only one reports its writes.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "K:{number:05}", kind = "loud", outbox)]
struct Loud {
    customer: String,
    number: u32,
    cents: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "K:{number:05}", kind = "quiet")]
struct Quiet {
    customer: String,
    number: u32,
}

#[tokio::test]
async fn types_that_their_kind_tells_apart_report_their_own_writes() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let (loud, quiet) = (tables.repo::<Loud>(), tables.repo::<Quiet>());
    let of = |number, cents| Loud { customer: "acme".into(), number, cents };
    let silent = |number| Quiet { customer: "acme".into(), number };
    let acme = Loud::partition("acme");
    loud.transaction(&acme).insert(&of(1, 1)).insert(&silent(2)).commit().await.unwrap();
    assert_eq!(said(&orders).await, one(Inserted, "K:00001"));
    let loaded = loud.load(acme.row().number(1)).await.unwrap().one().unwrap();
    let other = quiet.load(Quiet::partition("acme").row().number(2)).await.unwrap().one().unwrap();
    loud.transaction(&acme).delete(other).delete(loaded).commit().await.unwrap();
    assert_eq!(said(&orders).await, one(Deleted, "K:00001"));
}

/// An entity that is added up, has a row in another partition, and is reported.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", sums = Parcel::SUMS, outbox(before))]
#[row(by_number, key = "PAR:{number:05}")]
#[row(by_place, partition = "P:{place}", key = "AT:{number:05}__{customer}", eventual)]
struct Parcel {
    customer: String,
    number: u32,
    place: String,
    grams: i64,
}

impl Parcel {
    const GRAMS: Sum<Self> = Sum::of("grams", |parcel| parcel.grams);
    const SUMS: &'static [Sum<Self>] = &[Self::GRAMS];
}

#[tokio::test]
async fn totals_eventual_rows_and_events_follow_the_same_write() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let parcels = tables.repo::<Parcel>();
    let acme = Parcel::partition("acme");
    let place = "north".to_owned();
    let parcel = Parcel { customer: "acme".into(), number: 1, place, grams: 500 };
    parcels.insert(&parcel).await.unwrap();
    let key = acme.by_number().number(1);
    parcels.update(&key, |parcel| parcel.place = "south".into()).await.unwrap();
    assert_eq!(parcels.sum(&acme, &Parcel::GRAMS).await.unwrap(), 500);
    assert_eq!(parcels.list(Parcel::by_place("south")).count().await.unwrap(), 1);
    parcels.delete(parcels.load(&key).await.unwrap().one().unwrap()).await.unwrap();
    assert_eq!(parcels.sum(&acme, &Parcel::GRAMS).await.unwrap(), 0);
    let (events, _) = dispatch(&orders).await;
    let said: Vec<_> = events.iter().map(|event| event.change).collect();
    assert_eq!(said, [Inserted, Updated, Deleted]);
    assert_eq!(events[1].before::<Parcel>().unwrap(), Some(parcel));
    // No event tells of rows in other partitions.
    assert_eq!(outbox_rows(&tables, "P:south").await, []);
}

#[tokio::test]
async fn the_plan_of_a_write_tells_that_the_number_of_its_event_is_read_first() {
    let orders = orders_in(&Tables::in_memory().unwrap()).await;
    let reads = "point queries on `orders`, of the number of the next event;";
    let key = Order::partition("acme").by_number().number(1);
    let plans =
        [orders.insert(&order(1, "new", 100)).plan(), orders.update(key.clone(), |_| {}).plan()];
    for plan in plans {
        let text = plan.unwrap().to_string();
        assert_eq!(text.matches(reads).count(), 1, "{text}");
    }
    let text = orders.get(key).plan().unwrap().to_string();
    assert!(!text.contains("next event"), "{text}");
}
