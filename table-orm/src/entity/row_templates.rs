//! The kinds of rows that an entity type is stored in.

use crate::entity::{GuardTemplate, Row, RowTemplate, TableEntity};
use crate::query::Span;

/// The place of the canonical row among them.
pub(crate) const fn canonical<E: TableEntity>() -> usize {
    <E::Canonical as Row>::INDEX
}

/// Every kind of row, in the order of [`EntityRow::index`](crate::entity::EntityRow::index).
fn templates<E: TableEntity>() -> impl Iterator<Item = RowTemplate> {
    E::ROWS.iter().copied().chain(E::GUARDS.iter().map(GuardTemplate::row))
}

/// The kind of row that a RowKey is of: its place and its name. `None` for a row of another type in
/// the same partition.
pub(crate) fn template_of<E: TableEntity>(row_key: &str) -> Option<(usize, &'static str)> {
    templates::<E>()
        .enumerate()
        .filter(|(_, template)| template.takes(row_key))
        .max_by_key(|(_, template)| template.start.len())
        .map(|(index, template)| (index, template.name))
}

/// The name of a kind of row.
pub(crate) fn name_of<E: TableEntity>(index: usize) -> &'static str {
    templates::<E>().nth(index).map_or("", |template| template.name)
}

/// The smallest range of RowKeys that holds every row of the entity type.
pub(crate) fn rows_of<E: TableEntity>() -> Span {
    templates::<E>().map(|template| template.span()).reduce(Span::hull).unwrap_or(Span::All)
}
