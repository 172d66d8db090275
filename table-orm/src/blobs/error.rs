//! The error of one request for a blob.

use crate::model::Printable;
use std::error::Error;

/// The reason why a request for a blob failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("blob `{}`: {}", Printable(name), Printable(message))]
pub struct BlobError {
    /// The kind of failure.
    pub kind: BlobErrorKind,
    /// The blob's name.
    pub name: String,
    /// The service's message and what to do, for people.
    pub message: String,
    /// The cause, such as an I/O error.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of a [`BlobError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlobErrorKind {
    /// The container of the blobs does not exist. Create it first.
    ContainerNotFound,
    /// The blob does not have the version or the parts that the request needs.
    Changed,
    /// The request is invalid, for example with a name that no container can have.
    Invalid,
    /// The credential does not allow the request.
    Forbidden,
    /// The service is overloaded or does not answer. Retrying later may succeed.
    Unavailable,
    /// Another failure.
    Other,
}

impl BlobError {
    /// Makes the error of a request for a blob.
    #[must_use]
    pub fn new(kind: BlobErrorKind, name: &str, message: impl Into<String>) -> Self {
        Self { kind, name: name.to_owned(), message: message.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
