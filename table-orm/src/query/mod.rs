//! What can be asked of a table: key ranges, property filters, and the five query classes.

mod builder;
pub mod class;
mod column;
mod filter;
mod key_builder;
mod permit;
mod range;
mod state;
mod token;

#[doc(hidden)]
pub use builder::Part;
pub use builder::{PartitionKey, RowKey};
pub use column::{Column, Condition};
pub use filter::{Comparison, Filter};
pub use key_builder::KeyBuilder;
pub use permit::ScanPermit;
pub use range::{IntoSpan, KeyRange, QueryClass, Span};
pub use state::{Complete, KeyState, Needs, Open, RowRange};
pub use token::{PageToken, TokenError};

pub(crate) use token::fingerprint;

use crate::model::{Continuation, Metadata, TableName};
use std::borrow::Cow;

/// One page request of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct RowQuery {
    /// The table to read.
    pub table: TableName,
    /// Which keys to read.
    pub keys: KeyRange,
    /// A condition on properties, evaluated by the store on every row it scans.
    pub filter: Option<Filter>,
    /// The properties to return; `None` returns all.
    pub select: Option<Vec<Cow<'static, str>>>,
    /// The most rows of one page, 1 to 1000; `None` leaves it to the store.
    pub top: Option<u16>,
    /// Where an earlier page ended.
    pub continuation: Option<Continuation>,
    /// What rows are to say about their properties' types.
    pub metadata: Metadata,
}

impl RowQuery {
    /// All rows of the table in those keys, for a reader that knows the types.
    #[must_use]
    pub const fn new(table: TableName, keys: KeyRange) -> Self {
        Self {
            table,
            keys,
            filter: None,
            select: None,
            top: None,
            continuation: None,
            metadata: Metadata::None,
        }
    }

    /// The same query of the rows that meet a condition as well as the earlier ones.
    #[must_use]
    pub(crate) fn and(mut self, condition: Filter) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(earlier) => earlier.and(condition),
            None => condition,
        });
        self
    }

    /// The `$filter` expression, if any row is left out.
    #[must_use]
    pub fn filter_text(&self) -> Option<String> {
        let filter = match (self.keys.filter(), self.filter.clone()) {
            (Some(keys), Some(filter)) => keys.and(filter),
            (keys, filter) => keys.or(filter)?,
        };
        Some(filter.to_string())
    }

    /// The number of comparisons in the `$filter` expression.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        let count = |filter: Option<&Filter>| filter.map_or(0, Filter::comparisons);
        count(self.keys.filter().as_ref()) + count(self.filter.as_ref())
    }
}
