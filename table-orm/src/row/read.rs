//! Stored rows back into values: one row, or a page of them.

use super::members::{Members, RowContext};
use crate::entity::ETag;
use crate::property::{PropertyError, PropertyFault};
use crate::query::Row;
use crate::store::Metadata;
use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::de::StrRead;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// A value that a row can be read into: an entity, a projection, a row of any shape.
pub trait ReadRow: Sized {
    /// The name for error messages.
    const NAME: &'static str;
    /// The properties to ask the store for; `None` asks for all.
    const SELECT: Option<&'static [&'static str]> = None;
    /// How much the store is asked to say of the properties' types.
    const METADATA: Metadata = Metadata::None;

    /// Reads the row that was written from the entity's key template `row`.
    ///
    /// # Errors
    /// When a property is missing or is not a value of its field's type.
    fn read_row<'de, A: MapAccess<'de>>(
        row: usize,
        members: Members<'_, 'de, A>,
    ) -> Result<Self, A::Error>;
}

/// A value that rows of kind `R` hold completely.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from rows of `{R}`: they do not store all of its fields",
    label = "not stored in these rows",
    note = "a partial copy (`include`/`exclude`) is read with `.project::<P>()`, where \
            `#[derive(Projection)] struct P` has only fields that the row stores"
)]
pub trait FromRow<R: Row>: ReadRow {}

/// Reads one row's JSON object.
pub(crate) fn read_row<T: ReadRow>(row: usize, json: &[u8]) -> Result<T, PropertyError> {
    read_in(&mut RowContext::new(T::NAME), row, json)
}

/// Reads one row's JSON object, and what the row says of itself: its keys, and its version, where
/// none was stated beside it.
pub(super) fn read_row_in_context<'a, T: ReadRow>(
    row: usize,
    json: &'a [u8],
    stated: Option<&ETag>,
) -> Result<(T, RowContext<'a>), PropertyError> {
    let mut context = RowContext::new(T::NAME);
    if let Some(etag) = stated {
        context.stated_etag = etag.as_str().to_owned().into();
    }
    let value = read_in(&mut context, row, json)?;
    Ok((value, context))
}

/// The version that a row's timestamp tells.
pub(crate) fn read_etag(json: &[u8]) -> Result<ETag, PropertyError> {
    let mut context = RowContext::new(AnyRow::NAME);
    let AnyRow = read_in(&mut context, 0, json)?;
    if context.timestamp.is_empty() {
        context.fault = Some(("Timestamp".to_owned(), PropertyFault::Missing));
        return Err(context.error(&serde_json::Error::custom("no timestamp")));
    }
    Ok(context.etag())
}

/// A row of which nothing but its being there is of interest.
pub(crate) struct AnyRow;

impl ReadRow for AnyRow {
    const NAME: &'static str = "row";
    const SELECT: Option<&'static [&'static str]> = Some(&["PartitionKey", "RowKey"]);

    fn read_row<'de, A: MapAccess<'de>>(
        _row: usize,
        mut members: Members<'_, 'de, A>,
    ) -> Result<Self, A::Error> {
        members.skip().map(|()| Self)
    }
}

impl<R: Row> FromRow<R> for AnyRow {}

fn read_in<'de, T: ReadRow>(
    context: &mut RowContext<'de>,
    row: usize,
    json: &'de [u8],
) -> Result<T, PropertyError> {
    let seed = RowSeed { row, context: &mut *context, value: PhantomData };
    let value = reader(json).and_then(|mut reader| seed.deserialize(&mut reader));
    value.map_err(|error| with_keys(context.error(&error), json))
}

/// The error of a row, with its keys also where they stand behind what could not be read.
#[cold]
fn with_keys(error: PropertyError, json: &[u8]) -> PropertyError {
    let mut head = RowContext::new(error.entity);
    let seed = RowSeed::<AnyRow> { row: 0, context: &mut head, value: PhantomData };
    match reader(json).and_then(|mut reader| seed.deserialize(&mut reader)) {
        Ok(AnyRow) => PropertyError {
            partition_key: head.partition_key.into_owned(),
            row_key: head.row_key.into_owned(),
            ..error
        },
        Err(_) => error,
    }
}

/// Reads JSON that is checked to be UTF-8 as a whole, which costs less than text by text.
fn reader(json: &[u8]) -> serde_json::Result<serde_json::Deserializer<StrRead<'_>>> {
    let text = str::from_utf8(json).map_err(serde_json::Error::custom)?;
    Ok(serde_json::Deserializer::from_str(text))
}

/// Reads every row of a page's `value` array.
pub(crate) fn read_page<T: ReadRow>(row: usize, json: &[u8]) -> Result<Vec<T>, PropertyError> {
    let mut context = RowContext::new(T::NAME);
    let rows = RowsSeed { row, context: &mut context, value: PhantomData };
    page_value(json, rows).map_err(|error| context.error(&error))
}

/// The JSON objects of a page's `value` array, unread.
pub(crate) fn split_page(json: &[u8]) -> Result<Vec<&RawValue>, PropertyError> {
    page_value(json, PhantomData::<Vec<&RawValue>>)
        .map_err(|error| RowContext::new("page").error(&error))
}

fn page_value<'de, S: DeserializeSeed<'de>>(
    json: &'de [u8],
    seed: S,
) -> serde_json::Result<S::Value> {
    let mut reader = reader(json)?;
    let value = reader.deserialize_map(PageVisitor(seed))?;
    reader.end().map(|()| value)
}

struct RowSeed<'c, 'de, T> {
    row: usize,
    context: &'c mut RowContext<'de>,
    value: PhantomData<T>,
}

impl<'de, T: ReadRow> DeserializeSeed<'de> for RowSeed<'_, 'de, T> {
    type Value = T;

    fn deserialize<D: serde::Deserializer<'de>>(self, value: D) -> Result<T, D::Error> {
        value.deserialize_map(self)
    }
}

impl<'de, T: ReadRow> Visitor<'de> for RowSeed<'_, 'de, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::read_row(self.row, Members::new(map, self.context))
    }
}

struct RowsSeed<'c, 'de, T> {
    row: usize,
    context: &'c mut RowContext<'de>,
    value: PhantomData<T>,
}

impl<'de, T: ReadRow> DeserializeSeed<'de> for RowsSeed<'_, 'de, T> {
    type Value = Vec<T>;

    fn deserialize<D: serde::Deserializer<'de>>(self, value: D) -> Result<Vec<T>, D::Error> {
        value.deserialize_seq(self)
    }
}

impl<'de, T: ReadRow> Visitor<'de> for RowsSeed<'_, 'de, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Vec<T>, A::Error> {
        let mut values = Vec::new();
        let Self { row, context, value } = self;
        while let Some(read) =
            rows.next_element_seed(RowSeed { row, context: &mut *context, value })?
        {
            values.push(read);
        }
        Ok(values)
    }
}

/// A page object, whose member `value` the seed reads.
struct PageVisitor<S>(S);

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for PageVisitor<S> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a page object with a member `value`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut page: A) -> Result<S::Value, A::Error> {
        let mut seed = Some(self.0);
        let mut rows = None;
        while let Some(name) = page.next_key::<Cow<'de, str>>()? {
            match seed.take_if(|_| name == "value") {
                Some(seed) => rows = Some(page.next_value_seed(seed)?),
                None => {
                    page.next_value::<IgnoredAny>()?;
                }
            }
        }
        rows.ok_or_else(|| A::Error::missing_field("value"))
    }
}
