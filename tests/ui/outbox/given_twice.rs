use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "{number:05}", outbox)]
#[table(outbox(after, after))]
struct Order {
    customer: String,
    number: u32,
}

#[derive(TableEntity)]
#[table(name = "lines", partition = "{customer}", row = "{number:05}", outbox(after, after))]
struct Line {
    customer: String,
    number: u32,
}

fn main() {}
