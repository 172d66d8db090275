//! A value of any size: `#[table(overflow)]`.
//!
//! Invariant: a property holds the bytes themselves, or a reference to rows of the entity's partition that
//! hold them, or say that a blob does. Base64 text has no colon and a reference begins with one, so neither is taken
//! for the other.

use super::{Property, PropertyFault, PropertyWriter};
use crate::model::{Edm, MAX_BINARY_BYTES, order};
use bytes::Bytes;
use serde::de::Error;
use serde::de::value::StrDeserializer;
use serde::{Deserialize, Deserializer};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fmt;
use uuid::Uuid;

/// The most bytes that the property itself holds: 64 KiB.
pub(crate) const MAX_INLINE: usize = MAX_BINARY_BYTES;
/// The bytes of each row of a larger value, but for the last: 11 properties of 64 KiB. Azurite counts them as
/// base64, which takes a third more, against the 1 MiB of an entity.
pub(crate) const CHUNK_BYTES: usize = 11 * MAX_BINARY_BYTES;

/// A value of any size in a field with `#[table(overflow)]`, or a reference to it.
///
/// Up to 64 KiB are in the entity. The bytes of a larger value are in rows of their own, or in a blob, which
/// [`Repo::upload`](crate::Repo::upload) writes, and [`Repo::read_large`](crate::Repo::read_large) reads. An
/// entity is read without them.
#[derive(Clone, PartialEq, Eq)]
pub struct Large(Content);

#[derive(Clone, PartialEq, Eq)]
enum Content {
    Inline(Bytes),
    Stored(Reference),
}

impl Large {
    /// Returns how many bytes it has.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Content::Inline(bytes) => bytes.len() as u64,
            Content::Stored(reference) => reference.length,
        }
    }

    /// Returns whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes, if they are in the entity itself.
    #[must_use]
    pub const fn inline(&self) -> Option<&Bytes> {
        match &self.0 {
            Content::Inline(bytes) => Some(bytes),
            Content::Stored(_) => None,
        }
    }

    pub(crate) const fn reference(&self) -> Option<&Reference> {
        match &self.0 {
            Content::Inline(_) => None,
            Content::Stored(reference) => Some(reference),
        }
    }
}

/// A value without bytes.
impl Default for Large {
    fn default() -> Self {
        Self::from(Bytes::new())
    }
}

/// A value in the entity itself: at most 64 KiB, which is checked when the entity is written.
impl From<Bytes> for Large {
    fn from(bytes: Bytes) -> Self {
        Self(Content::Inline(bytes))
    }
}

/// A value in the entity itself: at most 64 KiB, which is checked when the entity is written.
impl From<Vec<u8>> for Large {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

impl From<Reference> for Large {
    fn from(reference: Reference) -> Self {
        Self(Content::Stored(reference))
    }
}

impl fmt::Debug for Large {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.0 {
            Content::Inline(_) => "in the entity",
            Content::Stored(Reference { in_blob: true, .. }) => "in a blob",
            Content::Stored(_) => "in rows",
        };
        write!(f, "Large({} bytes {place})", self.len())
    }
}

impl Property for Large {
    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        match &self.0 {
            Content::Inline(bytes) if bytes.len() > MAX_BINARY_BYTES => {
                Err(PropertyFault::NotUploaded(bytes.len()))
            }
            Content::Inline(bytes) => out.binary(bytes),
            Content::Stored(reference) => out.reference(&reference.text()),
        }
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(value)?;
        if text.starts_with(':') {
            let reference = Reference::parse(&text);
            return reference.map(Self::from).ok_or_else(|| D::Error::custom(UNKNOWN));
        }
        Bytes::read(StrDeserializer::<D::Error>::new(&text)).map(Self::from)
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        Ok(Some(match &self.0 {
            Content::Inline(bytes) => Edm::Binary(bytes.to_vec()),
            Content::Stored(reference) => Edm::String(reference.text()),
        }))
    }
}

const UNKNOWN: &str = "it refers to a large value in a form that this version does not know";

/// The type of a field with `#[table(overflow)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot overflow",
    label = "neither `Large` nor `Option<Large>`",
    note = "make the field a `table_orm::property::Large`; bytes and text of up to 1 MiB are `#[table(chunked)]`"
)]
pub trait Overflowing: Property {
    /// The value, if the field has one.
    fn large(&self) -> Option<&Large>;
}

impl Overflowing for Large {
    fn large(&self) -> Option<&Large> {
        Some(self)
    }
}

impl Overflowing for Option<Large> {
    fn large(&self) -> Option<&Large> {
        self.as_ref()
    }
}

/// Which rows hold a value, and what they must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The part of the rows' keys that no other value has. It begins with that of the entity.
    pub id: String,
    /// How many bytes there are.
    pub length: u64,
    /// Their SHA-256 in hexadecimal digits.
    pub sha256: String,
    /// Whether a blob holds the bytes. The rows say that there is one.
    pub in_blob: bool,
}

/// What the text of a reference to rows begins with.
const IN_ROWS: &str = ":large:";
/// What the text of a reference to a blob begins with.
const IN_BLOB: &str = ":blob:";

/// The hexadecimal digits of an entity in its values' ids.
const OWNER_DIGITS: usize = 16;
const ID_DIGITS: usize = OWNER_DIGITS + 32;
const SHA256_DIGITS: usize = 64;

impl Reference {
    /// A fresh id for a value of that entity.
    pub fn fresh_id(partition_key: &str, row_key: &str) -> String {
        format!("{}{}", Self::owner(partition_key, row_key), Uuid::new_v4().simple())
    }

    /// Returns what the ids of an entity's values begin with.
    pub fn owner(partition_key: &str, row_key: &str) -> String {
        let mut digest = Digest::default();
        // The length shows where one key ends.
        digest.add(format!("{}:{partition_key}{row_key}", order::len(partition_key)).as_bytes());
        let mut digits = digest.finish();
        digits.truncate(OWNER_DIGITS);
        digits
    }

    /// Returns whether it is a value of that entity.
    pub fn is_of(&self, partition_key: &str, row_key: &str) -> bool {
        self.id.starts_with(&Self::owner(partition_key, row_key))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let (in_blob, rest) = match text.strip_prefix(IN_BLOB) {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix(IN_ROWS)?),
        };
        let mut parts = rest.split(':');
        let (id, length, sha256) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = |text: &str, count| {
            text.len() == count
                && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let known =
            digits(id, ID_DIGITS) && digits(sha256, SHA256_DIGITS) && parts.next().is_none();
        let length = length.parse().ok().filter(|_| known)?;
        Some(Self { id: id.to_owned(), length, sha256: sha256.to_owned(), in_blob })
    }

    pub fn text(&self) -> String {
        let start = if self.in_blob { IN_BLOB } else { IN_ROWS };
        format!("{start}{}:{}:{}", self.id, self.length, self.sha256)
    }

    /// The RowKey of the first row.
    pub fn head(&self) -> String {
        chunk_key(&self.id, 0)
    }

    /// Returns how many rows there are. A blob has one besides the first, which is there until the blob is deleted.
    pub const fn rows(&self) -> u64 {
        if self.in_blob { 2 } else { self.length.div_ceil(CHUNK_BYTES as u64) }
    }
}

/// What the RowKeys of large values begin with.
pub(crate) const LARGE_START: &str = "LOB:";

/// The RowKey of a row of that value.
pub(crate) fn chunk_key(id: &str, chunk: u64) -> String {
    format!("{LARGE_START}{id}:{chunk:06}")
}

/// The id and the number in the RowKey of a large value.
pub(crate) fn chunk_of(row_key: &str) -> Option<(&str, u64)> {
    let (id, chunk) = row_key.strip_prefix(LARGE_START)?.split_once(':')?;
    Some((id, chunk.parse().ok()?)).filter(|_| id.len() == ID_DIGITS)
}

/// A SHA-256 in progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// In hexadecimal digits.
    pub fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_references_and_keys_never_change() {
        let id = format!("{}{:032x}", Reference::owner("p", "r"), 7);
        assert_eq!(id, "41acb38285e8d95100000000000000000000000000000007");
        let sha256 = Digest::default().finish();
        let reference = Reference { id: id.clone(), length: 1_000_000, sha256, in_blob: false };
        let text = format!(
            ":large:{id}:1000000:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(reference.text(), text);
        assert_eq!(Reference::parse(&text), Some(reference.clone()));
        assert_eq!((reference.head(), reference.rows()), (format!("LOB:{id}:000000"), 2));
        assert_eq!(chunk_of(&reference.head()), Some((&*id, 0)));
        assert!(
            reference.is_of("p", "r") && !reference.is_of("pr", "") && !reference.is_of("p", "s")
        );
        let blob = Reference { in_blob: true, ..reference };
        let blob_text = text.replace(":large:", ":blob:");
        assert_eq!((blob.text(), blob.rows()), (blob_text.clone(), 2));
        assert_eq!(Reference::parse(&blob_text), Some(blob));
        for other in ["", ":large:", &text[1..], &text[..text.len() - 1], &format!("{text}:1")] {
            assert_eq!(Reference::parse(other), None, "{other}");
        }
    }
}
