//! The service's data model: the values that every other module uses.
//!
//! | Type | What it is |
//! |---|---|
//! | [`Edm`] | a property's value with its type |
//! | [`DateTime`] | an instant at the service's resolution |
//! | [`Period`] | a span of time with a table of its own |
//! | [`ETag`] | a row's version |
//! | [`TableName`] | the name of a table |
//! | [`Continuation`] | where the next page of a query starts |
//!
//! The service's limits are constants here, each with its source.

mod const_message;
mod const_text;
mod continuation;
mod datetime;
mod edm;
mod etag;
mod limits;
mod metadata;
pub mod order;
mod period;
mod printable;
mod reserved;
mod system_properties;
mod table_name;
mod targets;

pub use continuation::Continuation;
pub use datetime::{DateTime, DateTimeRangeError};
pub(crate) use datetime::{TICKS_PER_SECOND, Utc};
pub use edm::{Edm, EdmType};
pub use etag::ETag;
pub use limits::{
    MAX_BINARY_BYTES, MAX_COMPARISONS, MAX_ENTITY_BYTES, MAX_KEY_UNITS, MAX_NAME_CHARS,
    MAX_PAGE_ROWS, MAX_PROPERTIES, MAX_STRING_UNITS, MAX_TRANSACTION_BYTES,
    MAX_TRANSACTION_OPERATIONS,
};
pub use metadata::Metadata;
pub use period::{Bucket, Moment, Period, TimeRange};
pub use table_name::{TableName, TableNameError};
pub use targets::{ACCOUNT_TARGET, OLDER_PARTITION_TARGET, PARTITION_TARGET};

pub(crate) use const_message::ConstMessage;
pub(crate) use const_text::{is_same, starts_with};
pub(crate) use limits::{entity_size, property_size};
pub(crate) use printable::Printable;
pub(crate) use reserved::{
    ACROSS_GUARD, EXPIRY_START, HOME_TABLE, KIND, MOVED_ETAG, MOVED_FROM, MOVED_TO, PARCEL_START,
    RESERVED_PROPERTIES, reserved_start,
};
pub(crate) use system_properties::{
    ETAG_MEMBER, METADATA_PREFIX, PARTITION_KEY, ROW_KEY, SYSTEM_PROPERTIES, TIMESTAMP,
    TYPE_ANNOTATION, is_system_property,
};
