//! The form of an answer: the level of metadata and what the client prefers to get.

use crate::error::ServiceError;
use crate::message::header;
use http::{HeaderMap, HeaderName};

/// How much an entity's JSON says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MetadataLevel {
    /// `nometadata`: properties only.
    None,
    /// `minimalmetadata`: types that JSON does not show, and ETags.
    #[default]
    Minimal,
    /// `fullmetadata`: addresses, too.
    Full,
}

impl MetadataLevel {
    /// Reads the parameter `$format`, or else the header `Accept`.
    pub(crate) fn read(format: Option<&str>, headers: &HeaderMap) -> Result<Self, ServiceError> {
        let accepted = format.or_else(|| header(headers, "accept"));
        let accepted = accepted.ok_or(ServiceError::ATOM_NOT_SUPPORTED)?;
        let mut media = accepted.split(',').map(str::trim);
        media.find_map(Self::of).ok_or(if accepted.contains("atom") {
            ServiceError::ATOM_NOT_SUPPORTED
        } else {
            ServiceError::MEDIA_TYPE_NOT_SUPPORTED
        })
    }

    /// Reads one media type; `None` if it is not JSON.
    fn of(media: &str) -> Option<Self> {
        let mut parts = media.split(';').map(str::trim);
        let kind = parts.next()?.to_ascii_lowercase();
        if !matches!(&*kind, "application/json" | "json" | "application/*" | "*/*") {
            return None;
        }
        let level = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("odata").then(|| value.trim().to_ascii_lowercase())
        });
        match level.as_deref() {
            None | Some("minimalmetadata") => Some(Self::Minimal),
            Some("nometadata") => Some(Self::None),
            Some("fullmetadata" | "verbose") => Some(Self::Full),
            Some(_) => None,
        }
    }

    /// Returns the `Content-Type` of an answer.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::None => "application/json;odata=nometadata;streaming=true;charset=utf-8",
            Self::Minimal => "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
            Self::Full => "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
        }
    }
}

/// What the answer to an insert holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preference {
    /// Nothing was asked for: the answer holds the entity.
    Unstated,
    /// `Prefer: return-content`.
    Content,
    /// `Prefer: return-no-content`.
    NoContent,
}

impl Preference {
    /// Reads the header `Prefer`.
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        static PREFER: HeaderName = HeaderName::from_static("prefer");
        match header(headers, &PREFER).map(str::trim) {
            Some("return-no-content") => Self::NoContent,
            Some("return-content") => Self::Content,
            _ => Self::Unstated,
        }
    }

    /// Returns the value of `Preference-Applied`.
    pub(crate) const fn applied(self) -> Option<&'static str> {
        match self {
            Self::Unstated => None,
            Self::Content => Some("return-content"),
            Self::NoContent => Some("return-no-content"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(accept: &str) -> Result<MetadataLevel, ServiceError> {
        let headers = HeaderMap::from_iter([(http::header::ACCEPT, accept.parse().unwrap())]);
        MetadataLevel::read(None, &headers)
    }

    #[test]
    fn the_level_is_read_from_what_the_client_accepts() {
        assert_eq!(level("application/json;odata=nometadata"), Ok(MetadataLevel::None));
        assert_eq!(level("application/json; odata=fullmetadata"), Ok(MetadataLevel::Full));
        assert_eq!(level("application/json"), Ok(MetadataLevel::Minimal));
        assert_eq!(level("*/*"), Ok(MetadataLevel::Minimal));
        assert_eq!(level("text/html, application/JSON;ODATA=nometadata"), Ok(MetadataLevel::None));
        assert_eq!(level("application/atom+xml"), Err(ServiceError::ATOM_NOT_SUPPORTED));
        assert_eq!(level("text/html"), Err(ServiceError::MEDIA_TYPE_NOT_SUPPORTED));
        let none = MetadataLevel::read(None, &HeaderMap::new());
        assert_eq!(none, Err(ServiceError::ATOM_NOT_SUPPORTED));
        let format =
            MetadataLevel::read(Some("application/json;odata=nometadata"), &HeaderMap::new());
        assert_eq!(format, Ok(MetadataLevel::None));
    }
}
