use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "plants", partition = "{garden}", row = "id")]
struct Plant {
    garden: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "visits", partition = "garden", row = "VIS:{day:05}")]
struct Visit {
    garden: String,
    day: u16,
}

#[derive(TableEntity)]
#[table(name = "gardens", partition = "{name}", row = "name")]
struct Garden {
    name: String,
}

fn main() {}
