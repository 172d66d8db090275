//! The outbox: each write adds its events, and these are handed on in order, at least once.

mod dispatch;
mod registered;
mod simulation;
mod writes;

use std::sync::Mutex;
use table_orm::outbox::{Change, DispatchReport, Event, HandlerError};
use table_orm::{DynamicEntity, Repo, TableEntity, Tables};

/// An entity whose writes read first, and whose canonical key may change.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", outbox(before, after))]
#[row(by_number, key = "ORD:{number:05}")]
#[row(by_state, key = "STA:{state}__{number:05}", include(cents))]
struct Order {
    customer: String,
    number: u32,
    state: String,
    cents: i64,
}

/// An entity that is written without a read, but for the event.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "LINE:{number:05}", outbox)]
struct Line {
    #[table(key_only)]
    customer: String,
    #[table(key_only)]
    number: u32,
    pieces: i32,
    text: Option<String>,
}

fn order(number: u32, state: &str, cents: i64) -> Order {
    Order { customer: "acme".into(), number, state: state.into(), cents }
}

fn line(number: u32, pieces: i32) -> Line {
    Line { customer: "acme".into(), number, pieces, text: None }
}

async fn orders_in(tables: &Tables) -> Repo<Order> {
    let orders = tables.repo::<Order>();
    orders.create_table().await.unwrap();
    orders
}

/// The rows of the outbox of a partition.
async fn outbox_rows(tables: &Tables, partition: &str) -> Vec<DynamicEntity> {
    let table = tables.table(table_orm::TableName::new("orders").unwrap());
    let rows = "OUT:".to_owned().."OUT;".to_owned();
    table.list(partition, rows).collect().await.unwrap()
}

/// A handler that keeps what it takes.
#[derive(Default)]
struct Taken(Mutex<Vec<Event>>);

impl Taken {
    fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    async fn handle(&self, event: Event) -> Result<(), HandlerError> {
        self.0.lock().unwrap().push(event);
        Ok(())
    }
}

/// Hands on the events of the partition `acme`.
async fn dispatch(orders: &Repo<Order>) -> (Vec<Event>, DispatchReport) {
    let taken = Taken::default();
    let acme = Order::partition("acme");
    let report = orders.outbox().dispatch(&acme, |event| taken.handle(event)).await;
    assert!(report.ended.is_none(), "{report:?}");
    (taken.take(), report)
}

/// What the events of the partition `acme` say: the change and the RowKey of each.
async fn said(orders: &Repo<Order>) -> Vec<(Change, String)> {
    let (events, report) = dispatch(orders).await;
    assert!(report.failures.is_empty(), "{report:?}");
    events.into_iter().map(|event| (event.change, event.row_key)).collect()
}
