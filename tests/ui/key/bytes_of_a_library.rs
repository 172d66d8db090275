use bytes::Bytes;
use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{track}")]
struct Run {
    club: String,
    track: Bytes,
}

fn main() {}
