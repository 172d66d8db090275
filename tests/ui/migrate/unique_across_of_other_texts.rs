use table_orm::TableEntity;

#[derive(Clone, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "O:{n:05}", unique(code, across))]
struct OrderV1 {
    shop: String,
    n: u32,
    code: u16,
}

#[derive(Clone, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "ORD:{n:08}", unique(code, across), migrate_from = OrderV1)]
struct Order {
    shop: String,
    n: u32,
    code: u32,
}

impl From<OrderV1> for Order {
    fn from(OrderV1 { shop, n, code }: OrderV1) -> Self {
        Self { shop, n, code: code.into() }
    }
}

impl From<Order> for OrderV1 {
    fn from(Order { shop, n, code }: Order) -> Self {
        Self { shop, n, code: code as u16 }
    }
}

fn main() {}
