//! The errors of a client's requests: each names the entity, the table and the row.

use super::TableClient;
use super::canonical_key::CanonicalKey;
use crate::error::{Error, Rejection, Result};
use crate::model::ETag;
use crate::store::{Batch, ErrorCode, StoreError};

impl TableClient {
    /// Fails where the credential shows only some rows of a partition: what is missing there may be out of its reach.
    pub fn requires_all_rows(&self, partition_key: &str) -> Result<()> {
        if !self.store().has_row_bounds() {
            return Ok(());
        }
        let message = "the signature has a range of RowKeys, and this call needs all rows of a partition; nothing was \
                       sent: use a credential without such a range";
        let cause = StoreError::new(ErrorCode::ROWS_OUT_OF_REACH, message);
        let cause = StoreError { status: 403, ..cause };
        Err(self.rejected(partition_key, "", None, cause).of_read())
    }

    /// The error of a request about a row.
    pub fn rejected(
        &self,
        partition_key: &str,
        row_key: &str,
        operation: Option<(usize, &'static str)>,
        cause: StoreError,
    ) -> Error {
        self.context.attribute(Error::rejected(Rejection {
            entity: self.context.entity,
            table: self.table.as_str().to_owned(),
            partition_key: partition_key.to_owned(),
            row_key: row_key.to_owned(),
            index_row: None,
            operation,
            is_other_table: self.context.is_other_table(self.table.as_str()),
            is_repeatable: false,
            is_read: false,
            cause,
        }))
    }

    /// The error of a transaction of more operations than the store takes.
    pub(super) fn too_many(&self, batch: &Batch) -> Error {
        let message = format!(
            "the write needs {} operations, two for each row whose key changes, one for each total, event and \
             large value, and one for the number of the next event; a transaction of this store takes at most {}",
            batch.operations.len(),
            self.store().transaction_operations()
        );
        let cause = StoreError::new(ErrorCode::REQUEST_BODY_TOO_LARGE, message);
        self.rejected(&batch.partition_key, "", None, cause)
    }

    /// The version of a written row. Fails when the store did not return it, which every store must.
    pub(crate) fn version(&self, key: &CanonicalKey, etag: Option<ETag>) -> Result<ETag> {
        etag.ok_or_else(|| {
            let message =
                "the row was written, but the store returned no ETag; load the entity again";
            let cause = StoreError::new(ErrorCode::NO_ANSWER, message);
            self.rejected(&key.partition_key, &key.row_key, None, cause)
        })
    }

    /// The service's 404 for an update of a row that does not exist.
    pub fn not_found(&self, partition_key: &str, row_key: &str) -> Error {
        self.not_found_by(partition_key, row_key, None)
    }

    /// The same for that operation of a batch.
    pub fn not_found_by(
        &self,
        partition_key: &str,
        row_key: &str,
        operation: Option<(usize, &'static str)>,
    ) -> Error {
        let cause = StoreError::new(ErrorCode::RESOURCE_NOT_FOUND, "the row does not exist");
        self.rejected(partition_key, row_key, operation, cause)
    }

    /// The service's 412 for an update of a row in another version.
    pub fn changed(&self, partition_key: &str, row_key: &str) -> Error {
        let cause = StoreError::new(
            ErrorCode::UPDATE_CONDITION_NOT_SATISFIED,
            "the stored row has another version than the given ETag",
        );
        self.rejected(partition_key, row_key, None, cause)
    }

    /// The service's 409 for an insert of a row that exists.
    pub fn already_exists(&self, partition_key: &str, row_key: &str) -> Error {
        let cause = StoreError::new(ErrorCode::ENTITY_ALREADY_EXISTS, "the row exists");
        self.rejected(partition_key, row_key, None, cause)
    }
}
