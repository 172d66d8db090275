//! Rows in other partitions and tables, declared with `eventual`.

// Two rows are `eventual`; clippy takes the repeated word for a repeated attribute (rust-clippy issue
// 13238).
#![allow(clippy::duplicated_attributes)]

mod absent_table;
mod across;
mod beside;
mod checked;
mod costs;
mod former_rows;
mod joined;
mod leftover;
mod limits;
mod maintenance;
mod moves;
mod queries;
mod registered;
mod rows;
mod settling;
mod tables;
mod unions;
mod writes;

use std::sync::Arc;
use support::recorder::{Record, recorded_around};
use table_orm::embedded::EmbeddedStore;
use table_orm::entity::{EntityRows, eventual_rows};
use table_orm::store::{Action, Operation, Store};
use table_orm::{Projection, Repo, TableEntity, TableName, Tables};

/// An order, found by its customer, and in other partitions by its day, its courier, and its size.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}")]
#[row(by_date, partition = "{day}", key = "ORD:{number:08}__{customer}", eventual)]
#[row(by_number, key = "NUM:{number:08}")]
#[row(by_cents, key = "CTS:{cents:08}__{number:08}")]
#[row(
    by_courier,
    table = "couriers",
    partition = "C:{courier}",
    key = "ORD:{newest}__{customer}",
    include(cents),
    eventual
)]
#[row(large, table = "archive", key = "BIG:{number:08}", when = Order::is_large, eventual)]
#[component(newest = desc(number))]
struct Order {
    customer: String,
    number: u32,
    day: String,
    cents: u32,
    courier: Option<String>,
}

impl Order {
    const fn is_large(&self) -> bool {
        self.cents >= 100_000
    }
}

fn order(customer: &str, number: u32) -> Order {
    Order {
        customer: customer.into(),
        number,
        day: "2026-11-23".into(),
        cents: 1_999,
        courier: Some("Ann".into()),
    }
}

/// What a courier's list shows.
#[derive(Debug, PartialEq, Projection)]
#[projection(of = Order)]
struct Delivery {
    number: u32,
    customer: String,
    courier: Option<String>,
    cents: u32,
}

fn numbers(orders: &[Order]) -> Vec<u32> {
    orders.iter().map(|order| order.number).collect()
}

struct Shop {
    store: Arc<EmbeddedStore>,
    tables: Tables,
    orders: Repo<Order>,
    record: Record,
}

impl Shop {
    async fn empty() -> Self {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        Self::behind(Arc::clone(&store), store).await
    }

    /// A shop on a store, and what stands before it.
    async fn behind(store: Arc<EmbeddedStore>, front: impl Store + 'static) -> Self {
        let (tables, record) = recorded_around(front);
        let orders = tables.repo::<Order>();
        for table in ["orders", "couriers", "archive"] {
            tables.create(&TableName::new(table).unwrap()).await.unwrap();
        }
        Self { store, tables, orders, record }
    }

    /// Three orders of two customers; the third is large, and has no courier.
    async fn open() -> Self {
        let shop = Self::empty().await;
        let third = Order { cents: 103_000, courier: None, ..order("init", 3) };
        for order in [
            Order { cents: 1_000, ..order("acme", 1) },
            Order { cents: 2_000, ..order("acme", 2) },
            third,
        ] {
            shop.canonical(&order).await;
            shop.elsewhere(&order).await;
        }
        shop
    }

    /// Writes the rows of the order's own partition, as a client that dies before it settles.
    async fn canonical(&self, order: &Order) {
        let rows = EntityRows::of(order).unwrap();
        for row in rows.rows {
            self.put("orders", &rows.partition_key, row.row_key, row.body).await;
        }
    }

    /// Writes the order's rows in other partitions alone.
    async fn elsewhere(&self, order: &Order) {
        for table in ["orders", "couriers", "archive"] {
            self.elsewhere_in(table, order).await;
        }
    }

    /// Writes those of one table alone.
    async fn elsewhere_in(&self, table: &str, order: &Order) {
        let rows = eventual_rows(order).unwrap().into_iter();
        for row in rows.filter(|row| row.table.unwrap_or("orders") == table) {
            self.put(table, &row.partition_key, row.row_key, row.body).await;
        }
    }

    async fn put(&self, table: &str, partition_key: &str, row_key: String, body: bytes::Bytes) {
        let table = TableName::new(table).unwrap();
        let operation = Operation { row_key, action: Action::InsertOrReplace(body) };
        self.store.write(&table, partition_key, operation).await.unwrap();
    }
}
