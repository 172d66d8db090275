//! Requests as operations of the service.
//!
//! Invariant: an [`Operation`] is well-formed. What is left to find out is whether its caller may do
//! it, and what the store says.

mod query;
mod write;

pub(crate) use query::{EntityQuery, TableQuery, encode_token};
pub(crate) use write::EntityWrite;

use crate::access::{Need, Permissions, Scope};
use crate::address::{Resource, table_name, wrong_keys};
use crate::batch::{self, BatchContent};
use crate::error::ServiceError;
use crate::media::{MetadataLevel, Preference};
use crate::message::Request;
use crate::uri::Parameters;
use http::{HeaderMap, Method};
use table_orm::TableName;

/// What a request asks for.
#[derive(Debug)]
pub(crate) enum Operation {
    ListTables {
        query: TableQuery,
        level: MetadataLevel,
    },
    GetTable {
        table: TableName,
        level: MetadataLevel,
    },
    CreateTable {
        table: TableName,
        preference: Preference,
        level: MetadataLevel,
    },
    DeleteTable(TableName),
    Query {
        query: Box<EntityQuery>,
        level: MetadataLevel,
    },
    Get {
        table: TableName,
        keys: (String, String),
        select: Option<Vec<String>>,
        level: MetadataLevel,
    },
    Write {
        write: EntityWrite,
        level: MetadataLevel,
    },
    Batch(BatchContent),
    GetProperties,
    SetProperties,
    GetStats,
    GetPolicies(TableName),
    SetPolicies(TableName),
    /// A path below a table, to which nothing can be sent, whatever its keys.
    BelowTable(TableName),
}

/// What an operation is carried out on.
enum Verb {
    Read,
    Insert,
    Replace,
    Merge,
    Delete,
}

impl Operation {
    /// Reads a request to a resource.
    pub(crate) fn read(
        request: &Request,
        resource: &Resource,
        parameters: &Parameters,
    ) -> Result<Self, ServiceError> {
        let verb = verb(&request.method, &request.headers)?;
        let level = || MetadataLevel::read(parameters.get("$format"), &request.headers);
        if let Some(operation) = Self::setting(&verb, resource, parameters)? {
            return Ok(operation);
        }
        Ok(match (resource, verb) {
            (Resource::Tables, Verb::Read) => {
                Self::ListTables { query: TableQuery::read(parameters)?, level: level()? }
            }
            (Resource::Tables, Verb::Insert) => Self::CreateTable {
                table: table_to_create(request)?,
                preference: Preference::read(&request.headers),
                level: level()?,
            },
            (Resource::Table(table), Verb::Read) => {
                Self::GetTable { table: table.clone(), level: level()? }
            }
            (Resource::Table(table), Verb::Delete) => Self::DeleteTable(table.clone()),
            (Resource::Entities(table), Verb::Read) => {
                let query = EntityQuery::read(table.clone(), parameters)?;
                Self::Query { query: Box::new(query), level: level()? }
            }
            (Resource::Entity { table, partition_key, row_key }, Verb::Read) => Self::Get {
                table: table.clone(),
                keys: (partition_key.clone(), row_key.clone()),
                select: query::select(parameters)?,
                level: level()?,
            },
            (Resource::Entities(_), Verb::Insert) => {
                let write =
                    EntityWrite::read(&Method::POST, resource, &request.headers, &request.body);
                Self::Write { write: write?, level: level()? }
            }
            (Resource::Entity { .. }, verb @ (Verb::Replace | Verb::Merge | Verb::Delete)) => {
                let method = verb.method();
                let write = EntityWrite::read(&method, resource, &request.headers, &request.body)?;
                Self::Write { write, level: MetadataLevel::default() }
            }
            (Resource::Batch, Verb::Insert) => {
                let media_type = request.header("content-type").unwrap_or_default();
                Self::Batch(batch::read(media_type, &request.body)?)
            }
            (Resource::BelowTable { table, .. }, verb) => {
                below_table(table, &verb, &request.headers)?
            }
            (Resource::Metadata, _) => return Err(ServiceError::NOT_IMPLEMENTED),
            (Resource::Service, _) => return Err(ServiceError::INVALID_URI),
            _ => return Err(ServiceError::METHOD_NOT_ALLOWED),
        })
    }

    /// Reads a request to the settings of the service or of a table; `None` for other requests.
    fn setting(
        verb: &Verb,
        resource: &Resource,
        parameters: &Parameters,
    ) -> Result<Option<Self>, ServiceError> {
        let (restype, comp) = (parameters.get("restype"), parameters.get("comp"));
        Ok(Some(match (resource, restype, comp, verb) {
            (_, None, None, _) => return Ok(None),
            (Resource::Service, Some("service"), Some("properties"), Verb::Read) => {
                Self::GetProperties
            }
            (Resource::Service, Some("service"), Some("properties"), Verb::Replace) => {
                Self::SetProperties
            }
            (Resource::Service, Some("service"), Some("stats"), Verb::Read) => Self::GetStats,
            (Resource::Entities(table), None, Some("acl"), Verb::Read) => {
                Self::GetPolicies(table.clone())
            }
            (Resource::Entities(table), None, Some("acl"), Verb::Replace) => {
                Self::SetPolicies(table.clone())
            }
            _ => return Err(ServiceError::INVALID_QUERY_PARAMETER),
        }))
    }

    /// What the operation needs; `None` if each of its parts needs something of its own.
    pub(crate) fn need(&self) -> Option<Need<'_>> {
        use Permissions as P;
        let need = |scope, table, permissions| Need { scope, table, permissions, row: None };
        Some(match self {
            Self::Batch(_) => return None,
            Self::ListTables { .. } => need(Scope::Container, None, &[P::LIST]),
            Self::GetTable { table, .. } => {
                need(Scope::Container, Some(table), &[P::LIST, P::READ])
            }
            Self::CreateTable { table, .. } => {
                need(Scope::Container, Some(table), &[P::CREATE, P::WRITE])
            }
            Self::DeleteTable(table) => need(Scope::Container, Some(table), &[P::DELETE]),
            Self::Query { query, .. } => need(Scope::Object, Some(&query.rows.table), &[P::READ]),
            Self::Get { table, keys: (partition_key, row_key), .. } => Need {
                row: Some((partition_key, row_key)),
                ..need(Scope::Object, Some(table), &[P::READ])
            },
            Self::Write { write, .. } => write.need(),
            Self::BelowTable(table) => need(Scope::Object, Some(table), &[P::NONE]),
            Self::GetProperties | Self::GetStats => need(Scope::Service, None, &[P::READ]),
            Self::SetProperties => need(Scope::Service, None, &[P::WRITE]),
            Self::GetPolicies(table) | Self::SetPolicies(table) => {
                need(Scope::Owner, Some(table), &[P::NONE])
            }
        })
    }

    /// Whether it changes anything.
    pub(crate) const fn is_write(&self) -> bool {
        !matches!(
            self,
            Self::ListTables { .. }
                | Self::GetTable { .. }
                | Self::Query { .. }
                | Self::Get { .. }
                | Self::GetProperties
                | Self::GetStats
                | Self::GetPolicies(_)
                | Self::BelowTable(_)
        )
    }
}

impl Verb {
    fn method(&self) -> Method {
        match self {
            Self::Read => Method::GET,
            Self::Insert => Method::POST,
            Self::Replace => Method::PUT,
            Self::Merge => Method::PATCH,
            Self::Delete => Method::DELETE,
        }
    }
}

/// Returns what a method does. A POST may name another method in a header.
fn verb(method: &Method, headers: &HeaderMap) -> Result<Verb, ServiceError> {
    let tunnelled = crate::message::header(headers, "x-http-method");
    match (method.as_str(), tunnelled) {
        ("POST", Some(name)) => match name {
            "MERGE" | "PATCH" => Ok(Verb::Merge),
            "PUT" => Ok(Verb::Replace),
            "DELETE" => Ok(Verb::Delete),
            _ => Err(ServiceError::TUNNEL_VALUE),
        },
        (_, Some(_)) => Err(ServiceError::TUNNEL_NOT_POST),
        ("GET" | "HEAD", None) => Ok(Verb::Read),
        ("POST", None) => Ok(Verb::Insert),
        ("PUT", None) => Ok(Verb::Replace),
        ("MERGE" | "PATCH", None) => Ok(Verb::Merge),
        ("DELETE", None) => Ok(Verb::Delete),
        _ => Err(ServiceError::UNSUPPORTED_VERB),
    }
}

/// Returns the method that a request means, for one in a batch.
pub(crate) fn meant_method(method: &Method, headers: &HeaderMap) -> Result<Method, ServiceError> {
    verb(method, headers).map(|verb| verb.method())
}

/// Reads `{"TableName":".."}`.
fn table_to_create(request: &Request) -> Result<TableName, ServiceError> {
    write::check_media_type(&request.headers)?;
    let body: serde_json::Value = serde_json::from_slice(&request.body)
        .map_err(|_| ServiceError::invalid("The body is not a JSON object with a TableName."))?;
    let name = body.get("TableName").and_then(serde_json::Value::as_str);
    table_name(name.ok_or(ServiceError::MISSING_KEYS)?)
}

/// The answer to a request below a table, as clients get that put a table into their endpoint.
fn below_table(
    table: &TableName,
    verb: &Verb,
    headers: &HeaderMap,
) -> Result<Operation, ServiceError> {
    if matches!(verb, Verb::Insert) {
        write::check_media_type(headers)?;
    }
    Ok(Operation::BelowTable(table.clone()))
}

/// The error of a path below a table that exists.
pub(crate) fn below_table_error(table: &TableName, is_insert: bool) -> ServiceError {
    if is_insert { ServiceError::MISSING_KEYS } else { wrong_keys(table) }
}
