//! Entities in answers.
//!
//! Invariant: values are written as the store returned them, byte for byte, but whole Doubles, which end in
//! `.0`; the level decides only about what is written beside them. A type is written where JSON does not show it.

use super::value;
use crate::media::MetadataLevel;
use std::borrow::Cow;
use table_orm::ETag;
use table_orm::azure::protocol::json::{self, RawMember};
use table_orm::azure::protocol::percent_encode;

/// Where entities are found: what addresses in answers are made of.
#[derive(Debug, Clone)]
pub(crate) struct EntityAddress<'a> {
    /// The endpoint, such as `http://127.0.0.1:10002/devstoreaccount1`.
    pub(crate) endpoint: &'a str,
    pub(crate) account: &'a str,
    pub(crate) table: &'a str,
}

impl EntityAddress<'_> {
    /// Returns the address of an entity.
    pub(crate) fn url(&self, partition_key: &str, row_key: &str) -> String {
        let path = self.path(partition_key, row_key);
        [self.endpoint, "/", &path].concat()
    }

    /// Returns the part of an entity's address after the endpoint.
    fn path(&self, partition_key: &str, row_key: &str) -> String {
        let quoted = |key: &str| match key.contains('\'') {
            true => percent_encode(&key.replace('\'', "''")),
            false => percent_encode(key),
        };
        let (partition_key, row_key) = (quoted(partition_key), quoted(row_key));
        // A transaction has many, which take several times as long to format.
        [self.table, "(PartitionKey='", &partition_key, "',RowKey='", &row_key, "')"].concat()
    }
}

/// Writes rows of a store as entities.
#[derive(Debug)]
pub(crate) struct EntityWriter<'a> {
    pub(crate) address: EntityAddress<'a>,
    pub(crate) level: MetadataLevel,
    /// The properties to return; `None` returns all.
    pub(crate) select: Option<&'a [String]>,
}

impl EntityWriter<'_> {
    /// Writes the answer to a point query or insert.
    pub(crate) fn single(&self, row: &str, etag: Option<&ETag>) -> serde_json::Result<Vec<u8>> {
        let mut out = Vec::with_capacity(row.len() + 256);
        let context = (self.level != MetadataLevel::None).then(|| self.context("/@Element"));
        self.write(row, etag, context.as_deref(), &mut out)?;
        Ok(out)
    }

    /// Writes the answer to a query. `admits` decides by its keys whether a row is returned.
    pub(crate) fn page(
        &self,
        rows: &[&serde_json::value::RawValue],
        admits: impl Fn(&str, &str) -> bool,
    ) -> serde_json::Result<Vec<u8>> {
        let bytes: usize = rows.iter().map(|row| row.get().len() + 128).sum();
        let mut out = Vec::with_capacity(bytes + 128);
        out.push(b'{');
        if self.level != MetadataLevel::None {
            out.extend_from_slice(b"\"odata.metadata\":");
            json::write_string(&mut out, &self.context(""));
            out.push(b',');
        }
        out.extend_from_slice(b"\"value\":[");
        let start = out.len();
        for row in rows {
            let before = out.len();
            if before > start {
                out.push(b',');
            }
            let keys = self.write(row.get(), None, None, &mut out)?;
            if !admits(&keys.partition_key, &keys.row_key) {
                out.truncate(before);
            }
        }
        out.extend_from_slice(b"]}");
        Ok(out)
    }

    fn context(&self, suffix: &str) -> String {
        format!("{}/$metadata#{}{suffix}", self.address.endpoint, self.address.table)
    }

    /// Appends one entity and returns its keys.
    fn write<'r>(
        &self,
        row: &'r str,
        etag: Option<&ETag>,
        context: Option<&str>,
        out: &mut Vec<u8>,
    ) -> serde_json::Result<Keys<'r>> {
        let mut members = Vec::with_capacity(24);
        json::visit_members(row, |member| members.push(member))?;
        let keys = Keys::of(&members);
        let mut object = Object { out, is_first: true };
        object.out.push(b'{');
        if self.level != MetadataLevel::None {
            if let Some(context) = context {
                object.text("odata.metadata", context);
            }
            self.write_metadata(&members, &keys, etag, &mut object);
        }
        match self.select {
            None => (0..members.len()).filter(|at| is_value(&members[*at])).for_each(|at| {
                self.write_property(at, &members, &mut object);
            }),
            Some(names) => names.iter().for_each(|name| {
                match members.iter().position(|member| member.name == **name) {
                    Some(at) => self.write_property(at, &members, &mut object),
                    // An entity that lacks a selected property returns it as null.
                    None => object.raw(name, "null"),
                }
            }),
        }
        object.out.push(b'}');
        Ok(keys)
    }

    fn write_metadata(
        &self,
        members: &[RawMember<'_>],
        keys: &Keys<'_>,
        etag: Option<&ETag>,
        object: &mut Object<'_>,
    ) {
        let (partition_key, row_key) = (&keys.partition_key, &keys.row_key);
        let full = self.level == MetadataLevel::Full;
        if full {
            let EntityAddress { account, table, .. } = &self.address;
            object.text("odata.type", &format!("{account}.{table}"));
            object.text("odata.id", &self.address.url(partition_key, row_key));
        }
        let stated = members.iter().find(|member| member.name == "odata.etag");
        let timestamp = || Some(ETag::from_timestamp(&value_of(members, "Timestamp")?));
        match (etag.cloned(), stated) {
            (None, Some(stated)) => object.raw("odata.etag", stated.value),
            (etag, _) => {
                if let Some(etag) = etag.or_else(timestamp) {
                    object.text("odata.etag", etag.as_str());
                }
            }
        }
        if full {
            object.text("odata.editLink", &self.address.path(partition_key, row_key));
        }
    }

    fn write_property(&self, at: usize, members: &[RawMember<'_>], object: &mut Object<'_>) {
        let RawMember { name, value } = &members[at];
        let is_text = value.starts_with('"');
        if is_text && self.level != MetadataLevel::None {
            match annotation(members, at).filter(|found| found.value != "\"Edm.String\"") {
                Some(annotation) => object.raw(&annotation.name, annotation.value),
                None if self.level == MetadataLevel::Full && name == "Timestamp" => {
                    object.text("Timestamp@odata.type", "Edm.DateTime");
                }
                None => {}
            }
        }
        object.raw(name, value);
        let is_whole = !is_text && !value.contains(['.', 'e', 'E']);
        let is_double =
            || annotation(members, at).is_some_and(|found| found.value == "\"Edm.Double\"");
        if is_whole && is_double() {
            object.out.extend_from_slice(b".0");
        }
    }
}

/// Returns the type of a member, which mostly follows it.
fn annotation<'m, 'r>(members: &'m [RawMember<'r>], at: usize) -> Option<&'m RawMember<'r>> {
    let annotates = |other: &&RawMember<'_>| other.annotated() == Some(&*members[at].name);
    members.get(at + 1).filter(annotates).or_else(|| members.iter().find(annotates))
}

/// The keys of a row, empty if the store left them out.
struct Keys<'r> {
    partition_key: Cow<'r, str>,
    row_key: Cow<'r, str>,
}

impl<'r> Keys<'r> {
    fn of(members: &[RawMember<'r>]) -> Self {
        let key = |name| value_of(members, name).unwrap_or_default();
        Self { partition_key: key("PartitionKey"), row_key: key("RowKey") }
    }
}

fn value_of<'r>(members: &[RawMember<'r>], name: &str) -> Option<Cow<'r, str>> {
    let member = members.iter().find(|member| member.name == name)?;
    value::quoted(member.value)
}

/// Whether a member is a property with its value, and no metadata.
fn is_value(member: &RawMember<'_>) -> bool {
    member.annotated().is_none() && !member.name.starts_with("odata.")
}

/// An object under construction.
struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl Object<'_> {
    fn raw(&mut self, name: &str, value: &str) {
        self.name(name);
        self.out.extend_from_slice(value.as_bytes());
    }

    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        json::write_string(self.out, value);
    }

    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
        json::write_string(self.out, name);
        self.out.push(b':');
    }
}
