//! The JSON object of a row: one reader and one writer, without a tree of values in between.

mod error;
mod json;
mod members;
mod name_cache;
mod overlay;
mod property;
mod seen_names;
mod writer;

pub use error::{PropertyError, PropertyFault, RowFault};
pub use members::Members;
pub use property::Property;
pub use writer::{Limit, PropertiesWriter, PropertyWriter};

pub(crate) use json::Json;
pub(crate) use members::RowContext;
pub(crate) use name_cache::NameCache;
pub(crate) use overlay::overlay;
#[cfg(any(feature = "azure", fuzzing, test))]
pub(crate) use writer::is_property_name;
pub(crate) use writer::write_string;
