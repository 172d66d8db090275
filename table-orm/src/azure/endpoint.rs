//! The endpoints of a storage account's services.

use super::error::ConnectError;
use crate::azure::protocol::Dialect;
use crate::store::Backend;
use azure_core::http::Url;
use std::net::IpAddr;

/// A service of a storage account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountService {
    Tables,
    Queues,
    Blobs,
}

impl AccountService {
    /// Returns the label after the account's name in the host's name.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Tables => "table",
            Self::Queues => "queue",
            Self::Blobs => "blob",
        }
    }

    /// Returns the setting of a connection string that holds its endpoint.
    pub(crate) const fn endpoint_setting(self) -> &'static str {
        match self {
            Self::Tables => "TableEndpoint",
            Self::Queues => "QueueEndpoint",
            Self::Blobs => "BlobEndpoint",
        }
    }

    /// Returns Azurite's port (Azurite documentation, "Listening port configuration").
    pub(crate) const fn azurite_port(self) -> u16 {
        match self {
            Self::Tables => 10002,
            Self::Queues => 10001,
            Self::Blobs => 10000,
        }
    }
}

/// Reads the URL of a service.
pub(crate) fn parse_endpoint(endpoint: &str) -> Result<Url, ConnectError> {
    let url = Url::parse(endpoint.trim()).map_err(|_| ConnectError::Endpoint)?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if plain { Ok(url) } else { Err(ConnectError::Endpoint) }
}

/// Returns whether requests to the endpoint stay on this machine.
pub(crate) fn is_this_machine(endpoint: &Url) -> bool {
    let host = endpoint.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_ok_and(|address| address.is_loopback())
}

/// The label of the service in a host's name. Before it are the account's name and, for some accounts, a zone or
/// `privatelink`.
const TABLE_LABEL: &str = ".table.";

/// The port of Cosmos DB's emulator (its documentation, `/TableEndpointPort`).
const COSMOS_EMULATOR_PORT: u16 = 8902;

/// Returns the endpoint of the account's copy in another region: `account-secondary` in place of the account's
/// name. Cosmos DB has other means.
pub(crate) fn secondary_endpoint(endpoint: &Url) -> Option<Url> {
    let name = format!("{}-secondary", account(endpoint)?);
    let host = endpoint.host_str()?;
    let mut secondary = endpoint.clone();
    match host.split_once('.') {
        _ if dialect(endpoint) == Dialect::Cosmos => return None,
        Some((_, domain)) if host.contains(TABLE_LABEL) => {
            secondary.set_host(Some(&format!("{name}.{domain}"))).ok()?;
        }
        _ => secondary.set_path(&format!("/{name}")),
    }
    Some(secondary)
}

/// Returns the URL of a secondary endpoint, which gets the secrets that the primary one gets.
pub(crate) fn parse_secondary(text: &str, endpoint: &Url) -> Result<Url, ConnectError> {
    let secondary = parse_endpoint(text).map_err(|_| ConnectError::SecondaryEndpoint)?;
    let encrypted = secondary.scheme() == "https";
    let is_safe = encrypted || is_this_machine(&secondary) || !is_this_machine(endpoint);
    let same = secondary.scheme() == endpoint.scheme();
    if same && is_safe { Ok(secondary) } else { Err(ConnectError::SecondaryEndpoint) }
}

/// Determines which implementation answers. Hosts of Cosmos DB are
/// `{account}.table.cosmos.azure.com`, `{account}.table.cosmosdb.azure.com` for old accounts, with
/// other last labels in other clouds.
pub(crate) fn dialect(endpoint: &Url) -> Dialect {
    let host = endpoint.host_str().unwrap_or_default();
    let is_account = host.contains(".table.cosmos.") || host.contains(".table.cosmosdb.");
    let is_emulator = is_this_machine(endpoint) && endpoint.port() == Some(COSMOS_EMULATOR_PORT);
    if is_account || is_emulator { Dialect::Cosmos } else { Dialect::Storage }
}

/// Returns the account at an endpoint: the first label of a host such as `account.table.core.windows.net`,
/// else the first segment of the path.
pub(crate) fn account(endpoint: &Url) -> Option<&str> {
    let host = endpoint.host_str().unwrap_or_default();
    let in_path = || endpoint.path_segments()?.next().filter(|segment| !segment.is_empty());
    let first = || host.split('.').next().filter(|_| host.contains(TABLE_LABEL));
    first().or_else(in_path)
}

/// Returns what reports of calls name the store at an endpoint.
pub(crate) fn backend(endpoint: &Url) -> Backend {
    let system = match dialect(endpoint) {
        Dialect::Storage => "azure.table",
        Dialect::Cosmos => "azure.cosmosdb",
    };
    let owned = |text: &str| text.to_owned().into();
    Backend {
        system: system.into(),
        in_process: false,
        namespace: account(endpoint).map(owned),
        address: endpoint.host_str().map(owned),
        port: endpoint.port_or_known_default().filter(|port| *port != 443),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn endpoints_are_urls_without_query_or_user() {
        for endpoint in [
            "",
            "account",
            "ftp://account",
            "https://",
            "https://a.b/?sig=secret",
            "https://a.b/#x",
            "https://user:secret@a.b",
        ] {
            let error = parse_endpoint(endpoint).unwrap_err();
            assert!(matches!(error, ConnectError::Endpoint), "{endpoint}");
            assert!(!error.to_string().contains("secret"));
        }
        assert!(parse_endpoint("http://127.0.0.1:10002/devstoreaccount1").is_ok());
    }

    #[test]
    fn cosmos_is_recognised_by_its_host_and_its_emulator_by_its_port() {
        let dialect = |endpoint: &str| dialect(&parse_endpoint(endpoint).unwrap());
        assert_eq!(dialect("https://a.table.cosmos.azure.com:443/"), Dialect::Cosmos);
        assert_eq!(dialect("https://a.table.cosmosdb.azure.com:443/"), Dialect::Cosmos);
        assert_eq!(dialect("http://localhost:8902/"), Dialect::Cosmos);
        assert_eq!(dialect("https://a.table.core.windows.net"), Dialect::Storage);
        assert_eq!(dialect("http://127.0.0.1:10002/devstoreaccount1"), Dialect::Storage);
        assert_eq!(dialect("http://azurite:8902/devstoreaccount1"), Dialect::Storage);
    }

    #[test]
    fn a_report_names_product_account_host_and_any_port_but_that_of_https() {
        let backend = |endpoint: &str| {
            let backend = backend(&parse_endpoint(endpoint).unwrap());
            let text = |text: Option<Cow<'static, str>>| text.unwrap_or_default().into_owned();
            let (namespace, address) = (text(backend.namespace), text(backend.address));
            (backend.system.into_owned(), namespace, address, backend.port)
        };
        let expected = |system: &str, namespace: &str, address: &str, port| {
            (system.to_owned(), namespace.to_owned(), address.to_owned(), port)
        };
        let storage = expected("azure.table", "acc", "acc.table.core.windows.net", None);
        assert_eq!(backend("https://acc.table.core.windows.net"), storage);
        let zone = expected("azure.table", "acc", "acc.z12.table.storage.azure.net", None);
        assert_eq!(backend("https://acc.z12.table.storage.azure.net"), zone);
        let cosmos = expected("azure.cosmosdb", "acc", "acc.table.cosmos.azure.com", None);
        assert_eq!(backend("https://acc.table.cosmos.azure.com:443/"), cosmos);
        let azurite = expected("azure.table", "devstoreaccount1", "127.0.0.1", Some(10002));
        assert_eq!(backend("http://127.0.0.1:10002/devstoreaccount1"), azurite);
        let plain = expected("azure.table", "", "tables.example", Some(80));
        assert_eq!(backend("http://tables.example"), plain);
    }

    #[test]
    fn the_secondary_endpoint_has_the_account_s_name_with_a_suffix() {
        let secondary = |endpoint: &str| {
            let url = secondary_endpoint(&parse_endpoint(endpoint).unwrap());
            url.map(String::from)
        };
        let cloud = Some("https://acc-secondary.table.core.windows.net/".to_owned());
        assert_eq!(secondary("https://acc.table.core.windows.net"), cloud);
        let zone = Some("https://acc-secondary.z12.table.storage.azure.net/".to_owned());
        assert_eq!(secondary("https://acc.z12.table.storage.azure.net"), zone);
        let private = Some("https://acc-secondary.privatelink.table.core.windows.net/".to_owned());
        assert_eq!(secondary("https://acc.privatelink.table.core.windows.net"), private);
        let azurite = Some("http://127.0.0.1:10002/acc-secondary".to_owned());
        assert_eq!(secondary("http://127.0.0.1:10002/acc"), azurite);
        assert_eq!(secondary("http://127.0.0.1:10002"), None);
        assert_eq!(secondary("https://acc.table.cosmos.azure.com"), None);
    }

    #[test]
    fn a_secondary_endpoint_gets_secrets_only_as_safely_as_the_endpoint() {
        let cloud = parse_endpoint("https://acc.table.core.windows.net").unwrap();
        let local = parse_endpoint("http://127.0.0.1:10002/acc").unwrap();
        assert!(parse_secondary("https://b.table.core.windows.net", &cloud).is_ok());
        assert!(parse_secondary("http://127.0.0.1:10003/acc-secondary", &local).is_ok());
        for (secondary, endpoint) in [
            ("http://b.table.core.windows.net", &cloud),
            ("https://b.example/?sig=x", &cloud),
            ("b", &cloud),
            ("http://b.example", &local),
            ("https://127.0.0.1", &local),
        ] {
            let refused = parse_secondary(secondary, endpoint);
            assert!(matches!(refused, Err(ConnectError::SecondaryEndpoint)), "{secondary}");
        }
    }
}
