//! What every response has: its headers, and the form of errors.

use crate::access;
use crate::error::ServiceError;
use crate::message::{Request, Response};
use std::time::SystemTime;
use table_orm::azure::protocol::{http_date, json, xml};
use table_orm::model::DateTime;
use uuid::Uuid;

/// The newest `x-ms-version` that is known.
pub(crate) const LATEST_VERSION: &str = "2026-06-06";

/// The id of a request, which its response and its error text have.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(String);

impl RequestId {
    pub(crate) fn new() -> Self {
        Self(Uuid::new_v4().to_string())
    }
}

/// The form of an error's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorForm {
    /// `{"odata.error":..}`.
    Json,
    /// `<m:error>`, for clients that accept no JSON.
    EntityXml,
    /// `<Error>`, of requests to settings.
    SettingXml,
}

impl ErrorForm {
    /// Returns the form that the sender of a request reads.
    pub(crate) fn of(request: &Request) -> Self {
        let query = request.query();
        let setting = |part: &str| part.starts_with("restype=") || part.starts_with("comp=");
        if query.split('&').any(setting) {
            return Self::SettingXml;
        }
        match request.header("accept") {
            Some(accept) if !accept.contains("json") && accept.contains("xml") => Self::EntityXml,
            _ => Self::Json,
        }
    }
}

/// Writes an error.
pub(crate) fn error(error: &ServiceError, form: ErrorForm, id: &RequestId) -> Response {
    let (code, text) = (&*error.code, text(error, id));
    let mut body = "<?xml version=\"1.0\" encoding=\"utf-8\"?>".to_owned();
    let response = match form {
        ErrorForm::Json => json_error(error, id),
        ErrorForm::SettingXml => {
            body.push_str("<Error>");
            xml::push(&mut body, "Code", code);
            xml::push(&mut body, "Message", &text);
            body.push_str("</Error>");
            Response::with_body(error.status, "application/xml", body)
        }
        ErrorForm::EntityXml => {
            let namespace = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";
            body.push_str(&format!("<m:error xmlns:m=\"{namespace}\">"));
            xml::push(&mut body, "m:code", code);
            xml::push(&mut body, "m:message", &text);
            body.push_str("</m:error>");
            Response::with_body(error.status, "application/xml", body)
        }
    };
    let response = match error.retry_after {
        Some(wait) => response.with("retry-after", wait.as_secs().max(1).to_string()),
        None => response,
    };
    if error.status == 401 {
        response.with("www-authenticate", access::challenge())
    } else {
        response
    }
}

/// Writes an error as JSON.
pub(crate) fn json_error(error: &ServiceError, id: &RequestId) -> Response {
    let quoted = |text: &str| {
        let mut out = Vec::new();
        json::write_string(&mut out, text);
        String::from_utf8_lossy(&out).into_owned()
    };
    let (code, text) = (quoted(&error.code), quoted(&text(error, id)));
    let body = format!(
        "{{\"odata.error\":{{\"code\":{code},\"message\":{{\"lang\":\"en-US\",\"value\":{text}}}}}}}"
    );
    let media_type = "application/json;odata=minimalmetadata;streaming=true;charset=utf-8";
    Response::with_body(error.status, media_type, body)
}

fn text(error: &ServiceError, id: &RequestId) -> String {
    format!("{}\nRequestId:{}\nTime:{}", error.message, id.0, DateTime::now())
}

/// Adds the headers of every response.
pub(crate) fn complete(response: Response, request: &Request, id: RequestId) -> Response {
    let version = request.header("x-ms-version").unwrap_or(LATEST_VERSION).to_owned();
    let response = response
        .with("server", "Windows-Azure-Table/1.0 table-orm")
        .with("cache-control", "no-cache")
        .with("x-content-type-options", "nosniff")
        .with("x-ms-request-id", id.0)
        .with("x-ms-version", version)
        .with("date", http_date::format(SystemTime::now()));
    match request.header("x-ms-client-request-id") {
        Some(id) => response.with("x-ms-client-request-id", id),
        None => response,
    }
}
