use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}")]
#[row(by_number, key = "NUM:{number:08}")]
#[row(by_day, partition = "{day}", key = "ORD:{number:08}__{name}", eventual)]
#[component(name = lower(customer))]
struct Order {
    customer: String,
    number: u32,
    day: u32,
}

fn main() {}
