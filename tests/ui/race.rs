//! The entity that the queries of these fixtures read.
#![allow(dead_code)]

use table_orm::{KeyPart, Repo, TableEntity, Tables};
use time::OffsetDateTime;

#[derive(Debug, Clone, Copy, KeyPart)]
pub enum Distance {
    #[key("Full")]
    Full,
    #[key("Half")]
    Half,
}

#[derive(Debug, Clone, Copy, KeyPart)]
pub enum Sex {
    #[key("M")]
    M,
    #[key("F")]
    F,
}

#[derive(Debug, TableEntity)]
#[table(name = "registrations", partition = "{event}__{distance}")]
#[row(by_bib, key = "BIB:{bib:05}__{name}__{sex}__{age}")]
#[row(by_age, key = "AGE:{age:03}__{bib}__{name}__{sex}")]
#[row(by_time, key = "NEW:{newest}__{bib:05}", include(name))]
#[component(newest = desc(registered_at))]
pub struct Registration {
    pub event: String,
    pub distance: Distance,
    pub bib: u32,
    pub name: String,
    pub sex: Sex,
    pub age: u8,
    pub registered_at: OffsetDateTime,
    pub city: Option<String>,
}

#[derive(Debug, TableEntity)]
#[table(name = "clubs", partition = "{name}", row = "{founded:04}")]
pub struct Club {
    #[table(key_only)]
    pub name: String,
    pub founded: u16,
}

pub fn tables() -> Tables {
    loop {}
}

pub fn repo() -> Repo<Registration> {
    loop {}
}

pub fn clubs() -> Repo<Club> {
    loop {}
}

pub fn john() -> Registration {
    loop {}
}

pub fn now() -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH
}
