//! The error of a call: what was refused, and what to do.

#[cfg(feature = "distributed")]
mod distributed_scan;
mod rejection;
mod scan;
mod transaction;

#[cfg(feature = "distributed")]
pub use distributed_scan::DistributedScanError;
pub use rejection::Rejection;
pub use scan::ScanError;
pub use transaction::TransactionError;

use crate::entity::{GuardTemplate, Invalid, KeyMismatch, ReadBackError};
use crate::key::KeyError;
use crate::layer::LayerError;
use crate::model::TableNameError;
use crate::property::PropertyError;
use crate::query::TokenError;
#[cfg(feature = "distributed")]
use crate::queue::QueueError;
use crate::store::{ErrorCode, StoreError};
use rejection::{absent_text, taken_text};

/// Why a call failed. Nothing was written unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that cannot stand in a key; nothing was sent.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A value that no property can store, or a stored row that cannot be read.
    #[error(transparent)]
    Property(#[from] PropertyError),
    /// A page token of another query, version or program.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A scan that cannot be run as it was asked for.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A scan by many machines that cannot be started, or worked on, with its options.
    #[cfg(feature = "distributed")]
    #[error(transparent)]
    DistributedScan(#[from] DistributedScanError),
    /// The refusal of a queue.
    #[cfg(feature = "distributed")]
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// Text that cannot name a table.
    #[error(transparent)]
    TableName(#[from] TableNameError),
    /// `insert` found the row there already. Load and `save` it, or `upsert`.
    ///
    /// Where [`index_row`](Rejection::index_row) names one, another entity has the same index key: let
    /// its template end with what tells entities apart.
    #[error("already there: {0}{advice}", advice = taken_text(.0))]
    AlreadyExists(Box<Rejection>),
    /// Another entity of the partition has the same value of a `unique(..)`. Nothing was written.
    #[error("another entity has the same `{unique}`: {refusal}")]
    UniqueViolation {
        /// What is unique, as [`GuardTemplate::name`](crate::entity::GuardTemplate::name) says.
        unique: &'static str,
        /// The RowKey of the guard row, which tells the value; the guard row's property
        /// `Canonical` is the RowKey of the entity that has it.
        key: String,
        /// What the store answered.
        refusal: Box<Rejection>,
    },
    /// The row has changed since it was loaded. Load it again, apply the change, and `save`.
    ///
    /// Calls that read first, as `update` and `merge` do, have read it again themselves, as often as
    /// their `attempts` say, and each time a writer from elsewhere came between: make the call again,
    /// after a while, or with more attempts.
    #[error("changed since it was loaded: {0}")]
    Conflict(Box<Rejection>),
    /// The row is not there.
    #[error("not there: {0}")]
    NotFound(Box<Rejection>),
    /// The table is not there. Create it first: `create_table`.
    #[error("there is no such table: {0}{advice}", advice = absent_text(.0))]
    TableNotFound(Box<Rejection>),
    /// The service does not accept the credential, or not for this: HTTP 401 or 403 with a code of
    /// its own. The message says what to check.
    #[error("not authorized: {0}")]
    Unauthorized(Box<Rejection>),
    /// A limit of the service: entity, property, key or request too large.
    #[error("too large: {0}")]
    TooLarge(Box<Rejection>),
    /// The service is throttling: wait, then try again.
    #[error("throttled: {0}")]
    Throttled(Box<Rejection>),
    /// The table is being deleted, which takes the service 40 seconds or more: wait, then try again,
    /// or use another name.
    #[error("the table is being deleted: {0}; it takes the service 40 seconds or more")]
    TableBeingDeleted(Box<Rejection>),
    /// No or no usable answer; a write may or may not have taken effect.
    #[error("unavailable: {0}")]
    Unavailable(Box<Rejection>),
    /// A write that may or may not have taken effect: its answer was lost, and what is stored does
    /// not tell. [`StoreError::ambiguity`] says what is known. Look at the rows before writing
    /// again.
    #[error("not known whether it took effect: {0}")]
    Ambiguous(Box<Rejection>),
    /// Anything else the store refused.
    #[error("refused: {0}")]
    Refused(Box<Rejection>),
    /// A `save` that changed the PartitionKey. One transaction cannot span two partitions: insert
    /// the entity under its new key, then delete the old one.
    #[error(
        "`{entity}` cannot move from partition {from:?} to {to:?} in one transaction; insert it \
         there, then delete it here"
    )]
    PartitionChanged {
        /// The entity's type name.
        entity: &'static str,
        /// The stored PartitionKey.
        from: String,
        /// The PartitionKey of the entity as it is now.
        to: String,
    },
    /// A patch that was to insert an entity, but does not tell all of it.
    #[error(transparent)]
    IncompleteEntity(IncompleteEntity),
    /// A stored row whose properties make another key than the one it stands under: what would be
    /// written back would go to another row. Correct it, or move it, with the untyped calls of
    /// [`Tables::table`](crate::Tables::table).
    #[error(transparent)]
    KeyMismatch(Box<KeyMismatch>),
    /// A unit that no transaction could write; nothing was sent.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// Another number of rows than the call asked for.
    #[error(transparent)]
    RowCount(RowCount),
    /// More than 15 comparisons in one filter, key comparisons included.
    #[error("the filter holds {0} comparisons, key comparisons included; the service allows 15")]
    FilterTooLong(usize),
    /// A page of no rows, or of more than 1000.
    #[error("{0} is no page size: use 1 to 1000")]
    PageSize(usize),
    /// A layer whose limits make no sense.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// A database file that cannot be opened.
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Open(#[from] crate::embedded::OpenError),
    /// An Azure endpoint or credential that cannot be used; nothing was sent.
    #[cfg(feature = "azure")]
    #[error(transparent)]
    Connect(#[from] crate::azure::ConnectError),
}

impl From<ReadBackError> for Error {
    fn from(error: ReadBackError) -> Self {
        match error {
            ReadBackError::Property(error) => Self::Property(error),
            ReadBackError::KeyMismatch(error) => Self::KeyMismatch(error),
        }
    }
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        match invalid {
            Invalid::Key(error) => Self::Key(error),
            Invalid::Property(error) => Self::Property(error),
        }
    }
}

/// An entity that a key and a patch do not tell; nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the key and the patch do not tell a whole `{entity}`{}; insert an entity, or let the fields \
     of its keys be `key_only` and the others have a `default`",
    missing_text(missing)
)]
#[non_exhaustive]
pub struct IncompleteEntity {
    /// The entity's type name.
    pub entity: &'static str,
    /// The canonical row's PartitionKey.
    pub partition_key: String,
    /// The canonical row's RowKey.
    pub row_key: String,
    /// A property that neither gives; empty when the fields they give make another key.
    pub missing: String,
}

fn missing_text(missing: &str) -> String {
    if missing.is_empty() { String::new() } else { format!(": property `{missing}` is missing") }
}

/// One result was asked for, and there were none or several.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected exactly one `{entity}`, found {}", found_text(*.found))]
#[non_exhaustive]
pub struct RowCount {
    /// The type that was read.
    pub entity: &'static str,
    /// How many there were; 2 stands for two or more.
    pub found: usize,
}

fn found_text(found: usize) -> String {
    match found {
        0 => "none".to_owned(),
        1 => "one".to_owned(),
        _ => format!("{found} or more; give more components, or use `collect`"),
    }
}

/// The refusal in an error, by the kind of reference that the error is.
macro_rules! refusal_of {
    ($error:expr) => {
        match $error {
            Self::AlreadyExists(refusal)
            | Self::UniqueViolation { refusal, .. }
            | Self::Conflict(refusal)
            | Self::NotFound(refusal)
            | Self::TableNotFound(refusal)
            | Self::Unauthorized(refusal)
            | Self::TooLarge(refusal)
            | Self::Throttled(refusal)
            | Self::TableBeingDeleted(refusal)
            | Self::Unavailable(refusal)
            | Self::Ambiguous(refusal)
            | Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    };
}

impl Error {
    /// Sorts a store's refusal by what a caller can do about it.
    pub(crate) fn refused(refusal: Rejection) -> Self {
        let code = &refusal.cause.code;
        let too_large = [
            ErrorCode::ENTITY_TOO_LARGE,
            ErrorCode::KEY_VALUE_TOO_LARGE,
            ErrorCode::PROPERTY_VALUE_TOO_LARGE,
            ErrorCode::REQUEST_BODY_TOO_LARGE,
            ErrorCode::TOO_MANY_PROPERTIES,
        ];
        let variant = match refusal.cause.status {
            _ if *code == ErrorCode::AMBIGUOUS_WRITE => Self::Ambiguous,
            _ if too_large.contains(code) => Self::TooLarge,
            // Perhaps of something on the way, which knows nothing of rows.
            404 | 409 | 412 if *code == ErrorCode::NO_ERROR_CODE => Self::Refused,
            409 if *code == ErrorCode::TABLE_BEING_DELETED => Self::TableBeingDeleted,
            409 => Self::AlreadyExists,
            412 => Self::Conflict,
            // The list of tables is always there, at an account's endpoint.
            404 if refusal.table.is_empty() => Self::Refused,
            404 if *code == ErrorCode::TABLE_NOT_FOUND || refusal.entity.is_empty() => {
                Self::TableNotFound
            }
            404 => Self::NotFound,
            401 | 403 if refusal.cause.is_unauthorized() => Self::Unauthorized,
            429 | 503 => Self::Throttled,
            0 | 408 | 500.. => Self::Unavailable,
            _ => Self::Refused,
        };
        variant(Box::new(refusal))
    }

    /// The same error, or where it is the refusal of one of these guard rows, the violation.
    pub(crate) fn guarded_by(self, guards: &[GuardTemplate]) -> Self {
        match self {
            Self::AlreadyExists(refusal) => {
                match guards.iter().find(|guard| refusal.row_key.starts_with(guard.start)) {
                    Some(guard) => Self::UniqueViolation {
                        unique: guard.name,
                        key: refusal.row_key.clone(),
                        refusal,
                    },
                    None => Self::AlreadyExists(refusal),
                }
            }
            other => other,
        }
    }

    /// The same error, of the operation that `place` gives for its index.
    pub(crate) fn with_operation(mut self, place: impl FnOnce(usize) -> Option<usize>) -> Self {
        if let Some(refusal) = self.refusal_mut() {
            refusal.operation =
                refusal.operation.and_then(|(index, name)| place(index).map(|index| (index, name)));
        }
        self
    }

    /// The same error, of an entity of that type, whose index rows are told by their RowKeys.
    pub(crate) fn of_entity(
        mut self,
        entity: &'static str,
        index_row: impl FnOnce(&str) -> Option<&'static str>,
    ) -> Self {
        if let Some(refusal) = self.refusal_mut() {
            refusal.entity = entity;
            refusal.index_row = index_row(&refusal.row_key).filter(|_| !refusal.row_key.is_empty());
        }
        self
    }

    /// Whether it says nothing of the next entity: that one may well be written.
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
            | Self::IncompleteEntity(_)
            | Self::KeyMismatch(_) => true,
            Self::Refused(refusal) => {
                refusal.cause.status == 400 && refusal.cause.code != ErrorCode::NO_ERROR_CODE
            }
            _ => false,
        }
    }

    const fn refusal_mut(&mut self) -> Option<&mut Rejection> {
        refusal_of!(self)
    }

    /// What the store answered, if the error came from one.
    #[must_use]
    pub const fn refusal(&self) -> Option<&Rejection> {
        refusal_of!(self)
    }
}

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of a table operation.
pub(crate) fn refused(table: &str, cause: StoreError) -> Error {
    Error::refused(Rejection {
        entity: "",
        table: table.to_owned(),
        partition_key: String::new(),
        row_key: String::new(),
        index_row: None,
        operation: None,
        cause,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, code: ErrorCode) -> Error {
        Error::refused(Rejection {
            entity: "Order",
            table: "orders".to_owned(),
            partition_key: "p".to_owned(),
            row_key: "r".to_owned(),
            index_row: None,
            operation: None,
            cause: StoreError { status, ..StoreError::new(code, "") },
        })
    }

    #[test]
    fn a_refusal_names_what_there_is_and_advises_what_helps() {
        let of_table = |table: &str, status, code: &str| {
            let cause = StoreError { status, ..StoreError::new(ErrorCode::new(code), "") };
            crate::error::refused(table, cause).to_string()
        };
        assert_eq!(of_table("", 403, "X"), "not authorized: list of tables: X");
        assert_eq!(
            of_table("", 404, "ResourceNotFound"),
            "refused: list of tables: ResourceNotFound"
        );
        let deleted = of_table("orders", 404, "TableNotFound");
        assert_eq!(deleted, "there is no such table: in table `orders`: TableNotFound");
        let written = refused(404, ErrorCode::TABLE_NOT_FOUND).to_string();
        assert!(written.ends_with("; create it with `create_table`"), "{written}");
    }

    #[test]
    fn a_status_without_the_services_code_says_nothing_of_rows() {
        for status in [401, 403, 404, 409, 412] {
            let error = refused(status, ErrorCode::NO_ERROR_CODE);
            assert!(matches!(error, Error::Refused(_)), "{error:?}");
        }
        assert!(matches!(refused(404, ErrorCode::RESOURCE_NOT_FOUND), Error::NotFound(_)));
        assert!(matches!(refused(503, ErrorCode::NO_ERROR_CODE), Error::Throttled(_)));
    }
}
