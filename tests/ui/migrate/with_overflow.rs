use table_orm::TableEntity;
use table_orm::property::Large;

#[derive(Clone, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "{n:05}")]
struct OrderV1 {
    shop: String,
    n: u32,
    #[table(overflow)]
    film: Large,
}

#[derive(Clone, TableEntity)]
#[table(name = "orders2", partition = "{shop}", row = "{n:08}", migrate_from = OrderV1)]
struct Order {
    shop: String,
    n: u32,
    #[table(overflow)]
    film: Large,
}

impl From<OrderV1> for Order {
    fn from(OrderV1 { shop, n, film }: OrderV1) -> Self {
        Self { shop, n, film }
    }
}

impl From<Order> for OrderV1 {
    fn from(Order { shop, n, film }: Order) -> Self {
        Self { shop, n, film }
    }
}

fn main() {}
