//! The body of an insert, update or merge.

use super::value::{self, StoredProperty};
use crate::error::ServiceError;
use bytes::Bytes;
use table_orm::azure::protocol::json::{self, RawMember};

/// The entity of a request.
#[derive(Debug)]
pub(crate) struct EntityBody<'a> {
    members: Vec<RawMember<'a>>,
}

impl<'a> EntityBody<'a> {
    /// Reads a JSON object.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, ServiceError> {
        let not_json = || ServiceError::invalid("The body is not a JSON object of properties.");
        let text = str::from_utf8(body).map_err(|_| not_json())?;
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mut members = Vec::with_capacity(16);
        json::visit_members(text, |member| members.push(member)).map_err(|_| not_json())?;
        Ok(Self { members })
    }

    /// Returns a key that the body holds, for an insert, whose address has none.
    pub(crate) fn key(&self, name: &str) -> Result<String, ServiceError> {
        let mut key = None;
        for member in &self.members {
            if member.name == name && member.value != "null" {
                key = Some(value::quoted(member.value).ok_or_else(|| not_text(name))?.into_owned());
            } else if member.annotated() == Some(name) && member.value != "\"Edm.String\"" {
                return Err(not_text(name));
            }
        }
        key.ok_or(ServiceError::MISSING_KEYS)
    }

    /// Returns the row as a store takes it, under these keys.
    pub(crate) fn row(&self, partition_key: &str, row_key: &str) -> Result<Bytes, ServiceError> {
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

/// Whether a member is a property of the client's own.
fn is_property(member: &RawMember<'_>) -> bool {
    let system = matches!(&*member.name, "PartitionKey" | "RowKey" | "Timestamp");
    !system && member.annotated().is_none() && !member.name.starts_with("odata.")
}

fn not_text(name: &str) -> ServiceError {
    ServiceError::invalid(format!("The {name} is not a string."))
}
