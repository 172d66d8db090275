//! Deletes a table whose type may have rows in other tables.

use super::Repo;
use crate::entity::{EventualTemplate, GuardTemplate, TableEntity};
use crate::error::{Error, Result, rejected};
use crate::model::TableName;
use crate::plan::blobs_of;
use crate::store::ErrorCode;
use futures_core::future::BoxFuture;
use std::collections::BTreeMap;

impl<E: TableEntity> Repo<E> {
    /// Deletes the table with all its rows, also those of other entity types: one request.
    ///
    /// An `eventual` row or a `unique(.., across)` with `table = ".."` has its rows in another table, which this
    /// leaves. For such a type it fails, unless [`leave_rows_in_other_tables`](DeleteTable::leave_rows_in_other_tables) is set.
    ///
    /// # Errors
    /// [`Error::TableNotFound`] when the table does not exist. [`Error::RowsInOtherTables`] when `E` has rows in other
    /// tables; nothing is deleted.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// notes.delete_table().await?;
    /// let ann = Note::partition("ann");
    /// assert!(matches!(notes.list(ann).collect().await, Err(Error::TableNotFound(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_table(&self) -> DeleteTable<E> {
        DeleteTable { repo: self.clone(), leaves_rows_in_other_tables: false, deletes_blobs: false }
    }
}

/// A deletion of a table: `.await` sends it.
#[must_use = "nothing is deleted until this is awaited"]
#[derive(Debug)]
pub struct DeleteTable<E> {
    repo: Repo<E>,
    leaves_rows_in_other_tables: bool,
    deletes_blobs: bool,
}

impl<E: TableEntity> DeleteTable<E> {
    /// Leaves the rows of the type in other tables. They then belong to no entity: queries return them, and a guard
    /// that is left blocks nobody from taking its value. Delete these tables too, or the rows by
    /// [`drop_eventual_row`](Repo::drop_eventual_row), called on a `Repo` of this table and of a declaration of the type
    /// without them.
    pub const fn leave_rows_in_other_tables(mut self) -> Self {
        self.leaves_rows_in_other_tables = true;
        self
    }

    /// Deletes the [blobs](crate::guide::run::large_values#in-blobs) of the table's large values, too, after the table:
    /// one request for each, and one for each 5,000 of them, which lists their names. The credential needs the
    /// permission to list. Without this, they stay, and the account pays for them.
    ///
    /// The container must have the values of no other table of that name. After an error, call it again before
    /// anybody creates a table of that name: it would delete the new one, too. If the table is gone, the call deletes
    /// the blobs and fails with [`Error::TableNotFound`]. A value that is uploaded meanwhile may leave its blob.
    pub const fn delete_blobs(mut self) -> Self {
        self.deletes_blobs = true;
        self
    }

    async fn run(self) -> Result<()> {
        let table = self.repo.table();
        let tables = other_tables::<E>(table);
        if !(self.leaves_rows_in_other_tables || tables.is_empty()) {
            let table = table.as_str().to_owned();
            return Err(Error::RowsInOtherTables { entity: E::NAME, table, tables });
        }
        let connection = &self.repo.client.connection;
        let blobs = match self.deletes_blobs {
            true => connection.blob_names(blobs_of(table), |_| true).await?,
            false => Vec::new(),
        };
        let deleted = connection.delete_table(table).await;
        let deleted = deleted.map_err(|cause| rejected(table.as_str(), cause));
        if !blobs.is_empty() && deleted.as_ref().err().is_none_or(is_gone) {
            connection.delete_blobs(blobs).await?;
        }
        deleted
    }
}

/// Whether the table is not there any more.
pub(crate) fn is_gone(error: &Error) -> bool {
    match error {
        Error::TableNotFound(_) => true,
        Error::Ambiguous(lost) => {
            let gone = [ErrorCode::RESOURCE_NOT_FOUND, ErrorCode::TABLE_NOT_FOUND];
            gone.contains(lost.cause.answer_code())
        }
        _ => false,
    }
}

/// The other tables that hold rows of entities of the table `home`.
pub(super) fn other_tables<E: TableEntity>(home: &TableName) -> Vec<TableName> {
    tables_beside(home, E::EVENTUAL, E::GUARDS)
}

fn tables_beside(
    home: &TableName,
    rows: &[EventualTemplate],
    guards: &[GuardTemplate],
) -> Vec<TableName> {
    let rows = rows.iter().map(|row| row.table_of(home));
    let guards = guards.iter().map(|guard| guard.table_of(home));
    // The names of tables have no case.
    let key = |table: TableName| (table.as_str().to_ascii_lowercase(), table);
    let mut tables: BTreeMap<_, _> = rows.chain(guards).map(key).collect();
    tables.remove(&home.as_str().to_ascii_lowercase());
    tables.into_values().collect()
}

impl<E: TableEntity + 'static> IntoFuture for DeleteTable<E> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
