//! Types whose stored keys change.

use crate::entity::TableEntity;

/// An entity type whose entities are stored under the keys of another type, its old form, and move to its own:
/// `#[table(migrate_from = Old)]`.
///
/// The conversions are yours, in both directions. They keep every field of the old key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say from which type it migrates",
    label = "has one form only",
    note = "write `#[table(.., migrate_from = Old)]`, or use `Tables::repo`"
)]
pub trait Migrates: TableEntity + Clone + From<Self::Old> + 'static {
    /// The old form, as it was derived when its entities were stored.
    type Old: TableEntity + From<Self> + 'static;
}
