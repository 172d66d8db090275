//! Queries as types: which entity and row they read, and their class.

use super::template::template_at;
use super::{FromRow, TableEntity};
use crate::key::KeyError;
use crate::query::class::{self, Class};
use crate::query::{Below, KeyRange, RowRange, Span};

/// One kind of row of an entity: what a `#[row(..)]` attribute declares.
pub trait Row {
    /// The entity stored in it.
    type Entity: TableEntity;
    /// The properties it stores, to be named in a filter.
    type Columns;
    /// Its index among the entity's rows.
    const INDEX: usize;

    /// The properties it stores.
    const COLUMNS: Self::Columns;
}

/// A row of entity `E`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a row of `{E}`",
    label = "a query of another entity",
    note = "start from `{E}::partition(..)`, or ask a `Repo` of the other entity"
)]
pub trait RowOf<E: TableEntity>: Row<Entity = E> {}

#[diagnostic::do_not_recommend]
impl<E: TableEntity, R: Row<Entity = E>> RowOf<E> for R {}

/// A query of rows that store whole entities of type `E`.
// The bound is on the query: one on the entity would be decided before the query is known.
pub trait WholeRows<E: TableEntity>: Query<Row: RowOf<E>> {}

impl<E: TableEntity + FromRow<Q::Row>, Q: Query<Row: RowOf<E>>> WholeRows<E> for Q {}

/// A query of one entity's rows, built from left to right.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query",
    label = "not a query",
    note = "start from the entity's partition: `Entity::partition(..)`, then name a row and its \
            components from left to right"
)]
pub trait Query {
    /// The row it reads.
    type Row: Row;
    /// The query's class, which decides its cost.
    type Class: Class;

    /// The keys it reads.
    ///
    /// # Errors
    /// When a key cannot hold one of the values: the first such error.
    fn into_keys(self) -> Result<KeyRange, KeyError>;
}

#[diagnostic::do_not_recommend]
impl<Q: Query + Clone> Query for &Q {
    type Row = Q::Row;
    type Class = Q::Class;

    fn into_keys(self) -> Result<KeyRange, KeyError> {
        self.clone().into_keys()
    }
}

/// A query that names one row by its complete key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a complete key",
    label = "not a complete key",
    note = "a point query gives every component of one row: after `Needs<x>`, call `.x(..)`; many \
            rows are read by `list` or `load`"
)]
pub trait CompleteKey: Query {}

// An error about the class would not say which component is needed.
#[diagnostic::do_not_recommend]
impl<Q: Query<Class = class::Point>> CompleteKey for Q {}

/// A query of a whole partition.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a whole partition",
    label = "not a partition",
    note = "pass the partition itself: `Entity::partition(..)`"
)]
pub trait WholePartition: Query {}

#[diagnostic::do_not_recommend]
impl<Q: Query<Class = class::Partition>> WholePartition for Q {}

/// What a union reads: a whole partition, or a row and those below it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a union reads",
    label = "not a partition, and not a row with those below it",
    note = "pass the partition itself: `Entity::partition(..)`; or a complete key of a canonical row, \
            with the rows below it: `.and_below()`"
)]
pub trait UnionScope: Query<Class: class::Scope> {}

#[diagnostic::do_not_recommend]
impl<Q: Query<Class: class::Scope>> UnionScope for Q {}

/// A key of the canonical row of entity `E`, which names one entity.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of the canonical row of `{E}`",
    label = "a key of another row",
    note = "the canonical row is the first `#[row(..)]`, or the one marked `canonical`; through \
            another row, `load` the entity and `save` it"
)]
pub trait CanonicalKeyOf<E: TableEntity>: Query {}

#[diagnostic::do_not_recommend]
impl<E: TableEntity, Q: Query<Row = E::Canonical>> CanonicalKeyOf<E> for Q {}

#[diagnostic::do_not_recommend]
impl<R: Row> Query for RowRange<R> {
    type Row = R;
    type Class = class::RowRange;

    fn into_keys(self) -> Result<KeyRange, KeyError> {
        self.keys
    }
}

#[diagnostic::do_not_recommend]
impl<R: Row> Query for Below<R> {
    type Row = R;
    type Class = class::Below;

    fn into_keys(self) -> Result<KeyRange, KeyError> {
        self.keys
    }
}

/// The index of the canonical row among the rows of an entity type.
pub(crate) const fn canonical<E: TableEntity>() -> usize {
    <E::Canonical as Row>::INDEX
}

/// Whether a RowKey can be that of a canonical row of `E`.
pub(crate) fn is_canonical_key<E: TableEntity>(row_key: &str) -> bool {
    let template = template_at::<E>(canonical::<E>());
    template.is_some_and(|template| template.takes(row_key, E::ESCAPE))
}

/// The canonical rows of `E`, in any partition.
pub(crate) fn canonical_rows<E: TableEntity>() -> Span {
    row_span::<E::Canonical>()
}

/// The rows of kind `R`, in any partition.
pub(crate) fn row_span<R: Row>() -> Span {
    template_at::<R::Entity>(R::INDEX).map_or(Span::All, |template| template.span())
}

/// The keys of a query. For a row whose keys start with digits, they leave out keys that start with
/// another character: the partition may hold rows of other types.
pub(crate) fn keys_of<Q: Query>(query: Q) -> Result<KeyRange, KeyError> {
    let KeyRange { partition, row } = query.into_keys()?;
    Ok(KeyRange { partition, row: row.bounded_by(&row_span::<Q::Row>()) })
}
