use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "NUM:{number:08}")]
#[row(again, table = "Orders", key = "NUM:{number:08}", include(), eventual)]
struct Order {
    customer: String,
    number: u32,
    cents: u32,
}

#[derive(TableEntity)]
#[table(name = "parts", partition = "{customer}", row = "NUM:{number:08}")]
#[row(by_day, table = "days", key = "DAY:{number:08}", include(), eventual)]
#[row(by_date, table = "Days", key = "DAY:{number:08}", include(), eventual, allow_duplicate)]
struct Part {
    customer: String,
    number: u32,
}

fn main() {}
