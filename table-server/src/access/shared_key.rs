//! Requests signed with the account's key.

use super::is_signed;
use crate::error::ServiceError;
use crate::message::Request;
use crate::uri::Parameters;
use std::time::{Duration, SystemTime};
use table_orm::azure::SharedKey;
use table_orm::azure::protocol::{http_date, signature};
use table_orm::model::DateTime;
use time::OffsetDateTime;

/// How far the date of a request may be from the server's clock (service documentation, "Authorize
/// with Shared Key").
const MAX_SKEW: Duration = Duration::from_secs(15 * 60);

/// Verifies the header `Authorization: scheme account:signature`.
pub(super) fn verify(
    account: &SharedKey,
    scheme: &str,
    credential: &str,
    request: &Request,
    parameters: &Parameters,
    now: DateTime,
) -> Result<(), ServiceError> {
    let failed = || ServiceError::AUTHENTICATION_FAILED;
    let (name, signature) = credential.trim().split_once(':').ok_or_else(failed)?;
    let date = request.header("x-ms-date").or_else(|| request.header("date")).ok_or_else(failed)?;
    let signed = |path: &str| {
        let text = text(scheme, account, request, path, parameters.get("comp"), date);
        is_signed(account, &text, signature)
    };
    let path = request.path();
    let is_signed = signed(path) || signed_before_redirection(path, name).is_some_and(signed);
    if name == account.account() && is_signed && is_recent(date, now) {
        Ok(())
    } else {
        Err(failed())
    }
}

/// Returns the path that Microsoft's Python client signs before it turns to the secondary location:
/// it then puts `/account-secondary` before it.
fn signed_before_redirection<'p>(path: &'p str, account: &str) -> Option<&'p str> {
    path.strip_prefix('/')?.strip_prefix(account)?.strip_prefix("-secondary")
}

fn text(
    scheme: &str,
    account: &SharedKey,
    request: &Request,
    path: &str,
    comp: Option<&str>,
    date: &str,
) -> String {
    let account = account.account();
    if scheme == "SharedKeyLite" {
        return signature::shared_key_lite(date, account, path, comp);
    }
    let header = |name| request.header(name).unwrap_or_default();
    let (md5, media_type) = (header("content-md5"), header("content-type"));
    signature::shared_key(request.method.as_str(), md5, media_type, date, account, path, comp)
}

fn is_recent(date: &str, now: DateTime) -> bool {
    let now = SystemTime::from(OffsetDateTime::from(now));
    http_date::parse(date).is_some_and(|date| {
        let skew = now.duration_since(date).or_else(|_| date.duration_since(now));
        skew.is_ok_and(|skew| skew <= MAX_SKEW)
    })
}
