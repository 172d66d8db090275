use table_orm::model::DateTime;
use table_orm::{ETag, TableEntity};

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
    #[table(timestamp)]
    written: DateTime,
    #[table(timestamp)]
    seen: Option<String>,
    #[table(etag)]
    version: Option<ETag>,
}

fn main() {}
