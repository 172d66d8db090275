//! The entity that travels, and what a service answers about it.

use memchr::memmem;
use serde::{Deserialize, Serialize};
use table_orm::TableEntity;
use time::OffsetDateTime;
use time::serde::rfc3339;

pub const PARTITION: &str = "Marathon";
pub const TABLE: &str = "finishers";
/// The rows of a page.
pub const PAGE: u32 = 1000;
/// The operations of a transaction.
pub const BATCH: u32 = 100;

const TIMESTAMP: &str = "2011-11-06T14:10:00.1234567Z";
pub const ETAG: &str = "W/\"datetime'2011-11-06T14%3A10%3A00.1234567Z'\"";

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "finishers", partition = "{event}", row = "{bib:05}")]
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

pub fn finisher(bib: u32) -> Finisher {
    Finisher {
        event: PARTITION.to_owned(),
        bib,
        name: format!("Runner Number {bib}"),
        city: Some("New York".to_owned()),
        age: 55,
        rank: 12,
        seconds: 12_345.25,
        official: true,
        club: "Harriers of the Park".to_owned(),
        registered_at: OffsetDateTime::UNIX_EPOCH,
    }
}

/// The same entity for serde: fields of the same types, its keys, and by hand the annotations that
/// the service wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Plain {
    pub partition_key: String,
    pub row_key: String,
    event: String,
    #[serde(with = "int64")]
    bib: u32,
    #[serde(rename = "Bib@odata.type", default, skip_deserializing)]
    bib_type: &'static str,
    name: String,
    city: Option<String>,
    age: u8,
    rank: i32,
    seconds: f64,
    #[serde(rename = "Seconds@odata.type", default, skip_deserializing)]
    seconds_type: &'static str,
    official: bool,
    club: String,
    #[serde(with = "rfc3339")]
    registered_at: OffsetDateTime,
    #[serde(rename = "RegisteredAt@odata.type", default, skip_deserializing)]
    registered_at_type: &'static str,
}

pub fn plain(bib: u32) -> Plain {
    Plain {
        partition_key: PARTITION.to_owned(),
        row_key: format!("{bib:05}"),
        event: PARTITION.to_owned(),
        bib,
        bib_type: "Edm.Int64",
        name: format!("Runner Number {bib}"),
        city: Some("New York".to_owned()),
        age: 55,
        rank: 12,
        seconds: 12_345.25,
        seconds_type: "Edm.Double",
        official: true,
        club: "Harriers of the Park".to_owned(),
        registered_at: OffsetDateTime::UNIX_EPOCH,
        registered_at_type: "Edm.DateTime",
    }
}

/// `Edm.Int64`, which is text in JSON.
mod int64 {
    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;
    use std::fmt;

    pub fn serialize<S: Serializer>(value: &u32, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(value: D) -> Result<u32, D::Error> {
        value.deserialize_str(Digits)
    }

    struct Digits;

    impl Visitor<'_> for Digits {
        type Value = u32;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the digits of a number")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u32, E> {
            text.parse().map_err(E::custom)
        }
    }
}

/// A page for serde.
#[derive(Debug, Deserialize)]
pub struct PlainPage {
    pub value: Vec<Plain>,
}

/// How much metadata the service adds to the values, by the request's `Accept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    None,
    Minimal,
    Full,
}

impl Level {
    pub fn asked_for(head: &[u8]) -> Self {
        if memmem::find(head, b"odata=nometadata").is_some() {
            Self::None
        } else if memmem::find(head, b"odata=fullmetadata").is_some() {
            Self::Full
        } else {
            Self::Minimal
        }
    }

    /// The row with that number, as the service writes it.
    fn row(self, bib: u32, first: &str) -> String {
        let etag = ETAG.replace('"', "\\\"");
        let address = format!("{TABLE}(PartitionKey='{PARTITION}',RowKey='{bib:05}')");
        let head = match self {
            Self::None => String::new(),
            Self::Minimal => format!("{first}\"odata.etag\":\"{etag}\","),
            Self::Full => format!(
                "{first}\"odata.type\":\"acc.{TABLE}\",\
                 \"odata.id\":\"https://acc.table.core.windows.net/{address}\",\
                 \"odata.etag\":\"{etag}\",\"odata.editLink\":\"{address}\","
            ),
        };
        let typed = |name: &str, edm: &str| match self {
            Self::None => String::new(),
            Self::Minimal if name == "Timestamp" => String::new(),
            _ => format!("\"{name}@odata.type\":\"Edm.{edm}\","),
        };
        format!(
            "{{{head}\"PartitionKey\":\"{PARTITION}\",\"RowKey\":\"{bib:05}\",\
             {}\"Timestamp\":\"{TIMESTAMP}\",\"Event\":\"{PARTITION}\",{}\"Bib\":\"{bib}\",\
             \"Name\":\"Runner Number {bib}\",\"City\":\"New York\",\"Age\":55,\"Rank\":12,\
             \"Seconds\":12345.25,\"Official\":true,\"Club\":\"Harriers of the Park\",\
             {}\"RegisteredAt\":\"1970-01-01T00:00:00Z\"}}",
            typed("Timestamp", "DateTime"),
            typed("Bib", "Int64"),
            typed("RegisteredAt", "DateTime"),
        )
    }

    fn metadata(self, what: &str) -> String {
        match self {
            Self::None => String::new(),
            _ => format!(
                "\"odata.metadata\":\"https://acc.table.core.windows.net/$metadata#{TABLE}{what}\","
            ),
        }
    }

    /// The answer to a point query.
    pub fn one(self) -> String {
        self.row(7, &self.metadata("/@Element"))
    }

    /// The answer to a query.
    pub fn page(self) -> String {
        let rows: Vec<_> = (0..PAGE).map(|bib| self.row(bib, "")).collect();
        format!("{{{}\"value\":[{}]}}", self.metadata(""), rows.join(","))
    }
}
