use table_orm::{Sum, TableEntity};

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
struct Order {
    customer: String,
    number: u32,
    cents: i64,
}

impl Order {
    const SUMS: &'static [Sum<Self>] =
        &[Sum::count("orders"), Sum::of("orders", |order| order.cents)];
}

fn main() {}
