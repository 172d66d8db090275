//! What generated code uses, under one short path. Apps do not use it.

pub use crate::codec::{Alias, Members};
pub use crate::entity::check_names as check_sums;
pub use crate::entity::sum_names;
pub use crate::entity::{BorrowedFrom, BorrowedRow, BorrowedText};
pub use crate::entity::{Bucketed, Bucketing};
pub use crate::entity::{ChunksOf, Elements, Field, FromKeys, Query, Row, SeriesOf, Stores};
pub use crate::entity::{
    EventValues, EventualTemplate, GuardTemplate, MemberOf, RowTemplate, Sum, TableEntity,
    TableUnion, UnionMember, UniqueKey,
};
pub use crate::entity::{ExpiryTime, expiry_shard};
pub use crate::entity::{FromRow, ReadRow};
pub use crate::key::IntoValue as Value;
pub use crate::key::StoredKeys;
pub use crate::key::{
    Ascending, Biased, Coded, Descending, DescendingPadded, Encodes, Escape,
    IntoBounded as Bounded, IntoRange, KeyError, KeyFault, KeyPart, KeyTemplate, KeyText,
    LastRangeOf, Lower, Padded, Plain, PrefixFree, PrefixOf, RangeOf, Shape, Shard, Sharded,
    Sorted, SortedLast, Spread, TemplatePart, TextPart, Width,
};
pub use crate::migrate::{Migrates, check as check_migration};
pub use crate::model::ETag;
pub use crate::model::Metadata;
pub use crate::model::{Bucket, Moment};
pub use crate::model::{DateTime, Edm, EdmType};
pub use crate::property::Limit::{Max, MaxLen};
pub use crate::property::{
    Chunked, ChunkedJson, Declared, Json, Limit, Ordered, Overflowing, ProjectedSeries, Properties,
    PropertiesWriter as Writer, Property, PropertyError, PropertyFault, PropertyWriter, Rolling,
    RowFault, Series, SlotsOf, ValueType, assert_aliases, assert_properties, metadata,
};
pub use crate::query::{Column, Complete, KeyRange, KeyState, Needs, Open, class};
pub use crate::query::{Part, PartitionKey, RowKey};
pub use crate::query::{debug_columns, debug_wrapper};
pub use crate::repo::{EntityPatch, Patch};
pub use crate::{
    __columns as columns, __named_rows as named_rows, __newtype as newtype,
    __partition as partition, __patch as patch, __projected as projected, __row as row,
    __wrapper as wrapper,
};
pub use core::clone::Clone;
pub use core::convert::From;
pub use core::default::Default;
pub use core::marker::{PhantomData, Sized};
pub use core::matches;
pub use core::option::Option::{self, None, Some};
pub use core::primitive::{bool, str, u8, u64, usize};
pub use core::result::Result::{self, Err, Ok};
pub use serde::Deserializer;
pub use std::borrow::Cow;
pub use std::string::String;
pub use std::time::Duration;
pub use std::vec::Vec;

/// How old an entity of a type may be that `get` returns: a number, then `ms`, `s`, `m` or `h`.
///
/// # Panics
/// At compile time, where the text is another one.
#[cfg(feature = "cache")]
#[track_caller]
#[must_use]
pub const fn cached_for(text: &str) -> Duration {
    let bytes = text.as_bytes();
    let (mut number, mut index) = (0_u64, 0);
    while index < bytes.len() && bytes[index].is_ascii_digit() && number < 1_000_000_000 {
        number = number * 10 + (bytes[index] - b'0') as u64;
        index += 1;
    }
    let millis = match bytes.split_at(index).1 {
        b"ms" => 1,
        b"s" => 1_000,
        b"m" => 60_000,
        b"h" => 3_600_000,
        _ => 0,
    };
    assert!(
        index > 0 && millis > 0 && number > 0,
        "`cache` is a number and its unit, `ms`, `s`, `m` or `h`, such as \"30s\""
    );
    Duration::from_millis(number * millis)
}

/// The property that says when an entity expires: one of an instant.
#[must_use]
pub const fn expires<T: ExpiryTime>(property: &'static str) -> Option<&'static str> {
    Some(property)
}

/// The query `K` with a range of its next component.
pub type Range<K> = crate::query::RowRange<<K as Query>::Row>;
/// The row of query `K` and those below it.
pub type Below<K> = crate::query::Below<<K as Query>::Row>;
/// The result of writing or reading a key.
pub type KeyResult<T = ()> = Result<T, KeyError>;
/// The result of writing a row's key: whether the entity has the row.
pub type RowWritten = KeyResult<bool>;
/// The result of writing properties.
pub type Written = Result<(), PropertyError>;
/// The result of reading properties.
pub type Read<T = ()> = Result<T, RowFault>;

/// What generated code does with a property. Generated code always names it as `<T as Stored>`, so
/// a type that no property can store is one compile error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a property",
    label = "not a property type",
    note = "store an enum or a newtype as its key: `#[derive(KeyPart)]`; store a `Ring`, `Vec` or array of \
            values with `#[table(series)]`; store another type as text with `#[table(json)]` or as a group with \
            `#[table(flatten)]`, keep it only in keys with `#[table(key_only)]`, leave it out with \
            `#[table(skip)]`, or implement `Property`",
    note = "a type of the crate `chrono` 0.4, `jiff` 0.2, `rust_decimal` 1 or `ulid` 3 needs the feature \
            of `table-orm` with that crate's name"
)]
pub trait Stored: Sized {
    /// The values that it can have.
    const TYPE: ValueType;

    /// Writes it.
    ///
    /// # Errors
    /// When the service cannot store it.
    fn put(&self, out: &mut Writer, name: &str) -> Written;

    /// Writes it within its field's limit.
    ///
    /// # Errors
    /// When it is over the limit, or the service cannot store it.
    fn put_limited(&self, out: &mut Writer, name: &str, limit: Limit) -> Written;

    /// Sets it in a patch.
    fn set<E: TableEntity>(patch: Patch<E>, name: &str, value: impl Value<Self>) -> Patch<E>;

    /// Sets it in a patch, within its field's limit.
    fn set_limited<E: TableEntity>(
        patch: Patch<E>,
        name: &str,
        value: impl Value<Self>,
        limit: Limit,
    ) -> Patch<E>;

    /// Checks its field's limit.
    ///
    /// # Errors
    /// When it is over the limit.
    fn check_limit(&self, out: &Writer, name: &str, limit: Limit) -> Written;

    /// Reads it.
    ///
    /// # Errors
    /// When the stored value is not of the type.
    fn take(slot: &mut Option<Self>, members: &mut Members<'_, '_>, name: &str) -> Read;

    /// Returns the value that was read, or the type's value for an absent property.
    ///
    /// # Errors
    /// When the row lacks the property and the type has no value for that:
    /// [`PropertyFault::Missing`].
    fn finish(slot: Option<Self>, name: &str) -> Read<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: Property> Stored for T {
    const TYPE: ValueType = ValueType::of::<T>();

    fn put(&self, out: &mut Writer, name: &str) -> Written {
        out.property(name, self)
    }

    fn put_limited(&self, out: &mut Writer, name: &str, limit: Limit) -> Written {
        out.limited(name, self, limit)
    }

    fn set<E: TableEntity>(patch: Patch<E>, name: &str, value: impl Value<Self>) -> Patch<E> {
        let value = value.into_value();
        patch.write(name, |out| out.property(name, &value))
    }

    fn set_limited<E: TableEntity>(
        patch: Patch<E>,
        name: &str,
        value: impl Value<Self>,
        limit: Limit,
    ) -> Patch<E> {
        let value = value.into_value();
        patch.write(name, |out| out.limited(name, &value, limit))
    }

    fn check_limit(&self, out: &Writer, name: &str, limit: Limit) -> Written {
        out.check_limit(name, self, limit)
    }

    fn take(slot: &mut Option<Self>, members: &mut Members<'_, '_>, name: &str) -> Read {
        members.read(name, slot)
    }

    fn finish(slot: Option<Self>, name: &str) -> Read<Self> {
        slot.or_else(T::absent).ok_or_else(|| RowFault::new(name, PropertyFault::Missing))
    }
}

/// A field that holds an entity's ETag.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold an entity's ETag",
    label = "not an ETag",
    note = "make the field an `Option<ETag>`"
)]
pub trait ETagField {
    /// The field of an entity in that version.
    fn holding(etag: ETag) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: From<ETag>> ETagField for T {
    fn holding(etag: ETag) -> Self {
        etag.into()
    }
}

/// A field that holds a row's timestamp.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a row's timestamp",
    label = "not an `Option` of an instant",
    note = "make the field an `Option<DateTime>`, or an `Option` of another instant: an entity \
            that is new or was just written has no timestamp"
)]
pub trait TimestampField {
    /// The field of an entity that was read from such a row.
    fn holding(timestamp: Option<DateTime>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: TryFrom<DateTime>> TimestampField for Option<T> {
    fn holding(timestamp: Option<DateTime>) -> Self {
        timestamp.and_then(|instant| instant.try_into().ok())
    }
}

/// A component of a key template.
#[must_use]
pub const fn part(name: &'static str, shape: Shape, separator: &'static str) -> TemplatePart {
    TemplatePart::new(name, shape, separator)
}

/// A component of a key template that writes the field of another name, or in another way.
#[must_use]
pub const fn coded<T: KeyPart<X>, X: Encodes>(
    name: &'static str,
    field: &'static str,
    separator: &'static str,
) -> TemplatePart {
    TemplatePart::coded::<T, X>(name, field, separator)
}

/// A component of a key template that writes one of `N` shards.
#[must_use]
pub const fn sharded<T: Sharded, const N: u32>(
    name: &'static str,
    field: &'static str,
    separator: &'static str,
) -> TemplatePart {
    TemplatePart::sharded::<T, N>(name, field, separator)
}

/// A component of a key template that spreads instants over partitions.
#[must_use]
pub const fn spread(
    name: &'static str,
    field: &'static str,
    separator: &'static str,
) -> TemplatePart {
    TemplatePart::spread(name, field, separator)
}

/// A component of a key template that a function of the app writes.
#[must_use]
pub const fn computed(name: &'static str, separator: &'static str) -> TemplatePart {
    TemplatePart::computed(name, separator)
}

/// The column of a property.
#[must_use]
pub const fn column<T>(property: &'static str) -> Column<T> {
    Column::new(property)
}

/// A key template without components.
#[must_use]
pub const fn key(start: &str) -> KeyTemplate<'_> {
    KeyTemplate::literal(start)
}

/// A full row without components.
#[must_use]
pub const fn full(name: &'static str, key: &'static str, start: &'static str) -> RowTemplate {
    RowTemplate::full(name, key, start)
}

/// A partial row without components, which stores these fields.
#[must_use]
pub const fn partial(
    name: &'static str,
    key: &'static str,
    start: &'static str,
    fields: &'static [&'static str],
) -> RowTemplate {
    RowTemplate::partial(name, key, start).fields(fields)
}

/// The property of a field.
#[must_use]
pub const fn property(name: &'static str, values: ValueType) -> Declared {
    Declared::One(name, values, None)
}

/// The property of a field with `overflow`.
#[must_use]
pub const fn overflow<T: Overflowing>(property: &'static str) -> &'static str {
    property
}

/// A guard row without components.
#[must_use]
pub const fn guard(name: &'static str, key: &'static str, start: &'static str) -> GuardTemplate {
    GuardTemplate::new(name, key, start)
}

/// A row in another partition.
#[must_use]
pub const fn eventual(
    row: RowTemplate,
    partition: &'static str,
    partition_key: KeyTemplate<'static>,
) -> EventualTemplate {
    EventualTemplate::new(row, partition, partition_key)
}

/// Evaluates templates: that does not compile where the types of components show that one is wrong.
pub const fn evaluate<T>(_templates: &T) {}

/// The names of properties to select: the names, then the empty texts, because an array has one
/// length.
#[must_use]
pub const fn select<const N: usize>(mut names: [&'static str; N]) -> [&'static str; N] {
    let (mut stored, mut at) = (0, 0);
    while at < N {
        (names[stored], names[at]) = (names[at], names[stored]);
        if !names[stored].is_empty() {
            stored += 1;
        }
        at += 1;
    }
    names
}

/// The names before the first empty one.
#[must_use]
pub const fn selected(names: &'static [&'static str]) -> &'static [&'static str] {
    let mut stored = 0;
    while stored < names.len() && !names[stored].is_empty() {
        stored += 1;
    }
    names.split_at(stored).0
}

/// What generated code does with an entity type in a union. Generated code always names it as
/// `<T as Variant>`, so a type that is not an entity is one compile error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    label = "not an entity",
    note = "derive it: `#[derive(TableEntity)]`"
)]
pub trait Variant: Sized {
    /// The entity type as a member of a union.
    const MEMBER: UnionMember;

    /// Reads its canonical row.
    ///
    /// # Errors
    /// When a property is missing or is not a value of its field's type.
    fn read(row: &[u8]) -> Result<Self, PropertyError>;
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Variant for E {
    const MEMBER: UnionMember = UnionMember::of::<E>();

    fn read(row: &[u8]) -> Result<Self, PropertyError> {
        crate::entity::read_row(<E::Canonical as Row>::INDEX, row)
    }
}

/// Does not compile when a PartitionKey starts with a component that grows.
#[track_caller]
pub const fn assert_spreads(grows: bool) {
    assert!(
        !grows,
        "the PartitionKey starts with a value that grows with time, so all writes go to one partition server \
         (append-only hot partition); start it with a value that spreads the load, or add `allow_append_only` to \
         accept that"
    );
}

/// Does not compile when a PartitionKey has few values before a component that grows.
#[track_caller]
pub const fn assert_spreads_after(grows: bool) {
    assert!(
        !grows,
        "the PartitionKey has at most 2 values before one that grows with time, so all writes go to at most 2 \
         partition servers (append-only hot partition); start it with a value that spreads the load, or add \
         `allow_append_only` to accept that"
    );
}

/// Does not compile when a PartitionKey has few values.
#[track_caller]
pub const fn assert_many_partitions(has_few: bool) {
    assert!(
        !has_few,
        "the PartitionKey has at most 4 values, so at most 4 partition servers share the whole table; start it \
         with a value that spreads the load, or add `allow_single_partition` if the table stays small"
    );
}

/// Does not compile when the mark for a PartitionKey that grows accepts nothing.
#[track_caller]
pub const fn assert_append_only(is_needed: bool) {
    assert!(is_needed, "nothing here needs `allow_append_only`; remove it");
}

/// Does not compile when the mark for a PartitionKey of few values accepts nothing.
#[track_caller]
pub const fn assert_single_partition(is_needed: bool) {
    assert!(is_needed, "nothing here needs `allow_single_partition`; remove it");
}

/// How many values a component of that shape has.
#[must_use]
pub const fn values_of(shape: Shape) -> u64 {
    if let Shape::OneOf(texts) = shape { texts.len() as u64 } else { u64::MAX }
}

/// Whether components with so many values make at most `limit` keys.
#[must_use]
pub const fn has_few_values(values: &[u64], limit: u64) -> bool {
    let (mut keys, mut at) = (1_u64, 0);
    while at < values.len() {
        keys = keys.saturating_mul(values[at]);
        at += 1;
    }
    keys <= limit
}

/// Does not compile when a rule of unions is broken, with that message.
#[track_caller]
pub const fn assert_union(holds: bool, message: &'static str) {
    assert!(holds, "{}", message);
}
