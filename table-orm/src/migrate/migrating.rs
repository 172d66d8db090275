//! The client of entities whose stored keys change.

use super::migrates::Migrates;
use super::stored_form::StoredForm;
use crate::error::Result;
use crate::repo::Repo;
use std::fmt;

/// The entities of a type whose stored keys change: [`Tables::migrating`](crate::Tables::migrating).
///
/// Each entity is stored in its old form or in the new one, and every call finds it in either. Clients that insert
/// the old form and clients that insert the new one may run at once, with any number of movers. A move neither
/// loses nor doubles an entity, nor brings a deleted one back, whatever stops, waits or comes late. The guide's
/// page on [migrating](crate::guide::run::migrating) says what to deploy in which order.
///
/// It lacks some calls of [`Repo`], such as projections. `Tables::repo` of the type compiles once the migration has
/// ended.
pub struct Migrating<E: Migrates> {
    pub(crate) new: Repo<E>,
    pub(super) old: Repo<E::Old>,
    pub(super) form: StoredForm,
}

impl<E: Migrates> Clone for Migrating<E> {
    fn clone(&self) -> Self {
        Self { new: self.new.clone(), old: self.old.clone(), form: self.form }
    }
}

impl<E: Migrates> fmt::Debug for Migrating<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrating")
            .field("table", self.new.table())
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

impl<E: Migrates> Migrating<E> {
    /// The same client, which inserts that form. [`StoredForm::New`] unless set.
    #[must_use]
    pub fn inserting(self, form: StoredForm) -> Self {
        Self { form, ..self }
    }

    /// Creates the table of the new form unless it exists: one request. Returns whether it was created.
    ///
    /// # Errors
    /// When the store cannot be reached, or is still deleting a table of that name.
    pub async fn create_table_if_not_exists(&self) -> Result<bool> {
        self.new.create_table_if_not_exists().await
    }
}
