//! What is given of a row's key, as a type, and so what a query with it costs.

use super::class::{self, Class};
use super::{KeyRange, RowKey};
use crate::key::KeyError;
use std::fmt;
use std::marker::PhantomData;

/// The state of a row's key of which component `C` is to be given next.
pub struct Needs<C>(PhantomData<C>);

/// The state of a row's key of which every component is given.
#[derive(Debug, Clone, Copy)]
pub enum Complete {}

/// The state of a row's key of which nothing is given, and that starts with no literal either.
/// Component `C` is to be given first.
pub struct Open<C>(PhantomData<C>);

macro_rules! states {
    ($($name:ident),*) => {$(
        impl<C> Clone for $name<C> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<C> Copy for $name<C> {}

        impl<C> fmt::Debug for $name<C> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )*};
}

states!(Needs, Open);

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

impl<C> KeyState for Needs<C> {
    type Class = class::RowRange;

    fn keys(key: RowKey<Self>) -> Result<KeyRange, KeyError> {
        key.into_builder().prefix()
    }
}

impl<C> KeyState for Open<C> {
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
    pub(crate) keys: Result<KeyRange, KeyError>,
    row: PhantomData<R>,
}

impl<R> RowRange<R> {
    /// The rows in those keys.
    #[must_use]
    pub const fn new(keys: Result<KeyRange, KeyError>) -> Self {
        Self { keys, row: PhantomData }
    }
}
