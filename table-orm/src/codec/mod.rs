//! The JSON object of a row: one reader and one writer, with no tree of values in between.

mod aliases;
mod error;
mod json;
mod json_text;
mod limit;
mod members;
mod name_cache;
mod object;
mod overlay;
mod property;
mod property_name;
mod seen_names;
mod value;
mod writer;

pub use aliases::Alias;
pub use error::{PropertyError, PropertyFault, RowFault};
pub use limit::Limit;
pub use members::Members;
pub use property::Property;
pub use writer::{PropertiesWriter, PropertyWriter};

pub(crate) use aliases::{has_former_names, rename};
pub(crate) use error::{LARGE_ENTITY_HELP, LARGE_VALUE_HELP, UNTYPED};
pub(crate) use json::Json;
#[cfg(feature = "embedded")]
pub(crate) use json::plain_len;
pub(crate) use json_text::KEYS_FRAME;
pub use json_text::{write_keys, write_string};
pub(crate) use members::RowContext;
pub(crate) use name_cache::NameCache;
#[cfg(feature = "azure")]
pub use object::write_member;
pub(crate) use object::{MembersByName, members_by_name, write_object};
#[cfg(any(feature = "azure", feature = "embedded"))]
pub use object::{RawMember, visit_members};
pub(crate) use overlay::overlay;
pub use property_name::is_property_name;
#[cfg(feature = "embedded")]
pub(crate) use seen_names::SeenNames;
