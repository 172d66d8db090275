use table_orm::TableEntity;

#[derive(Clone, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "O:{n:05}")]
#[row(by_day, table = "days", partition = "{day}", key = "D:{shop}__{n:05}", eventual)]
struct OrderV1 {
    shop: String,
    n: u32,
    day: u32,
}

#[derive(Clone, TableEntity)]
#[table(name = "orders2", partition = "{shop}", row = "O:{n:08}", migrate_from = OrderV1)]
#[row(by_day, table = "days", partition = "{day}", key = "D:{shop}__{n:05}", eventual)]
struct Order {
    shop: String,
    n: u32,
    day: u32,
}

impl From<OrderV1> for Order {
    fn from(OrderV1 { shop, n, day }: OrderV1) -> Self {
        Self { shop, n, day }
    }
}

impl From<Order> for OrderV1 {
    fn from(Order { shop, n, day }: Order) -> Self {
        Self { shop, n, day }
    }
}

fn main() {}
