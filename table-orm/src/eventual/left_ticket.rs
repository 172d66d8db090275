//! Tickets that are left in a partition, as maintenance sees them.
//!
//! An insert that takes effect after its settler ended leaves one. The next settling of the entity there shares
//! and consumes it; until then it does nothing. Deleting one is safe at any time: who holds it starts again.

use super::eventual_type::EventualType;
use super::ticket::{self, FOR};
use crate::entity::DynamicEntity;
use crate::model::{DateTime, ETag, Edm, TableName};
use crate::plan::CanonicalKey;
use crate::query::Span;

/// The ticket of an entity in another partition.
#[derive(Debug)]
pub(crate) struct LeftTicket {
    pub partition_key: String,
    pub row_key: String,
    /// The canonical row of the entity.
    pub home: CanonicalKey,
    pub etag: ETag,
    /// When the store wrote it.
    pub written: DateTime,
}

impl LeftTicket {
    /// The RowKeys of tickets.
    pub fn rows() -> Span {
        Span::prefix(ticket::START)
    }

    /// Whether that can be the RowKey of a ticket.
    pub fn has_key(row_key: &str) -> bool {
        row_key.starts_with(ticket::START)
    }

    /// Reads the ticket of an entity of that type in the table `home`; `None` for every other row, and for the
    /// ticket of a reservation.
    pub fn read(row: DynamicEntity, home: &TableName, kind: EventualType) -> Option<Self> {
        let DynamicEntity { partition_key, row_key, timestamp, etag, mut properties } = row;
        let Some(Edm::String(whose)) = properties.remove(FOR) else { return None };
        let [table, home_partition, home_row]: [String; 3] = serde_json::from_str(&whose).ok()?;
        let is_own = Self::has_key(&row_key)
            && table.eq_ignore_ascii_case(home.as_str())
            && (kind.is_canonical)(&home_row);
        let home = CanonicalKey { partition_key: home_partition, row_key: home_row };
        is_own.then_some(Self { partition_key, row_key, home, etag: etag?, written: timestamp? })
    }
}
