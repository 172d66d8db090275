//! Projections whose texts are slices of the page that they are read from.
//!
//! Invariant: a row that borrows is used before its page is dropped, so only what a function makes of it
//! is returned.

use super::own_rows::OwnRows;
use super::read::{PageRows, read_page_by};
use crate::codec::Members;
use crate::entity::Row;
use crate::property::{PropertyError, RowFault};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A projection that borrows its texts from the row that it is read from, for the lifetime `'a`:
/// `#[derive(Projection)]` with `#[projection(.., borrow)]`.
pub trait BorrowedRow<'a>: Sized {
    /// The name for error messages.
    const NAME: &'static str;
    /// The properties to ask the store for.
    const SELECT: Option<&'static [&'static str]>;

    /// The properties to ask the store for: [`SELECT`](Self::SELECT), and those whose names no constant
    /// holds.
    #[must_use]
    fn select() -> Option<Vec<Cow<'static, str>>> {
        Self::SELECT.map(|names| names.iter().copied().map(Cow::Borrowed).collect())
    }

    /// Reads the row that was written from the entity's key template `row`.
    ///
    /// # Errors
    /// When a property is missing or is not a value of its field's type.
    fn read_row(row: usize, members: Members<'_, 'a>) -> Result<Self, RowFault>;
}

/// A projection that borrows its texts, and can be read from rows of kind `R`: they store all of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from rows of `{R}` by `map`",
    label = "borrows no text of these rows",
    note = "derive it: `#[derive(Projection)]` with `#[projection(of = Entity, borrow)]` on a struct with \
            one lifetime, `Cow<'_, str>` for its texts, and only fields that the row stores or that its \
            keys give back"
)]
pub trait BorrowedFrom<R: Row>: BorrowedRow<'static> {
    /// The same projection of a row that lives for `'a`.
    type Of<'a>: BorrowedRow<'a>;
}

/// Reads the rows of a page, and keeps what a function makes of each.
pub(crate) struct MapRows<U>(Arc<MapPage<U>>);

type MapPage<U> = dyn Fn(&OwnRows, &[u8]) -> Result<PageRows<U>, PropertyError> + Send + Sync;

impl<U> MapRows<U> {
    /// Reads each own row as a `P`.
    pub fn new<R: Row, P: BorrowedFrom<R>>(
        map: impl Fn(P::Of<'_>) -> U + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |own: &OwnRows, body: &[u8]| {
            let keep = |row, page: &mut PageRows<U>| page.rows.push(map(row));
            read_page_by(P::NAME, own, body, P::Of::read_row, keep)
        }))
    }

    pub fn read(&self, own: &OwnRows, body: &[u8]) -> Result<PageRows<U>, PropertyError> {
        (self.0)(own, body)
    }
}

impl<U> Clone for MapRows<U> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<U> fmt::Debug for MapRows<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MapRows")
    }
}

/// A text of a projection that borrows. The derive calls it.
#[doc(hidden)]
pub trait BorrowedText<'a>: Sized {
    /// The entity's type of the same text.
    type Owned;

    fn borrowed(text: Cow<'a, str>) -> Self;

    fn owned(text: Self::Owned) -> Self;

    /// Reads the text of `property`; `null` leaves the slot empty.
    ///
    /// # Errors
    /// When it is not a text.
    fn take(
        slot: &mut Option<Self>,
        members: &mut Members<'_, 'a>,
        property: &str,
    ) -> Result<(), RowFault> {
        *slot = members.read_text(property)?.map(Self::borrowed);
        Ok(())
    }

    /// Fills an empty slot with the text in the keys.
    ///
    /// # Errors
    /// When they are not keys of the entity.
    fn fill(
        slot: &mut Option<Self>,
        fill: impl FnOnce(&mut Option<Self::Owned>) -> Result<(), RowFault>,
    ) -> Result<(), RowFault> {
        if slot.is_none() {
            let mut text = None;
            fill(&mut text)?;
            *slot = text.map(Self::owned);
        }
        Ok(())
    }
}

impl<'a> BorrowedText<'a> for Cow<'a, str> {
    type Owned = String;

    fn borrowed(text: Cow<'a, str>) -> Self {
        text
    }

    fn owned(text: String) -> Self {
        Cow::Owned(text)
    }
}

impl<'a> BorrowedText<'a> for Option<Cow<'a, str>> {
    type Owned = Option<String>;

    fn borrowed(text: Cow<'a, str>) -> Self {
        Some(text)
    }

    fn owned(text: Option<String>) -> Self {
        text.map(Cow::Owned)
    }
}
