//! Operations on entities.

use super::tables::applied;
use super::{Execution, unreadable};
use crate::error::ServiceError;
use crate::media::{MetadataLevel, Preference};
use crate::message::Response;
use crate::operation::{EntityQuery, EntityWrite, encode_token};
use serde_json::value::RawValue;
use table_orm::azure::protocol::json;
use table_orm::model::Metadata;
use table_orm::store::Action;
use table_orm::{ETag, TableName};

impl Execution<'_> {
    pub(super) async fn get(
        &self,
        table: &TableName,
        (partition_key, row_key): &(String, String),
        select: Option<&[String]>,
        level: MetadataLevel,
    ) -> Result<Response, ServiceError> {
        // All properties, as those that make up the metadata are among them.
        let row = self.store.get(table, partition_key, row_key, None, Metadata::Minimal).await?;
        let row = row.ok_or(ServiceError::RESOURCE_NOT_FOUND)?;
        let etag = row.etag().map_err(unreadable)?;
        let text = str::from_utf8(&row.body).map_err(unreadable)?;
        let writer = self.writer(table, level, select);
        let body = writer.single(text, Some(&etag)).map_err(unreadable)?;
        let response = Response::with_body(200, level.content_type(), body);
        Ok(response.with("etag", etag.as_str()))
    }

    pub(super) async fn query(
        &self,
        query: EntityQuery,
        level: MetadataLevel,
    ) -> Result<Response, ServiceError> {
        let EntityQuery { mut rows, select } = query;
        if let Some(limits) = self.grant.keys() {
            rows.limits = Some(Box::new(limits.clone()));
        }
        let page = self.store.query(&rows).await?;
        let found = split(&page.body)?;
        // Whatever the store returns.
        let limits = rows.limits;
        let admits = |partition_key: &str, row_key: &str| {
            limits.as_ref().is_none_or(|limits| limits.contain(partition_key, row_key))
        };
        let writer = self.writer(&rows.table, level, select.as_deref());
        let body = writer.page(&found, admits).map_err(unreadable)?;
        let mut response = Response::with_body(200, level.content_type(), body);
        if let Some(next) = page.continuation {
            for (name, token) in [
                ("x-ms-continuation-nextpartitionkey", next.next_partition_key),
                ("x-ms-continuation-nextrowkey", next.next_row_key),
            ] {
                if let Some(token) = token {
                    response = response.with(name, encode_token(&token));
                }
            }
        }
        Ok(response)
    }

    pub(super) async fn write(
        &self,
        write: EntityWrite,
        level: MetadataLevel,
    ) -> Result<Response, ServiceError> {
        let EntityWrite { table, partition_key, operation, preference } = write;
        let written = Written::of(&table, &partition_key, &operation, preference);
        let etag = self.store.write(&table, &partition_key, operation).await?;
        self.written(&written, etag.as_ref(), level)
    }

    /// Builds the response to a write that took effect.
    pub(super) fn written(
        &self,
        written: &Written<'_>,
        etag: Option<&ETag>,
        level: MetadataLevel,
    ) -> Result<Response, ServiceError> {
        if !written.is_insert {
            return Ok(with_etag(Response::empty(204), etag));
        }
        let writer = self.writer(written.table, level, None);
        let location = writer.address.url(written.partition_key, &written.row_key);
        let response = match &written.returned {
            None => Response::empty(204).with("dataserviceid", &*location),
            Some(row) => {
                let row = stamped(row, etag)?;
                let body = writer.single(&row, etag).map_err(unreadable)?;
                Response::with_body(201, level.content_type(), body)
            }
        };
        Ok(with_etag(applied(response, written.preference).with("location", location), etag))
    }
}

/// What the response to a write repeats.
pub(super) struct Written<'w> {
    table: &'w TableName,
    partition_key: &'w str,
    row_key: String,
    preference: Preference,
    is_insert: bool,
    /// The row of an insert whose response holds it.
    returned: Option<bytes::Bytes>,
}

impl<'w> Written<'w> {
    pub(super) fn of(
        table: &'w TableName,
        partition_key: &'w str,
        operation: &table_orm::store::Operation,
        preference: Preference,
    ) -> Self {
        let inserted = match &operation.action {
            Action::Insert(row) => Some(row),
            _ => None,
        };
        let returned = inserted.filter(|_| preference != Preference::NoContent).cloned();
        let (is_insert, row_key) = (inserted.is_some(), operation.row_key.clone());
        Self { table, partition_key, row_key, preference, is_insert, returned }
    }
}

/// Adds the version of what was written.
fn with_etag(response: Response, etag: Option<&ETag>) -> Response {
    match etag {
        Some(etag) => response.with("etag", etag.as_str()),
        None => response,
    }
}

/// Returns an inserted row with the Timestamp that its ETag is made of.
fn stamped(row: &[u8], etag: Option<&ETag>) -> Result<String, ServiceError> {
    let mut members = Vec::new();
    let text = str::from_utf8(row).map_err(unreadable)?;
    json::visit_members(text, |member| members.push(member)).map_err(unreadable)?;
    let mut out = Vec::with_capacity(row.len() + 48);
    for (index, member) in members.iter().enumerate() {
        json::write_member(&mut out, &member.name, member.value);
        if let (1, Some(timestamp)) = (index, etag.and_then(timestamp)) {
            json::write_member(&mut out, "Timestamp", &format!("\"{timestamp}\""));
        }
    }
    out[0] = b'{';
    out.push(b'}');
    String::from_utf8(out).map_err(unreadable)
}

/// Returns the instant that an ETag is made of, if it is made of one.
fn timestamp(etag: &ETag) -> Option<String> {
    let text = etag.as_str().strip_prefix("W/\"datetime'")?.strip_suffix("'\"")?;
    let text = text.replace("%3A", ":");
    text.parse::<table_orm::model::DateTime>().is_ok().then_some(text)
}

/// Splits a page into its rows.
fn split(body: &[u8]) -> Result<Vec<&RawValue>, ServiceError> {
    let text = str::from_utf8(body).map_err(unreadable)?;
    let mut value = None;
    json::visit_members(text, |member| {
        if member.name == "value" {
            value = Some(member.value);
        }
    })
    .map_err(unreadable)?;
    serde_json::from_str(value.unwrap_or("[]")).map_err(unreadable)
}
