use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "users", partition = "{org}", unique(nick))]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_slug, key = "SLUG:{slug}__{id:05}")]
#[row(by_city, key = "CITY:{city_lower}__{id:05}")]
#[row(by_rank, key = "RANK:{rank}__{id:05}")]
#[component(city_lower = lower(city))]
struct User {
    org: String,
    id: u32,
    #[table(default = none_given)]
    slug: Option<String>,
    #[table(default = none_given)]
    nick: Option<String>,
    #[table(rename = "Town", default = none_given)]
    city: Option<String>,
    // These read back as they were written.
    #[table(default)]
    rank: Option<String>,
    #[table(default = none_given)]
    note: Option<String>,
}

fn none_given() -> Option<String> {
    Some("main".to_owned())
}

fn main() {}
