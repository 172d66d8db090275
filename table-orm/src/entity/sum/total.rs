//! A total of a partition, and the rows that hold it.

use crate::codec::Members;
use crate::entity::ReadRow;
use crate::key::{Escape, KeyError, KeyText};
use crate::property::{PropertyFault, RowFault};

/// The total, an `Int64`.
pub(crate) const TOTAL: &str = "Total";
/// What the RowKey of such a row begins with.
pub(super) const START: &str = "SUM:";

/// One total of a partition, in one row or several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Total {
    pub name: &'static str,
    pub group: Option<String>,
    pub shards: u8,
}

impl Total {
    /// Which of its rows that number stands for.
    pub fn shard_by(&self, number: u64) -> u8 {
        u8::try_from(number % u64::from(self.shards)).unwrap_or_default()
    }

    /// The RowKey of one of its rows.
    pub fn row_key(&self, shard: u8) -> Result<String, KeyError> {
        let mut key = KeyText::new("Sum", Escape::Reject);
        key.literal(START);
        key.literal(self.name);
        if let Some(group) = &self.group {
            key.literal(":");
            key.push_text(group).map_err(|fault| KeyError {
                entity: "Sum",
                component: self.name,
                value: group.clone(),
                fault,
            })?;
        }
        key.literal(&format!(":{shard:02}"));
        key.finish()
    }
}

/// Whether a row holds a total.
pub(crate) fn is_total(row_key: &str) -> bool {
    row_key.starts_with(START)
}

/// A row that holds a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TotalRow(pub i64);

impl ReadRow for TotalRow {
    const NAME: &'static str = "Sum";

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        let mut total = None;
        while let Some(name) = members.next_name()? {
            match &*name {
                TOTAL => members.read(TOTAL, &mut total)?,
                name => members.other(name)?,
            }
        }
        total.map(Self).ok_or_else(|| RowFault::new(TOTAL, PropertyFault::Missing))
    }
}
