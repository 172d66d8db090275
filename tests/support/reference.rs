//! The reference entity of the partitioning literature, as the README shows it.

use table_orm::{KeyPart, Projection, TableEntity};
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

pub const EVENT: &str = "2011 New York City Marathon";

/// The registration whose stored keys the literature shows.
pub fn john() -> Registration {
    Registration {
        event: EVENT.to_owned(),
        distance: Distance::Full,
        bib: 1234,
        name: "John".to_owned(),
        sex: Sex::M,
        age: 55,
        registered_at: OffsetDateTime::UNIX_EPOCH,
        city: None,
    }
}
