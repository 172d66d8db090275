//! Events of writes, handed on.

use crate::subject::Subject;
use futures_util::future::join_all;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use table_orm::outbox::{Event, SendTo};
use table_orm::queue::{MemoryQueues, Queues};
use table_orm::{Repo, ScanPermit, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "{number:05}", outbox(before, after))]
struct Order {
    customer: String,
    number: u32,
    cents: i64,
}

fn orders(subject: &Subject) -> Repo<Order> {
    // A connection of its own, as in another process.
    subject.tables().repo_in::<Order>(subject.table.clone())
}

pub async fn events_are_handed_on_in_the_order_of_the_writes(subject: Subject) {
    let taken = Mutex::new(Vec::new());
    let handler = async |event: Event| {
        taken.lock().unwrap().push(event);
        Ok::<_, String>(())
    };
    let writers = (0..3).map(|writer| {
        let orders = orders(&subject);
        async move {
            for step in 0..4 {
                let number = 10 * writer + step;
                let new = Order { customer: "acme".into(), number, cents: 7 };
                orders.upsert(&new).await.unwrap();
                let key = Order::partition("acme").row().number(number);
                orders.update(&key, |order| order.cents += i64::from(step) + 1).await.unwrap();
                if step == 3 {
                    orders.force_delete(&new).await.unwrap();
                }
            }
        }
    });
    let dispatchers = (0..2).map(|_| async {
        for _ in 0..5 {
            let acme = Order::partition("acme");
            orders(&subject).outbox().dispatch(&acme, handler).await.all().unwrap();
        }
    });
    futures_util::future::join(join_all(writers), join_all(dispatchers)).await;
    let permit = || ScanPermit::because("the rest");
    let outbox = orders(&subject).outbox();
    let report = outbox.dispatch(permit(), handler).await.all().unwrap();
    assert_eq!(report.busy, 0);
    assert_eq!(outbox.backlog(permit()).await.unwrap().events, 0);
    let taken = taken.into_inner().unwrap();
    assert_eq!(taken.len(), 3 * (4 + 4 + 1));
    let numbers: Vec<_> = taken.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (1..=27).collect::<Vec<_>>());
    // Each entity goes on from where the event before left it.
    for number in taken.iter().map(|event| event.row_key.clone()).collect::<BTreeSet<_>>() {
        let mut stored = None;
        for event in taken.iter().filter(|event| event.row_key == number) {
            assert_eq!(event.before::<Order>().unwrap(), stored, "{event:?}");
            assert!(event.time.is_some());
            stored = event.after::<Order>().unwrap();
        }
        let key = Order::partition("acme").row().number(number.parse::<u32>().unwrap());
        assert_eq!(orders(&subject).get(key).await.unwrap(), stored, "{number}");
    }
}

pub async fn events_go_to_a_queue(subject: Subject) {
    let orders = orders(&subject);
    let order = |number, cents| Order { customer: "acme".into(), number, cents };
    orders.insert_many((0..5).map(|number| order(number, 1))).await.all().unwrap();
    let queues = Arc::new(MemoryQueues::new());
    let queue: Arc<dyn Queues> = queues.clone();
    let acme = Order::partition("acme");
    queues.create("orders").await.unwrap();
    let report = orders.outbox().dispatch(&acme, SendTo::new(queue, "orders")).await.all().unwrap();
    let messages = queues.receive("orders", 32, Duration::from_secs(30)).await.unwrap();
    let mut keys = BTreeSet::new();
    for message in &messages {
        let event: serde_json::Value = serde_json::from_str(&message.text).unwrap();
        assert_eq!((&event["version"], &event["change"]), (&1.into(), &"inserted".into()));
        assert_eq!(event["after"]["Cents"], "1");
        assert_eq!(event["before"], serde_json::Value::Null);
        keys.insert(event["rowKey"].as_str().unwrap().to_owned());
    }
    assert_eq!((report.handed_on, messages.len(), keys.len()), (5, 5, 5));
}

pub async fn events_are_found_by_the_register(subject: Subject) {
    let (orders, other) = (orders(&subject), orders(&subject));
    orders.register().await.unwrap();
    // The table exists.
    let register = other.register().await.unwrap();
    let order = |customer: &str, number| Order { customer: customer.into(), number, cents: 1 };
    let acme = (0..3).map(|number| order("acme", number));
    orders.insert_many(acme.chain([order("bolt", 1)])).await.all().unwrap();
    let taken = Mutex::new(Vec::new());
    let handler = async |event: Event| {
        taken.lock().unwrap().push((event.partition_key, event.number));
        Ok::<_, String>(())
    };
    let report = other.outbox().dispatch(&register, handler).await.all().unwrap();
    assert_eq!((report.partitions, report.handed_on), (2, 4));
    let mut taken = taken.into_inner().unwrap();
    taken.sort();
    let events = [("acme", 1), ("acme", 2), ("acme", 3), ("bolt", 1)];
    assert_eq!(taken, events.map(|(customer, number)| (customer.to_owned(), number)));
    assert_eq!(other.outbox().backlog(&register).await.unwrap().events, 0);
    subject.store.delete_table(register.table()).await.unwrap();
}
