use table_orm::Properties;

#[derive(Properties)]
struct Address {
    street: String,
    #[table(alias = "Town")]
    city: String,
}

fn main() {}
