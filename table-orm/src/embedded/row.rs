//! One stored row, of either database, and what is read from it.

use super::members::RowMembers;
use super::packed::PackedRow;
use super::selection::Selection;
use super::{filter_eval, stored};
use crate::model::ETag;
use crate::query::Filter;
use crate::store::StoreError;
use redb::AccessGuard;
use std::borrow::Cow;
use std::ops::Deref;

/// The key of a row.
pub(crate) enum RowKey<'r> {
    File(AccessGuard<'r, &'static [u8]>),
    Memory(&'r [u8]),
}

impl Deref for RowKey<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::File(key) => key.value(),
            Self::Memory(key) => key,
        }
    }
}

/// One stored row.
pub(crate) enum Row<'r> {
    /// The JSON object itself.
    File(AccessGuard<'r, &'static [u8]>),
    Memory(&'r PackedRow),
}

impl<'r> Row<'r> {
    /// Returns the row's version.
    pub(crate) fn etag(&self) -> Result<ETag, StoreError> {
        match self {
            Self::File(row) => stored::etag(row.value()),
            Self::Memory(row) => Ok(row.etag()),
        }
    }

    /// Returns the row's JSON object.
    pub(crate) fn text(&self) -> Result<Cow<'_, str>, StoreError> {
        match self {
            Self::File(row) => stored::text(row.value()).map(Cow::Borrowed),
            Self::Memory(row) => {
                let mut text = Vec::new();
                row.append_to(&mut text);
                String::from_utf8(text).map(Cow::Owned).map_err(stored::corrupt)
            }
        }
    }

    /// Appends the row's JSON object, or that of its selected members.
    pub(crate) fn append_to(
        &self,
        selection: Option<&mut Selection<'_, 'r, impl AsRef<str>>>,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        match (self, selection) {
            (Self::File(row), None) => out.extend_from_slice(row.value()),
            (Self::File(row), Some(selection)) => {
                selection.append_text(row.value(), out)?;
            }
            (Self::Memory(row), None) => row.append_to(out),
            (Self::Memory(row), Some(selection)) => selection.append_packed(row, out),
        }
        Ok(())
    }

    /// Returns whether the filter is true for the row.
    pub(crate) fn matches(&self, filter: &Filter) -> Result<bool, StoreError> {
        Ok(match self {
            Self::File(row) => {
                let members = RowMembers::read(stored::text(row.value())?);
                filter_eval::matches(filter, &members.map_err(stored::corrupt)?)
            }
            Self::Memory(row) => filter_eval::matches(filter, *row),
        })
    }
}
