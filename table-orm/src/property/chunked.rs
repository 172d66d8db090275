//! One value over several properties of its entity: `#[table(chunked)]`.
//!
//! Invariant: the property of the field's own name holds the value's length, and the value is what the
//! first chunks of that length hold. A merge cannot remove the chunks of a longer value before; nobody reads
//! them.

use super::scalar::arbitrary_number;
use super::series::SeriesSlots;
use super::slots::{CHUNKS, slot, slot_name};
use super::{PropertiesWriter, Property, PropertyError, PropertyFault, PropertyWriter};
use super::{RowFault, json};
use crate::codec::Members;
use crate::model::{Edm, EdmType, MAX_BINARY_BYTES, MAX_ENTITY_BYTES, MAX_STRING_UNITS, order};
use bytes::Bytes;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, Error, MapAccess, Visitor};
use serde::{Deserializer, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// The most chunks of a value.
pub(crate) const MAX_CHUNKS: usize = CHUNKS.most();

/// A value that `#[table(chunked)]` stores over several properties: bytes or text.
///
/// A field `photo` is stored as `Photo`, an `Edm.Int32` with the number of bytes or UTF-16 units, and as
/// `Photo00`, `Photo01` and so on, each of at most 64 KiB. An entity has room for 1 MiB in all. `None` stores
/// nothing. A row that stores the whole value in `Photo`, as before the field was `chunked`, is read, too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in chunks",
    label = "neither bytes nor text",
    note = "chunk a `Vec<u8>`, `Bytes` or `String`, an `Option` of one, or any serde type with \
            `#[table(json, chunked)]`"
)]
pub trait Chunked: Sized {
    /// The EDM type of the chunks.
    #[doc(hidden)]
    const TYPE: EdmType;

    /// The chunks that were read so far.
    type Slots: Default;

    /// No chunks.
    #[must_use]
    fn empty() -> Self::Slots {
        Self::Slots::default()
    }

    /// Writes the length and the chunks. `name` is the stored name of the field.
    ///
    /// # Errors
    /// When no entity has room for the value: [`PropertyFault::EntityTooLarge`].
    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError>;

    /// Reads the value of `property` if it is the length or a chunk, and returns whether it is.
    ///
    /// # Errors
    /// When it is of another type.
    fn read(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault>;

    /// The value of the chunks that were read; `None` where the row has no value.
    ///
    /// # Errors
    /// When a chunk is missing: [`RowFault`].
    fn stored(slots: Self::Slots, name: &str) -> Result<Option<Self>, RowFault>;

    /// The value of the chunks that were read.
    ///
    /// # Errors
    /// When the value or a chunk of it is missing: [`RowFault`].
    fn finish(slots: Self::Slots, name: &str) -> Result<Self, RowFault> {
        Self::stored(slots, name)?.ok_or_else(|| RowFault::new(name, PropertyFault::Missing))
    }
}

/// Any serde type as chunks of its JSON text: `#[table(json, chunked)]`. The derive stores nothing for a `None`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON text",
    label = "does not implement serde's traits",
    note = "derive `serde::Serialize` and `serde::Deserialize`"
)]
#[doc(hidden)]
pub trait ChunkedJson: Sized {
    const TYPE: EdmType = EdmType::String;

    type Slots: Default;

    #[must_use]
    fn empty() -> Self::Slots {
        Self::Slots::default()
    }

    /// # Errors
    /// When no entity has room for the text, or the value has none.
    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError>;

    /// # Errors
    /// When the property is of another type.
    fn read(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault>;

    /// # Errors
    /// When a chunk is missing, or the text is not of the type.
    fn stored(slots: Self::Slots, name: &str) -> Result<Option<Self>, RowFault>;

    /// # Errors
    /// When the value or a chunk of it is missing, or is not of the type.
    fn finish(slots: Self::Slots, name: &str) -> Result<Self, RowFault> {
        Self::stored(slots, name)?.ok_or_else(|| RowFault::new(name, PropertyFault::Missing))
    }
}

/// What chunks are put together to.
pub trait Whole: Property + Default {
    /// Its length as it is stored: bytes, or UTF-16 units.
    #[doc(hidden)]
    fn length(&self) -> usize;

    #[doc(hidden)]
    fn append(&mut self, chunk: Self);
}

impl Whole for Vec<u8> {
    fn length(&self) -> usize {
        self.len()
    }

    fn append(&mut self, mut chunk: Self) {
        Self::append(self, &mut chunk);
    }
}

impl Whole for String {
    fn length(&self) -> usize {
        order::len(self)
    }

    fn append(&mut self, chunk: Self) {
        self.push_str(&chunk);
    }
}

/// The length and the chunks that were read so far.
#[doc(hidden)]
#[derive(Debug)]
pub struct ChunkSlots<T> {
    head: Option<Head<T>>,
    chunks: SeriesSlots<T>,
}

impl<T> Default for ChunkSlots<T> {
    fn default() -> Self {
        Self { head: None, chunks: SeriesSlots::default() }
    }
}

impl<T: Whole> ChunkSlots<T> {
    fn read(
        &mut self,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        if property == name {
            return members.read(property, &mut self.head).map(|()| true);
        }
        match slot(name, property, CHUNKS.digits()) {
            Some(index) if index < MAX_CHUNKS => {
                self.chunks.read(index, property, members).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// The value; `None` where the row has no length of one.
    fn finish(self, name: &str) -> Result<Option<T>, RowFault> {
        let length = match self.head {
            None => return Ok(None),
            Some(Head::Whole(whole)) => return Ok(Some(whole)),
            Some(Head::Length(length)) => length,
        };
        let (mut whole, mut read, mut chunks) = (T::default(), 0, self.chunks.into_values());
        for index in 0.. {
            if read >= length {
                break;
            }
            let chunk = chunks.next().flatten().ok_or_else(|| {
                let name = slot_name(name, index, CHUNKS.digits());
                RowFault::new(&name, PropertyFault::MissingChunk)
            })?;
            read += chunk.length();
            whole.append(chunk);
        }
        if read == length {
            return Ok(Some(whole));
        }
        let fault = format!("its chunks hold {read}, and its length is {length}");
        Err(RowFault::new(name, PropertyFault::Unreadable(fault)))
    }
}

/// What the property of the field's own name holds.
#[derive(Debug)]
enum Head<T> {
    Length(usize),
    /// The whole value, from before the field was `chunked`.
    Whole(T),
}

impl<T: Property> Property for Head<T> {
    fn write(&self, out: PropertyWriter<'_>) -> Result<(), PropertyFault> {
        match self {
            Self::Length(length) => out.int32(int32(*length)?),
            Self::Whole(whole) => whole.write(out),
        }
    }

    fn read<'de, D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        value.deserialize_any(HeadVisitor(PhantomData))
    }

    fn edm(&self) -> Result<Option<Edm>, PropertyFault> {
        match self {
            Self::Length(length) => Ok(Some(Edm::Int32(int32(*length)?))),
            Self::Whole(whole) => whole.edm(),
        }
    }
}

/// A length as it is stored. A value that is too long for it is too large for an entity.
fn int32(length: usize) -> Result<i32, PropertyFault> {
    i32::try_from(length).map_err(|_| PropertyFault::EntityTooLarge(length))
}

struct HeadVisitor<T>(PhantomData<T>);

impl<'de, T: Property> Visitor<'de> for HeadVisitor<T> {
    type Value = Head<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the length of a value in chunks, or the value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        arbitrary_number(map, self)
    }

    fn visit_u64<E: Error>(self, length: u64) -> Result<Self::Value, E> {
        usize::try_from(length).map(Head::Length).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, length: i64) -> Result<Self::Value, E> {
        usize::try_from(length).map(Head::Length).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        T::read(StrDeserializer::new(text)).map(Head::Whole)
    }
}

impl PropertiesWriter {
    fn chunks<'v>(
        &mut self,
        name: &str,
        (length, bytes): (usize, usize),
        chunks: impl Iterator<Item = Chunk<'v>>,
    ) -> Result<(), PropertyError> {
        if bytes > MAX_ENTITY_BYTES {
            return Err(self.error(name, PropertyFault::EntityTooLarge(bytes)));
        }
        self.property(name, &Head::<String>::Length(length))?;
        for (index, chunk) in chunks.enumerate() {
            let name = slot_name(name, index, CHUNKS.digits());
            self.property_by(&name, |out| match chunk {
                Chunk::Bytes(bytes) => out.binary(bytes),
                Chunk::Text(text) => out.string(text),
            })?;
        }
        Ok(())
    }

    fn chunked_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), PropertyError> {
        let chunks = bytes.chunks(MAX_BINARY_BYTES).map(Chunk::Bytes);
        self.chunks(name, (bytes.len(), bytes.len()), chunks)
    }

    fn chunked_text(&mut self, name: &str, text: &str) -> Result<(), PropertyError> {
        let (units, mut rest) = (order::len(text), text);
        let chunks = std::iter::from_fn(|| {
            let (chunk, behind) = rest.split_at(end_of_chunk(rest));
            rest = behind;
            (!chunk.is_empty()).then_some(Chunk::Text(chunk))
        });
        self.chunks(name, (units, 2 * units), chunks)
    }

    /// Writes any serde value as chunks of its JSON text.
    ///
    /// # Errors
    /// When the value has no JSON text, or no entity has room for it.
    pub(crate) fn chunked_json<T: Serialize>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), PropertyError> {
        let text = json::text(value).map_err(|fault| self.error(name, fault))?;
        self.chunked_text(name, &text)
    }
}

enum Chunk<'v> {
    Bytes(&'v [u8]),
    Text(&'v str),
}

/// Where the first chunk of a text ends: before the character that it has no room for.
fn end_of_chunk(text: &str) -> usize {
    let mut units = 0;
    let mut over = text.char_indices().filter_map(|(at, character)| {
        units += character.len_utf16();
        (units > MAX_STRING_UNITS).then_some(at)
    });
    over.next().unwrap_or(text.len())
}

macro_rules! chunked {
    ($([$($generics:tt)*] $type:ty: $whole:ty, $edm:ident, $write:ident);* $(;)?) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> Chunked for $type {
            const TYPE: EdmType = EdmType::$edm;

            type Slots = ChunkSlots<$whole>;

            fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
                out.$write(name, self)
            }

            fn read(
                slots: &mut Self::Slots,
                name: &str,
                property: &str,
                members: &mut Members<'_, '_>,
            ) -> Result<bool, RowFault> {
                slots.read(name, property, members)
            }

            fn stored(slots: Self::Slots, name: &str) -> Result<Option<Self>, RowFault> {
                Ok(slots.finish(name)?.map(Self::from))
            }
        }
    )*};
}

chunked! {
    [] Vec<u8>: Vec<u8>, Binary, chunked_bytes;
    [] Bytes: Vec<u8>, Binary, chunked_bytes;
    [] String: String, String, chunked_text;
    [] Box<str>: String, String, chunked_text;
    ['a] Cow<'a, str>: String, String, chunked_text;
}

/// `None` is stored as no property.
#[diagnostic::do_not_recommend]
impl<T: Chunked> Chunked for Option<T> {
    const TYPE: EdmType = T::TYPE;

    type Slots = T::Slots;

    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
        self.as_ref().map_or(Ok(()), |value| value.write(name, out))
    }

    fn read(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        T::read(slots, name, property, members)
    }

    fn stored(slots: Self::Slots, name: &str) -> Result<Option<Self>, RowFault> {
        T::stored(slots, name).map(Some)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> ChunkedJson for T {
    type Slots = ChunkSlots<String>;

    fn write(&self, name: &str, out: &mut PropertiesWriter) -> Result<(), PropertyError> {
        out.chunked_json(name, self)
    }

    fn read(
        slots: &mut Self::Slots,
        name: &str,
        property: &str,
        members: &mut Members<'_, '_>,
    ) -> Result<bool, RowFault> {
        slots.read(name, property, members)
    }

    fn stored(slots: Self::Slots, name: &str) -> Result<Option<Self>, RowFault> {
        let text = slots.finish(name)?;
        let value = text.map(|text| serde_json::from_str(&text)).transpose();
        value.map_err(|error| RowFault::unreadable(name, &error))
    }
}
