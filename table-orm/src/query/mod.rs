//! Queries: key ranges, property filters, page tokens, and the five query classes.
//!
//! [`RowQuery`] is one page request as a store receives it. Generated code builds its keys with the
//! typed [`PartitionKey`] and [`RowKey`], over the untyped [`KeyBuilder`].

pub mod class;
mod column;
mod earlier_pages;
mod evaluate;
mod filter;
mod generated;
mod key_builder;
mod key_limits;
mod key_range;
mod many_place;
mod named_rows;
mod page_place;
mod permit;
mod query_class;
mod read_mark;
mod row_range;
#[cfg(feature = "sealed")]
mod seal;
mod span;
mod state;
mod token;
mod typed_key;

pub use column::{Column, Condition, IntoCondition};
pub use filter::{Comparison, Filter};
#[doc(hidden)]
pub use generated::{debug_columns, debug_wrapper};
pub use key_builder::KeyBuilder;
#[cfg(test)]
#[cfg(feature = "embedded")]
pub(crate) use key_limits::tests as key_limits_tests;
pub use key_limits::{KeyLimit, KeyLimits};
pub use key_range::KeyRange;
pub use permit::ScanPermit;
pub use query_class::QueryClass;
pub use read_mark::ReadMark;
pub use row_range::{Below, RowRange};
#[cfg(feature = "sealed")]
pub use seal::{Seal, SealError};
pub use span::{IntoSpan, Span};
pub use state::{Complete, KeyState, Needs, Open};
pub use token::{PageToken, TokenError};
#[doc(hidden)]
pub use typed_key::Part;
pub use typed_key::{PartitionKey, RowKey};

pub(crate) use many_place::{ManyPlace, ManyStart};
pub(crate) use page_place::{PagePlace, PageStart};
pub(crate) use token::{fingerprint, fingerprint_of_many};

use crate::model::{Continuation, Metadata, ROW_KEY, TableName};
use std::borrow::Cow;

/// One page request of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct RowQuery {
    /// The table to read.
    pub table: TableName,
    /// Which keys to read.
    pub keys: KeyRange,
    /// The only rows that the reader may see; `None` for all. They are not asked for, so they do not count among the
    /// comparisons of the query; a store over HTTP sends them as a part of its filter.
    pub limits: Option<Box<KeyLimits>>,
    /// A condition on properties, evaluated by the store on every row it scans.
    pub filter: Option<Filter>,
    /// The properties to return; `None` returns all.
    pub select: Option<Vec<Cow<'static, str>>>,
    /// The most rows of one page, 1 to 1000; with `None` the store decides.
    pub top: Option<u16>,
    /// Where an earlier page ended; `None` for the first page.
    pub continuation: Option<Continuation>,
    /// How much the rows say about their properties' types.
    pub metadata: Metadata,
    /// Whether the caller paces itself by the 503s of the service, as a scan does:
    /// [layers](crate::layer) hand it throttling at once, and hold none of its requests back.
    pub self_paced: bool,
    /// What the read is for.
    pub mark: ReadMark,
}

impl RowQuery {
    /// A query of all rows of the table in those keys, for a reader that knows the types.
    #[must_use]
    pub const fn new(table: TableName, keys: KeyRange) -> Self {
        Self {
            table,
            keys,
            limits: None,
            filter: None,
            select: None,
            top: None,
            continuation: None,
            metadata: Metadata::None,
            self_paced: false,
            mark: ReadMark::NONE,
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

    /// The same query, which also reads the rows of another range of RowKeys, with the same requests.
    #[must_use]
    pub(crate) fn with_rows(mut self, other: Span) -> Self {
        let either = self.keys.row.filter(ROW_KEY).zip(other.filter(ROW_KEY));
        self.keys.row = self.keys.row.hull(other);
        match either {
            Some((own, other)) => self.and(own.or(other)),
            None => self,
        }
    }

    /// The `$filter` expression; `None` for a query of every row.
    #[must_use]
    pub fn filter_text(&self) -> Option<String> {
        Some(self.whole_filter()?.to_string())
    }

    /// The same with `?` for each value, for logs and reports.
    #[must_use]
    pub fn filter_without_values(&self) -> Option<String> {
        Some(self.whole_filter()?.without_values())
    }

    fn whole_filter(&self) -> Option<Filter> {
        let limits = self.limits.as_ref().and_then(|limits| limits.filter());
        let parts = [limits, self.keys.filter(), self.filter.clone()];
        parts.into_iter().flatten().reduce(Filter::and)
    }

    /// The number of comparisons that the query asks for, in its keys and its filter.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        let count = |filter: Option<&Filter>| filter.map_or(0, Filter::comparisons);
        count(self.keys.filter().as_ref()) + count(self.filter.as_ref())
    }
}
