//! What `#[derive(TableEntity)]` and its companions generate: stored keys, round trips, queries.

use table_orm::row::EntityRows;
use table_orm::{KeyPart, Projection, TableEntity, Tables};
use time::OffsetDateTime;

#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
pub enum Distance {
    #[key("Full")]
    Full,
    #[key("Half")]
    Half,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
pub enum Sex {
    #[key("M")]
    M,
    #[key("F")]
    F,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "registrations", partition = "{event}__{distance}")]
#[row(by_bib, key = "BIB:{bib:05}__{name}__{sex}__{age}")]
#[row(by_age, key = "AGE:{age:03}__{bib}__{name}__{sex}")]
#[row(by_time, key = "NEW:{newest}__{bib:05}", include(name))]
#[component(newest = desc(registered_at))]
pub struct Registration {
    pub event: String,
    pub distance: Distance,
    #[table(max = 99_999)]
    pub bib: u32,
    #[table(max_len = 60)]
    pub name: String,
    pub sex: Sex,
    pub age: u8,
    pub registered_at: OffsetDateTime,
    pub city: Option<String>,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Registration)]
pub struct NameOnly {
    pub name: String,
}

fn john() -> Registration {
    Registration {
        event: "2011 New York City Marathon".to_owned(),
        distance: Distance::Full,
        bib: 1234,
        name: "John".to_owned(),
        sex: Sex::M,
        age: 55,
        registered_at: OffsetDateTime::UNIX_EPOCH,
        city: None,
    }
}

#[test]
fn the_reference_keys_come_out_byte_for_byte() {
    let rows = EntityRows::of(&john()).unwrap();
    assert_eq!(rows.partition_key, "2011 New York City Marathon__Full");
    assert_eq!(rows.rows[0].row_key, "BIB:01234__John__M__55");
    assert_eq!(rows.rows[1].row_key, "AGE:055__1234__John__M");
}

#[tokio::test]
async fn reads_back() {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Registration>();
    repo.create_table().await.unwrap();
    repo.insert(&john()).await.unwrap();
    let race = Registration::partition("2011 New York City Marathon", Distance::Full);
    let one = repo.get(race.by_bib().bib(1234).name("John").sex(Sex::M).age(55)).await.unwrap();
    assert_eq!(one, Some(john()));
    let all = repo.list(race.by_age().age_in(50..60)).collect().await.unwrap();
    assert_eq!(all, [john()]);
    let names = repo.list(race.by_time()).project::<NameOnly>().collect().await.unwrap();
    assert_eq!(names, [NameOnly { name: "John".to_owned() }]);
}
