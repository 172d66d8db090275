use table_orm::outbox::Event;
use table_orm::{Repo, TableEntity};

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "{number:05}", outbox)]
struct Order {
    customer: String,
    number: u32,
}

async fn hand_on(orders: Repo<Order>) {
    let handler = |event: Event| println!("{}", event.number);
    orders.outbox().dispatch(Order::partition("acme"), handler).await.unwrap();
}

fn main() {}
