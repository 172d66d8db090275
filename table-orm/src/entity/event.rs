//! Events: the rows of an outbox, each of which describes one write of one entity.
//!
//! Invariants:
//! - The number of an event is part of its RowKey. The events of a partition have the numbers 1, 2, 3 and
//!   so on, without gaps.
//! - A value that an event leaves out is named as left out.

use super::own_rows::OwnRows;
use super::query::is_canonical_key;
use super::{DynamicEntity, Members, ReadRow, RowHead, TableEntity, body, read_row_in_context};
use crate::model::{Edm, MAX_STRING_UNITS, order};
use crate::property::{PropertiesWriter, PropertyError, PropertyFault, RowFault};
use bytes::Bytes;
use serde::Serialize;
use std::fmt;

/// What the RowKeys of an outbox begin with.
const START: &str = "OUT:";
/// The kind of work that a register names partitions with events by. No type has that name.
pub(crate) const EVENTS: &str = START;
/// The row with the number of the next event. It comes before the events.
pub(crate) const HEAD: &str = "OUT:-NEXT";
/// The row that says who hands the events on. It comes first.
pub(crate) const LEASE: &str = "OUT:-LEASE";
/// Its property.
const NEXT: &str = "Next";

const ENTITY: &str = "Entity";
const CHANGE: &str = "Change";
const ROW: &str = "Row";
const FROM: &str = "From";
const BEFORE: &str = "Before";
const AFTER: &str = "After";
const LEFT_OUT: &str = "LeftOut";

/// What the events of a type hold beside the keys of the entity: `#[table(outbox(before, after))]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[allow(clippy::exhaustive_structs, reason = "generated code makes it")]
pub struct EventValues {
    /// The canonical row as it was stored before the write.
    pub before: bool,
    /// The canonical row as the write stored it.
    pub after: bool,
}

/// What a write did to an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// It was not stored before.
    Inserted,
    /// It was stored before, under the same key.
    Updated,
    /// It was stored before, under another canonical key of the partition.
    Moved,
    /// It is not stored any more.
    Deleted,
}

impl Change {
    const ALL: [Self; 4] = [Self::Inserted, Self::Updated, Self::Moved, Self::Deleted];

    /// The text in events and messages: `inserted`, `updated`, `moved` or `deleted`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inserted => "inserted",
            Self::Updated => "updated",
            Self::Moved => "moved",
            Self::Deleted => "deleted",
        }
    }

    fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|change| change.name() == name)
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The RowKey of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventRowKey(pub u64);

impl EventRowKey {
    /// What the RowKeys of all events are between.
    pub const FIRST: &'static str = "OUT:0";
    pub const END: &'static str = "OUT::";

    /// The number in a RowKey; `None` for a row that is no event.
    pub fn read(row_key: &str) -> Option<Self> {
        let digits = row_key.strip_prefix(START)?;
        let valid = digits.len() == 19 && digits.bytes().all(|digit| digit.is_ascii_digit());
        digits.parse().ok().filter(|_| valid).map(Self)
    }
}

impl fmt::Display for EventRowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{START}{:019}", self.0)
    }
}

/// One write of one entity, as its event stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventContent {
    /// The type's name.
    pub entity: String,
    pub change: Change,
    /// The RowKey of the canonical row; before the write for an entity that was deleted.
    pub row_key: String,
    /// The RowKey of the canonical row before the write, of an entity that was moved.
    pub from: Option<String>,
    /// The canonical row's JSON.
    pub before: Option<String>,
    pub after: Option<String>,
    /// The names of the values that are too long.
    pub left_out: Vec<String>,
}

impl EventContent {
    /// Keeps the canonical rows that the type asks for, as JSON.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn with_rows(
        mut self,
        [before, after]: [Option<&Bytes>; 2],
        hidden: Option<&str>,
    ) -> Result<Self, PropertyError> {
        for (name, row) in [(BEFORE, before), (AFTER, after)] {
            let Some(row) = row else { continue };
            let mut row: DynamicEntity = super::read_row(0, row)?;
            hidden.and_then(|name| row.properties.remove(name));
            let json = row.to_json()?;
            if order::len(&json) > MAX_STRING_UNITS {
                self.left_out.push(name.to_owned());
            } else if name == BEFORE {
                self.before = Some(json);
            } else {
                self.after = Some(json);
            }
        }
        Ok(self)
    }

    /// Its row's JSON object.
    ///
    /// # Errors
    /// When the service cannot store a key.
    pub fn body(&self, partition_key: &str, number: u64) -> Result<Bytes, PropertyError> {
        let mut row = DynamicEntity::new(partition_key, EventRowKey(number).to_string())
            .with(ENTITY, self.entity.clone())
            .with(CHANGE, self.change.name().to_owned())
            .with(ROW, self.row_key.clone());
        let left_out = (!self.left_out.is_empty()).then(|| self.left_out.join(" "));
        for (name, text) in [
            (FROM, &self.from),
            (BEFORE, &self.before),
            (AFTER, &self.after),
            (LEFT_OUT, &left_out),
        ] {
            if let Some(text) = text {
                row.properties.insert(name.to_owned(), Edm::String(text.clone()));
            }
        }
        row.body()
    }

    /// Whether the row before and the row after the write are left out.
    pub fn leaves_out(&self) -> (bool, bool) {
        let names = |name| self.left_out.iter().any(|left_out| left_out == name);
        (names(BEFORE), names(AFTER))
    }

    /// Reads the properties of an event.
    ///
    /// # Errors
    /// The name of a property that is missing, or that this version does not know.
    pub fn read(mut row: DynamicEntity) -> Result<Self, &'static str> {
        let mut text = |name: &str| match row.properties.remove(name) {
            Some(Edm::String(text)) => Some(text),
            _ => None,
        };
        let change = text(CHANGE).as_deref().and_then(Change::read).ok_or(CHANGE)?;
        let left_out = text(LEFT_OUT).unwrap_or_default();
        Ok(Self {
            entity: text(ENTITY).ok_or(ENTITY)?,
            change,
            row_key: text(ROW).ok_or(ROW)?,
            from: text(FROM),
            before: text(BEFORE),
            after: text(AFTER),
            left_out: left_out.split_whitespace().map(str::to_owned).collect(),
        })
    }
}

/// The row with the number of the next event of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub next: u64,
}

impl Head {
    /// The row's JSON object.
    pub fn body(self, partition_key: &str) -> Result<Bytes, PropertyError> {
        let mut out = PropertiesWriter::new(Self::NAME);
        out.property(NEXT, &self.next)?;
        body(partition_key, HEAD, &out)
    }
}

impl ReadRow for Head {
    const NAME: &'static str = "Outbox";

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        let mut next = None;
        while let Some(name) = members.next_name()? {
            match &*name {
                NEXT => members.read(NEXT, &mut next)?,
                name => members.other(name)?,
            }
        }
        next.map(|next| Self { next }).ok_or_else(|| RowFault::new(NEXT, PropertyFault::Missing))
    }
}

/// A type whose writes add events, which is not known any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportedType {
    /// Its name.
    pub entity: &'static str,
    pub values: EventValues,
    /// Whether only a mark in a row distinguishes the type's rows from those of others.
    pub is_marked: bool,
    is_canonical: fn(&str) -> bool,
    is_own: fn(&[u8]) -> Result<bool, PropertyError>,
}

impl ReportedType {
    /// `None` for a type without an outbox.
    pub fn of<E: TableEntity>() -> Option<Self> {
        let values = E::OUTBOX?;
        Some(Self {
            entity: E::NAME,
            values,
            is_marked: E::KIND.is_some(),
            is_canonical: is_canonical_key::<E>,
            is_own: |row| {
                let (RowHead { .. }, context) = read_row_in_context(0, row, None)?;
                Ok(OwnRows::canonical::<E>().take(&context))
            },
        })
    }

    /// Whether the key is one of the type's canonical rows.
    pub fn is_canonical(&self, row_key: &str) -> bool {
        (self.is_canonical)(row_key)
    }

    /// Whether a canonical row is an entity of the type.
    pub fn is_own(&self, row: &[u8]) -> Result<bool, PropertyError> {
        (self.is_own)(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_keys_of_an_outbox_never_change() {
        assert_eq!((LEASE, HEAD), ("OUT:-LEASE", "OUT:-NEXT"));
        for (number, row_key) in [
            (1, "OUT:0000000000000000001"),
            (1_234, "OUT:0000000000000001234"),
            (i64::MAX as u64, "OUT:9223372036854775807"),
        ] {
            let key = EventRowKey(number);
            assert_eq!(key.to_string(), row_key);
            assert_eq!(EventRowKey::read(row_key), Some(key));
            // The lease comes before all events, so that one query reads it and the first of them.
            assert!(LEASE < HEAD && HEAD < EventRowKey::FIRST);
            assert!((EventRowKey::FIRST..EventRowKey::END).contains(&row_key));
        }
        for other in [LEASE, HEAD, "OUT:1", "OUT:00000000000000000001", "OUT:+000000000000000001"] {
            assert_eq!(EventRowKey::read(other), None, "{other}");
        }
    }

    #[test]
    fn an_event_is_read_back() {
        for change in Change::ALL {
            let event = EventContent {
                entity: "Order".to_owned(),
                change,
                row_key: "ORD:1".to_owned(),
                from: Some("ORD:2".to_owned()).filter(|_| change == Change::Moved),
                before: Some("{\"A\":\"\\u0001\"}".to_owned()),
                after: None,
                left_out: vec![AFTER.to_owned()],
            };
            let body = event.body("acme", 7).unwrap();
            let row: DynamicEntity = super::super::read_row(0, &body).unwrap();
            assert_eq!(row.row_key, "OUT:0000000000000000007");
            assert_eq!(event.leaves_out(), (false, true));
            assert_eq!(EventContent::read(row), Ok(event));
        }
    }
}
