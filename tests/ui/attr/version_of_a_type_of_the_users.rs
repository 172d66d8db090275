use table_orm::TableEntity;

type When = table_orm::model::DateTime;

struct Version;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_day, key = "D:{day:05}")]
#[row(by_club, key = "C:{club}", allow_key_conflict)]
struct Run {
    club: String,
    day: u32,
    #[table(timestamp)]
    written: When,
    #[table(etag)]
    version: Version,
    #[table(etag)]
    other: Option<Version>,
}

fn main() {}
