//! Rows that another client wrote.

mod key_mismatch;
mod unreadable;

use table_orm::repo::Table;
use table_orm::{DynamicEntity, Repo, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "ORD|{n:010}")]
struct Order {
    #[table(key_only)]
    shop: String,
    n: u64,
    text: String,
}

async fn orders() -> (Repo<Order>, Table) {
    orders_in(&Tables::in_memory().unwrap()).await
}

async fn orders_in(tables: &Tables) -> (Repo<Order>, Table) {
    let orders = tables.repo::<Order>();
    orders.create_table().await.unwrap();
    let rows = tables.table(orders.table().clone());
    (orders, rows)
}

fn order(row_key: &str, n: i64) -> DynamicEntity {
    DynamicEntity::new("A", row_key).with("N", n).with("Text", "t")
}
