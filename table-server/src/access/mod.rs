//! Who may do what: shared keys, shared access signatures and bearer tokens.
//!
//! Invariants: nothing is allowed without a valid credential; a signature is compared in constant
//! time; no credential is in an error.

mod bearer;
mod grant;
mod permissions;
mod policy;
mod sas;
mod shared_key;

pub(crate) use bearer::challenge;
pub(crate) use grant::{Grant, Need, Scope};
pub(crate) use permissions::Permissions;
pub(crate) use policy::StoredPolicy;
pub(crate) use sas::{SasParameters, TableGrantRequest};

use crate::accounts::Accounts;
use crate::address::Address;
use crate::error::ServiceError;
use crate::message::Request;
use crate::uri::Parameters;
use subtle::ConstantTimeEq;
use table_orm::azure::SharedKey;
use table_orm::model::DateTime;

/// What a request's credential allows.
#[derive(Debug)]
pub(crate) enum Access {
    /// It is decided.
    Granted(Grant),
    /// The signature is valid, and refers to a policy that is stored with the table.
    ByPolicy(TableGrantRequest),
}

/// Verifies the credential of a request.
pub(crate) fn verify(
    accounts: &Accounts,
    oauth: bool,
    request: &Request,
    address: &Address,
    parameters: &Parameters,
    now: DateTime,
) -> Result<Access, ServiceError> {
    let account = accounts.get(&address.account).ok_or(ServiceError::AUTHENTICATION_FAILED);
    if let Some(authorization) = request.header("authorization") {
        let (scheme, credential) =
            authorization.split_once(' ').ok_or(ServiceError::AUTHENTICATION_FAILED)?;
        return match scheme {
            "SharedKey" | "SharedKeyLite" => {
                shared_key::verify(account?, scheme, credential, request, parameters, now)?;
                Ok(Access::Granted(Grant::Everything))
            }
            "Bearer" if oauth && request.client.https => {
                bearer::verify(&address.account, credential, now)?;
                account.map(|_| Access::Granted(Grant::Everything))
            }
            _ => Err(ServiceError::AUTHENTICATION_FAILED),
        };
    }
    if parameters.get("sig").is_some() {
        return SasParameters::new(parameters).verify(account?, request.client, now);
    }
    Err(if oauth { ServiceError::NO_AUTHENTICATION } else { ServiceError::AUTHENTICATION_FAILED })
}

/// Whether the signature is that of the text by the account's key.
fn is_signed(account: &SharedKey, text: &str, signature: &str) -> bool {
    let expected = account.sign(text).unwrap_or_default();
    !expected.is_empty() && bool::from(expected.as_bytes().ct_eq(signature.as_bytes()))
}
