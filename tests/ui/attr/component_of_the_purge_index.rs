use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "codes", partition = "{name}", row = "CODE", expires = until, purge_index)]
#[component(expiry_shard = lower(name))]
struct Code {
    name: String,
    until: OffsetDateTime,
}

fn main() {}
