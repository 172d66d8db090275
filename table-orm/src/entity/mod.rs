//! What an app stores: typed entities, and their names and versions.

mod etag;
mod name;

pub use etag::ETag;
pub use name::{TableName, TableNameError};
