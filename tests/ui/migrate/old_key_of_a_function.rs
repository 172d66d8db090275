use table_orm::TableEntity;

fn initial(shop: &OrderV1) -> String {
    shop.shop.chars().take(1).collect()
}

#[derive(Clone, TableEntity)]
#[table(name = "orders", partition = "{initial}", row = "{n:05}__{shop}")]
#[component(initial = with(initial))]
struct OrderV1 {
    shop: String,
    n: u32,
}

#[derive(Clone, TableEntity)]
#[table(name = "orders2", partition = "{shop}", row = "{n:05}", migrate_from = OrderV1)]
struct Order {
    shop: String,
    n: u32,
}

impl From<OrderV1> for Order {
    fn from(OrderV1 { shop, n }: OrderV1) -> Self {
        Self { shop, n }
    }
}

impl From<Order> for OrderV1 {
    fn from(Order { shop, n }: Order) -> Self {
        Self { shop, n }
    }
}

fn main() {}
