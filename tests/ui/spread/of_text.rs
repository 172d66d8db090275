use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "events", partition = "{slot}", row = "{name}")]
#[component(slot = spread(name, second))]
struct Event {
    name: String,
}

fn main() {}
