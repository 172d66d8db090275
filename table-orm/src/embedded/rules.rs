//! The service's rules for one row: keys, names, types and sizes.
//!
//! Invariant: [`normalise`] returns an object with PartitionKey, RowKey and valid properties only,
//! ready to be stored after a Timestamp. This module does not use the database.

use super::known_rows::KnownRows;
use super::members::{ByName, RowMembers};
use super::totals::Totals;
use super::value::{Excess, StoredValue, ValueFault};
use super::{members, stored};
use crate::codec::{KEYS_FRAME, RawMember, write_keys};
use crate::model::{
    MAX_NAME_CHARS, METADATA_PREFIX, PARTITION_KEY, ROW_KEY, TIMESTAMP, is_system_property, order,
    property_size,
};
use crate::store::{ErrorCode, StoreError};
use bytes::Bytes;
use std::borrow::Cow;

/// Checks a row and sets its keys to those of its address. Leaves out null properties, the
/// Timestamp and `odata.*` members. A body without any of them is not copied, and its members are known then.
pub(crate) fn normalise(
    body: &Bytes,
    partition_key: &str,
    row_key: &str,
    known: &mut KnownRows,
) -> Result<Bytes, StoreError> {
    let object = body.trim_ascii();
    let text = std::str::from_utf8(object)
        .map_err(|error| invalid("The body is not UTF-8.").caused_by(error))?;
    if known.is_row(text, partition_key, row_key) {
        return Ok(body.slice_ref(object));
    }
    let members = read(text)?;
    if let Some(name) = members.duplicate() {
        return Err(StoreError::new(
            ErrorCode::DUPLICATE_PROPERTIES_SPECIFIED,
            format!("The row has the member `{name}` twice."),
        ));
    }
    let mut row = CheckedRow::addressed(partition_key, row_key);
    row.properties.reserve_exact(members.len());
    let by_name = members.by_name();
    for (at, member) in by_name.iter() {
        row.admit(at, member, &by_name)?;
    }
    row.totals.check()?;
    if row.is_body() {
        known.keep(text, &by_name);
        return Ok(body.slice_ref(object));
    }
    Ok(rewrite(text.len(), &row.properties, partition_key, row_key))
}

/// Returns the stored row with the properties of `patch`, a normalised row, in place of its own.
pub(crate) fn merge(stored: &str, patch: &str) -> Result<Bytes, StoreError> {
    let stored_members = RowMembers::read(stored).map_err(stored::corrupt)?;
    let patch_members = read(patch)?;
    let (stored_by_name, patch_by_name) = (stored_members.by_name(), patch_members.by_name());
    let mut out = Vec::with_capacity(stored.len() + patch.len());
    out.extend_from_slice(&patch.as_bytes()[..patch.len() - 1]);
    let mut totals = Totals::default();
    for (at, member) in patch_by_name.iter() {
        add(&mut totals, at, member, &patch_by_name)?;
    }
    for (at, member) in stored_by_name.iter() {
        let property = member.property();
        if property != TIMESTAMP && patch_by_name.get(property).is_none() {
            add(&mut totals, at, member, &stored_by_name)?;
            out.push(b',');
            stored::append(&mut out, member);
        }
    }
    out.push(b'}');
    totals.check()?;
    Ok(out.into())
}

fn read(object: &str) -> Result<RowMembers<'_>, StoreError> {
    RowMembers::read(object)
        .map_err(|error| invalid("The body is not a JSON object of properties.").caused_by(error))
}

fn rewrite(
    length: usize,
    properties: &[&RawMember<'_>],
    partition_key: &str,
    row_key: &str,
) -> Bytes {
    let keys = KEYS_FRAME + partition_key.len() + row_key.len();
    let mut out = Vec::with_capacity(keys + length);
    write_keys(&mut out, partition_key, row_key);
    for member in properties {
        out.push(b',');
        stored::append(&mut out, member);
    }
    out.push(b'}');
    out.into()
}

fn invalid(message: impl Into<String>) -> StoreError {
    StoreError::new(ErrorCode::INVALID_INPUT, message)
}

/// Counts a member of a valid row.
fn add<'a>(
    totals: &mut Totals,
    at: usize,
    member: &RawMember<'a>,
    row: &ByName<'_, 'a>,
) -> Result<(), StoreError> {
    if member.annotated().is_some() {
        return Ok(());
    }
    let value = read_property(at, member, row)?;
    if matches!(&*member.name, PARTITION_KEY | ROW_KEY) {
        totals.add_key_units((value.size() - 4) / 2);
    } else {
        totals.add(property_size(&member.name, value.size()));
    }
    Ok(())
}

/// A row under check, with the members to keep.
struct CheckedRow<'r, 'a> {
    partition_key: &'r str,
    row_key: &'r str,
    properties: Vec<&'r RawMember<'a>>,
    /// How many keys of the body equal the address.
    agreeing_keys: usize,
    /// How many members are not stored as they were sent.
    left_out: usize,
    totals: Totals,
}

impl<'r, 'a> CheckedRow<'r, 'a> {
    fn addressed(partition_key: &'r str, row_key: &'r str) -> Self {
        Self {
            partition_key,
            row_key,
            properties: Vec::new(),
            agreeing_keys: 0,
            left_out: 0,
            totals: Totals::of_keys(partition_key, row_key),
        }
    }

    fn admit(
        &mut self,
        at: usize,
        member: &'r RawMember<'a>,
        row: &ByName<'_, 'a>,
    ) -> Result<(), StoreError> {
        if matches!(member.name, Cow::Owned(_)) {
            // A name that was sent with escapes is stored without.
            self.left_out += 1;
        }
        match &*member.name {
            PARTITION_KEY => self.admit_key(member, self.partition_key)?,
            ROW_KEY => self.admit_key(member, self.row_key)?,
            TIMESTAMP => self.left_out += 1,
            name if name.starts_with(METADATA_PREFIX) => self.left_out += 1,
            _ => match member.annotated() {
                Some(property) => self.admit_annotation(at, member, property, row)?,
                None => self.admit_property(at, member, row)?,
            },
        }
        Ok(())
    }

    fn admit_key(&mut self, member: &RawMember<'_>, address: &str) -> Result<(), StoreError> {
        if member.value == "null" {
            self.left_out += 1;
            return Ok(());
        }
        let key = members::text(member.value)
            .ok_or_else(|| invalid(format!("The {} is not a string.", member.name)))?;
        if key == address {
            self.agreeing_keys += 1;
        } else {
            self.left_out += 1;
        }
        Ok(())
    }

    fn admit_annotation(
        &mut self,
        at: usize,
        member: &'r RawMember<'a>,
        property: &str,
        row: &ByName<'_, 'a>,
    ) -> Result<(), StoreError> {
        match row.annotated(at, property) {
            _ if is_system_property(property) => self.left_out += 1,
            Some("null") => self.left_out += 1,
            Some(_) => self.properties.push(member),
            None => {
                return Err(invalid(format!(
                    "The property `{property}` has a type annotation but no value."
                )));
            }
        }
        Ok(())
    }

    fn admit_property(
        &mut self,
        at: usize,
        member: &'r RawMember<'a>,
        row: &ByName<'_, 'a>,
    ) -> Result<(), StoreError> {
        check_name(&member.name)?;
        if member.value == "null" {
            self.left_out += 1;
            return Ok(());
        }
        let value = read_property(at, member, row)?;
        check_length(&member.name, &value)?;
        self.totals.add(property_size(&member.name, value.size()));
        self.properties.push(member);
        Ok(())
    }

    /// Returns whether the body can be stored as it was sent.
    const fn is_body(&self) -> bool {
        self.agreeing_keys == 2 && self.left_out == 0
    }
}

fn read_property<'a>(
    at: usize,
    member: &RawMember<'a>,
    row: &ByName<'_, 'a>,
) -> Result<StoredValue<'a>, StoreError> {
    let name = &member.name;
    StoredValue::read(member.value, row.annotation(at)).map_err(|fault| match fault {
        ValueFault::UnknownType => StoreError::new(
            ErrorCode::INVALID_VALUE_TYPE,
            format!("The type annotation of the property `{name}` is not an EDM type."),
        ),
        ValueFault::Nested => invalid(format!("The property `{name}` is an array or an object.")),
        ValueFault::NotA(edm) => {
            invalid(format!("The value of the property `{name}` is not of the type {edm}."))
        }
    })
}

fn check_name(name: &str) -> Result<(), StoreError> {
    let plain = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    let starts_plain = name.starts_with(|c: char| !c.is_ascii_digit());
    if starts_plain && name.len() <= MAX_NAME_CHARS && name.bytes().all(plain) {
        return Ok(());
    }
    if order::len(name) > MAX_NAME_CHARS {
        return Err(StoreError::new(
            ErrorCode::PROPERTY_NAME_TOO_LONG,
            format!("The property name `{name}` has more than {MAX_NAME_CHARS} characters."),
        ));
    }
    let starts = name.starts_with(|c: char| c == '_' || c.is_alphabetic());
    if starts && name.chars().all(|c| c == '_' || c.is_alphanumeric()) {
        return Ok(());
    }
    Err(StoreError::new(
        ErrorCode::PROPERTY_NAME_INVALID,
        format!("The property name `{}` is not an identifier.", name.escape_debug()),
    ))
}

fn check_length(name: &str, value: &StoredValue<'_>) -> Result<(), StoreError> {
    let Some(Excess { length, limit, unit }) = value.excess() else { return Ok(()) };
    Err(StoreError::new(
        ErrorCode::PROPERTY_VALUE_TOO_LARGE,
        format!("The property `{name}` has {length} {unit}; the limit is {limit}."),
    ))
}
