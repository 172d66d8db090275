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

/// What the continuation of an empty page begins with, once for each empty page in a row: a reader may
/// rely on a page not continuing where it began.
const EMPTY: &str = "!empty";

/// The query for the store below; `short` chooses a smaller page.
pub(super) fn ask(query: &RowQuery, short: Option<&Random>) -> RowQuery {
    let mut query = query.clone();
    query.continuation = query.continuation.and_then(of_store);
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
    let Continuation { next_partition_key, next_row_key } =
        query.continuation.clone().unwrap_or_default();
    let marked = format!("{EMPTY}{}", next_partition_key.unwrap_or_default());
    let continuation = Continuation { next_partition_key: Some(marked), next_row_key };
    let body = Bytes::from_static(br#"{"value":[]}"#);
    Page { body, continuation: Some(continuation), scanned: Some(0) }
}

/// The continuation that the store returned; `None` before its first page.
fn of_store(continuation: Continuation) -> Option<Continuation> {
    let Continuation { next_partition_key: Some(text), next_row_key } = &continuation else {
        return Some(continuation);
    };
    let own = text.trim_start_matches(EMPTY);
    if own.len() == text.len() {
        return Some(continuation);
    }
    let next_partition_key = (!own.is_empty()).then(|| own.to_owned());
    let is_start = next_partition_key.is_none() && next_row_key.is_none();
    let next_row_key = next_row_key.clone();
    (!is_start).then_some(Continuation { next_partition_key, next_row_key })
}
