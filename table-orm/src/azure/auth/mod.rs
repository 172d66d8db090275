//! Who a request comes from: account keys, shared access signatures and tokens of Entra ID.

mod authorize;
mod credential;
mod sas;

pub use credential::{Credential, SharedKey};
pub use sas::{Permissions, SasError, TableSas};

pub(super) use authorize::{AppendSas, SignSharedKey, TokenInTime};
pub(super) use credential::{CredentialKind, allows_http, is_account_name};
