//! What a request is authorized with.

use super::ConnectError;
use azure_core::credentials::{Secret, TokenCredential};
use azure_core::hmac::hmac_sha256;
use azure_core::http::Url;
use base64::Engine as _;
use std::fmt;
use std::sync::Arc;

/// An account's name and key: full access to the account. `Debug` shows the name only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedKey {
    account: String,
    key: Secret,
}

impl SharedKey {
    /// The account's name, and one of its two keys as base64 text.
    ///
    /// # Errors
    /// A name with other characters than names have, or a key that is not base64 text.
    pub fn new(account: &str, key: &str) -> Result<Self, ConnectError> {
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

    /// The account's name.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The base64 text of the HMAC-SHA256 of `text`.
    pub(super) fn sign(&self, text: &str) -> azure_core::Result<String> {
        hmac_sha256(text, &self.key)
    }
}

/// Whether the text is letters, digits and `-`, at least one.
pub(super) fn is_account_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// What a request is authorized with. `Debug` shows which kind it is, and no secret.
#[derive(Clone)]
pub struct Credential(pub(super) Kind);

#[derive(Clone)]
pub(super) enum Kind {
    SharedKey(SharedKey),
    Sas(Secret),
    Token(Arc<dyn TokenCredential>),
}

impl Credential {
    /// The query string of a shared access signature, of the account, one table or one queue,
    /// with or without the `?` in front.
    ///
    /// # Errors
    /// Text without a parameter `sig`, or that no URL can hold.
    pub fn sas(signature: &str) -> Result<Self, ConnectError> {
        let text = signature.trim().trim_start_matches('?');
        let signed = text.split('&').any(|parameter| parameter.starts_with("sig="));
        let query =
            |byte: u8| matches!(byte, b'!'..=b'~') && !matches!(byte, b'#' | b'"' | b'<' | b'>');
        if signed && text.bytes().all(query) {
            Ok(Self(Kind::Sas(Secret::new(text.to_owned()))))
        } else {
            Err(ConnectError::SharedAccessSignature)
        }
    }
}

impl Credential {
    /// What to look at when the service does not accept it; no secret.
    pub(super) fn advice(&self) -> String {
        match &self.0 {
            Kind::SharedKey(key) => format!(
                "check the name `{}` and the key of the account, this machine's clock, and the \
                 account's network rules",
                key.account
            ),
            Kind::Sas(signature) => format!(
                "check what the shared access signature grants ({}), this machine's clock, and \
                 whether the key that signed it was renewed",
                granted(signature.secret())
            ),
            Kind::Token(_) => "check that the identity has a role for data of tables, such as \
                               Storage Table Data Contributor, and the account's network rules"
                .to_owned(),
        }
    }
}

/// The parameters of a signature that bound what it grants, but for its key range, which tells of
/// an app's data.
fn granted(signature: &str) -> String {
    const BOUNDS: [&str; 9] = ["tn", "ss", "srt", "sp", "st", "se", "sip", "spr", "si"];
    let query = Url::parse(&format!("sas:?{signature}"));
    let bounds = query.iter().flat_map(Url::query_pairs);
    let bounds = bounds.filter(|(name, _)| BOUNDS.contains(&&**name));
    bounds.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

impl From<SharedKey> for Credential {
    fn from(key: SharedKey) -> Self {
        Self(Kind::SharedKey(key))
    }
}

/// A credential of Entra ID, such as those of the crate `azure_identity`.
impl From<Arc<dyn TokenCredential>> for Credential {
    fn from(credential: Arc<dyn TokenCredential>) -> Self {
        Self(Kind::Token(credential))
    }
}

/// A credential of Entra ID, such as those of the crate `azure_identity`.
impl<T: TokenCredential + 'static> From<Arc<T>> for Credential {
    fn from(credential: Arc<T>) -> Self {
        Self(Kind::Token(credential))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::SharedKey(key) => key.fmt(f),
            Kind::Sas(_) => f.write_str("SharedAccessSignature"),
            Kind::Token(_) => f.write_str("TokenCredential"),
        }
    }
}
