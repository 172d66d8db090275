//! How events are handed on: by one process at a time, at least once, in order.

use super::{Line, Order, Taken, dispatch, line, orders_in, outbox_rows, said};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;
use support::clock::with_clock;
use support::ending::Ending;
use support::recorder::{recorded, recorded_around};
use table_orm::embedded::EmbeddedStore;
use table_orm::outbox::{Change, DispatchError, Event, HandlerError};
use table_orm::{DynamicEntity, Repo, ScanPermit, Tables};
use tokio::sync::Notify;
use tokio::time::sleep;

/// Tables, and a way to put their clock forward by seconds.
fn tables_with_clock() -> (Tables, impl Fn(i64)) {
    let (store, clock) = with_clock(Arc::new(EmbeddedStore::in_memory().unwrap()));
    (Tables::new(store), move |seconds| clock.forward(seconds))
}

async fn insert(tables: &Tables, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        tables.repo::<Line>().insert(&line(number, 1)).await.unwrap();
    }
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.number).collect()
}

async fn broken(_: Event) -> Result<(), HandlerError> {
    Err("the printer is on fire".into())
}

#[tokio::test]
async fn events_come_in_the_order_of_the_writes_and_only_once_without_faults() {
    let (tables, record) = recorded();
    let orders = orders_in(&tables).await;
    insert(&tables, 0..230).await;
    record.take();
    let (events, report) = dispatch(&orders).await;
    assert_eq!(numbers(&events), (1..=230).collect::<Vec<_>>());
    let keys: Vec<_> = events.iter().map(|event| event.row_key.clone()).collect();
    assert_eq!(keys, (0..230).map(|number| format!("LINE:{number:05}")).collect::<Vec<_>>());
    assert_eq!(
        (report.progress.handed_on, report.progress.partitions, report.progress.busy),
        (230, 1, 0)
    );
    assert_eq!((report.progress.may_repeat, report.progress.missing), (0, 0));
    assert!(report.progress.lag.is_some() && report.failures.is_empty());
    let sent = record.take();
    assert_eq!(sent.queries.len(), 3, "100 rows each");
    // The lease; 16 events each, and the rest of each page.
    assert_eq!(sent.writes[0], 1);
    assert_eq!(sent.writes[1..].iter().map(|count| count - 1).sum::<usize>(), 230);
    assert!(sent.writes[1..].iter().all(|count| *count <= 17), "{:?}", sent.writes);
    let (events, report) = dispatch(&orders).await;
    assert_eq!((events, report.progress.handed_on, report.progress.lag), (vec![], 0, None));
    assert_eq!(record.take().writes, [0; 0], "a partition without events costs one query");
}

#[tokio::test]
async fn all_partitions_are_found_by_a_scan() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let lines = tables.repo::<Line>();
    for customer in 0..40 {
        for number in 0..3 {
            let line = Line { customer: format!("c{customer:02}"), ..line(number, 1) };
            lines.insert(&line).await.unwrap();
        }
    }
    let permit = || ScanPermit::because("events");
    let backlog = orders.outbox().backlog(permit()).await.unwrap();
    assert_eq!((backlog.events, backlog.partitions), (120, 40));
    assert!(backlog.oldest.is_some());
    let taken = Taken::default();
    let dispatch = orders.outbox().dispatch(permit(), |event| taken.handle(event)).parallelism(7);
    assert!(dispatch.plan().unwrap().to_string().contains("OUT:"));
    let report = dispatch.await.all().unwrap();
    assert_eq!((report.handed_on, report.partitions), (120, 40));
    let mut events = taken.take();
    events.sort_by(|one, other| one.partition_key.cmp(&other.partition_key));
    assert!(events.chunks(3).all(|events| numbers(events) == [1, 2, 3]));
    let backlog = orders.outbox().backlog(permit()).await.unwrap();
    assert_eq!((backlog.events, backlog.partitions, backlog.oldest), (0, 0, None));
}

#[tokio::test]
async fn a_scan_that_fails_midway_hides_nothing_of_what_was_handed_on() {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    let tables = Tables::new(Arc::clone(&memory));
    let orders = orders_in(&tables).await;
    for customer in ["acme", "globex", "init"] {
        let line = Line { customer: customer.to_owned(), ..line(1, 1) };
        tables.repo::<Line>().insert(&line).await.unwrap();
    }
    let permit = || ScanPermit::because("events");
    let ending = |pages| Tables::new(Ending::after(pages, memory.clone())).repo::<Order>().outbox();
    let taken = Taken::default();
    let handler = |event| taken.handle(event);
    let report = ending(0).dispatch(permit(), handler).await;
    assert_eq!((report.progress.handed_on, report.failures.len()), (0, 0));
    let error = report.all().unwrap_err();
    assert!(error.to_string().contains("no more pages"), "{error}");
    let report = ending(2).dispatch(permit(), handler).await;
    assert!((1..3).contains(&report.progress.handed_on), "{report:?}");
    assert_eq!(taken.take().len() as u64, report.progress.handed_on);
    let ended = report.ended.unwrap();
    assert!(ended.to_string().contains("no more pages"), "{ended}");
    let left = orders.outbox().dispatch(permit(), handler).await.all().unwrap();
    assert_eq!(left.handed_on, 3 - report.progress.handed_on);
}

#[tokio::test]
async fn after_an_error_the_event_stays_and_its_partition_waits() {
    let (tables, forward) = tables_with_clock();
    let orders = orders_in(&tables).await;
    insert(&tables, 0..5).await;
    let acme = Order::partition("acme");
    let third = async |event: Event| match event.number {
        3 => broken(event).await,
        _ => Ok(()),
    };
    let mut wait = Duration::ZERO;
    for round in 1..=12 {
        forward(wait.as_secs() as i64);
        let report = orders.outbox().dispatch(&acme, third).await;
        // Before its time is over, however long this test takes.
        forward(-3600 - wait.as_secs() as i64);
        let [failure] = &report.failures[..] else { panic!("{report:?}") };
        assert_eq!((failure.number, &*failure.partition_key), (Some(3), "acme"));
        let DispatchError::Handler { error, failures, wait: next } = &failure.error else {
            panic!("{failure}")
        };
        assert_eq!((error.to_string().as_str(), *failures), ("the printer is on fire", round));
        assert_eq!(report.progress.handed_on, if round == 1 { 2 } else { 0 });
        assert!(*next >= wait && *next <= Duration::from_secs(300), "{next:?}");
        wait = *next;
        let (events, report) = dispatch(&orders).await;
        assert_eq!((events, report.progress.busy), (vec![], 1), "left alone");
        assert!(report.progress.lag.is_some());
        forward(3600);
    }
    assert_eq!(wait, Duration::from_secs(300));
    forward(300);
    let (events, report) = dispatch(&orders).await;
    assert_eq!((numbers(&events), report.progress.busy), (vec![3, 4, 5], 0));
    // The next failure is the first one again.
    insert(&tables, [9]).await;
    let report = orders.outbox().dispatch(&acme, broken).await;
    assert!(matches!(report.failures[0].error, DispatchError::Handler { failures: 1, .. }));
}

#[tokio::test]
async fn while_one_process_hands_on_another_leaves_the_partition() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    insert(&tables, 0..3).await;
    let (begun, go) = (Notify::new(), Notify::new());
    let first = Taken::default();
    let slow = async |event: Event| {
        begun.notify_one();
        go.notified().await;
        first.handle(event).await
    };
    let acme = Order::partition("acme");
    let working = orders.outbox().dispatch(&acme, slow);
    let other = async {
        begun.notified().await;
        let (events, report) = dispatch(&orders).await;
        assert_eq!((events, report.progress.busy), (vec![], 1));
        (0..3).for_each(|_| go.notify_one());
        go.notify_one();
        begun.notified().await;
        go.notify_one();
        begun.notified().await;
        go.notify_one();
    };
    let (report, ()) = tokio::join!(working.into_future(), other);
    assert_eq!(report.all().unwrap().handed_on, 3);
    assert_eq!(numbers(&first.take()), [1, 2, 3]);
}

#[tokio::test]
async fn events_of_a_process_that_ended_are_taken_over_when_its_lease_is_over() {
    let (tables, forward) = tables_with_clock();
    let orders = orders_in(&tables).await;
    insert(&tables, 0..3).await;
    let acme = Order::partition("acme");
    let begun = Notify::new();
    let stuck = async |_: Event| {
        begun.notify_one();
        std::future::pending::<Result<(), HandlerError>>().await
    };
    let dead = orders.outbox().dispatch(&acme, stuck).lease(Duration::from_secs(20));
    tokio::select! {
        _ = dead.into_future() => panic!("it is stuck"),
        () = begun.notified() => {}
    }
    // However long this test takes.
    forward(-3600);
    assert_eq!(dispatch(&orders).await.1.progress.busy, 1);
    forward(3600 + 20);
    let (events, report) = dispatch(&orders).await;
    assert_eq!((numbers(&events), report.progress.handed_on), (vec![1, 2, 3], 3));
}

#[tokio::test]
async fn a_process_that_lost_its_lease_removes_nothing_and_stops() {
    let (tables, forward) = tables_with_clock();
    let orders = orders_in(&tables).await;
    insert(&tables, 0..3).await;
    let acme = Order::partition("acme");
    let (begun, go) = (Notify::new(), Notify::new());
    let first = Taken::default();
    let slow = async |event: Event| {
        first.handle(event).await?;
        begun.notify_one();
        go.notified().await;
        Ok::<_, HandlerError>(())
    };
    let zombie = orders.outbox().dispatch(&acme, slow).removed_at_once(1);
    let other = async {
        begun.notified().await;
        forward(61);
        let (events, report) = dispatch(&orders).await;
        assert_eq!((numbers(&events), report.progress.handed_on), (vec![1, 2, 3], 3));
        insert(&tables, [7]).await;
        go.notify_one();
    };
    let (report, ()) = tokio::join!(zombie.into_future(), other);
    let report = report.all().unwrap();
    assert_eq!((report.handed_on, report.may_repeat), (0, 1));
    assert_eq!(numbers(&first.take()), [1]);
    assert_eq!(numbers(&dispatch(&orders).await.0), [4]);
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_renewed_while_a_handler_works() {
    let (tables, record) = recorded_around(EmbeddedStore::in_memory().unwrap());
    let tables = tables.on_virtual_time(1);
    let orders = orders_in(&tables).await;
    insert(&tables, 0..2).await;
    record.take();
    let slow = async |_: Event| {
        sleep(Duration::from_secs(50)).await;
        Ok::<_, HandlerError>(())
    };
    let acme = Order::partition("acme");
    let report = orders.outbox().dispatch(&acme, slow).await.all().unwrap();
    assert_eq!(report.handed_on, 2);
    // The lease, renewed every 20 s in each handler, and the removal.
    assert_eq!(record.take().writes, [1, 1, 1, 1, 1, 3]);
}

#[tokio::test]
async fn what_other_programs_did_to_the_outbox_holds_nothing_up() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    let table = tables.table(orders.table().clone());
    insert(&tables, 0..4).await;
    for number in [1, 3] {
        let key = format!("OUT:{number:019}");
        table.delete(&DynamicEntity::new("acme", key)).await.unwrap();
    }
    let (events, report) = dispatch(&orders).await;
    assert_eq!((numbers(&events), report.progress.missing), (vec![2, 4], 2));
    // Without its head, an outbox begins anew.
    table.delete(&DynamicEntity::new("acme", "OUT:-NEXT")).await.unwrap();
    insert(&tables, 10..12).await;
    let (events, report) = dispatch(&orders).await;
    assert_eq!((numbers(&events), report.progress.missing), (vec![1, 2], 0));
    table.delete(&DynamicEntity::new("acme", "OUT:-LEASE")).await.unwrap();
    insert(&tables, 12..14).await;
    assert_eq!(numbers(&dispatch(&orders).await.0), [3, 4]);
    assert_eq!(outbox_rows(&tables, "acme").await.len(), 2);
}

#[tokio::test]
async fn numbers_go_on_after_the_last_event_when_their_row_is_lost() {
    let (tables, record) = recorded();
    let orders = orders_in(&tables).await;
    let table = tables.table(orders.table().clone());
    insert(&tables, 0..4).await;
    let head = table.get("acme", "OUT:-NEXT").await.unwrap().unwrap();
    table.delete(&DynamicEntity::new("acme", "OUT:-NEXT")).await.unwrap();
    record.take();
    insert(&tables, 4..6).await;
    let sent = record.take();
    // The number and a refused transaction; the number, the events and the transaction; the next write.
    assert_eq!((sent.gets, sent.queries.len(), sent.writes.len()), (3, 1, 3));
    // The row of a copy that is older.
    table.insert_or_replace(&head.with("Next", 2_i64)).await.unwrap();
    insert(&tables, 6..7).await;
    let (events, report) = dispatch(&orders).await;
    assert_eq!((numbers(&events), report.progress.missing), ((1..=7).collect(), 0));
}

#[tokio::test]
async fn an_event_that_this_version_does_not_know_stays_with_those_behind_it() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    insert(&tables, 0..3).await;
    let table = tables.table(orders.table().clone());
    let second = DynamicEntity::new("acme", "OUT:0000000000000000002");
    table.merge(&second.with("Change", "archived".to_owned())).await.unwrap();
    let (events, report) = dispatch(&orders).await;
    assert_eq!((numbers(&events), report.progress.handed_on), (vec![1], 1));
    let failure = &report.failures[0];
    assert!(matches!(failure.error, DispatchError::Unknown { number: 2, property: "Change" }));
    assert!(failure.to_string().contains("deploy the version"), "{failure}");
    let acme = Order::partition("acme");
    assert_eq!(orders.outbox().backlog(&acme).await.unwrap().events, 2);
}

#[tokio::test]
async fn many_processes_share_the_partitions() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    insert(&tables, 0..50).await;
    let handed_on = AtomicU64::new(0);
    let taken = Taken::default();
    let one = async |orders: Repo<Order>| {
        for _ in 0..20 {
            let acme = Order::partition("acme");
            let report = orders.outbox().dispatch(&acme, |event| taken.handle(event)).await;
            handed_on.fetch_add(report.all().unwrap().handed_on, SeqCst);
        }
    };
    tokio::join!(one(orders.clone()), one(orders.clone()), one(orders.clone()));
    assert_eq!(handed_on.load(SeqCst), 50);
    assert_eq!(numbers(&taken.take()), (1..=50).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_message_is_one_plain_json_object() {
    let tables = Tables::in_memory().unwrap();
    let orders = orders_in(&tables).await;
    orders.insert(&super::order(1, "open", 100)).await.unwrap();
    let key = Order::partition("acme").by_number().number(1);
    let mut loaded = orders.load(&key).await.unwrap().one().unwrap();
    loaded.number = 2;
    orders.save(&mut loaded).await.unwrap();
    insert(&tables, [1]).await;
    let (events, _) = dispatch(&orders).await;
    let message = |index: usize| {
        let json = events[index].to_json();
        assert!(!json.contains('\n'));
        let mut message: serde_json::Value = serde_json::from_str(&json).unwrap();
        let time = message.as_object_mut().unwrap().remove("time").unwrap();
        assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
        message
    };
    let row = |number: u32| {
        serde_json::json!({
            "PartitionKey": "acme", "RowKey": format!("ORD:{number:05}"), "Customer": "acme",
            "Number": number.to_string(), "Number@odata.type": "Edm.Int64", "State": "open",
            "Cents": "100", "Cents@odata.type": "Edm.Int64",
        })
    };
    let expected = serde_json::json!({
        "version": 1, "table": "orders", "partitionKey": "acme", "number": 2, "entity": "Order",
        "change": "moved", "rowKey": "ORD:00002", "movedFrom": "ORD:00001",
        "before": row(1), "after": row(2),
    });
    assert_eq!(message(1), expected);
    let expected = serde_json::json!({
        "version": 1, "table": "orders", "partitionKey": "acme", "number": 3, "entity": "Line",
        "change": "inserted", "rowKey": "LINE:00001",
    });
    assert_eq!(message(2), expected);
    assert_eq!(events[2].change, Change::Inserted);
    assert_eq!(said(&orders).await, []);
}
