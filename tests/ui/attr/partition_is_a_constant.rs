use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "readings", partition = "all", row = "{id:010}")]
struct Reading {
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "settings", partition = "config", row = "{name}", allow_single_partition)]
struct Setting {
    name: String,
}

fn main() {}
