use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "{number:05}", outbox(befor, after))]
struct Order {
    customer: String,
    number: u32,
}

fn main() {}
