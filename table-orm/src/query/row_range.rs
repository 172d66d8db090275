//! Queries of a range of the rows of one partition.

use super::key_range::KeyRange;
use crate::key::KeyError;
use std::marker::PhantomData;

/// A query of the rows of one kind in one partition whose keys lie in a range. No component can
/// follow a range.
#[derive(Debug, Clone)]
pub struct RowRange<R> {
    pub(crate) keys: Result<KeyRange, KeyError>,
    row: PhantomData<R>,
}

impl<R> RowRange<R> {
    /// A query of those keys, or the error of a value that a key cannot hold.
    #[must_use]
    pub const fn new(keys: Result<KeyRange, KeyError>) -> Self {
        Self { keys, row: PhantomData }
    }
}

/// A query of a row and of all rows of its partition whose keys continue its key, such as an issue and
/// its comments. A [union](crate::Tables::union) reads it.
#[derive(Debug, Clone)]
pub struct Below<R> {
    pub(crate) keys: Result<KeyRange, KeyError>,
    row: PhantomData<R>,
}

impl<R> Below<R> {
    /// A query of those keys, or the error of a value that a key cannot hold.
    #[must_use]
    pub const fn new(keys: Result<KeyRange, KeyError>) -> Self {
        Self { keys, row: PhantomData }
    }
}
