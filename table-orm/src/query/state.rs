//! Which components of a row's key are given, as a type. The type decides the query's class.

use super::class::{self, Class};
use super::{KeyRange, typed_key::RowKey};
use crate::key::KeyError;
use std::fmt;
use std::marker::PhantomData;

/// The state of a row's key whose next component is `C`.
pub struct Needs<C>(PhantomData<C>);

/// The state of a row's key with every component given.
#[derive(Debug, Clone, Copy)]
pub enum Complete {}

/// The state of a row's key that is still empty: it starts with no literal, and its first component
/// is `C`.
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

/// Which components of a row's key are given.
pub trait KeyState: Sized {
    /// The query's class.
    type Class: Class;

    /// The keys it reads.
    ///
    /// # Errors
    /// When a key cannot hold one of the values: the first such error.
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
