use table_orm::shares_table;

mod before {
    use table_orm::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "orders", partition = "{shop}", row = "OLD:{id:08}", outbox)]
    pub struct Order {
        shop: String,
        id: u32,
    }
}

mod now {
    use table_orm::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "orders", partition = "{shop}", row = "ORD:{id:010}", outbox)]
    pub struct Order {
        shop: String,
        id: u32,
    }
}

shares_table!(before::Order, now::Order);

fn main() {}
