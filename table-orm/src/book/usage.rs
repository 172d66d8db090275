//! Which rows the queries of a pattern read.

use super::pattern::Pattern;
use crate::plan::Step;
use crate::query::RowQuery;

/// The queries of a pattern.
pub(super) fn queries(pattern: &Pattern) -> impl Iterator<Item = &RowQuery> {
    pattern.plan.steps.iter().filter_map(|step| match step {
        Step::Read { query, .. } => Some(query),
        _ => None,
    })
}

/// Whether a query reads that kind of row. A scan of the table reads all kinds; it needs none of them.
pub(super) fn reads(query: &RowQuery, table: &str, row: &str, canonical: bool) -> bool {
    query.table.as_str().eq_ignore_ascii_case(table)
        && match query.mark.row {
            Some(name) => name == row,
            None => canonical,
        }
}
