use table_orm::{TableEntity, Tables};

#[derive(TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "{n:05}")]
struct Order {
    shop: String,
    n: u32,
}

fn main() {
    let _ = Tables::in_memory().unwrap().migrating::<Order>();
}
