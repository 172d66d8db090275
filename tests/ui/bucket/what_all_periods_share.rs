use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}", bucket(year, at))]
#[table(unique(number, across))]
#[row(by_number, key = "N:{number:05}")]
#[row(by_day, key = "D:{number:05}__{customer}", partition = "{at}", table = "orderdays", eventual)]
#[table(allow_append_only)]
struct Order {
    customer: String,
    number: u32,
    at: OffsetDateTime,
}

fn main() {}
