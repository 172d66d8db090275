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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn token(claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.signature", part(&json!({"alg": "RS256"})), part(claims))
    }

    #[test]
    fn a_token_is_taken_by_its_issuer_audience_and_times_only() {
        let now = DateTime::now();
        let seconds = OffsetDateTime::from(now).unix_timestamp();
        let good = json!({
            "iss": "https://sts.windows.net/tenant/",
            "aud": "https://storage.azure.com/",
            "nbf": seconds - 60,
            "exp": seconds + 60,
        });
        let with = |name: &str, value: Value| {
            let mut claims = good.clone();
            claims[name] = value;
            token(&claims)
        };
        for taken in [
            token(&good),
            with("aud", json!("https://storage.azure.com")),
            with("aud", json!("e406a681-f3d4-42a8-90b6-c2b029497af1")),
            with("aud", json!("https://acc.table.core.windows.net")),
            with("iss", json!("https://login.microsoftonline.com/tenant/v2.0")),
            with("nbf", json!(seconds)),
        ] {
            assert!(verify("acc", &taken, now).is_ok(), "{taken}");
        }
        for (name, value) in [
            ("iss", json!("https://sts.windows.net.evil.org/tenant/")),
            ("iss", json!("https://evil.org/https://sts.windows.net/")),
            ("iss", Value::Null),
            ("aud", json!("https://vault.azure.net")),
            ("aud", json!("https://other.table.core.windows.net")),
            ("aud", Value::Null),
            ("exp", json!(seconds)),
            ("exp", json!(seconds - 1)),
            ("exp", Value::Null),
            ("exp", json!("never")),
            ("nbf", json!(seconds + 1)),
            ("nbf", Value::Null),
        ] {
            let refused = verify("acc", &with(name, value.clone()), now).unwrap_err();
            assert_eq!(refused, ServiceError::INVALID_AUTHENTICATION_INFO, "{name}: {value}");
        }
        for no_token in ["", "x", "x.y", "x.y.z", "..", "e30.W10.s"] {
            assert!(verify("acc", no_token, now).is_err(), "{no_token}");
        }
    }
}
