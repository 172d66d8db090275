//! A loaded entity that a transaction requires unchanged.

use crate::entity::{Loaded, TableEntity};
use crate::model::ETag;

/// A reference to a loaded entity: what `require` takes.
///
/// `&mut` takes over the new version when the transaction is committed; `&` keeps the old one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reference to a loaded entity",
    label = "not loaded",
    note = "`require` takes `&` or `&mut` of a result of `load`"
)]
pub trait Required<E> {
    /// The loaded entity.
    fn entity(&self) -> &Loaded<E>;
    /// Takes over the new version.
    fn take_version(&mut self, etag: ETag);
}

#[diagnostic::do_not_recommend]
impl<E> Required<E> for &Loaded<E> {
    fn entity(&self) -> &Loaded<E> {
        self
    }

    fn take_version(&mut self, _: ETag) {}
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Required<E> for &mut Loaded<E> {
    fn entity(&self) -> &Loaded<E> {
        self
    }

    fn take_version(&mut self, etag: ETag) {
        let stored = self.stored().clone();
        self.written(stored, etag);
    }
}
