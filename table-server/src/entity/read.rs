//! The body of an insert, update or merge.

use super::value::{self, StoredProperty};
use crate::error::ServiceError;
use bytes::Bytes;
use std::borrow::Cow;
use table_orm::azure::protocol::json::{self, RawMember};

/// The entity of a request.
#[derive(Debug)]
pub(crate) struct EntityBody<'a> {
    body: &'a Bytes,
    object: &'a str,
    members: Vec<RawMember<'a>>,
}

impl<'a> EntityBody<'a> {
    /// Reads a JSON object.
    pub(crate) fn read(body: &'a Bytes) -> Result<Self, ServiceError> {
        let not_json = || ServiceError::invalid("The body is not a JSON object of properties.");
        let text = str::from_utf8(body).map_err(|_| not_json())?;
        let object = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mut members = Vec::with_capacity(16);
        json::visit_members(object, |member| members.push(member)).map_err(|_| not_json())?;
        Ok(Self { body, object, members })
    }

    /// Returns a key that the body holds, for an insert, whose address has none.
    pub(crate) fn key(&self, name: &str) -> Result<String, ServiceError> {
        let mut key = None;
        for member in &self.members {
            match member.name.strip_prefix(name) {
                Some("") if member.value != "null" => {
                    let text = value::quoted(member.value).ok_or_else(|| not_text(name))?;
                    if key.replace(text.into_owned()).is_some() {
                        return Err(ServiceError::DUPLICATE_PROPERTIES);
                    }
                }
                Some("@odata.type") if member.value != "\"Edm.String\"" => {
                    return Err(not_text(name));
                }
                _ => {}
            }
        }
        key.ok_or(ServiceError::MISSING_KEYS)
    }

    /// Returns the row as a store takes it, under these keys.
    pub(crate) fn row(&self, partition_key: &str, row_key: &str) -> Result<Bytes, ServiceError> {
        if self.is_row(partition_key, row_key) {
            return Ok(self.body.slice_ref(self.object.as_bytes()));
        }
        self.rewritten(partition_key, row_key)
    }

    /// Whether the object is the row under these keys, byte for byte.
    fn is_row(&self, partition_key: &str, row_key: &str) -> bool {
        let [partition, row, properties @ ..] = &*self.members else { return false };
        self.is_compact()
            && is_key(partition, "PartitionKey", partition_key)
            && is_key(row, "RowKey", row_key)
            && are_stored_as_sent(properties)
    }

    /// Whether nothing is between the tokens of the object, and no name has an escape.
    fn is_compact(&self) -> bool {
        let member = |member: &RawMember<'_>| member.name.len() + member.value.len();
        let marks = r#"{"":}"#.len() - 1;
        let compact: usize = self.members.iter().map(|it| member(it) + marks).sum();
        self.object.len() == compact + 1
    }

    /// Writes the row from the members.
    pub(super) fn rewritten(
        &self,
        partition_key: &str,
        row_key: &str,
    ) -> Result<Bytes, ServiceError> {
        // Sorted, as a body may have any number.
        let mut declared: Vec<_> =
            self.members.iter().filter_map(|member| Some((member.annotated()?, member))).collect();
        declared.sort_unstable_by_key(|(name, _)| *name);
        let declared = |name: &str| {
            let at = declared.binary_search_by_key(&name, |(known, _)| *known).ok()?;
            Some(declared[at].1)
        };
        let mut row = Vec::with_capacity(512);
        json::write_keys(&mut row, partition_key, row_key);
        for member in self.members.iter().filter(|member| is_property(member)) {
            let name = &*member.name;
            let declared = declared(name);
            let property =
                value::read(name, member.value, declared.map(|declared| declared.value))?;
            let Some(StoredProperty { value, is_annotated }) = property else { continue };
            json::write_member(&mut row, name, &value);
            if let Some(declared) = declared.filter(|_| is_annotated) {
                json::write_member(&mut row, &declared.name, declared.value);
            }
        }
        row.push(b'}');
        Ok(row.into())
    }
}

/// Whether a member holds this key.
fn is_key(member: &RawMember<'_>, name: &str, key: &str) -> bool {
    let text = member.value.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    // A text with an escape is longer than what it says.
    member.name == name && text == Some(key)
}

/// Whether all members are properties that are stored as they were sent, each with its type behind it if that is stored.
fn are_stored_as_sent(mut members: &[RawMember<'_>]) -> bool {
    while let [property, rest @ ..] = members {
        let declared = rest.first().filter(|next| next.annotated() == Some(&property.name));
        let edm = declared.map(|declared| declared.value);
        let is_kept = is_property(property)
            && matches!(
                value::read(&property.name, property.value, edm),
                Ok(Some(StoredProperty { value: Cow::Borrowed(_), is_annotated }))
                    if is_annotated == declared.is_some()
            );
        if !is_kept {
            return false;
        }
        members = &rest[usize::from(declared.is_some())..];
    }
    true
}

/// Whether a member is a property of the client's own.
fn is_property(member: &RawMember<'_>) -> bool {
    let system = matches!(&*member.name, "PartitionKey" | "RowKey" | "Timestamp");
    !system && member.annotated().is_none() && !member.name.starts_with("odata.")
}

fn not_text(name: &str) -> ServiceError {
    ServiceError::invalid(format!("The {name} is not a string."))
}
