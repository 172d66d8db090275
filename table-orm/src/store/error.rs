//! The error of one request to a store.

use crate::model::Printable;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The service's error code, such as `EntityAlreadyExists`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ErrorCode(Cow<'static, str>);

macro_rules! codes {
    ($($name:ident = $text:literal, $status:literal;)*) => {
        impl ErrorCode {
            $(#[doc = concat!("`", $text, "`, HTTP ", stringify!($status), ".")]
            pub const $name: Self = Self(Cow::Borrowed($text));)*

            /// The HTTP status that the service sends with this code, if the code is known.
            #[must_use]
            pub fn status(&self) -> Option<u16> {
                match self.as_str() {
                    $($text => Some($status),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    COMMANDS_IN_BATCH_ACT_ON_DIFFERENT_PARTITIONS = "CommandsInBatchActOnDifferentPartitions", 400;
    DUPLICATE_PROPERTIES_SPECIFIED = "DuplicatePropertiesSpecified", 400;
    ENTITY_ALREADY_EXISTS = "EntityAlreadyExists", 409;
    ENTITY_TOO_LARGE = "EntityTooLarge", 400;
    INTERNAL_ERROR = "InternalError", 500;
    INVALID_DUPLICATE_ROW = "InvalidDuplicateRow", 400;
    INVALID_INPUT = "InvalidInput", 400;
    INVALID_VALUE_TYPE = "InvalidValueType", 400;
    KEY_VALUE_TOO_LARGE = "KeyValueTooLarge", 400;
    OPERATION_TIMED_OUT = "OperationTimedOut", 500;
    OUT_OF_RANGE_INPUT = "OutOfRangeInput", 400;
    PROPERTIES_NEED_VALUE = "PropertiesNeedValue", 400;
    PROPERTY_NAME_INVALID = "PropertyNameInvalid", 400;
    PROPERTY_NAME_TOO_LONG = "PropertyNameTooLong", 400;
    PROPERTY_VALUE_TOO_LARGE = "PropertyValueTooLarge", 400;
    REQUEST_BODY_TOO_LARGE = "RequestBodyTooLarge", 413;
    RESOURCE_NOT_FOUND = "ResourceNotFound", 404;
    SERVER_BUSY = "ServerBusy", 503;
    TABLE_ALREADY_EXISTS = "TableAlreadyExists", 409;
    TABLE_BEING_DELETED = "TableBeingDeleted", 409;
    TABLE_NOT_FOUND = "TableNotFound", 404;
    TOO_MANY_PROPERTIES = "TooManyProperties", 400;
    UPDATE_CONDITION_NOT_SATISFIED = "UpdateConditionNotSatisfied", 412;
}

impl ErrorCode {
    /// `NoAnswer`, a code of this crate: no answer came in time. Status 0.
    pub const NO_ANSWER: Self = Self(Cow::Borrowed("NoAnswer"));
    /// `ConnectionFailed`, a code of this crate: the service never got the request. Status 0.
    pub const CONNECTION_FAILED: Self = Self(Cow::Borrowed("ConnectionFailed"));
    /// `CertificateRefused`, a code of this crate: this machine does not trust the certificate of the service, so
    /// nothing was sent. Status 0.
    pub const CERTIFICATE_REFUSED: Self = Self(Cow::Borrowed("CertificateRefused"));
    /// `CredentialUnavailable`, a code of this crate: the credential returned no token, so nothing
    /// was sent. Status 0.
    pub const CREDENTIAL_UNAVAILABLE: Self = Self(Cow::Borrowed("CredentialUnavailable"));
    /// `RowsOutOfReach`, a code of this crate: the credential has a range of RowKeys, and the call needs all rows of a
    /// partition, so nothing was sent. Status 403.
    pub const ROWS_OUT_OF_REACH: Self = Self(Cow::Borrowed("RowsOutOfReach"));
    /// `AnswerTooLong`, a code of this crate: the answer is longer than any of the service's, and was
    /// not read to its end. A write may have taken effect. Status 0.
    pub const ANSWER_TOO_LONG: Self = Self(Cow::Borrowed("AnswerTooLong"));
    /// `NoETag`, a code of this crate: a write took effect, and the answer does not state the row's version. Status 0.
    pub const NO_ETAG: Self = Self(Cow::Borrowed("NoETag"));
    /// `NoProgress`, a code of this crate: a page continues where it began, so reading on would never
    /// end. Status 0.
    pub const NO_PROGRESS: Self = Self(Cow::Borrowed("NoProgress"));
    /// `AnsweredWritesLost`, a code of this crate: the embedded store could not sync writes that it had answered,
    /// and has lost them. This one was not applied. Status 507.
    pub const ANSWERED_WRITES_LOST: Self = Self(Cow::Borrowed("AnsweredWritesLost"));
    /// `AmbiguousWrite`, a code of this crate: a write may or may not have taken effect. The error's
    /// [`ambiguity`](StoreError::ambiguity) says what is known. Status 0.
    pub const AMBIGUOUS_WRITE: Self = Self(Cow::Borrowed("AmbiguousWrite"));

    /// `NoErrorCode`, a code of this crate: the answer names no code, so it may come from something
    /// between, such as a proxy.
    pub const NO_ERROR_CODE: Self = Self(Cow::Borrowed("NoErrorCode"));

    /// A code that the service sent, whatever its text.
    #[must_use]
    pub fn new(code: impl Into<String>) -> Self {
        Self(Cow::Owned(code.into()))
    }

    /// The code's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a store did not carry out a request.
#[derive(Debug)]
pub struct StoreError {
    /// The service's code.
    pub code: ErrorCode,
    /// The HTTP status, 0 when no answer came.
    pub status: u16,
    /// The service's message, for people.
    pub message: String,
    /// The index of the failed operation, in an entity group transaction.
    pub operation: Option<usize>,
    /// The service's request id.
    pub request_id: Option<Box<str>>,
    /// How long the service asks to wait, an hour at most.
    pub retry_after: Option<Duration>,
    /// The cause, such as an I/O error.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// An error with a code and its status; a code without a known status gets 500.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            status: code.status().unwrap_or(500),
            code,
            message: message.into(),
            operation: None,
            request_id: None,
            retry_after: None,
            source: None,
        }
    }

    /// The error of a request to which no answer came: status 0.
    #[must_use]
    pub fn no_answer(message: impl Into<String>) -> Self {
        Self { status: 0, ..Self::new(ErrorCode::NO_ANSWER, message) }
    }

    /// Returns whether the service rejected the request as not authorized: status 401 or 403, with one of its
    /// codes. An answer without a code may come from something between, such as a proxy.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        matches!(self.status, 401 | 403) && self.code != ErrorCode::NO_ERROR_CODE
    }

    /// Returns whether the service asks for a lower rate: status 429 or 503.
    #[must_use]
    pub const fn is_throttling(&self) -> bool {
        matches!(self.status, 429 | 503)
    }

    /// The same error, marked as one that a layer makes on purpose.
    #[must_use]
    pub fn injected(self) -> Self {
        self.caused_by(Injected)
    }

    /// Whether a layer made the error on purpose, as [`Faults`](crate::layer::Faults) and
    /// [`Throttle`](crate::layer::Throttle) do.
    #[must_use]
    pub fn is_injected(&self) -> bool {
        self.source.as_deref().is_some_and(<dyn Error + Send + Sync>::is::<Injected>)
    }

    /// Returns the same error, of the operation with that index.
    #[must_use]
    pub fn at(mut self, operation: usize) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Returns the same error, caused by `source`.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (HTTP {})", Printable(&self.code), self.status)?;
        if let Some(index) = self.operation {
            write!(f, " at operation {index}")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", Printable(&self.message))?;
        }
        Ok(())
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The source of an error that a layer makes on purpose.
#[derive(Debug, thiserror::Error)]
#[error("a layer makes this error on purpose")]
struct Injected;
