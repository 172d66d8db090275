use table_orm::TableEntity;

mod v1 {
    use table_orm::TableEntity;

    #[derive(Clone, TableEntity)]
    #[table(name = "orders", partition = "{shop}", row = "O:{n:05}")]
    #[row(by_day, partition = "{day}", key = "D:{shop}__{n:05}", eventual)]
    pub struct Order {
        pub shop: String,
        pub n: u32,
        pub day: u32,
    }
}

#[derive(Clone, TableEntity)]
#[table(name = "orders2", partition = "{shop}", row = "O:{n:08}", migrate_from = v1::Order)]
#[row(by_day, partition = "{day}", key = "D:{shop}__{n:08}", eventual)]
struct Order {
    shop: String,
    n: u32,
    day: u32,
}

impl From<v1::Order> for Order {
    fn from(v1::Order { shop, n, day }: v1::Order) -> Self {
        Self { shop, n, day }
    }
}

impl From<Order> for v1::Order {
    fn from(Order { shop, n, day }: Order) -> Self {
        Self { shop, n, day }
    }
}

fn main() {}
