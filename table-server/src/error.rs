//! The errors that the service answers, with its codes, statuses and texts.
//!
//! Invariant: a text that clients compare is the service's own, word for word.

use std::borrow::Cow;
use std::time::Duration;
use table_orm::store::{ErrorCode, StoreError};

/// Why a request was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} ({status}): {message}")]
pub struct ServiceError {
    /// The HTTP status; 0 when no answer is to be sent.
    pub status: u16,
    /// The service's code.
    pub code: Cow<'static, str>,
    /// The service's text, without request id and time.
    pub message: Cow<'static, str>,
    /// The index of the failed operation, in a transaction.
    pub operation: Option<usize>,
    /// How long the client is asked to wait.
    pub retry_after: Option<Duration>,
    /// Whether a layer made it on purpose, as `table_orm::layer::Faults` does.
    pub injected: bool,
}

macro_rules! errors {
    ($($name:ident = $status:literal $code:literal, $message:literal;)*) => {
        impl ServiceError {
            $(#[doc = concat!("`", $code, "`, HTTP ", stringify!($status), ".")]
            pub const $name: Self = Self::constant($status, $code, $message);)*
        }
    };
}

errors! {
    ATOM_NOT_SUPPORTED = 415 "AtomFormatNotSupported", "Atom format is not supported.";
    AUTHENTICATION_FAILED = 403 "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
    AUTHORIZATION_FAILURE = 403 "AuthorizationFailure", "This request is not authorized to perform this operation.";
    CORS_PREFLIGHT_FAILURE = 403 "CorsPreflightFailure", "CORS not enabled or no matching rule found for this request.";
    DIFFERENT_PARTITIONS = 400 "CommandsInBatchActOnDifferentPartitions", "All commands in a batch must operate on same entity group.";
    DUPLICATE_PROPERTIES = 400 "DuplicatePropertiesSpecified", "A property is specified more than one time.";
    HEAD_TOO_LARGE = 431 "InvalidHeaderValue", "The line and the headers of the request have more than 64 KiB.";
    INVALID_AUTHENTICATION_INFO = 401 "InvalidAuthenticationInfo", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    INVALID_HEADER_VALUE = 400 "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.";
    INVALID_INPUT = 400 "InvalidInput", "One of the request inputs is not valid.";
    INVALID_QUERY_PARAMETER = 400 "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.";
    INVALID_RESOURCE_NAME = 400 "InvalidResourceName", "The specified resource name contains invalid characters.";
    INVALID_URI = 400 "InvalidUri", "The requested URI does not represent any resource on the server.";
    INVALID_XML = 400 "InvalidXmlDocument", "XML specified is not syntactically valid.";
    INVALID_XML_VALUE = 400 "InvalidXmlNodeValue", "The value for one of the XML nodes is not in the correct format.";
    MEDIA_TYPE_NOT_SUPPORTED = 415 "MediaTypeNotSupported", "None of the provided media types are supported";
    METHOD_NOT_ALLOWED = 405 "MethodNotAllowed", "The requested method is not allowed on the specified resource.";
    MISSING_HEADER = 400 "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.";
    MISSING_KEYS = 400 "PropertiesNeedValue", "The values are not specified for all properties in the entity.";
    NO_AUTHENTICATION = 401 "NoAuthenticationInformation", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    NOT_IMPLEMENTED = 501 "NotImplemented", "The requested operation is not implemented on the specified resource.";
    OUT_OF_RANGE_NAME = 400 "OutOfRangeInput", "The specified resource name length is not within the permissible limits.";
    PERMISSION_MISMATCH = 403 "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.";
    PROTOCOL_MISMATCH = 403 "AuthorizationProtocolMismatch", "This request is not authorized to perform this operation using this protocol.";
    RESOURCE_MISMATCH = 403 "AuthorizationResourceTypeMismatch", "This request is not authorized to perform this operation using this resource type.";
    RESOURCE_NOT_FOUND = 404 "ResourceNotFound", "The specified resource does not exist.";
    SERVICE_MISMATCH = 403 "AuthorizationServiceMismatch", "This request is not authorized to perform this operation using this service.";
    SOURCE_ADDRESS_MISMATCH = 403 "AuthorizationSourceIPMismatch", "This request is not authorized to perform this operation using this source IP.";
    TABLE_NOT_FOUND = 404 "TableNotFound", "The table specified does not exist.";
    TOO_LARGE = 413 "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit.";
    TUNNEL_NOT_POST = 400 "XMethodNotUsingPost", "The request uses X-HTTP-Method with an HTTP verb other than POST.";
    TUNNEL_VALUE = 400 "XMethodIncorrectValue", "The request X-HTTP-Method specifies an incorrect HTTP verb.";
    UNSUPPORTED_VERB = 405 "UnsupportedHttpVerb", "The resource doesn't support the specified HTTP verb.";
    WRITES_NOT_ALLOWED = 403 "InsufficientAccountPermissions", "Write operations are not allowed.";
}

/// The service's texts for codes of a store.
const TEXTS: [(&str, &str); 13] = [
    ("DuplicatePropertiesSpecified", "A property is specified more than one time."),
    ("EntityAlreadyExists", "The specified entity already exists."),
    ("EntityTooLarge", "The entity is larger than the maximum allowed size (1MB)."),
    (
        "InvalidDuplicateRow",
        "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.",
    ),
    ("PropertyNameInvalid", "The property name is invalid."),
    ("PropertyNameTooLong", "The property name exceeds the maximum allowed length (255)."),
    (
        "PropertyValueTooLarge",
        "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.",
    ),
    ("ResourceNotFound", "The specified resource does not exist."),
    ("TableAlreadyExists", "The table specified already exists."),
    ("TableBeingDeleted", "The specified table is being deleted. Try operation later."),
    ("TableNotFound", "The table specified does not exist."),
    (
        "TooManyProperties",
        "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.",
    ),
    (
        "UpdateConditionNotSatisfied",
        "The update condition specified in the request was not satisfied.",
    ),
];

impl ServiceError {
    const fn constant(status: u16, code: &'static str, message: &'static str) -> Self {
        let (code, message) = (Cow::Borrowed(code), Cow::Borrowed(message));
        Self { status, code, message, operation: None, retry_after: None, injected: false }
    }

    /// `InvalidInput` with a text of our own, which says what is wrong.
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::INVALID_INPUT.because(message)
    }

    /// The same error with another text.
    #[must_use]
    pub fn because(self, message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// The same error, of the operation with that index.
    #[must_use]
    pub const fn at(mut self, operation: usize) -> Self {
        self.operation = Some(operation);
        self
    }

    /// Whether the connection is to be closed without an answer.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.status == 0
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        let code = error.code.as_str().to_owned();
        let message = match TEXTS.iter().find(|(known, _)| *known == code) {
            Some((_, text)) => Cow::Borrowed(*text),
            None if error.code == ErrorCode::SERVER_BUSY => Cow::Borrowed("The server is busy."),
            // The index is written before every message of a transaction.
            None => {
                let own =
                    error.message.split_once(':').filter(|(index, _)| index.parse::<u8>().is_ok());
                Cow::Owned(own.map_or(&*error.message, |(_, text)| text).to_owned())
            }
        };
        // A database that is closed has said so.
        let is_answer = error.status == 0 && error.code == ErrorCode::CONNECTION_FAILED;
        Self {
            status: if is_answer { 503 } else { error.status },
            code: Cow::Owned(code),
            message,
            operation: error.operation,
            retry_after: error.retry_after,
            injected: error.is_injected(),
        }
    }
}
