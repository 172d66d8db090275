//! The error of a call, and the errors that it wraps.

mod deadline;
mod dispatch;
#[cfg(feature = "distributed")]
mod distributed_scan;
mod incomplete_entity;
mod kind;
mod large_value;
mod migration;
mod rejected;
mod rejection;
mod row_count;
mod scan;
mod sequence;
mod settle;
mod sum;
mod transaction;
mod transfer;
mod writer;

pub use deadline::DeadlineExceeded;
pub use dispatch::{DispatchError, DispatchFailure, HandlerError};
#[cfg(feature = "distributed")]
pub use distributed_scan::DistributedScanError;
pub use incomplete_entity::IncompleteEntity;
pub use kind::ErrorKind;
pub use large_value::LargeValueError;
pub use migration::MigrationError;
pub use rejection::{Rejection, UniqueHolder};
pub use row_count::RowCount;
pub use scan::ScanError;
pub use sequence::SequenceError;
pub use settle::{SettleError, SettleFailure};
pub use sum::SumError;
pub use transaction::TransactionError;
pub use transfer::TransferError;
pub use writer::WriterError;

pub(crate) use rejected::rejected;
pub(crate) use settle::COPY_OF_TOTAL;

use crate::entity::{
    InvalidEntity, KeyMismatch, MovedRow, OwnRowError, PeriodMismatch, ReadBackError,
    TooManyElements,
};
use crate::key::KeyError;
use crate::layer::LayerError;
use crate::model::{TableName, TableNameError};
use crate::property::PropertyError;
use crate::query::TokenError;
#[cfg(feature = "distributed")]
use crate::queue::QueueError;
use crate::store::{ErrorCode, StoredRow};
use rejection::{ambiguous_help, no_table_help, same_key_help, too_large_help, unavailable_help};

/// The error of a call.
///
/// A write that fails has written nothing. Only after [`Unavailable`](Self::Unavailable),
/// [`Ambiguous`](Self::Ambiguous) and [`Deadline`](Self::Deadline), the write may have taken effect.
/// [`kind`](Self::kind) sorts the variants by what a caller can do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key cannot hold a value. Nothing was sent.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// No property can store a value, or a stored row cannot be read.
    #[error(transparent)]
    Property(#[from] PropertyError),
    /// A page token is of another query, version or program. Nothing was sent.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A scan cannot run as configured.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// Rows cannot be exported or imported.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// A distributed scan cannot run as configured.
    #[cfg(feature = "distributed")]
    #[error(transparent)]
    DistributedScan(#[from] DistributedScanError),
    /// A queue failed.
    #[cfg(feature = "distributed")]
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// A text cannot name a table. Nothing was sent.
    #[error(transparent)]
    TableName(#[from] TableNameError),
    /// `insert` found a row under the same key. Load the stored entity and `save` it, or `upsert`.
    ///
    /// Or a `save` or `update` moved the entity to that key. Where
    /// [`index_row`](Rejection::index_row) names a row, another entity has the same index key: add a
    /// component to its template that makes the key unique. Or the row is an old one of the same
    /// entity, which another program left: [`Repo::verify`](crate::Repo::verify) finds it.
    #[error("already exists: {0}{help}", help = same_key_help(.0))]
    AlreadyExists(Box<Rejection>),
    /// Another entity has the same value for a `unique(..)`: one of the partition, or with `across` one of
    /// any partition.
    #[error("another entity has the same `{unique}`, and nothing was written: {rejection}")]
    UniqueViolation {
        /// The name of the `unique(..)`:
        /// [`GuardTemplate::name`](crate::entity::GuardTemplate::name).
        unique: &'static str,
        /// The key of the guard row that contains the value. Without `across` it is the RowKey; the row's
        /// property `Canonical` is the RowKey of the entity that has the value. With `across` it is the
        /// PartitionKey.
        key: String,
        /// The entity that has the value, where it is known: with `across`.
        holder: Option<Box<UniqueHolder>>,
        /// What the store answered.
        rejection: Box<Rejection>,
    },
    /// The row has changed since it was loaded. Load it again, apply the change, and `save`.
    ///
    /// Calls that read first, such as `update` and `merge`, have already tried for as long as their
    /// `retry_for` says, and lost to a concurrent writer each time. Retrying is safe: do so later, or
    /// for longer.
    #[error(
        "changed since it was loaded, and nothing was written: {0}; load it again and repeat the \
         change"
    )]
    Conflict(Box<Rejection>),
    /// The row does not exist.
    #[error("not found: {0}")]
    NotFound(Box<Rejection>),
    /// The table does not exist. Create it with `create_table`.
    #[error("the table does not exist: {0}{help}", help = no_table_help(.0))]
    TableNotFound(Box<Rejection>),
    /// The service does not accept the credential, or not for this request: HTTP 401 or 403 with a
    /// code of its own. The message says what to check.
    #[error("not authorized: {0}")]
    Unauthorized(Box<Rejection>),
    /// An entity, property, key or request is over a limit of the service.
    #[error("too large: {0}{help}", help = too_large_help(.0))]
    TooLarge(Box<Rejection>),
    /// The service is throttling requests. Wait, then retry.
    #[error("throttled: {0}; wait, then retry")]
    Throttled(Box<Rejection>),
    /// The service is deleting the table, which takes it 40 seconds or more (service documentation,
    /// "Delete Table"). Wait, then retry, or use another name.
    #[error("the table is being deleted: {0}; wait 40 seconds or more, then retry")]
    TableBeingDeleted(Box<Rejection>),
    /// The service gave no answer, or no usable one. A write may or may not have taken effect.
    #[error("unavailable: {0}{help}", help = unavailable_help(.0))]
    Unavailable(Box<Rejection>),
    /// The answer to a write was lost, and the stored rows do not show whether it took effect.
    /// [`StoreError::ambiguity`](crate::store::StoreError::ambiguity) says what is known. Read the rows before writing
    /// again. Where it ended a job that is safe to repeat, such as a purge, the message says so: run the job again.
    #[error("the write may or may not have taken effect: {0}; {help}", help = ambiguous_help(.0))]
    Ambiguous(Box<Rejection>),
    /// The table was not deleted, because its entities have rows in other tables, which may be left. Nothing
    /// was sent.
    #[error(
        "the table `{table}` was not deleted: rows of `{entity}` in {tables} may be left; delete the entities \
         first, then call `leave_rows_in_other_tables`",
        tables = named(.tables)
    )]
    RowsInOtherTables {
        /// The entity's type name.
        entity: &'static str,
        /// The table.
        table: String,
        /// The tables that hold the other rows.
        tables: Vec<TableName>,
    },
    /// The write was not sent, because the register of its table cannot be written: see
    /// [`Repo::register`](crate::Repo::register). Nothing was written.
    #[error(
        "the write was not sent, and nothing was written: its partition cannot be named in the register of \
         the table: {reason}",
        reason = unregistered(.0)
    )]
    Unregistered(#[source] Box<Self>),
    /// The store rejected the request for another reason.
    #[error("rejected: {0}")]
    Rejected(Box<Rejection>),
    /// A `save` changed the PartitionKey. One transaction cannot span two partitions: insert the
    /// entity under its new key, then delete the old one. With a value that is unique over all partitions,
    /// delete the old one first.
    #[error(
        "cannot save `{entity}`: its PartitionKey changed from {from:?} to {to:?}, and one \
         transaction cannot span two partitions; nothing was written: insert it under the new key, \
         then delete the old one; if it has a value of a `unique(.., across)`, delete the old one first"
    )]
    PartitionChanged {
        /// The entity's type name.
        entity: &'static str,
        /// The stored PartitionKey.
        from: String,
        /// The PartitionKey of the entity as it is now.
        to: String,
    },
    /// `or_insert_with` made an entity with another canonical key than the call's. Nothing was written.
    #[error(
        "`or_insert_with` made a `{entity}` with the key {made_partition_key:?} / {made_row_key:?}, and \
         the call is about {partition_key:?} / {row_key:?}; nothing was written: make it from the values \
         of that key"
    )]
    OtherKey {
        /// The entity's type name.
        entity: &'static str,
        /// The PartitionKey of the call.
        partition_key: String,
        /// The RowKey of the call.
        row_key: String,
        /// The PartitionKey of the entity that was made.
        made_partition_key: String,
        /// Its canonical RowKey.
        made_row_key: String,
    },
    /// A patch cannot insert an entity: some fields have no value.
    #[error(transparent)]
    IncompleteEntity(IncompleteEntity),
    /// A stored row is under another key than its properties make, so a write would go to another
    /// row. Correct or move the row with the untyped calls of
    /// [`Tables::table`](crate::Tables::table).
    #[error(transparent)]
    KeyMismatch(Box<KeyMismatch>),
    /// A later version of the app gave the entity another key, and left a mark under this one. Lists
    /// leave such a row out. Deploy the version that moved it.
    #[error(transparent)]
    Moved(Box<MovedRow>),
    /// No transaction can write these entities together. Nothing was sent.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// A sequence gives no number. Nothing was written.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// A total of a [`Sum`](crate::Sum) cannot be kept or read. Nothing was written.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// A large value cannot be stored or read.
    #[error(transparent)]
    LargeValue(#[from] LargeValueError),
    /// An entity whose stored key changes cannot be read or written. Nothing was written.
    #[error(transparent)]
    Migration(#[from] MigrationError),
    /// [`Repo::settle`](crate::Repo::settle) left an intent or a partition. It stays, and a later call settles it.
    #[error(transparent)]
    Settle(Box<SettleFailure>),
    /// [`Outbox::dispatch`](crate::outbox::Outbox::dispatch) left events of a partition. They stay, and come again.
    #[error(transparent)]
    Dispatch(Box<DispatchFailure>),
    /// A writer takes no more entities.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// Exactly one result was expected, but there was no result or more than one.
    #[error(transparent)]
    RowCount(RowCount),
    /// A filter has more than 15 comparisons, key comparisons included (service documentation,
    /// "Querying tables and entities"). Nothing was sent.
    #[error(
        "the filter has {0} comparisons, key comparisons included; the service allows 15: leave some \
         out, or give more components of the key"
    )]
    FilterTooLong(usize),
    /// A field has more elements than one transaction can write rows for. Nothing was sent.
    #[error(transparent)]
    TooManyElements(TooManyElements),
    /// An entity belongs in the table of another period, or a `save` changed its time so that it does.
    /// Nothing was written.
    #[error(transparent)]
    PeriodMismatch(PeriodMismatch),
    /// A page size is zero or over 1000. Nothing was sent.
    #[error("a page cannot have {0} rows; use 1 to 1000")]
    PageSize(usize),
    /// The call did not end [`within`](crate::Within::within) its time. It says whether it may have
    /// written.
    #[error(transparent)]
    Deadline(DeadlineExceeded),
    /// A layer has limits that make no sense.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// A database file cannot be opened.
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Open(#[from] crate::embedded::OpenError),
    /// An Azure endpoint or credential cannot be used. Nothing was sent.
    #[cfg(feature = "azure")]
    #[error(transparent)]
    Connect(#[from] crate::azure::ConnectError),
}

impl From<SettleFailure> for Error {
    fn from(failure: SettleFailure) -> Self {
        Self::Settle(Box::new(failure))
    }
}

impl From<DispatchFailure> for Error {
    fn from(failure: DispatchFailure) -> Self {
        Self::Dispatch(Box::new(failure))
    }
}

impl From<ReadBackError> for Error {
    fn from(error: ReadBackError) -> Self {
        match error {
            ReadBackError::Property(error) => Self::Property(error),
            ReadBackError::KeyMismatch(error) => Self::KeyMismatch(error),
            ReadBackError::Moved(error) => Self::Moved(error),
        }
    }
}

impl From<OwnRowError> for Error {
    fn from(error: OwnRowError) -> Self {
        ReadBackError::from(error).into()
    }
}

impl From<InvalidEntity> for Error {
    fn from(invalid: InvalidEntity) -> Self {
        match invalid {
            InvalidEntity::Key(error) => Self::Key(error),
            InvalidEntity::Property(error) => Self::Property(error),
            InvalidEntity::TooManyElements(error) => Self::TooManyElements(error),
            InvalidEntity::PeriodMismatch(error) => Self::PeriodMismatch(error),
        }
    }
}

impl Error {
    /// Whether the error concerns one entity only, so that the next one may be written.
    pub(crate) fn is_of_one_entity(&self) -> bool {
        match self {
            Self::Key(_)
            | Self::Property(_)
            | Self::AlreadyExists(_)
            | Self::UniqueViolation { .. }
            | Self::Conflict(_)
            | Self::NotFound(_)
            | Self::TooLarge(_)
            | Self::PartitionChanged { .. }
            | Self::OtherKey { .. }
            | Self::TooManyElements(_)
            | Self::PeriodMismatch(_)
            | Self::IncompleteEntity(_)
            | Self::KeyMismatch(_)
            | Self::Migration(_)
            | Self::Moved(_) => true,
            Self::LargeValue(error) => error.is_of_one_entity(),
            Self::Rejected(rejection) => {
                rejection.cause.status == 400 && rejection.cause.code != ErrorCode::NO_ERROR_CODE
            }
            _ => false,
        }
    }

    /// Returns whether the answer to a write was lost, and each row that it inserts or replaces is stored as it
    /// was sent: by this write, or by another one that stores the same. A loader goes on then. A lock
    /// or a counter must not: [`Ambiguity::identical`](crate::store::Ambiguity::identical).
    ///
    /// ```
    /// use table_orm::{DynamicEntity, Result, repo::Table};
    ///
    /// /// Loads a row that no other program makes.
    /// async fn load(readings: &Table, reading: &DynamicEntity) -> Result<()> {
    ///     match readings.insert(reading).await {
    ///         Err(error) if error.is_stored_as_sent() => Ok(()),
    ///         inserted => inserted.map(drop),
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn is_stored_as_sent(&self) -> bool {
        self.stored_as_sent().is_some()
    }

    /// The rows that were read back, if they are those that were sent.
    pub(crate) fn stored_as_sent(&self) -> Option<&[(String, Option<StoredRow>)]> {
        let ambiguity = match self {
            Self::Ambiguous(rejection) => rejection.cause.ambiguity(),
            _ => None,
        };
        ambiguity.filter(|ambiguity| ambiguity.identical).map(|ambiguity| &*ambiguity.found)
    }
}

/// Why a partition could not be named. Whether the name may be there nevertheless matters to nobody.
fn unregistered(error: &Error) -> String {
    match error {
        Error::Ambiguous(rejection) => rejection.cause.to_string(),
        error => error.to_string(),
    }
}

/// Tables in a sentence.
fn named(tables: &[TableName]) -> String {
    let names: Vec<_> = tables.iter().map(|table| format!("`{table}`")).collect();
    names.join(" and ")
}

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;
