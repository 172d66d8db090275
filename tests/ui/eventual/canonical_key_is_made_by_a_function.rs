use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "orders", partition = "{customer}")]
#[row(by_code, key = "CODE:{code}")]
#[row(by_day, partition = "{day}", key = "ORD:{number:08}__{customer}", eventual)]
#[component(code = with(code))]
struct Order {
    customer: String,
    number: u32,
    day: u32,
}

fn code(order: &Order) -> String {
    order.number.to_string()
}

fn main() {}
