//! The version of a row.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A row's version, as opaque text: compared and sent back byte for byte.
///
/// With `serde` it is its text, so that a client can keep it and send it back:
///
/// ```
/// use table_orm::ETag;
///
/// let etag = ETag::new("W/1");
/// let json = serde_json::to_string(&etag)?;
/// assert_eq!(json, r#""W/1""#);
/// assert_eq!(serde_json::from_str::<ETag>(&json)?, etag);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ETag(String);

impl ETag {
    /// The ETag with the text of an `ETag` header.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The ETag of a row whose `Timestamp` member is `timestamp`. The service derives the ETag from
    /// the timestamp, and omits it from rows without metadata.
    #[must_use]
    pub fn from_timestamp(timestamp: &str) -> Self {
        const COLON: &str = "%3A";
        let mut text = String::with_capacity(timestamp.len() + 20);
        text.push_str("W/\"datetime'");
        let mut rest = timestamp;
        while let Some(at) = rest.bytes().position(|byte| byte == b':') {
            text.push_str(&rest[..at]);
            text.push_str(COLON);
            rest = &rest[at + 1..];
        }
        text.push_str(rest);
        text.push_str("'\"");
        Self(text)
    }

    /// The text, for an `If-Match` header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
