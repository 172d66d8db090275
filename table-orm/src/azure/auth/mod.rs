//! Authorization of requests: account keys, shared access signatures and tokens of Entra ID.
//!
//! Invariant: no `Debug` output and no error shows a key, a signature or a token.

mod authorize;
mod credential;
mod sas;
mod string_to_sign;

pub use credential::{Credential, SharedKey};
pub use sas::{SasError, TableSas};

pub(super) use authorize::{AppendSas, SignSharedKey, TokenInTime};
pub(super) use credential::{CredentialKind, allows_http, is_account_name};
