use table_orm::outbox::Event;
use table_orm::{Repo, TableEntity};

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "{number:05}", outbox)]
struct Order {
    customer: String,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "users", partition = "{name}", row = "USER")]
struct User {
    name: String,
}

async fn hand_on(orders: Repo<Order>) {
    let handler = async |_: Event| Ok::<(), String>(());
    orders.outbox().dispatch(User::partition("ann"), handler).await.all().unwrap();
}

fn main() {}
