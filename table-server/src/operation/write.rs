//! Writes of entities, alone or in a transaction.

use crate::access::{Need, Permissions, Scope};
use crate::address::Resource;
use crate::entity::EntityBody;
use crate::error::ServiceError;
use crate::media::Preference;
use crate::message::header;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};
use table_orm::store::{Action, IfMatch, Operation};
use table_orm::{ETag, TableName};

/// One write of one entity.
#[derive(Debug)]
pub(crate) struct EntityWrite {
    pub(crate) table: TableName,
    pub(crate) partition_key: String,
    pub(crate) operation: Operation,
    pub(crate) preference: Preference,
}

impl EntityWrite {
    /// Reads a write of a resource.
    pub(crate) fn read(
        method: &Method,
        resource: &Resource,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Self, ServiceError> {
        let preference = Preference::read(headers);
        let (table, partition_key, row_key, action) = match (resource, method.as_str()) {
            (Resource::Entities(table), "POST") => {
                check_media_type(headers)?;
                let entity = EntityBody::read(body)?;
                let (partition_key, row_key) = (entity.key("PartitionKey")?, entity.key("RowKey")?);
                let action = Action::Insert(entity.row(&partition_key, &row_key)?);
                (table, partition_key, row_key, action)
            }
            (Resource::Entity { table, partition_key, row_key }, method) => {
                let if_match = if_match(headers)?;
                let row = || {
                    check_media_type(headers)?;
                    EntityBody::read(body)?.row(partition_key, row_key)
                };
                let action = match (method, if_match) {
                    ("PUT", Some(if_match)) => Action::Replace(row()?, if_match),
                    ("PUT", None) => Action::InsertOrReplace(row()?),
                    ("PATCH", Some(if_match)) => Action::Merge(row()?, if_match),
                    ("PATCH", None) => Action::InsertOrMerge(row()?),
                    ("DELETE", Some(if_match)) => Action::Delete(if_match),
                    ("DELETE", None) => return Err(ServiceError::MISSING_HEADER),
                    _ => return Err(ServiceError::METHOD_NOT_ALLOWED),
                };
                (table, partition_key.clone(), row_key.clone(), action)
            }
            _ => return Err(ServiceError::INVALID_URI),
        };
        let operation = Operation { row_key, action };
        Ok(Self { table: table.clone(), partition_key, operation, preference })
    }

    /// What the write needs.
    pub(crate) fn need(&self) -> Need<'_> {
        const UPSERT: Permissions = Permissions::ADD.and(Permissions::UPDATE);
        Need {
            scope: Scope::Object,
            table: Some(&self.table),
            permissions: match &self.operation.action {
                Action::Insert(_) => &[Permissions::ADD],
                Action::InsertOrReplace(_) | Action::InsertOrMerge(_) => &[UPSERT],
                Action::Replace(..) | Action::Merge(..) => &[Permissions::UPDATE],
                Action::Delete(_) => &[Permissions::DELETE],
            },
            row: Some((&self.partition_key, &self.operation.row_key)),
        }
    }
}

/// Reads the header `If-Match`.
fn if_match(headers: &HeaderMap) -> Result<Option<IfMatch>, ServiceError> {
    let Some(text) = header(headers, "if-match") else {
        return if headers.contains_key("if-match") {
            Err(ServiceError::INVALID_HEADER_VALUE)
        } else {
            Ok(None)
        };
    };
    let quoted = text.strip_prefix("W/").unwrap_or(text).strip_prefix('"');
    match text {
        "*" => Ok(Some(IfMatch::Any)),
        _ if quoted.is_some_and(|rest| rest.ends_with('"')) => {
            Ok(Some(IfMatch::ETag(ETag::new(text))))
        }
        _ => Err(ServiceError::invalid(
            "The etag value specified in one of the request headers is not valid.",
        )),
    }
}

/// Checks that a body is JSON, if it says what it is.
pub(super) fn check_media_type(headers: &HeaderMap) -> Result<(), ServiceError> {
    match header(headers, CONTENT_TYPE) {
        Some("application/json") => Ok(()),
        Some(media) if media.contains("atom") => Err(ServiceError::ATOM_NOT_SUPPORTED),
        Some(media) if !media.to_ascii_lowercase().starts_with("application/json") => {
            Err(ServiceError::MEDIA_TYPE_NOT_SUPPORTED)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_is_quoted() {
        let read = |text: &str| {
            let headers = HeaderMap::from_iter([(http::header::IF_MATCH, text.parse().unwrap())]);
            if_match(&headers)
        };
        assert_eq!(read("*"), Ok(Some(IfMatch::Any)));
        for etag in ["\"\"", "\"x\"", "W/\"\"", "W/\"datetime'2026'\""] {
            assert_eq!(read(etag), Ok(Some(IfMatch::ETag(ETag::new(etag)))));
        }
        for text in ["", "x", "\"", "W/", "W/\"", "W/x\"", "\"x"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
