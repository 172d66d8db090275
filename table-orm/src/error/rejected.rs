//! What a store answered, as an [`Error`].
//!
//! Invariant: a rejection becomes an error in one place, [`Error::rejected`], sorted by what a caller can do
//! about it. Calls add to it what it is about.

use super::{Error, Rejection};
use crate::entity::GuardTemplate;
use crate::store::{ErrorCode, StoreError};

/// The rejection in an error: a shared or a mutable reference, as the error is.
macro_rules! rejection_of {
    ($error:expr) => {
        match $error {
            Self::AlreadyExists(rejection)
            | Self::UniqueViolation { rejection, .. }
            | Self::Conflict(rejection)
            | Self::NotFound(rejection)
            | Self::TableNotFound(rejection)
            | Self::Unauthorized(rejection)
            | Self::TooLarge(rejection)
            | Self::Throttled(rejection)
            | Self::TableBeingDeleted(rejection)
            | Self::Unavailable(rejection)
            | Self::Ambiguous(rejection)
            | Self::Rejected(rejection) => Some(rejection),
            _ => None,
        }
    };
}

impl Error {
    /// The error of a rejection, sorted by what a caller can do about it.
    pub(crate) fn rejected(rejection: Rejection) -> Self {
        let code = &rejection.cause.code;
        let too_large = [
            ErrorCode::ENTITY_TOO_LARGE,
            ErrorCode::KEY_VALUE_TOO_LARGE,
            ErrorCode::PROPERTY_VALUE_TOO_LARGE,
            ErrorCode::REQUEST_BODY_TOO_LARGE,
            ErrorCode::TOO_MANY_PROPERTIES,
        ];
        let variant = match rejection.cause.status {
            _ if *code == ErrorCode::AMBIGUOUS_WRITE => Self::Ambiguous,
            _ if too_large.contains(code) => Self::TooLarge,
            // Without a code of the service, a proxy may have answered, which knows no rows.
            404 | 409 | 412 if *code == ErrorCode::NO_ERROR_CODE => Self::Rejected,
            409 if *code == ErrorCode::TABLE_BEING_DELETED => Self::TableBeingDeleted,
            409 => Self::AlreadyExists,
            412 => Self::Conflict,
            // An account always has a list of tables.
            404 if rejection.table.is_empty() => Self::Rejected,
            404 if *code == ErrorCode::TABLE_NOT_FOUND || rejection.entity.is_empty() => {
                Self::TableNotFound
            }
            404 => Self::NotFound,
            401 | 403 if rejection.cause.is_unauthorized() => Self::Unauthorized,
            429 => Self::Throttled,
            // Another server, or something between, may have done the write.
            503 if *code == ErrorCode::SERVER_BUSY => Self::Throttled,
            0 | 408 | 500.. => Self::Unavailable,
            _ => Self::Rejected,
        };
        variant(Box::new(rejection))
    }

    /// The same error, or the unique violation when the rejected row is one of these guards.
    pub(crate) fn guarded_by(self, guards: &[GuardTemplate]) -> Self {
        match self {
            Self::AlreadyExists(rejection) => {
                match guards.iter().find(|guard| rejection.row_key.starts_with(guard.start)) {
                    Some(guard) => Self::UniqueViolation {
                        unique: guard.name,
                        key: rejection.row_key.clone(),
                        holder: None,
                        rejection,
                    },
                    None => Self::AlreadyExists(rejection),
                }
            }
            other => other,
        }
    }

    /// The same error, with the operation index that `place` returns for its own.
    pub(crate) fn with_operation(mut self, place: impl FnOnce(usize) -> Option<usize>) -> Self {
        if let Some(rejection) = self.rejection_mut() {
            rejection.operation = rejection
                .operation
                .and_then(|(index, name)| place(index).map(|index| (index, name)));
        }
        self
    }

    /// The same error, attributed to an entity of that type. `index_row` names the index row of a
    /// RowKey.
    pub(crate) fn of_entity(
        mut self,
        entity: &'static str,
        index_row: impl FnOnce(&str) -> Option<&'static str>,
    ) -> Self {
        if let Some(rejection) = self.rejection_mut() {
            rejection.entity = entity;
            rejection.index_row =
                index_row(&rejection.row_key).filter(|_| !rejection.row_key.is_empty());
        }
        self
    }

    /// The same error, of a job that is safe to run again.
    pub(crate) fn repeatable(mut self) -> Self {
        if let Some(rejection) = self.rejection_mut() {
            rejection.is_repeatable = true;
        }
        self
    }

    /// The same error, of a request that writes nothing.
    pub(crate) fn of_read(mut self) -> Self {
        if let Some(rejection) = self.rejection_mut() {
            rejection.is_read = true;
        }
        self
    }

    const fn rejection_mut(&mut self) -> Option<&mut Rejection> {
        rejection_of!(self)
    }

    /// The store's rejection, if the error came from a store.
    #[must_use]
    pub const fn rejection(&self) -> Option<&Rejection> {
        rejection_of!(self)
    }
}

/// The error of a table operation.
pub(crate) fn rejected(table: &str, cause: StoreError) -> Error {
    Error::rejected(Rejection {
        entity: "",
        table: table.to_owned(),
        partition_key: String::new(),
        row_key: String::new(),
        index_row: None,
        operation: None,
        is_other_table: false,
        is_repeatable: false,
        // Without a table, it reads the list of tables, or how far the copy of an account is.
        is_read: table.is_empty(),
        cause,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(status: u16, code: ErrorCode) -> Error {
        Error::rejected(Rejection {
            entity: "Order",
            table: "orders".to_owned(),
            partition_key: "p".to_owned(),
            row_key: "r".to_owned(),
            index_row: None,
            operation: None,
            is_other_table: false,
            is_repeatable: false,
            is_read: false,
            cause: StoreError { status, ..StoreError::new(code, "") },
        })
    }

    #[test]
    fn a_rejection_names_its_table_and_says_what_to_do() {
        let of_table = |table: &str, status, code: &str| {
            let cause = StoreError { status, ..StoreError::new(ErrorCode::new(code), "") };
            crate::error::rejected(table, cause).to_string()
        };
        assert_eq!(of_table("", 403, "X"), "not authorized: list of tables: X");
        assert_eq!(
            of_table("", 404, "ResourceNotFound"),
            "rejected: list of tables: ResourceNotFound"
        );
        let deleted = of_table("orders", 404, "TableNotFound");
        assert_eq!(deleted, "the table does not exist: in table `orders`: TableNotFound");
        let written = rejected(404, ErrorCode::TABLE_NOT_FOUND).to_string();
        assert!(written.ends_with("; create it with `create_table`"), "{written}");
    }

    #[test]
    fn only_a_write_may_have_taken_effect() {
        let error = || rejected(500, ErrorCode::INTERNAL_ERROR);
        assert!(error().to_string().ends_with("; a write may or may not have taken effect"));
        let read = error().of_read().to_string();
        assert_eq!(
            read,
            "unavailable: `Order` in table `orders`, key \"p\" / \"r\": InternalError"
        );
    }

    #[test]
    fn a_row_of_any_shape_gets_no_advice_about_types() {
        let untyped = |status, code| {
            let mut error = rejected(status, code);
            error.rejection_mut().unwrap().entity = "DynamicEntity";
            error.to_string()
        };
        let texts = [
            untyped(404, ErrorCode::TABLE_NOT_FOUND),
            untyped(409, ErrorCode::ENTITY_ALREADY_EXISTS),
            untyped(413, ErrorCode::REQUEST_BODY_TOO_LARGE),
            untyped(400, ErrorCode::PROPERTY_VALUE_TOO_LARGE),
        ];
        for text in texts {
            let words = ["DynamicEntity", "create_table", "save", "upsert", "insert_many", "#["];
            assert!(!words.iter().any(|word| text.contains(word)), "{text}");
        }
    }

    #[test]
    fn a_status_without_a_code_of_the_service_is_not_about_rows() {
        for status in [401, 403, 404, 409, 412] {
            let error = rejected(status, ErrorCode::NO_ERROR_CODE);
            assert!(matches!(error, Error::Rejected(_)), "{error:?}");
        }
        assert!(matches!(rejected(404, ErrorCode::RESOURCE_NOT_FOUND), Error::NotFound(_)));
        assert!(matches!(rejected(503, ErrorCode::SERVER_BUSY), Error::Throttled(_)));
        // What is between the client and the service may have passed the write on.
        assert!(matches!(rejected(503, ErrorCode::NO_ERROR_CODE), Error::Unavailable(_)));
    }
}
