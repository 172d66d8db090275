//! Queries as types: which entity and row they read, and what that costs.

use super::class::{self, Class};
use super::{KeyRange, Span};
use crate::entity::TableEntity;
use crate::key::{KeyError, RowKey};
use std::marker::PhantomData;

/// One kind of row of an entity: what a `#[row(..)]` attribute declares.
pub trait Row {
    /// The entity stored in it.
    type Entity: TableEntity;
    /// The properties it stores, to be named in a filter.
    type Columns;
    /// Its place among the entity's rows.
    const INDEX: usize;

    /// The properties it stores.
    const COLUMNS: Self::Columns;
}

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
    /// What it costs.
    type Class: Class;

    /// The keys it reads.
    ///
    /// # Errors
    /// The first value given that a key cannot hold.
    fn into_keys(self) -> Result<KeyRange, KeyError>;
}

impl<Q: Query + Clone> Query for &Q {
    type Row = Q::Row;
    type Class = Q::Class;

    fn into_keys(self) -> Result<KeyRange, KeyError> {
        self.clone().into_keys()
    }
}

/// A query that names one row by its complete key.
pub trait CompleteKey: Query {}

impl<Q: Query<Class: class::IsPoint>> CompleteKey for Q {}

/// The state of a row's key of which the first `N` components are given.
#[derive(Debug, Clone, Copy)]
pub enum Given<const N: usize> {}

/// The state of a row's key of which every component is given.
#[derive(Debug, Clone, Copy)]
pub enum Complete {}

/// The state of a row's key of which nothing is given, and that starts with no literal either.
#[derive(Debug, Clone, Copy)]
pub enum Open {}

/// What is given of a row's key, and so what a query with it costs.
pub trait KeyState: Sized {
    /// The query's class.
    type Class: Class;

    /// The keys it reads.
    ///
    /// # Errors
    /// The first value given that a key cannot hold.
    fn keys(key: RowKey<Self>) -> Result<KeyRange, KeyError>;
}

impl<const N: usize> KeyState for Given<N> {
    type Class = class::RowRange;

    fn keys(key: RowKey<Self>) -> Result<KeyRange, KeyError> {
        key.into_builder().prefix()
    }
}

impl KeyState for Open {
    type Class = class::Partition;

    fn keys(key: RowKey<Self>) -> Result<KeyRange, KeyError> {
        key.into_builder().prefix()
    }
}

impl KeyState for Complete {
    type Class = class::Point;

    fn keys(key: RowKey<Self>) -> Result<KeyRange, KeyError> {
        key.into_builder().exact()
    }
}

/// The rows of one kind in one partition whose keys lie in a range. Nothing can follow a range.
#[derive(Debug, Clone)]
pub struct RowRange<R> {
    keys: Result<KeyRange, KeyError>,
    row: PhantomData<R>,
}

impl<R> RowRange<R> {
    /// The rows in those keys.
    #[must_use]
    pub const fn new(keys: Result<KeyRange, KeyError>) -> Self {
        Self { keys, row: PhantomData }
    }
}

impl<R: Row> Query for RowRange<R> {
    type Row = R;
    type Class = class::RowRange;

    fn into_keys(self) -> Result<KeyRange, KeyError> {
        self.keys
    }
}

/// The canonical rows of `E`, in any partition.
pub(crate) fn canonical_rows<E: TableEntity>() -> Span {
    Span::prefix(E::ROWS[<E::Canonical as Row>::INDEX].start)
}

/// A property of entity `Self`, by the hash of its field's name and its type; written by the derive.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` stores no field of this name as `{T}`",
    label = "not a stored field of `{Self}`",
    note = "a projection's fields are named and typed as the entity's; `key_only` and skipped \
            fields, series and flattened groups cannot be projected"
)]
pub trait Field<const ID: u64, T> {
    const PROPERTY: &'static str;
}

/// Whether rows of kind `Self` store that field; written by the derive.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "rows of `{Self}` do not store every field of this projection",
    label = "a field of the projection is not stored in these rows",
    note = "read another row, or add the field to the row's `include`"
)]
pub trait Stores<const ID: u64> {}
