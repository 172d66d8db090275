//! What a caller can do about an error.

use super::Error;
use crate::key::KeyFault;
#[cfg(feature = "distributed")]
use crate::queue::QueueErrorKind;
use crate::store::{ErrorCode, StoreError};

/// What a caller can do about an [`Error`]: of each error, [`Error::kind`] returns exactly one.
///
/// It has no other variants, so a handler of requests maps all errors without a `_`:
///
/// ```
/// use table_orm::{Error, ErrorKind};
///
/// fn status(error: &Error) -> u16 {
///     match error.kind() {
///         ErrorKind::ClientError => 400,
///         ErrorKind::NotFound => 404,
///         ErrorKind::Conflict => 409,
///         ErrorKind::ServerError => 500,
///         ErrorKind::Unavailable => 503,
///     }
/// }
///
/// assert_eq!(status(&Error::PageSize(0)), 400);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A value, a page token or a set of entities cannot be sent, or is over a limit. Nothing was
    /// written. The same call fails again; another value may succeed.
    ClientError,
    /// The row does not exist.
    NotFound,
    /// A row exists, has changed, or another entity has the unique value. Nothing was written. Read
    /// what is stored, then decide.
    Conflict,
    /// The store is overloaded, does not answer, or is deleting the table. The same call may succeed
    /// later. After [`Error::Unavailable`] or [`Error::Deadline`], a write may have taken effect.
    Unavailable,
    /// The program, its settings, its credential or a stored row is wrong, or it is unknown whether a
    /// write took effect ([`Error::Ambiguous`]). Somebody has to look.
    ServerError,
}

impl Error {
    /// Returns what a caller can do about the error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            // Stored rows that the type cannot read.
            Self::Key(error)
                if matches!(error.fault, KeyFault::Malformed | KeyFault::Undecodable) =>
            {
                ErrorKind::ServerError
            }
            Self::Property(error) if error.is_of_stored_row() => ErrorKind::ServerError,
            Self::Migration(error) if error.is_of_call() => ErrorKind::ClientError,
            Self::Migration(error) if error.is_of_store() => ErrorKind::Unavailable,
            Self::Key(_)
            | Self::Property(_)
            | Self::Token(_)
            | Self::TableName(_)
            | Self::TooLarge(_)
            | Self::TooManyElements(_)
            | Self::PartitionChanged { .. }
            | Self::PeriodMismatch(_)
            | Self::IncompleteEntity(_)
            | Self::OtherKey { .. }
            | Self::Transaction(_)
            | Self::FilterTooLong(_)
            | Self::PageSize(_) => ErrorKind::ClientError,
            Self::LargeValue(error) => error.kind(),
            Self::Settle(failure) => failure.error.kind(),
            Self::Dispatch(failure) => failure.error.kind(),
            Self::RowCount(count) if count.found == 0 => ErrorKind::NotFound,
            Self::NotFound(_) => ErrorKind::NotFound,
            Self::AlreadyExists(_) | Self::UniqueViolation { .. } | Self::Conflict(_) => {
                ErrorKind::Conflict
            }
            // Whether the register was written does not matter.
            Self::Unregistered(error) if error.is_unanswered() => ErrorKind::Unavailable,
            #[cfg(feature = "distributed")]
            Self::Queue(error) if matches!(error.kind, QueueErrorKind::Unavailable) => {
                ErrorKind::Unavailable
            }
            Self::Throttled(_)
            | Self::TableBeingDeleted(_)
            | Self::Unavailable(_)
            | Self::Deadline(_) => ErrorKind::Unavailable,
            #[cfg(feature = "distributed")]
            Self::DistributedScan(_) | Self::Queue(_) => ErrorKind::ServerError,
            #[cfg(feature = "embedded")]
            Self::Open(_) => ErrorKind::ServerError,
            #[cfg(feature = "azure")]
            Self::Connect(_) => ErrorKind::ServerError,
            Self::Scan(_)
            | Self::Sequence(_)
            | Self::Sum(_)
            | Self::Transfer(_)
            | Self::Writer(_)
            | Self::TableNotFound(_)
            | Self::Unauthorized(_)
            | Self::Ambiguous(_)
            | Self::Unregistered(_)
            | Self::Rejected(_)
            | Self::KeyMismatch(_)
            | Self::Moved(_)
            | Self::Migration(_)
            | Self::RowsInOtherTables { .. }
            | Self::RowCount(_)
            | Self::Layer(_) => ErrorKind::ServerError,
        }
    }

    /// Returns whether the call cannot be sent as it is: [`ErrorKind::ClientError`].
    #[must_use]
    pub const fn is_client_error(&self) -> bool {
        matches!(self.kind(), ErrorKind::ClientError)
    }

    /// Returns whether the row does not exist: [`ErrorKind::NotFound`].
    #[must_use]
    pub const fn is_not_found(&self) -> bool {
        matches!(self.kind(), ErrorKind::NotFound)
    }

    /// Returns whether what is stored speaks against the write: [`ErrorKind::Conflict`].
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self.kind(), ErrorKind::Conflict)
    }

    /// Returns whether the same call may succeed later: [`ErrorKind::Unavailable`].
    #[must_use]
    pub const fn is_unavailable(&self) -> bool {
        matches!(self.kind(), ErrorKind::Unavailable)
    }

    /// Whether a request may have taken effect, or may succeed when it is sent again.
    pub(crate) const fn is_unanswered(&self) -> bool {
        self.is_unavailable() || matches!(self, Self::Ambiguous(_))
    }

    /// Whether the service was busy, and rejected the request before it did anything.
    pub(crate) fn is_refused_as_busy(&self) -> bool {
        let is_busy =
            |cause: &StoreError| cause.status == 429 || cause.code == ErrorCode::SERVER_BUSY;
        matches!(self, Self::Throttled(rejection) if is_busy(&rejection.cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{RowCount, rejected};
    use crate::key::KeyError;
    use crate::property::{PropertyError, PropertyFault};

    #[test]
    fn each_answer_of_a_store_has_the_kind_that_says_what_to_do() {
        let of = |status, code: &str| {
            let cause = StoreError { status, ..StoreError::new(ErrorCode::new(code), "") };
            let mut error = rejected("orders", cause);
            // As an entity's, not as the table's.
            error = error.of_entity("Order", |_| None);
            error.kind()
        };
        assert_eq!(of(409, "EntityAlreadyExists"), ErrorKind::Conflict);
        assert_eq!(of(412, "UpdateConditionNotSatisfied"), ErrorKind::Conflict);
        assert_eq!(of(409, "TableBeingDeleted"), ErrorKind::Unavailable);
        assert_eq!(of(404, "TableNotFound"), ErrorKind::ServerError);
        assert_eq!(of(403, "AuthenticationFailed"), ErrorKind::ServerError);
        assert_eq!(of(413, "RequestBodyTooLarge"), ErrorKind::ClientError);
        assert_eq!(of(429, "TooManyRequests"), ErrorKind::Unavailable);
        assert_eq!(of(500, "InternalError"), ErrorKind::Unavailable);
        assert_eq!(of(503, "ServerBusy"), ErrorKind::Unavailable);
        assert_eq!(of(400, "InvalidInput"), ErrorKind::ServerError);
    }

    #[test]
    fn a_value_is_the_callers_and_a_stored_row_is_not() {
        let key = |fault| {
            let (component, value) = ("name", String::new());
            Error::Key(KeyError { entity: "Order", component, value, fault }).kind()
        };
        assert_eq!(key(KeyFault::Forbidden('/')), ErrorKind::ClientError);
        assert_eq!(key(KeyFault::Malformed), ErrorKind::ServerError);
        let property = |row_key: &str| {
            let error = PropertyError {
                entity: "Order",
                property: "Name".to_owned(),
                partition_key: String::new(),
                row_key: row_key.to_owned(),
                fault: PropertyFault::Missing,
            };
            Error::Property(error).kind()
        };
        assert_eq!(property(""), ErrorKind::ClientError);
        assert_eq!(property("r"), ErrorKind::ServerError);
    }

    #[test]
    fn one_of_no_rows_is_not_found() {
        let of = |found| Error::RowCount(RowCount { entity: "Order", found });
        assert!(of(0).is_not_found());
        assert_eq!(of(2).kind(), ErrorKind::ServerError);
        assert!(Error::PageSize(0).is_client_error());
        assert!(!of(0).is_conflict() && !of(0).is_unavailable());
    }
}
