//! Pages that are empty or short although more rows follow.

use crate::model::{Continuation, MAX_PAGE_ROWS};
use crate::query::RowQuery;
use crate::store::Page;
use crate::sync::Random;
use bytes::Bytes;
use std::time::Duration;

/// How long the service looks for the rows of one page (service documentation, "Query timeout and
/// pagination").
pub(super) const QUERY_TIME: Duration = Duration::from_secs(5);

/// The continuation of an empty first page, before the store has returned one.
const START: &str = "!start";

/// The query for the store below; `short` chooses a smaller page.
pub(super) fn ask(query: &RowQuery, short: Option<&Random>) -> RowQuery {
    let mut query = query.clone();
    if query.continuation == Some(start()) {
        query.continuation = None;
    }
    if let Some(random) = short {
        let top = query.top.unwrap_or(MAX_PAGE_ROWS);
        // Mostly a few rows, so that small tables have short pages too.
        let most = if random.below(4) == 0 { top } else { top.min(5) };
        query.top = u16::try_from(1 + random.below(most.into())).ok().map(|rows| rows.min(top));
    }
    query
}

/// A page without rows, followed by the page that was asked for.
pub(super) fn empty(query: &RowQuery) -> Page {
    let continuation = query.continuation.clone().unwrap_or_else(start);
    let body = Bytes::from_static(br#"{"value":[]}"#);
    Page { body, continuation: Some(continuation), scanned: Some(0) }
}

fn start() -> Continuation {
    Continuation { next_partition_key: Some(START.to_owned()), next_row_key: None }
}
