//! Connection strings, as the Azure portal shows them.

use super::auth::{Credential, CredentialKind, SharedKey, is_account_name};
use super::endpoint::{AccountService, parse_endpoint};
use super::error::{ConnectError, ConnectionStringError};
use std::str::FromStr;

/// The account of Azurite. It is the same everywhere and not secret (Azurite documentation,
/// "Well-known storage account and key").
const AZURITE_ACCOUNT: &str = "devstoreaccount1";
const AZURITE_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// The endpoint and credential that a connection string names.
///
/// `parse` reads the endpoint of the table service, [`queues`](Self::queues) that of the queue
/// service, and [`blobs`](Self::blobs) that of the blob service. The connection string has one of these forms:
///
/// - `UseDevelopmentStorage=true`, for Azurite, with or without `DevelopmentStorageProxyUri`;
/// - `AccountName` and `AccountKey`, with `TableEndpoint`, `QueueEndpoint` or `BlobEndpoint`, or with
///   `EndpointSuffix` (default `core.windows.net`) and `DefaultEndpointsProtocol` (default `https`);
/// - `SharedAccessSignature` in place of `AccountKey`.
///
/// The case of names does not matter. Settings of other services are ignored, and unknown names are refused. Quotes
/// around the whole text, as in files of environment variables, are removed.
#[derive(Debug, Clone)]
pub struct ConnectionString {
    /// The URL of the service.
    pub endpoint: String,
    /// The account key or shared access signature.
    pub credential: Credential,
    /// The URL of the table service's copy in another region, where the text has `TableSecondaryEndpoint`.
    pub secondary: Option<String>,
}

/// The settings that are ignored.
const OTHERS: [&str; 7] = [
    "AccountKeyName",
    "BlobSecondaryEndpoint",
    "DfsEndpoint",
    "FileEndpoint",
    "FileSecondaryEndpoint",
    "QueueSecondaryEndpoint",
    "WebEndpoint",
];

/// The settings of tables, queues and blobs.
const NAMES: [&str; 11] = [
    "AccountName",
    "AccountKey",
    "SharedAccessSignature",
    "TableEndpoint",
    "TableSecondaryEndpoint",
    "QueueEndpoint",
    "BlobEndpoint",
    "EndpointSuffix",
    "DefaultEndpointsProtocol",
    "UseDevelopmentStorage",
    "DevelopmentStorageProxyUri",
];

impl ConnectionString {
    /// Reads the endpoint and credential of the queue service.
    ///
    /// # Errors
    /// Returns [`ConnectionStringError`] when the text cannot be read, or lacks an endpoint or a
    /// credential.
    pub fn queues(text: &str) -> Result<Self, ConnectionStringError> {
        Self::read(text, AccountService::Queues)
    }

    /// Reads the endpoint and credential of the blob service.
    ///
    /// # Errors
    /// As [`queues`](Self::queues).
    pub fn blobs(text: &str) -> Result<Self, ConnectionStringError> {
        Self::read(text, AccountService::Blobs)
    }

    /// Returns the account's key, which signs a [`TableSas`](super::TableSas) to hand out; `None`
    /// when the connection string has a signature instead.
    ///
    /// ```
    /// use table_orm::TableName;
    /// use table_orm::azure::{ConnectionString, Permissions, TableSas};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let text = "AccountName=account;AccountKey=a2V5;EndpointSuffix=core.windows.net";
    /// let account: ConnectionString = text.parse()?;
    /// let key = account.shared_key().ok_or("the connection string gives no account key")?;
    /// let until = time::OffsetDateTime::now_utc() + time::Duration::minutes(15);
    /// let results = TableSas::new(TableName::new("results")?, Permissions::READ, until);
    /// assert!(results.sign(key)?.contains("&sig="));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn shared_key(&self) -> Option<&SharedKey> {
        match &self.credential.0 {
            CredentialKind::SharedKey(key) => Some(key),
            CredentialKind::Sas(_) | CredentialKind::Token(_) => None,
        }
    }

    fn read(text: &str, service: AccountService) -> Result<Self, ConnectionStringError> {
        let settings = Settings::read(text)?;
        match settings.get("UseDevelopmentStorage") {
            Some(value) if value.eq_ignore_ascii_case("true") => return settings.azurite(service),
            Some(_) => return Err(ConnectionStringError::Invalid("UseDevelopmentStorage")),
            None => {}
        }
        let (endpoint, credential) = (settings.endpoint(service)?, settings.credential()?);
        Ok(Self { endpoint, credential, secondary: settings.secondary(service)? })
    }
}

impl FromStr for ConnectionString {
    type Err = ConnectionStringError;

    fn from_str(text: &str) -> Result<Self, ConnectionStringError> {
        Self::read(text, AccountService::Tables)
    }
}

struct Settings<'s>([Option<&'s str>; NAMES.len()]);

impl<'s> Settings<'s> {
    fn read(text: &'s str) -> Result<Self, ConnectionStringError> {
        let text = unquoted(text.trim());
        let mut values = [None; NAMES.len()];
        for (index, part) in text.split(';').enumerate() {
            if part.trim().is_empty() {
                continue;
            }
            let (name, value) =
                part.split_once('=').ok_or(ConnectionStringError::NoSetting(index + 1))?;
            let name = name.trim();
            let is_name = |known: &&str| known.eq_ignore_ascii_case(name);
            if let Some(known) = NAMES.iter().position(is_name) {
                if values[known].replace(value.trim()).is_some() {
                    return Err(ConnectionStringError::Twice(NAMES[known]));
                }
            } else if !could_be_name(name) {
                return Err(ConnectionStringError::NoSetting(index + 1));
            } else if !OTHERS.iter().any(is_name) {
                return Err(ConnectionStringError::Unknown(name.to_owned()));
            }
        }
        Ok(Self(values))
    }

    /// Returns the value of a setting. An empty value counts as absent.
    fn get(&self, name: &str) -> Option<&'s str> {
        let index = NAMES.iter().position(|known| *known == name)?;
        self.0[index].filter(|value| !value.is_empty())
    }

    fn azurite(&self, service: AccountService) -> Result<ConnectionString, ConnectionStringError> {
        let host = self.get("DevelopmentStorageProxyUri").unwrap_or("http://127.0.0.1");
        let host = host.trim_end_matches('/');
        let endpoint = format!("{host}:{}/{AZURITE_ACCOUNT}", service.azurite_port());
        let endpoint = checked(endpoint, "DevelopmentStorageProxyUri")?;
        let credential = shared_key(AZURITE_ACCOUNT, AZURITE_KEY)?;
        Ok(ConnectionString { endpoint, credential, secondary: None })
    }

    fn secondary(&self, service: AccountService) -> Result<Option<String>, ConnectionStringError> {
        let name = "TableSecondaryEndpoint";
        let endpoint = self.get(name).filter(|_| service == AccountService::Tables);
        endpoint.map(|endpoint| checked(endpoint.to_owned(), name)).transpose()
    }

    fn endpoint(&self, service: AccountService) -> Result<String, ConnectionStringError> {
        if let Some(endpoint) = self.get(service.endpoint_setting()) {
            return checked(endpoint.to_owned(), service.endpoint_setting());
        }
        let account =
            self.get("AccountName").ok_or(ConnectionStringError::Missing(match service {
                AccountService::Tables => "`AccountName` or `TableEndpoint`",
                AccountService::Queues => "`AccountName` or `QueueEndpoint`",
                AccountService::Blobs => "`AccountName` or `BlobEndpoint`",
            }))?;
        let protocol = self.get("DefaultEndpointsProtocol").unwrap_or("https");
        if !matches!(protocol, "http" | "https") {
            return Err(ConnectionStringError::Invalid("DefaultEndpointsProtocol"));
        }
        let suffix = self.get("EndpointSuffix").unwrap_or("core.windows.net");
        // A name that ends the host's name would send the request to another host.
        if !is_account_name(account) {
            return Err(ConnectionStringError::Invalid("AccountName"));
        }
        let in_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':');
        if !suffix.bytes().all(in_host) {
            return Err(ConnectionStringError::Invalid("EndpointSuffix"));
        }
        Ok(format!("{protocol}://{account}.{}.{suffix}", service.label()))
    }

    fn credential(&self) -> Result<Credential, ConnectionStringError> {
        match (self.get("AccountKey"), self.get("SharedAccessSignature")) {
            (Some(key), _) => {
                let account = self
                    .get("AccountName")
                    .ok_or(ConnectionStringError::Missing("`AccountName`"))?;
                shared_key(account, key)
            }
            (None, Some(signature)) => Credential::sas(signature)
                .map_err(|_| ConnectionStringError::Invalid("SharedAccessSignature")),
            (None, None) => {
                Err(ConnectionStringError::Missing("`AccountKey` or `SharedAccessSignature`"))
            }
        }
    }
}

/// Removes one pair of quotes around the text.
fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    within('"').or_else(|| within('\'')).unwrap_or(text)
}

/// Returns whether the text may be shown as a name. A key without its name ends with `=` and so
/// looks like a setting.
fn could_be_name(text: &str) -> bool {
    (1..=30).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns the endpoint of a setting. Refuses one that holds more, because that may be a secret,
/// and `Debug` output shows endpoints.
fn checked(endpoint: String, setting: &'static str) -> Result<String, ConnectionStringError> {
    match parse_endpoint(&endpoint) {
        Ok(_) => Ok(endpoint),
        Err(_) => Err(ConnectionStringError::Endpoint(setting)),
    }
}

fn shared_key(account: &str, key: &str) -> Result<Credential, ConnectionStringError> {
    match SharedKey::new(account, key) {
        Ok(key) => Ok(Credential(CredentialKind::SharedKey(key))),
        Err(ConnectError::AccountName) => Err(ConnectionStringError::Invalid("AccountName")),
        Err(_) => Err(ConnectionStringError::NotBase64("AccountKey")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str) -> String {
        text.parse::<ConnectionString>().unwrap().endpoint
    }

    #[test]
    fn the_endpoint_is_a_setting_or_built_from_account_and_suffix() {
        let key = "AccountName=acc;AccountKey=c2VjcmV0";
        assert_eq!(endpoint(key), "https://acc.table.core.windows.net");
        assert_eq!(
            endpoint(&format!(
                "DefaultEndpointsProtocol=http;{key};EndpointSuffix=core.chinacloudapi.cn"
            )),
            "http://acc.table.core.chinacloudapi.cn"
        );
        assert_eq!(
            endpoint(&format!("{key};TableEndpoint=https://acc.table.cosmos.azure.com:443/;")),
            "https://acc.table.cosmos.azure.com:443/"
        );
        assert_eq!(
            endpoint("tableendpoint=https://a.b/;SharedAccessSignature=sv=1&sig=a%3D"),
            "https://a.b/"
        );
    }

    #[test]
    fn settings_of_other_services_are_ignored() {
        let blobs = "BlobEndpoint=https://b/;fileendpoint=https://f/;DfsEndpoint=https://d/";
        assert_eq!(
            endpoint(&format!("{blobs};AccountName=acc;AccountKey=c2VjcmV0")),
            "https://acc.table.core.windows.net"
        );
    }

    #[test]
    fn quotes_around_the_whole_text_are_removed() {
        for quote in ['"', '\''] {
            let text = format!(" {quote}AccountName=acc;AccountKey=c2VjcmV0{quote}\n");
            assert_eq!(endpoint(&text), "https://acc.table.core.windows.net");
        }
    }

    #[test]
    fn development_storage_is_azurite() {
        assert_eq!(
            endpoint("UseDevelopmentStorage=true"),
            "http://127.0.0.1:10002/devstoreaccount1"
        );
        assert_eq!(
            endpoint("UseDevelopmentStorage=TRUE;DevelopmentStorageProxyUri=http://host/"),
            "http://host:10002/devstoreaccount1"
        );
    }

    #[test]
    fn queues_have_an_endpoint_of_their_own() {
        let endpoint = |text: &str| ConnectionString::queues(text).map(|read| read.endpoint);
        let key = "AccountName=acc;AccountKey=c2VjcmV0;TableEndpoint=https://t/";
        for (text, expected) in [
            (key.to_owned(), "https://acc.queue.core.windows.net"),
            (format!("{key};EndpointSuffix=core.a.b"), "https://acc.queue.core.a.b"),
            (format!("{key};QueueEndpoint=http://q/acc"), "http://q/acc"),
            ("QueueEndpoint=https://q;SharedAccessSignature=?sig=1".to_owned(), "https://q"),
            ("UseDevelopmentStorage=true".to_owned(), "http://127.0.0.1:10001/devstoreaccount1"),
        ] {
            assert_eq!(endpoint(&text).as_deref(), Ok(expected), "{text}");
        }
        let missing = ConnectionStringError::Missing("`AccountName` or `QueueEndpoint`");
        assert_eq!(endpoint("TableEndpoint=https://t;SharedAccessSignature=sig=1"), Err(missing));
    }

    #[test]
    fn blobs_have_an_endpoint_of_their_own() {
        let endpoint = |text: &str| ConnectionString::blobs(text).map(|read| read.endpoint);
        let key = "AccountName=acc;AccountKey=c2VjcmV0;TableEndpoint=https://t/";
        for (text, expected) in [
            (key.to_owned(), "https://acc.blob.core.windows.net"),
            (format!("{key};BlobEndpoint=http://b/acc"), "http://b/acc"),
            ("UseDevelopmentStorage=true".to_owned(), "http://127.0.0.1:10000/devstoreaccount1"),
        ] {
            assert_eq!(endpoint(&text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn the_account_key_is_returned_when_there_is_one() {
        let account = |text: &str| {
            let parsed: ConnectionString = text.parse().unwrap();
            parsed.shared_key().map(|key| key.account().to_owned())
        };
        assert_eq!(account("AccountName=acc;AccountKey=c2VjcmV0").as_deref(), Some("acc"));
        assert_eq!(account("UseDevelopmentStorage=true").as_deref(), Some(AZURITE_ACCOUNT));
        assert_eq!(account("AccountName=acc;SharedAccessSignature=sig=1"), None);
    }

    #[test]
    fn errors_name_the_setting_and_never_its_value() {
        use ConnectionStringError as E;
        for (text, expected) in [
            ("", E::Missing("`AccountName` or `TableEndpoint`")),
            ("AccountName=secret", E::Missing("`AccountKey` or `SharedAccessSignature`")),
            ("AccountName=a;secret", E::NoSetting(2)),
            ("AccountName=a;c2VjcmV0secret==", E::NoSetting(2)),
            ("\"AccountName=a;AccountKey=secret", E::NoSetting(1)),
            ("AccountName=a;TableEndpiont=secret", E::Unknown("TableEndpiont".to_owned())),
            ("AccountName=a;AccountKey=secret!", E::NotBase64("AccountKey")),
            ("AccountName=se/cret;AccountKey=c2VjcmV0", E::Invalid("AccountName")),
            ("AccountName=a;AccountName=secret", E::Twice("AccountName")),
            ("AccountName=se.cret/;SharedAccessSignature=sig=1", E::Invalid("AccountName")),
            (
                "AccountName=a;EndpointSuffix=secret/;SharedAccessSignature=sig=1",
                E::Invalid("EndpointSuffix"),
            ),
            ("AccountName=a;SharedAccessSignature=secret", E::Invalid("SharedAccessSignature")),
            ("UseDevelopmentStorage=secret", E::Invalid("UseDevelopmentStorage")),
            ("TableEndpoint=https://a.b;AccountKey=c2VjcmV0", E::Missing("`AccountName`")),
            ("TableEndpoint=https://a.b?sv=1&sig=secret", E::Endpoint("TableEndpoint")),
            ("TableEndpoint=https://user:secret@a.b", E::Endpoint("TableEndpoint")),
            ("TableEndpoint=https://a.b/#secret", E::Endpoint("TableEndpoint")),
            ("TableEndpoint=secret", E::Endpoint("TableEndpoint")),
            (
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://a:secret@b",
                E::Endpoint("DevelopmentStorageProxyUri"),
            ),
        ] {
            let error = text.parse::<ConnectionString>().unwrap_err();
            assert_eq!(error, expected);
            assert!(!format!("{error}{error:?}").contains("secret"));
        }
    }

    #[test]
    fn debug_output_shows_no_secret() {
        for text in [
            "AccountName=acc;AccountKey=c2VjcmV0",
            "AccountName=acc;SharedAccessSignature=sv=1&sig=c2VjcmV0",
        ] {
            let parsed: ConnectionString = text.parse().unwrap();
            assert!(!format!("{parsed:?}").contains("c2VjcmV0"), "{parsed:?}");
        }
    }
}
