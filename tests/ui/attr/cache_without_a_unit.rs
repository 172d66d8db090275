use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "prices", partition = "{shop}", row = "{sku}", cache = "30")]
struct Price {
    shop: String,
    sku: String,
}

fn main() {}
