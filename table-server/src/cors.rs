//! Requests of scripts in browsers: preflights, and the headers that let a script read an answer.

use crate::error::ServiceError;
use crate::message::{Request, Response};
use table_orm::azure::CorsRule;

/// Answers the question whether a script may send a request.
pub(crate) fn preflight(rules: &[CorsRule], request: &Request) -> Result<Response, ServiceError> {
    let missing = || ServiceError::MISSING_HEADER;
    let origin = request.header("origin").ok_or_else(missing)?;
    let method = request.header("access-control-request-method").ok_or_else(missing)?;
    let asked = request.header("access-control-request-headers");
    let names: Vec<_> = names(asked.unwrap_or_default()).collect();
    let allows = |rule: &&CorsRule| {
        matches(rule, origin, method)
            && names
                .iter()
                .all(|name| rule.allowed_headers.iter().any(|allowed| covers(allowed, name)))
    };
    let rule = rules.iter().find(allows).ok_or(ServiceError::CORS_PREFLIGHT_FAILURE)?;
    let response = Response::empty(200)
        .with("access-control-allow-origin", origin)
        .with("access-control-allow-methods", method)
        .with("access-control-max-age", rule.max_age.as_secs().to_string())
        .with("access-control-allow-credentials", "true");
    Ok(match asked {
        Some(asked) => response.with("access-control-allow-headers", asked),
        None => response,
    })
}

/// Adds the headers that let a script read the response to its request, if a rule allows that.
pub(crate) fn expose(rules: &[CorsRule], request: &Request, mut response: Response) -> Response {
    let Some(origin) = request.header("origin") else { return response };
    let method = request.method.as_str();
    if let Some(rule) = rules.iter().find(|rule| matches(rule, origin, method)) {
        let every = rule.origins.iter().any(|allowed| allowed == "*");
        let known: Vec<&str> = response.headers.iter().map(|(name, _)| *name).collect();
        let exposed = known
            .into_iter()
            .filter(|name| rule.exposed_headers.iter().any(|exposed| covers(exposed, name)));
        let exposed: Vec<_> = exposed.collect();
        let exposed = exposed.join(",");
        response = response.with("access-control-allow-origin", if every { "*" } else { origin });
        if !exposed.is_empty() {
            response = response.with("access-control-expose-headers", exposed);
        }
        if !every {
            response = response.with("access-control-allow-credentials", "true");
        }
    }
    if rules.is_empty() { response } else { response.with("vary", "Origin") }
}

/// Whether a script may have sent a request that changes something. A browser asks before it sends most of them, but not
/// before a simple one, which a signature in its address may allow.
pub(crate) fn admits(rules: &[CorsRule], request: &Request) -> bool {
    let Some(origin) = request.headers.get("origin") else { return true };
    let method = request.method.as_str();
    origin.to_str().is_ok_and(|origin| rules.iter().any(|rule| matches(rule, origin, method)))
}

fn matches(rule: &CorsRule, origin: &str, method: &str) -> bool {
    let of_origin = |allowed: &String| allowed == "*" || allowed == origin;
    rule.origins.iter().any(of_origin)
        && rule.methods.iter().any(|allowed| allowed.name() == method)
}

fn names(headers: &str) -> impl Iterator<Item = &str> {
    headers.split(',').map(str::trim).filter(|name| !name.is_empty())
}

/// Whether a header of a rule, which may be a prefix, covers a name.
fn covers(allowed: &str, name: &str) -> bool {
    match allowed.strip_suffix('*') {
        Some(prefix) => {
            name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        }
        None => allowed.eq_ignore_ascii_case(name),
    }
}
