//! The JSON object of a row: its members as slices of its text.
//!
//! ```
//! use table_orm::azure::protocol::json;
//! let mut names = Vec::new();
//! json::visit_members(r#"{"Chip":"5","Chip@odata.type":"Edm.Int64"}"#, |member| {
//!     names.push((member.property().to_owned(), member.value));
//! })?;
//! assert_eq!(names, [("Chip".to_owned(), "\"5\""), ("Chip".to_owned(), "\"Edm.Int64\"")]);
//! # Ok::<(), serde_json::Error>(())
//! ```

pub use crate::codec::{
    RawMember, is_property_name, visit_members, write_keys, write_member, write_string,
};
