//! Account keys and credentials.

use crate::azure::endpoint::parse_endpoint;
use crate::azure::error::ConnectError;
use azure_core::credentials::{Secret, TokenCredential};
use azure_core::hmac::hmac_sha256;
use azure_core::http::Url;
use base64::Engine as _;
use std::fmt;
use std::sync::Arc;

/// An account's name and key, which give full access to the account. `Debug` shows the name only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedKey {
    account: String,
    key: Secret,
}

impl SharedKey {
    /// Takes the account's name, and one of its two keys as base64 text. Removes spaces and line
    /// breaks around them, as in files.
    ///
    /// # Errors
    /// Returns [`ConnectError::AccountName`] when the name is empty or has characters other than
    /// letters, digits and `-`, and [`ConnectError::AccountKey`] when the key is not base64 text.
    pub fn new(account: &str, key: &str) -> Result<Self, ConnectError> {
        let account = account.trim();
        if !is_account_name(account) {
            return Err(ConnectError::AccountName);
        }
        let key = key.trim();
        let decoded = base64::engine::general_purpose::STANDARD.decode(key);
        if decoded.is_ok_and(|key| !key.is_empty()) {
            Ok(Self { account: account.to_owned(), key: Secret::new(key.to_owned()) })
        } else {
            Err(ConnectError::AccountKey)
        }
    }

    /// Returns the account's name.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    /// Returns the key's base64 text, for a connection string to hand out.
    #[must_use]
    pub fn secret(&self) -> &str {
        self.key.secret()
    }

    /// Returns the base64 text of the HMAC-SHA256 of `text`, with which a server verifies a request.
    ///
    /// # Errors
    /// Does not happen with a key that [`new`](Self::new) accepted.
    pub fn sign(&self, text: &str) -> azure_core::Result<String> {
        hmac_sha256(text, &self.key)
    }
}

/// Returns whether the text is one or more letters, digits and `-`.
pub(crate) fn is_account_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// An account key, a shared access signature, or a source of tokens. `Debug` shows its kind, and no
/// secret.
#[derive(Clone)]
pub struct Credential(pub(crate) CredentialKind);

#[derive(Clone)]
pub(crate) enum CredentialKind {
    SharedKey(SharedKey),
    Sas(Secret),
    Token(Arc<dyn TokenCredential>),
}

impl Credential {
    /// Takes the query string of a shared access signature of the account, one table or one queue,
    /// with or without a leading `?`, or a URL that ends with it, such as the portal's "SAS URL".
    ///
    /// Whoever sees a signature can use it, so over plain `http` it is sent to this machine only,
    /// for example to Azurite. For another host, such as an Azurite in a container, the signature
    /// has to allow `http` with `spr=https,http`:
    /// [`TableSas::allow_http`](super::super::TableSas::allow_http).
    ///
    /// # Errors
    /// Returns [`ConnectError::SharedAccessSignature`] when the text has no parameter `sig` or an
    /// empty one, or holds anything but parameters of a URL.
    pub fn sas(signature: &str) -> Result<Self, ConnectError> {
        let text = signature.trim();
        let query = match text.split_once('?') {
            Some((url, query)) if url.is_empty() || parse_endpoint(url).is_ok() => query,
            _ => text,
        };
        let in_query =
            |byte: u8| matches!(byte, b'!'..=b'~') && !matches!(byte, b'#' | b'"' | b'<' | b'>');
        // Refuses a URL without scheme, and a connection string.
        let parameter = |text: &str| {
            let name = text.split_once('=').map_or(text, |(name, _)| name);
            let name = name.bytes().all(|byte| byte.is_ascii_alphabetic());
            name && !text.contains("SharedAccessSignature=")
        };
        let signed = |text: &str| text.strip_prefix("sig=").is_some_and(|value| !value.is_empty());
        let parameters = || query.split('&');
        if query.bytes().all(in_query) && parameters().all(parameter) && parameters().any(signed) {
            Ok(Self(CredentialKind::Sas(Secret::new(query.to_owned()))))
        } else {
            Err(ConnectError::SharedAccessSignature)
        }
    }
}

impl Credential {
    /// Says what to check when the service does not accept the credential. Holds no secret.
    pub(crate) fn help(&self) -> String {
        match &self.0 {
            CredentialKind::SharedKey(key) => format!(
                "check the name `{}` and the key of the account, this machine's clock, and the \
                 account's network rules",
                key.account
            ),
            CredentialKind::Sas(signature) => {
                let granted = match granted(signature.secret()) {
                    granted if granted.is_empty() => "it names nothing".to_owned(),
                    granted => granted,
                };
                format!(
                    "check what the shared access signature grants ({granted}), this machine's clock, and \
                     whether the key that signed it was renewed"
                )
            }
            CredentialKind::Token(_) => {
                "check that the identity has a role for table data, such as \
                               Storage Table Data Contributor, and the account's network rules"
                    .to_owned()
            }
        }
    }

    /// Whether it is a signature with a range of RowKeys.
    pub(crate) fn has_row_bounds(&self) -> bool {
        let CredentialKind::Sas(signature) = &self.0 else { return false };
        let names = parameters(signature.secret());
        names.iter().any(|(name, _)| matches!(&**name, "srk" | "erk"))
    }
}

/// Lists the parameters that limit what a signature grants, without its key range, which may reveal
/// an app's data.
fn granted(signature: &str) -> String {
    const BOUNDS: [&str; 9] = ["tn", "ss", "srt", "sp", "st", "se", "sip", "spr", "si"];
    let bounds = parameters(signature);
    let bounds = bounds.iter().filter(|(name, _)| BOUNDS.contains(&&**name));
    bounds.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

/// Returns whether the signature itself allows plain http.
pub(crate) fn allows_http(signature: &str) -> bool {
    let http = |protocols: &str| protocols.split(',').any(|protocol| protocol == "http");
    parameters(signature).iter().any(|(name, value)| name == "spr" && http(value))
}

/// Decodes the parameters of a signature.
fn parameters(signature: &str) -> Vec<(String, String)> {
    let query = Url::parse(&format!("sas:?{signature}"));
    query.iter().flat_map(Url::query_pairs).map(|(n, v)| (n.into_owned(), v.into_owned())).collect()
}

impl From<SharedKey> for Credential {
    fn from(key: SharedKey) -> Self {
        Self(CredentialKind::SharedKey(key))
    }
}

/// Takes a credential of Entra ID, such as those of the crate `azure_identity`.
impl From<Arc<dyn TokenCredential>> for Credential {
    fn from(credential: Arc<dyn TokenCredential>) -> Self {
        Self(CredentialKind::Token(credential))
    }
}

/// Takes a credential of Entra ID, such as those of the crate `azure_identity`.
impl<T: TokenCredential + 'static> From<Arc<T>> for Credential {
    fn from(credential: Arc<T>) -> Self {
        Self(CredentialKind::Token(credential))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            CredentialKind::SharedKey(key) => key.fmt(f),
            CredentialKind::Sas(_) => f.write_str("SharedAccessSignature"),
            CredentialKind::Token(_) => f.write_str("TokenCredential"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_around_a_name_and_a_key_are_removed() {
        let key = SharedKey::new("acc\n", " c2VjcmV0\r\n").unwrap();
        assert_eq!(key, SharedKey::new("acc", "c2VjcmV0").unwrap());
        let broken = SharedKey::new("acc", "c2Vj\ncmV0");
        assert!(matches!(broken, Err(ConnectError::AccountKey)));
    }

    #[test]
    fn a_url_with_a_signature_gives_the_signature() {
        for text in [
            "sv=1&sig=c2ln%3D",
            "?sv=1&sig=c2ln%3D",
            "https://acc.table.core.windows.net/?sv=1&sig=c2ln%3D",
            " HTTPS://acc.table.core.windows.net/results?sv=1&sig=c2ln%3D\n",
            "http://127.0.0.1:10002/devstoreaccount1?sv=1&sig=c2ln%3D",
        ] {
            let Ok(Credential(CredentialKind::Sas(signature))) = Credential::sas(text) else {
                panic!("{text} is rejected");
            };
            assert_eq!(signature.secret(), "sv=1&sig=c2ln%3D", "{text}");
        }
    }

    #[test]
    fn text_that_is_no_signature_is_refused_and_not_shown() {
        for text in [
            "",
            "secret",
            "sv=1",
            "sv=secret&sig=",
            "sv=1&sig",
            "sv=1&sig=sec\nret",
            "https://acc.table.core.windows.net/",
            "https://user:secret@acc.table.core.windows.net/?sv=1&sig=secret",
            "acc.table.core.windows.net/?sv=1&sig=secret",
            "TableEndpoint=https://a.b/;SharedAccessSignature=sv=1&sig=secret",
            "SharedAccessSignature=sv=1&sig=secret",
            "sv=1&sig=secret#here",
        ] {
            let error = Credential::sas(text).unwrap_err();
            assert!(matches!(error, ConnectError::SharedAccessSignature), "{text}");
            assert!(!format!("{error}{error:?}").contains("secret"), "{error}");
        }
    }
}
