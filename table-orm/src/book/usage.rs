//! Which rows the queries of a pattern read.

use super::pattern::Pattern;
use crate::entity::RowSchema;
use crate::plan::Step;
use crate::query::RowQuery;

/// The queries of a pattern.
pub(super) fn queries(pattern: &Pattern) -> impl Iterator<Item = &RowQuery> {
    pattern.plan.steps.iter().filter_map(|step| match step {
        Step::Read { query, .. } => Some(query),
        _ => None,
    })
}

/// Whether a query reads that kind of row of a type. A scan of the table reads all kinds; it needs none of them.
pub(super) fn reads(query: &RowQuery, entity: &str, row: &RowSchema) -> bool {
    query.table.as_str().eq_ignore_ascii_case(row.table)
        && query.mark.entity.is_none_or(|name| name == entity)
        && query.mark.row.map_or(row.canonical, |name| name == row.name)
}
