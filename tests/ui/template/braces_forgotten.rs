use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "plants", partition = "{garden}", row = "id")]
struct Plant {
    garden: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "visits", partition = "garden")]
#[row(by_day, key = "VIS:{day:05}")]
#[row(newest, key = "latest")]
#[component(latest = desc(day))]
struct Visit {
    garden: String,
    day: u16,
}

#[derive(TableEntity)]
#[table(name = "gardens", partition = "{name}", row = "garden")]
struct Garden {
    name: String,
}

fn main() {}
