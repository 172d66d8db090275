use table_orm::TableEntity;
use table_orm::model::DateTime;

#[derive(Clone, TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "OLD:{id:05}")]
struct Old {
    sensor: String,
    id: u32,
    at: DateTime,
}

#[derive(Clone, TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "NEW:{id:05}", bucket(month, at))]
#[table(migrate_from = Old)]
struct Reading {
    sensor: String,
    id: u32,
    at: DateTime,
}

impl From<Old> for Reading {
    fn from(Old { sensor, id, at }: Old) -> Self {
        Self { sensor, id, at }
    }
}

impl From<Reading> for Old {
    fn from(Reading { sensor, id, at }: Reading) -> Self {
        Self { sensor, id, at }
    }
}

fn main() {}
