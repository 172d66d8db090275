use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "OUT:{number:05}", outbox)]
struct Order {
    customer: String,
    number: u32,
}

fn main() {}
