use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}")]
#[row(by_number, key = "NUM:{number:08}")]
#[row(by_day, partition = "{day}__{part}", key = "ORD:{customer}", eventual)]
#[component(part = shard(number, 8))]
struct Order {
    customer: String,
    number: u32,
    day: u32,
}

fn main() {}
