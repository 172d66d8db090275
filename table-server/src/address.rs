//! What a URL addresses: an account, and a resource in it.
//!
//! Two forms are known: `http://host:port/account/resource`, and `http://account.table.host/resource`.

use crate::accounts::split_secondary;
use crate::error::ServiceError;
use crate::uri::decode;
use table_orm::TableName;

/// An account's endpoint, and the path after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) account: String,
    /// Whether the request is to the read-only copy.
    pub(crate) secondary: bool,
    /// The endpoint as the client wrote it.
    pub(crate) endpoint: String,
    pub(crate) resource: Resource,
}

impl Address {
    /// Reads the address of a request: its host, and its path as it was sent. A host has letters, digits and the
    /// marks of names and addresses only.
    pub(crate) fn read(https: bool, host: &str, path: &str) -> Result<Self, ServiceError> {
        // Answers repeat the host.
        if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-_[]%".contains(&byte)) {
            return Err(ServiceError::INVALID_HEADER_VALUE);
        }
        let scheme = if https { "https" } else { "http" };
        let path = path.strip_prefix('/').ok_or(ServiceError::INVALID_URI)?;
        let (name, endpoint, rest) = match host.split_once(".table.") {
            Some((name, _)) => (name, format!("{scheme}://{host}"), path),
            None => {
                let (name, rest) = path.split_once('/').unwrap_or((path, ""));
                (name, format!("{scheme}://{host}/{name}"), rest)
            }
        };
        let name = decode(name)?;
        let (account, secondary) = split_secondary(&name);
        let rest = if secondary { without_account(rest, account) } else { rest };
        let account = account.to_owned();
        Ok(Self { account, secondary, endpoint, resource: Resource::of(rest)? })
    }

    /// Reads a path without a host, in a request to this account, which it may name first.
    pub(crate) fn relative(&self, path: &str) -> Result<Self, ServiceError> {
        let path = path.strip_prefix('/').ok_or(ServiceError::INVALID_URI)?;
        let rest = without_account(path, &self.account);
        Ok(Self { resource: Resource::of(rest)?, ..self.clone() })
    }
}

/// Removes the account's name before a resource of the secondary location: Microsoft's Python client
/// sends `/account-secondary/account/resource`.
fn without_account<'p>(path: &'p str, account: &str) -> &'p str {
    path.strip_prefix(account).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}

/// A resource of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The service itself: its properties and stats.
    Service,
    /// All tables.
    Tables,
    /// One table, as a member of all tables.
    Table(TableName),
    /// The entities of a table.
    Entities(TableName),
    /// One entity, by its keys.
    Entity { table: TableName, partition_key: String, row_key: String },
    /// A path below a table, which no resource has.
    BelowTable { table: TableName, rest: String },
    /// Entity group transactions.
    Batch,
    /// The description of the service.
    Metadata,
}

impl Resource {
    /// Reads the path after an endpoint, as it was sent.
    pub(crate) fn of(path: &str) -> Result<Self, ServiceError> {
        Self::read(&decode(path)?)
    }

    /// Reads a decoded path after an endpoint.
    fn read(path: &str) -> Result<Self, ServiceError> {
        let path = path.strip_suffix("()").unwrap_or(path);
        match path {
            "" => return Ok(Self::Service),
            "Tables" => return Ok(Self::Tables),
            "$batch" => return Ok(Self::Batch),
            "$metadata" => return Ok(Self::Metadata),
            _ => {}
        }
        let end = path.find(['(', '/']).unwrap_or(path.len());
        let (name, rest) = path.split_at(end);
        if name == "Tables" {
            let keys = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            let (name, rest) = keys.and_then(literal).ok_or(ServiceError::INVALID_URI)?;
            return if rest.is_empty() {
                Ok(Self::Table(table_name(&name)?))
            } else {
                Err(ServiceError::INVALID_URI)
            };
        }
        let table = table_name(name)?;
        if rest.is_empty() {
            return Ok(Self::Entities(table));
        }
        if let Some(rest) = rest.strip_prefix('/') {
            return Ok(Self::BelowTable { table, rest: rest.to_owned() });
        }
        let keys = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let (partition_key, row_key) = keys.and_then(key_pair).ok_or_else(|| wrong_keys(&table))?;
        Ok(Self::Entity { table, partition_key, row_key })
    }
}

/// The error of an address whose keys are not a PartitionKey and a RowKey.
pub(crate) fn wrong_keys(table: &TableName) -> ServiceError {
    ServiceError::invalid(format!(
        "The number of keys specified in the URI does not match number of key properties for the \
         resource '{table}'."
    ))
}

/// The table that holds what a server stores beside an app's tables. No request names it.
pub(crate) const RESERVED_TABLE: &str = "TableServerSettings";

/// Checks a table's name.
pub(crate) fn table_name(name: &str) -> Result<TableName, ServiceError> {
    if name.eq_ignore_ascii_case(RESERVED_TABLE) {
        return Err(ServiceError::INVALID_RESOURCE_NAME);
    }
    TableName::new(name).map_err(|_| {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric());
        if plain && !(3..=63).contains(&name.len()) {
            ServiceError::OUT_OF_RANGE_NAME
        } else {
            ServiceError::INVALID_RESOURCE_NAME
        }
    })
}

/// Reads `PartitionKey='..',RowKey='..'`, in either order.
fn key_pair(text: &str) -> Option<(String, String)> {
    let (first_name, rest) = text.split_once('=')?;
    let (first, rest) = literal(rest)?;
    let (second_name, rest) = rest.strip_prefix(',')?.split_once('=')?;
    let (second, rest) = literal(rest)?;
    match (first_name.trim(), second_name.trim(), rest.trim()) {
        ("PartitionKey", "RowKey", "") => Some((first, second)),
        ("RowKey", "PartitionKey", "") => Some((second, first)),
        _ => None,
    }
}

/// Reads a text in quotes, in which a quote is doubled, and the rest after it.
fn literal(text: &str) -> Option<(String, &str)> {
    let mut rest = text.trim_start().strip_prefix('\'')?;
    let mut value = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        value.push_str(part);
        match after.strip_prefix('\'') {
            Some(after) => {
                value.push('\'');
                rest = after;
            }
            None => return Some((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Result<Resource, ServiceError> {
        Ok(Address::read(false, "127.0.0.1:1", &format!("/acc{path}"))?.resource)
    }

    fn people() -> TableName {
        TableName::new("People").unwrap()
    }

    #[test]
    fn an_account_is_named_by_the_path_or_the_host() {
        let path = Address::read(false, "127.0.0.1:1", "/acc-secondary/Tables").unwrap();
        assert_eq!((&*path.account, path.secondary), ("acc", true));
        assert_eq!(path.endpoint, "http://127.0.0.1:1/acc-secondary");
        let python = Address::read(false, "h", "/acc-secondary/acc/Tables").unwrap();
        assert_eq!((python.secondary, python.resource), (true, Resource::Tables));
        let host = Address::read(true, "acc.table.localhost:1", "/Tables").unwrap();
        assert_eq!((&*host.account, host.secondary), ("acc", false));
        assert_eq!(
            (&*host.endpoint, host.resource),
            ("https://acc.table.localhost:1", Resource::Tables)
        );
    }

    #[test]
    fn resources_are_read() {
        let entity = |partition_key: &str, row_key: &str| Resource::Entity {
            table: people(),
            partition_key: partition_key.to_owned(),
            row_key: row_key.to_owned(),
        };
        for (path, resource) in [
            ("", Resource::Service),
            ("/", Resource::Service),
            ("/Tables()", Resource::Tables),
            ("/Tables('People')", Resource::Table(people())),
            ("/People", Resource::Entities(people())),
            ("/People()", Resource::Entities(people())),
            ("/People(PartitionKey='a%27%27b',RowKey='')", entity("a'b", "")),
            ("/People(RowKey='r',PartitionKey='%2Fp,(%3D)')", entity("/p,(=)", "r")),
            ("/$batch", Resource::Batch),
            ("/People/$batch", Resource::BelowTable { table: people(), rest: "$batch".into() }),
        ] {
            assert_eq!(read(path), Ok(resource), "{path}");
        }
    }

    #[test]
    fn what_no_resource_has_is_refused() {
        for path in [
            "/People(PartitionKey='p')",
            "/People('p')",
            "/People(PartitionKey='p',RowKey='r'",
            "/People(PartitionKey='p',RowKey='r')x",
            "/People(PartitionKey='p',RowKey=r)",
            "/People(PartitionKey='p',RowKey='r',Third='x')",
            "/Tables(People)",
            "/Tables('a','b')",
            "/..",
            "/../People",
            "/%FF",
            "/my_table",
            "/ab",
            "//",
            "/%00",
            "/People%00",
            "/.%2F..",
        ] {
            assert_eq!(read(path).unwrap_err().status, 400, "{path}");
        }
        assert!(Address::read(false, "h", "*").is_err());
    }
}
