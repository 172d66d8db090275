//! Collections whose elements each have an index row: `each(label in labels)`.
//!
//! Invariant: an entity whose rows no transaction can write is an error before anything is sent.

use super::TableEntity;
use super::template::template_at;
use crate::model::{MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A collection whose elements index rows are written for. The order of its elements is its own.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no elements that index rows can be written for",
    label = "not a `Vec`, a `BTreeSet` or an array"
)]
pub trait Elements {
    /// What it holds.
    type Element;

    /// The element at an index; `None` after the last one.
    fn element(&self, at: usize) -> Option<&Self::Element>;
}

impl<T> Elements for Vec<T> {
    type Element = T;

    fn element(&self, at: usize) -> Option<&T> {
        self.get(at)
    }
}

impl<T, const N: usize> Elements for [T; N] {
    type Element = T;

    fn element(&self, at: usize) -> Option<&T> {
        self.get(at)
    }
}

impl<T> Elements for BTreeSet<T> {
    type Element = T;

    fn element(&self, at: usize) -> Option<&T> {
        self.iter().nth(at)
    }
}

impl<C: Elements> Elements for Option<C> {
    type Element = C::Element;

    fn element(&self, at: usize) -> Option<&C::Element> {
        self.as_ref()?.element(at)
    }
}

/// A collection with more elements than one transaction can write rows for. Nothing was sent.
///
/// All rows of an entity are written by one transaction, which has at most 100 operations and 4 MiB.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "field `{field}` of `{entity}` has too many elements for row `{row}`: {excess}; nothing was sent: {}",
    excess.help()
)]
#[non_exhaustive]
pub struct TooManyElements {
    /// The entity's type name.
    pub entity: &'static str,
    /// The field with the elements.
    pub field: &'static str,
    /// The row that is written for each of them, such as `by_label`.
    pub row: &'static str,
    /// What is over the limit.
    pub excess: Excess,
}

/// What a transaction would have too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Excess {
    /// The entity has more than 100 rows.
    #[error(
        "the entity has more than the {MAX_TRANSACTION_OPERATIONS} rows that a transaction writes"
    )]
    Rows,
    /// A change of the entity adds, removes and replaces more than 100 rows.
    #[error(
        "the change takes {0} operations, and a transaction has at most {MAX_TRANSACTION_OPERATIONS}"
    )]
    Operations(usize),
    /// The rows of the entity have more than 4 MiB.
    #[error("the transaction has {0} bytes, and the service takes {MAX_TRANSACTION_BYTES}")]
    Bytes(usize),
}

impl Excess {
    const fn help(self) -> &'static str {
        match self {
            Self::Rows => "remove elements, or store them as entities of their own",
            Self::Operations(_) => "add and remove the elements in several saves",
            Self::Bytes(_) => "remove elements, or store less in each row with `include(..)`",
        }
    }
}

/// Whether the type has rows for the elements of a field.
pub(crate) const fn has_element_rows<E: TableEntity>() -> bool {
    let mut index = 0;
    while index < E::ROWS.len() {
        if E::ROWS[index].each.is_some() {
            return true;
        }
        index += 1;
    }
    false
}

/// The error of a transaction that has too much of something, where rows for elements are among its
/// rows.
pub(crate) fn too_many_elements<E: TableEntity>(
    indices: impl Iterator<Item = usize> + Clone,
    excess: Excess,
) -> Option<TooManyElements> {
    let template = template_at::<E>(most_elements::<E>(indices)?)?;
    Some(TooManyElements { entity: E::NAME, field: template.each?, row: template.name, excess })
}

/// The index of the template with the most of these rows, among those for elements.
pub(super) fn most_elements<E: TableEntity>(
    indices: impl Iterator<Item = usize> + Clone,
) -> Option<usize> {
    let is_each = |index: &usize| template_at::<E>(*index).is_some_and(|row| row.each.is_some());
    let count = |index| indices.clone().filter(|own| *own == index).count();
    indices.clone().filter(is_each).min_by_key(|index| Reverse(count(*index)))
}
