//! A transaction's requests as one multipart body.

use crate::protocol::Request;
use bytes::Bytes;
use uuid::Uuid;

/// The body of a `$batch` request under construction: one change set.
pub(in crate::protocol) struct Writer<'e> {
    endpoint: &'e str,
    boundary: Uuid,
    body: Vec<u8>,
}

impl<'e> Writer<'e> {
    pub(in crate::protocol) fn new(endpoint: &'e str, boundary: Uuid) -> Self {
        let head = format!(
            "--batch_{boundary}\r\nContent-Type: multipart/mixed; boundary=changeset_{boundary}\
             \r\n\r\n"
        );
        Self { endpoint, boundary, body: head.into_bytes() }
    }

    /// The `Content-Type` of the whole.
    pub(in crate::protocol) fn content_type(&self) -> String {
        format!("multipart/mixed; boundary=batch_{}", self.boundary)
    }

    /// Adds one operation. Its URL is absolute: Azurite answers relative ones with a 500.
    pub(in crate::protocol) fn push(&mut self, request: &Request) {
        let Request { method, target, headers, body } = request;
        self.text(&["--changeset_", &self.boundary.to_string(), "\r\n"]);
        self.text(&["Content-Type: application/http\r\n"]);
        self.text(&["Content-Transfer-Encoding: binary\r\n\r\n"]);
        self.text(&[method.name(), " ", self.endpoint, target, " HTTP/1.1\r\n"]);
        for (name, value) in headers {
            // The version is that of the whole request.
            if *name != "x-ms-version" {
                self.text(&[canonical(name), ": ", value, "\r\n"]);
            }
        }
        self.text(&["\r\n"]);
        self.body.extend_from_slice(body);
        self.text(&["\r\n"]);
    }

    /// The whole body.
    pub(in crate::protocol) fn finish(mut self) -> Bytes {
        let boundary = self.boundary.to_string();
        self.text(&["--changeset_", &boundary, "--\r\n--batch_", &boundary, "--\r\n"]);
        self.body.into()
    }

    fn text(&mut self, texts: &[&str]) {
        for text in texts {
            self.body.extend_from_slice(text.as_bytes());
        }
    }
}

/// A header's name as it is commonly written. Names in HTTP have no case, but these are read by
/// the service's OData library, not by its HTTP server.
fn canonical(name: &'static str) -> &'static str {
    match name {
        "accept" => "Accept",
        "content-type" => "Content-Type",
        "dataserviceversion" => "DataServiceVersion",
        "if-match" => "If-Match",
        "prefer" => "Prefer",
        "x-http-method" => "X-HTTP-Method",
        _ => name,
    }
}
