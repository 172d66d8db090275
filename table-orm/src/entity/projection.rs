//! The fields that a projection reads: from a row's properties, or else from its keys.

use super::TableEntity;
use super::template::{eventual_at, template_at};
use crate::key::{KeyError, KeyFault, KeyReader, KeyTemplate, StoredKeys};
use crate::property::Series;

/// A field of entity `Self` that a projection may have, by the hash of its name and its type. The
/// derive writes the implementations.
#[doc(hidden)]
pub trait Field<const ID: u64, T>: Sized {
    /// The property that stores it; empty for a field that is stored only in keys.
    const PROPERTY: &'static str;

    /// Reads the field from the keys of a row that does not store it as a property; `None` where they
    /// do not hold it.
    const KEYS: FromKeys<Self, T> = |_| Ok(None);
}

/// Reads a field from the keys of a row.
#[doc(hidden)]
pub type FromKeys<E, T> = fn(&StoredKeys<'_, E>) -> Result<Option<T>, KeyError>;

/// The series of that field.
#[doc(hidden)]
pub trait SeriesOf<const ID: u64> {
    type Series: Series;
    const PROPERTY: &'static str;
}

/// The chunked value of that field.
#[doc(hidden)]
pub trait ChunksOf<const ID: u64> {
    type Chunks;
    const PROPERTY: &'static str;
}

/// Implemented where rows of kind `Self` store that field, or their keys hold it. The derive writes
/// the implementations.
#[doc(hidden)]
pub trait Stores<const ID: u64> {}

/// Reads a component, and the literal after it.
type ReadPart<C> = fn(&mut KeyReader<'_>, &'static str, &'static str) -> Result<C, KeyError>;

impl<E: TableEntity> StoredKeys<'_, E> {
    /// Reads the component `at` of the PartitionKey; `None` for a row in another partition.
    ///
    /// # Errors
    /// When the key was not written from the template.
    pub fn partition<T: From<C>, C>(
        &self,
        at: usize,
        read: ReadPart<C>,
    ) -> Result<Option<T>, KeyError> {
        match eventual_at::<E>(self.row) {
            Some(_) => Ok(None),
            None => component::<E, T, C>(&E::PARTITION_KEY, at, self.partition_key, read),
        }
    }

    /// Reads the component `at` of the RowKey; `None` for a row of another template than `row`.
    ///
    /// # Errors
    /// When the key was not written from the template.
    pub fn row<T: From<C>, C>(
        &self,
        row: usize,
        at: usize,
        read: ReadPart<C>,
    ) -> Result<Option<T>, KeyError> {
        match template_at::<E>(row).filter(|_| self.row == row) {
            Some(row) => component::<E, T, C>(&row.template(), at, self.row_key, read),
            None => Ok(None),
        }
    }

    /// Reads the component `at` of the PartitionKey of a row in another partition; `None` for a row of
    /// another template than `row`.
    ///
    /// # Errors
    /// When the key was not written from the template.
    pub fn eventual<T: From<C>, C>(
        &self,
        row: usize,
        at: usize,
        read: ReadPart<C>,
    ) -> Result<Option<T>, KeyError> {
        match eventual_at::<E>(row).filter(|_| self.row == row) {
            Some(row) => component::<E, T, C>(&row.partition_key, at, self.partition_key, read),
            None => Ok(None),
        }
    }
}

fn component<E: TableEntity, T: From<C>, C>(
    template: &KeyTemplate<'_>,
    at: usize,
    key: &str,
    read: ReadPart<C>,
) -> Result<Option<T>, KeyError> {
    let Some((part, rest)) = template.component(at, key) else {
        let (value, fault) = (key.to_owned(), KeyFault::Malformed);
        return Err(KeyError { entity: E::NAME, component: "", value, fault });
    };
    let mut reader = KeyReader::new(E::NAME, E::ESCAPE, rest);
    read(&mut reader, part.name, part.separator).map(|value| Some(value.into()))
}

/// A trait of a projection's field: of the entities that have the field, the entities that have the
/// series, or the rows that hold it. Its name and its messages name the field.
#[doc(hidden)]
#[macro_export]
macro_rules! __projected {
    (field $has:ident, $id:tt, $message:tt) => {
        #[diagnostic::on_unimplemented(
            message = $message,
            label = "not a stored field of `{Self}`",
            note = "name and type it as the entity does; a field with `json`, `chunked` or `series` has that in \
                    `#[projection(..)]`, too, or `slots(a..b)` for some of a series; skipped fields, ETags, \
                    timestamps and flattened groups cannot be projected"
        )]
        #[allow(non_camel_case_types)]
        trait $has<T> {
            const PROPERTY: &'static $crate::__private::str;
            fn fill_from_keys(
                m: &$crate::__private::Members<'_, '_>,
                row: $crate::__private::usize,
                slot: &mut $crate::__private::Option<T>,
            ) -> $crate::__private::Read;
        }
        #[diagnostic::do_not_recommend]
        impl<E: $crate::__private::Field<$id, T>, T> $has<T> for E {
            const PROPERTY: &'static $crate::__private::str =
                <E as $crate::__private::Field<$id, T>>::PROPERTY;
            fn fill_from_keys(
                m: &$crate::__private::Members<'_, '_>,
                row: $crate::__private::usize,
                slot: &mut $crate::__private::Option<T>,
            ) -> $crate::__private::Read {
                m.fill_from_keys(row, slot, <E as $crate::__private::Field<$id, T>>::KEYS)
            }
        }
    };
    (series $has:ident, $message:tt, [$($bounds:tt)*], $series:expr) => {
        #[diagnostic::on_unimplemented(
            message = $message,
            label = "not such a series of `{Self}`",
            note = "name it as the entity does; `#[projection(series)]` has the entity's type, and \
                    `#[projection(slots(a..b))]` is `[Option<T>; N]`"
        )]
        #[allow(non_camel_case_types)]
        trait $has<T> {
            const SERIES: $crate::__private::ProjectedSeries;
        }
        #[diagnostic::do_not_recommend]
        impl<$($bounds)*> $has<T> for E {
            const SERIES: $crate::__private::ProjectedSeries = $series;
        }
    };
    (chunked $has:ident, $id:tt, $message:tt) => {
        #[diagnostic::on_unimplemented(
            message = $message,
            label = "not such a chunked field of `{Self}`",
            note = "name and type it as the entity does; json is `#[projection(json, chunked)]`"
        )]
        #[allow(non_camel_case_types)]
        trait $has<T> {
            const SERIES: $crate::__private::ProjectedSeries;
        }
        #[diagnostic::do_not_recommend]
        impl<E: $crate::__private::ChunksOf<$id, Chunks = T>, T> $has<T> for E {
            const SERIES: $crate::__private::ProjectedSeries =
                $crate::__private::ProjectedSeries::chunked(
                    <E as $crate::__private::ChunksOf<$id>>::PROPERTY,
                );
        }
    };
    (rows $stores:ident, $id:tt, $message:tt, $label:tt, $help:tt) => {
        #[diagnostic::on_unimplemented(message = $message, label = $label, note = $help)]
        #[allow(non_camel_case_types)]
        trait $stores {}
        #[diagnostic::do_not_recommend]
        impl<R: $crate::__private::Stores<$id>> $stores for R {}
    };
}
