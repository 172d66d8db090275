//! The entity of ten properties that is written and read.

use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "finishers", partition = "{event}", row = "{bib:08}")]
pub struct Finisher {
    pub event: String,
    pub bib: u32,
    pub name: String,
    pub city: Option<String>,
    pub age: u8,
    pub rank: i32,
    pub seconds: f64,
    pub official: bool,
    pub club: String,
    pub registered_at: OffsetDateTime,
}
