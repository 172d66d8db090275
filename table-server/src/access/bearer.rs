//! Tokens of Entra ID. Their signature is not verified: an emulator has no keys of the issuer.

use crate::error::ServiceError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use table_orm::model::DateTime;
use time::OffsetDateTime;

/// The resource that tokens are issued for.
const AUDIENCE: &str = "https://storage.azure.com";
/// Its application id, which is an audience too.
const AUDIENCE_ID: &str = "e406a681-f3d4-42a8-90b6-c2b029497af1";
/// The beginnings of issuers' names, before the tenant.
const ISSUERS: [&str; 6] = [
    "https://sts.windows.net/",
    "https://sts.windows-ppe.net/",
    "https://sts.chinacloudapi.cn/",
    "https://sts.microsoftonline.us/",
    "https://login.microsoftonline.com/",
    "https://login.microsoftonline.us/",
];

/// The header `WWW-Authenticate` of a request without a valid token.
pub(crate) fn challenge() -> String {
    format!(
        "Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize \
         resource_id={AUDIENCE}"
    )
}

/// Checks the issuer, the audience and the times of a token.
pub(super) fn verify(account: &str, token: &str, now: DateTime) -> Result<(), ServiceError> {
    let claims = claims(token.trim()).ok_or(ServiceError::AUTHENTICATION_FAILED)?;
    let text = |name: &str| claims.get(name).and_then(Value::as_str).unwrap_or_default();
    let seconds = |name: &str| claims.get(name).and_then(Value::as_f64);
    let now = OffsetDateTime::from(now).unix_timestamp() as f64;
    let audience = text("aud").trim_end_matches('/');
    let own = format!("https://{account}.table.core.windows.net");
    let issued = ISSUERS.iter().any(|issuer| text("iss").starts_with(issuer));
    let current = seconds("nbf").is_some_and(|from| from <= now)
        && seconds("exp").is_some_and(|until| now < until);
    if issued && current && [AUDIENCE, AUDIENCE_ID, &own].contains(&audience) {
        Ok(())
    } else {
        Err(ServiceError::INVALID_AUTHENTICATION_INFO)
    }
}

fn claims(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&payload).ok()
}
