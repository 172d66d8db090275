//! Operations on tables.

use super::Execution;
use crate::error::ServiceError;
use crate::media::{MetadataLevel, Preference};
use crate::message::Response;
use crate::operation::{TableQuery, encode_token};
use table_orm::TableName;

use crate::address::RESERVED_TABLE;

impl Execution<'_> {
    pub(super) async fn list_tables(
        &self,
        query: &TableQuery,
        level: MetadataLevel,
    ) -> Result<Response, ServiceError> {
        let mut tables = self.store.list_tables().await?;
        tables.retain(|table| !table.as_str().eq_ignore_ascii_case(RESERVED_TABLE));
        let (tables, next) = query.page(tables);
        let tables: Vec<_> = tables.iter().map(|table| self.member(table, level, "")).collect();
        let context = match level {
            MetadataLevel::None => String::new(),
            _ => format!("\"odata.metadata\":\"{}/$metadata#Tables\",", self.address.endpoint),
        };
        let body = format!("{{{context}\"value\":[{}]}}", tables.join(","));
        let response = Response::with_body(200, level.content_type(), body);
        Ok(match next {
            Some(next) => response.with("x-ms-continuation-nexttablename", encode_token(&next)),
            None => response,
        })
    }

    pub(super) async fn get_table(
        &self,
        table: &TableName,
        level: MetadataLevel,
    ) -> Result<Response, ServiceError> {
        let tables = self.store.list_tables().await?;
        let same = |known: &&TableName| known.as_str().eq_ignore_ascii_case(table.as_str());
        let found = tables.iter().find(same).ok_or(ServiceError::RESOURCE_NOT_FOUND)?;
        Ok(Response::with_body(200, level.content_type(), self.element(found, level)))
    }

    pub(super) async fn create_table(
        &self,
        table: &TableName,
        preference: Preference,
        level: MetadataLevel,
    ) -> Result<Response, ServiceError> {
        self.store.create_table(table).await?;
        // Those of an earlier table of the name, whose delete had no answer.
        self.settings.remove_policies(table).await?;
        let location = format!("{}/Tables('{table}')", self.address.endpoint);
        let response = match preference {
            Preference::NoContent => Response::empty(204).with("dataserviceid", &*location),
            _ => Response::with_body(201, level.content_type(), self.element(table, level)),
        };
        Ok(applied(response, preference).with("location", location))
    }

    pub(super) async fn delete_table(&self, table: &TableName) -> Result<Response, ServiceError> {
        let deleted = self.store.delete_table(table).await;
        if deleted.as_ref().err().is_none_or(|error| error.status == 404) {
            self.settings.remove_policies(table).await?;
        }
        deleted?;
        Ok(Response::empty(204))
    }

    /// Writes a table alone.
    fn element(&self, table: &TableName, level: MetadataLevel) -> String {
        let context =
            format!("\"odata.metadata\":\"{}/$metadata#Tables/@Element\",", self.address.endpoint);
        self.member(table, level, &context)
    }

    /// Writes a table. The characters of its name, an account's and a host's need no escape.
    fn member(&self, table: &TableName, level: MetadataLevel, context: &str) -> String {
        let (endpoint, account) = (&self.address.endpoint, &self.address.account);
        match level {
            MetadataLevel::None => format!("{{\"TableName\":\"{table}\"}}"),
            MetadataLevel::Minimal => format!("{{{context}\"TableName\":\"{table}\"}}"),
            MetadataLevel::Full => format!(
                "{{{context}\"odata.type\":\"{account}.Tables\",\"odata.id\":\"{endpoint}/Tables('{table}')\",\
                 \"odata.editLink\":\"Tables('{table}')\",\"TableName\":\"{table}\"}}"
            ),
        }
    }
}

/// Adds the preference that was applied.
pub(super) fn applied(response: Response, preference: Preference) -> Response {
    match preference.applied() {
        Some(applied) => response.with("preference-applied", applied),
        None => response,
    }
}
