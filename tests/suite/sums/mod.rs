//! Sums over the entities of a partition: exact after every write, whatever call makes it.
//!
//! Time is virtual where there are faults.

mod combined;
mod over_partitions;

use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use support::recorder::recorded;
use support::stops::restless;
use support::{dose, draw};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, Retry, RetryStrategy};
use table_orm::repo::{SumError, SumProblem, WrongSum};
use table_orm::store::Store;
use table_orm::{DynamicEntity, Error, Repo, Sum, TableEntity, Tables};
use tokio::time::sleep;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", sums = Order::SUMS)]
#[row(by_number, key = "ORD:{number:05}")]
#[row(by_state, key = "STA:{state}__{number:05}", include(cents))]
struct Order {
    customer: String,
    number: u32,
    state: String,
    cents: i64,
    note: Option<String>,
}

impl Order {
    const COUNT: Sum<Self> = Sum::count("orders");
    const CENTS: Sum<Self> = Sum::of("cents", |order: &Self| order.cents).shards(4);
    const BY_STATE: Sum<Self> =
        Sum::by_group("by-state", |order| (order.state.clone(), order.cents));
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT, Self::CENTS, Self::BY_STATE];
}

/// An entity whose blind writes need no read but for the sum.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "LINE:{number:05}", sums = Line::SUMS)]
struct Line {
    #[table(key_only)]
    customer: String,
    #[table(key_only)]
    number: u32,
    pieces: i32,
    text: Option<String>,
}

impl Line {
    const PIECES: Sum<Self> = Sum::of("pieces", |line| line.pieces as i64);
    const SUMS: &'static [Sum<Self>] = &[Self::PIECES];
}

fn order(number: u32, state: &str, cents: i64) -> Order {
    Order { customer: "acme".into(), number, state: state.into(), cents, note: None }
}

fn line(number: u32, pieces: i32) -> Line {
    Line { customer: "acme".into(), number, pieces, text: None }
}

async fn orders_in(tables: &Tables) -> Repo<Order> {
    let orders = tables.repo::<Order>();
    orders.create_table().await.unwrap();
    orders
}

/// Checks the totals against the stored entities. Returns count and cents.
async fn check(orders: &Repo<Order>, text: &str) -> (i64, i64) {
    let acme = Order::partition("acme");
    let stored = orders.list(&acme).collect().await.unwrap();
    let cents = stored.iter().map(|order| order.cents).sum::<i64>();
    let mut by_state = BTreeMap::<String, i64>::new();
    for order in &stored {
        *by_state.entry(order.state.clone()).or_default() += order.cents;
    }
    assert_eq!(orders.verify_sums(&acme).await.unwrap(), [], "{text}");
    let count = orders.sum(&acme, &Order::COUNT).await.unwrap();
    assert_eq!(count, stored.len() as i64, "{text}");
    assert_eq!(orders.sum(&acme, &Order::CENTS).await.unwrap(), cents, "{text}");
    assert_eq!(orders.sum(&acme, &Order::BY_STATE).await.unwrap(), cents, "{text}");
    let mut groups = orders.sum_by_group(&acme, &Order::BY_STATE).await.unwrap();
    groups.retain(|_, total| *total != 0);
    by_state.retain(|_, total| *total != 0);
    assert_eq!(groups, by_state, "{text}");
    (count, cents)
}

#[tokio::test]
async fn every_write_of_an_entity_keeps_the_totals_exact() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let acme = Order::partition("acme");
    let key = |number: u32| acme.by_number().number(number);
    assert_eq!(check(&orders, "nothing").await, (0, 0));

    orders.insert(&order(1, "open", 100)).await.unwrap();
    assert_eq!(check(&orders, "insert").await, (1, 100));
    let again = orders.insert(&order(1, "open", 100)).await;
    assert!(matches!(again, Err(Error::AlreadyExists(_))));
    assert_eq!(check(&orders, "refused").await, (1, 100));
    let mut loaded = orders.insert_loaded(&order(2, "open", 20)).await.unwrap();
    loaded.cents = 25;
    orders.save(&mut loaded).await.unwrap();
    loaded.number = 3;
    orders.save(&mut loaded).await.unwrap();
    assert_eq!(check(&orders, "save, and a move to another key").await, (2, 125));
    let stale = loaded.clone();
    orders.update(key(3), |order| order.state = "paid".into()).await.unwrap();
    assert_eq!(check(&orders, "update").await, (2, 125));
    assert!(matches!(orders.delete(stale).await, Err(Error::Conflict(_))));
    assert_eq!(check(&orders, "a stale delete").await, (2, 125));

    orders.upsert(&order(3, "sent", 5)).await.unwrap();
    orders.upsert(&order(4, "sent", 6)).await.unwrap();
    assert_eq!(check(&orders, "upsert").await, (3, 111));
    let etag = orders.force_replace(&order(4, "open", 7)).await.unwrap();
    orders.replace(&order(4, "open", 8), &etag).await.unwrap();
    assert_eq!(check(&orders, "replace").await, (3, 113));
    orders.merge(key(4), OrderPatch::default().cents(9)).await.unwrap();
    orders.insert_or_merge(&order(5, "open", 1)).await.unwrap();
    assert_eq!(check(&orders, "merge").await, (4, 115));
    orders.force_delete(&order(5, "open", 1)).await.unwrap();
    orders.delete(orders.load(key(4)).await.unwrap().one().unwrap()).await.unwrap();
    assert_eq!(check(&orders, "delete").await, (2, 105));

    orders.insert_many((100..300).map(|number| order(number, "open", 1))).await.all().unwrap();
    assert_eq!(check(&orders, "bulk insert").await, (202, 305));
    orders.upsert_many((200..310).map(|number| order(number, "paid", 2))).await.all().unwrap();
    assert_eq!(check(&orders, "bulk upsert").await, (212, 425));

    let mut one = orders.load(key(1)).await.unwrap().one().unwrap();
    one.cents = 1;
    let tx = orders.transaction(&acme).save(&mut one).insert(&order(6, "open", 10));
    tx.commit().await.unwrap();
    assert_eq!(check(&orders, "transaction").await, (213, 336));
    let mixed = tables.transaction(&acme).insert(&order(7, "open", 1)).insert(&line(1, 5));
    mixed.commit().await.unwrap();
    let moved = orders.transaction_with(&acme, async |tx| {
        let seven = tx.load(Order::partition("acme").by_number().number(7)).await?;
        if let Some(mut seven) = seven {
            seven.cents += 9;
            tx.save(seven);
        }
        tx.insert(&order(8, "open", 1));
        Ok(())
    });
    moved.await.unwrap();
    assert_eq!(check(&orders, "transaction_with").await, (215, 347));
    let lines = tables.repo::<Line>();
    assert_eq!(lines.sum(Line::partition("acme"), &Line::PIECES).await.unwrap(), 5);

    orders.delete_partition(&acme).await.unwrap();
    assert_eq!(check(&orders, "delete_partition").await, (0, 0));
    assert_eq!(lines.sum(Line::partition("acme"), &Line::PIECES).await.unwrap(), 5);
}

#[tokio::test]
async fn blind_writes_of_one_row_read_what_they_replace() {
    let (tables, record) = recorded();
    let lines = tables.repo::<Line>();
    lines.create_table().await.unwrap();
    let acme = Line::partition("acme");
    let total = async || lines.sum(&acme, &Line::PIECES).await.unwrap();
    for pieces in [3, 8, 8] {
        lines.upsert(&line(1, pieces)).await.unwrap();
        assert_eq!(total().await, i64::from(pieces));
    }
    lines.merge(acme.row().number(1), LinePatch::default().text("x".to_owned())).await.unwrap();
    assert_eq!(total().await, 8);
    lines.merge(acme.row().number(1), LinePatch::default().pieces(2)).await.unwrap();
    assert_eq!(total().await, 2);
    let tx = lines.transaction(&acme).upsert(&line(1, 4)).insert_or_merge(&line(2, 1));
    tx.commit().await.unwrap();
    assert_eq!(total().await, 5);
    record.take();
    lines.force_delete(&line(1, 0)).await.unwrap();
    assert!(matches!(lines.force_delete(&line(1, 0)).await, Err(Error::NotFound(_))));
    assert_eq!(total().await, 1);
}

#[tokio::test]
async fn a_patch_of_an_entity_that_does_not_exist_is_not_found() {
    let tables = Tables::in_memory().unwrap();
    let lines = tables.repo::<Line>();
    lines.create_table().await.unwrap();
    let acme = Line::partition("acme");
    let patch = || LinePatch::default().text("x".to_owned());
    let absent = lines.merge(acme.row().number(1), patch()).await;
    assert!(matches!(absent, Err(Error::NotFound(_))), "{absent:?}");
    let tx = lines.transaction(&acme).merge(acme.row().number(1), patch()).commit().await;
    assert!(matches!(tx, Err(Error::NotFound(_))), "{tx:?}");
    lines.insert(&line(1, 1)).await.unwrap();
    let loaded = lines.load(acme.row().number(1)).await.unwrap().one().unwrap();
    lines.force_delete(&line(1, 1)).await.unwrap();
    let tx = lines.transaction(&acme).require(&loaded).insert(&line(2, 1)).commit().await;
    assert!(matches!(tx, Err(Error::NotFound(_))), "{tx:?}");
    assert_eq!(lines.sum(&acme, &Line::PIECES).await.unwrap(), 0);
}

#[tokio::test]
async fn who_counts_sees_that_an_entity_moved_although_the_total_stays() {
    let tables = Tables::in_memory().unwrap();
    let lines = tables.repo::<Line>();
    lines.create_table().await.unwrap();
    let rows = tables.table(lines.table().clone());
    let version = async || rows.get("acme", "SUM:pieces:00").await.unwrap().unwrap().etag;
    lines.insert_many([line(1, 5), line(2, 7)]).await.all().unwrap();
    let acme = Line::partition("acme");
    let mut one = lines.load(acme.row().number(1)).await.unwrap().one().unwrap();
    let before = version().await;
    one.number = 3;
    lines.save(&mut one).await.unwrap();
    let moved = version().await;
    assert_ne!(before, moved);
    let mut two = lines.load(acme.row().number(2)).await.unwrap().one().unwrap();
    (one.pieces, two.pieces) = (7, 5);
    lines.transaction(&acme).save(&mut one).save(&mut two).commit().await.unwrap();
    let exchanged = version().await;
    assert_ne!(moved, exchanged);
    one.text = Some("x".into());
    lines.save(&mut one).await.unwrap();
    assert_eq!(exchanged, version().await, "what adds the same leaves the total alone");
    assert_eq!(lines.sum(&acme, &Line::PIECES).await.unwrap(), 12);
}

#[tokio::test]
async fn a_write_costs_a_read_of_each_total_and_of_each_row_that_it_replaces() {
    let (tables, record) = recorded();
    let lines = tables.repo::<Line>();
    lines.create_table().await.unwrap();
    let requests = async |what: &str, gets: usize, writes: &[usize]| {
        let sent = record.take();
        assert_eq!((sent.gets, &*sent.writes), (gets, writes), "{what}");
    };
    requests("nothing", 0, &[]).await;
    lines.insert(&line(1, 5)).await.unwrap();
    requests("insert", 1, &[2]).await;
    lines.upsert(&line(1, 6)).await.unwrap();
    requests("upsert", 2, &[2]).await;
    lines.upsert(&Line { text: Some("x".into()), ..line(1, 6) }).await.unwrap();
    requests("the total stays", 1, &[1]).await;
    let one = lines.load(Line::partition("acme").row().number(1)).await.unwrap().one().unwrap();
    record.take();
    lines.delete(one).await.unwrap();
    requests("delete", 2, &[2]).await;
    lines.insert_many((0..198).map(|number| line(number, 1))).parallelism(1).await.all().unwrap();
    requests("two full transactions", 2, &[100, 100]).await;
}

/// Random writes of one process.
async fn write(orders: Repo<Order>, seed: u64, writer: u64) {
    for step in 0..12 {
        let draw = |what, range| draw((seed, writer, step, what), range);
        let state = ["open", "paid"][draw("state", 0..2) as usize];
        let new = order(draw("number", 0..4) as u32, state, draw("cents", 0..100) as i64);
        let key = Order::partition("acme").by_number().number(new.number);
        let done = match draw("call", 0..5) {
            0 => orders.insert(&new).await.map(drop),
            1 => orders.upsert(&new).await.map(drop),
            2 => orders.update(key, |order| order.cents += new.cents).await.map(drop),
            3 => orders.merge(key, OrderPatch::default().cents(new.cents)).await.map(drop),
            _ => orders.force_delete(&new).await.map(drop),
        };
        match done {
            Ok(())
            | Err(
                Error::AlreadyExists(_)
                | Error::NotFound(_)
                | Error::Conflict(_)
                | Error::Throttled(_)
                | Error::Unavailable(_)
                | Error::Ambiguous(_),
            ) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn totals_are_exact_whatever_fails() {
    for seed in 0..dose(15, 300) {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        let below = orders_in(&Tables::new(Arc::clone(&store))).await;
        let faults = Faults::seeded(seed).throttled(0.03).errors_after(0.05).lost_requests(0.03);
        let flaky = faults.lost_replies(0.08).late(0.05).slow(0.2).store(store).unwrap();
        let wait = RetryStrategy::Fixed { retries: 3, wait: Duration::from_millis(300) };
        let retry = Retry::new(wait).attempt_timeout(Duration::from_millis(1500)).seed(seed);
        let retry = if seed % 2 == 0 { retry.write_id("WriteId") } else { retry };
        let writers = (0..6).map(|writer| {
            // Two of each process.
            let tables = Tables::new(flaky.clone()).layer(retry.clone()).unwrap();
            let tables = tables.on_virtual_time(seed * 100 + writer / 2);
            tokio::spawn(write(tables.repo::<Order>(), seed, writer))
        });
        for ended in join_all(writers.collect::<Vec<_>>()).await {
            ended.unwrap();
        }
        flaky.disable();
        sleep(Duration::from_secs(60)).await;
        check(&below, &format!("seed {seed}")).await;
    }
}

#[tokio::test]
async fn what_other_programs_wrote_is_counted_again() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let acme = Order::partition("acme");
    orders.insert(&order(1, "open", 10)).await.unwrap();
    let rows = tables.table(orders.table().clone());
    let row = |key: &str| {
        let row = DynamicEntity::new("acme", key).with("Customer", "acme").with("State", "sent");
        row.with("Number", 2_i64).with("Cents", 7_i64)
    };
    rows.insert(&row("ORD:00002")).await.unwrap();
    let wrong = orders.verify_sums(&acme).await.unwrap();
    let found: Vec<_> = wrong
        .iter()
        .map(|wrong| (wrong.name, wrong.group.as_deref(), wrong.stored, wrong.counted))
        .collect();
    let by_state = ("by-state", Some("sent"), 0, 7);
    assert_eq!(found, [by_state, ("cents", None, 10, 17), ("orders", None, 1, 2)]);
    assert_eq!(orders.sum(&acme, &Order::CENTS).await.unwrap(), 10, "nothing is corrected yet");
    assert_eq!(orders.repair_sums(&acme).await.unwrap(), wrong);
    assert_eq!(check(&orders, "repaired").await, (2, 17));
    // Rows of totals that are too large, or of groups that have no entity.
    for (key, total) in [("SUM:cents:99", 1000_i64), ("SUM:by-state:lost:00", 3)] {
        rows.insert(&DynamicEntity::new("acme", key).with("Total", total)).await.unwrap();
    }
    assert_eq!(orders.repair_sums(&acme).await.unwrap().len(), 2);
    assert_eq!(check(&orders, "repaired again").await, (2, 17));
    rows.delete(&DynamicEntity::new("acme", "ORD:00002")).await.unwrap();
    assert_eq!(orders.repair_sums(&acme).await.unwrap().len(), 3);
    assert_eq!(check(&orders, "repaired after a delete").await, (1, 10));
}

#[tokio::test]
async fn a_repair_beside_writers_leaves_exact_totals() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let rows = tables.table(orders.table().clone());
    let lost = DynamicEntity::new("acme", "SUM:orders:00").with("Total", 77_i64);
    rows.insert(&lost).await.unwrap();
    let writers = (0..4).map(|writer| {
        let orders = orders.clone();
        tokio::spawn(async move {
            for number in 0..20 {
                orders.insert(&order(100 * writer + number, "open", 1)).await.unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    orders.repair_sums(Order::partition("acme")).await.unwrap();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(check(&orders, "afterwards").await, (80, 80));
}

#[tokio::test]
async fn a_total_that_does_not_fit_is_a_typed_error_and_nothing_is_written() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let rows = tables.table(orders.table().clone());
    for shard in 0..4 {
        let row = DynamicEntity::new("acme", format!("SUM:cents:{shard:02}"));
        rows.insert(&row.with("Total", i64::MAX)).await.unwrap();
    }
    let refused = orders.insert(&order(1, "open", 1)).await;
    let Err(Error::Sum(SumError::Overflow { row_key, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert!(row_key.starts_with("SUM:cents:"), "{row_key}");
    assert_eq!(orders.list(Order::partition("acme")).count().await.unwrap(), 0);
    let refused = orders.insert(&order(1, "a/b", 0)).await;
    assert!(matches!(refused, Err(Error::Key(_))), "{refused:?}");
}

#[tokio::test]
async fn a_transaction_without_room_for_the_totals_is_refused_whole() {
    let tables = Tables::in_memory().unwrap();
    let lines = tables.repo::<Line>();
    lines.create_table().await.unwrap();
    let acme = Line::partition("acme");
    let all =
        |count| (0..count).fold(lines.transaction(&acme), |tx, number| tx.insert(&line(number, 1)));
    assert_eq!(all(98).room().operations, 1);
    assert_eq!(all(99).room().operations, 0);
    let refused = all(100).commit().await;
    assert!(matches!(refused, Err(Error::TooLarge(_))), "{refused:?}");
    assert_eq!(lines.sum(&acme, &Line::PIECES).await.unwrap(), 0);
    all(99).commit().await.unwrap();
    assert_eq!(lines.sum(&acme, &Line::PIECES).await.unwrap(), 99);
}

/// A client of a store in which an order changes whenever rows are queried.
fn restless_orders(store: Arc<EmbeddedStore>, orders: &Repo<Order>) -> Repo<Order> {
    let orders = orders.clone();
    let restless = restless(store, move || {
        let orders = orders.clone();
        async move {
            let key = Order::partition("acme").by_number().number(1);
            orders.update(key, |order| order.cents += 1).await.unwrap();
        }
    });
    Tables::new(restless).on_virtual_time(1).repo()
}

#[tokio::test(start_paused = true)]
async fn a_total_that_never_rests_is_pending_and_the_others_are_judged() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let orders = orders_in(&Tables::new(Arc::clone(&store))).await;
    orders.insert(&order(1, "open", 10)).await.unwrap();
    orders.insert(&order(2, "sent", 5)).await.unwrap();
    let rows = Tables::new(Arc::clone(&store)).table(orders.table().clone());
    let count = rows.get("acme", "SUM:orders:00").await.unwrap().unwrap();
    rows.replace(&count.with("Total", 3_i64)).await.unwrap();

    let busy = restless_orders(store, &orders);
    let acme = Order::partition("acme");
    let found = |wrong: Vec<WrongSum>| -> Vec<_> {
        wrong.into_iter().map(|wrong| (wrong.name, wrong.group, wrong.problem)).collect()
    };
    let expected = [
        ("orders", None, SumProblem::Differs),
        ("by-state", Some("open".to_owned()), SumProblem::Pending),
        ("cents", None, SumProblem::Pending),
    ];
    assert_eq!(found(busy.verify_sums(&acme).await.unwrap()), expected);
    assert_eq!(orders.sum(&acme, &Order::COUNT).await.unwrap(), 3, "nothing is corrected yet");
    assert_eq!(found(busy.repair_sums(&acme).await.unwrap()), expected);
    // What it could not judge was right.
    assert_eq!(check(&orders, "repaired").await.0, 2);
}

#[tokio::test]
async fn the_plan_of_a_write_tells_that_totals_are_read_first() {
    let orders = orders_in(&Tables::in_memory().unwrap()).await;
    let first = order(1, "new", 100);
    let reads = "point queries on `orders`, of the totals that change;";
    let plans = [
        orders.insert(&first).plan(),
        orders.update(Order::partition("acme").by_number().number(1), |_| {}).plan(),
        orders.insert_many([first.clone()]).plan(),
        orders.transaction(Order::partition("acme")).insert(&first).plan(),
    ];
    for plan in plans {
        let text = plan.unwrap().to_string();
        assert_eq!(text.matches(reads).count(), 1, "{text}");
    }
}

#[tokio::test]
async fn a_write_that_needs_an_entity_is_not_sent_where_none_was_read() {
    let (tables, record) = recorded();
    let lines = tables.repo::<Line>();
    lines.create_table().await.unwrap();
    record.take();
    let patch = LinePatch::default().pieces(2);
    let failed = [
        lines.force_replace(&line(1, 2)).await.map(drop),
        lines.force_delete(&line(1, 2)).await,
        lines.merge(Line::partition("acme").row().number(1), patch).await.map(drop),
    ];
    for failed in failed {
        assert!(matches!(failed, Err(Error::NotFound(_))), "{failed:?}");
    }
    // An entity that another client inserts meanwhile would be replaced without its total.
    assert_eq!(record.take().writes.len(), 0);
}

#[tokio::test]
async fn a_sum_that_its_type_does_not_declare_is_not_read_as_0() {
    let orders = orders_in(&Tables::in_memory().unwrap()).await;
    orders.insert(&order(1, "new", 100)).await.unwrap();
    let (count, by_state) =
        (Sum::count("forgotten"), Sum::by_group("forgotten", |_| (String::new(), 1)));
    let acme = Order::partition("acme");
    let failed = [
        orders.sum(&acme, &count).await.map(drop),
        orders.sum_by_group(&acme, &by_state).await.map(drop),
        orders.sum_over_partitions(&count).await.map(drop),
    ];
    for failed in failed {
        let error = failed.unwrap_err();
        let expected = SumError::Undeclared { name: "forgotten", entity: "Order" };
        assert!(matches!(&error, Error::Sum(found) if *found == expected), "{error}");
    }
}

#[tokio::test]
async fn a_sum_is_read_as_its_type_declares_it() {
    let orders = orders_in(&Tables::in_memory().unwrap()).await;
    orders.insert(&order(1, "new", 100)).await.unwrap();
    let other = Sum::count("orders").over_partitions();
    assert_eq!(orders.sum(Order::partition("acme"), &other).await.unwrap(), 1);
    let error = orders.sum_over_partitions(&other).await.unwrap_err();
    assert!(matches!(error, Error::Sum(SumError::OfOnePartition { name: "orders" })), "{error}");
}
