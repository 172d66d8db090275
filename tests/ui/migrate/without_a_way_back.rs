use table_orm::TableEntity;

#[derive(Clone, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "{n:05}")]
struct OrderV1 {
    shop: String,
    n: u32,
}

#[derive(Clone, TableEntity)]
#[table(name = "orders2", partition = "{shop}", row = "{n:08}", migrate_from = OrderV1)]
struct Order {
    shop: String,
    n: u32,
}

impl From<OrderV1> for Order {
    fn from(OrderV1 { shop, n }: OrderV1) -> Self {
        Self { shop, n }
    }
}

fn main() {}
