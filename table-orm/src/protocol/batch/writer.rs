//! A transaction's requests as one multipart body.

use crate::protocol::Request;
use bytes::Bytes;
use uuid::Uuid;

/// The body of a `$batch` request under construction: one change set.
pub(in crate::protocol) struct Writer<'e> {
    endpoint: &'e str,
    boundary: String,
    body: Vec<u8>,
}

/// The bytes of an operation beside its URL and body, roughly.
const FRAME: usize = 360;

impl<'e> Writer<'e> {
    /// A change set of about that many operations with about that many bytes in their bodies.
    pub(in crate::protocol) fn new(
        endpoint: &'e str,
        boundary: Uuid,
        operations: usize,
        bytes: usize,
    ) -> Self {
        let boundary = boundary.to_string();
        let size = bytes + (operations + 1) * (FRAME + endpoint.len());
        let mut writer = Self { endpoint, boundary, body: Vec::with_capacity(size) };
        writer.mark("--batch_", "\r\nContent-Type: multipart/mixed; boundary=changeset_");
        writer.mark("", "\r\n\r\n");
        writer
    }

    /// The `Content-Type` of the whole.
    pub(in crate::protocol) fn content_type(&self) -> String {
        format!("multipart/mixed; boundary=batch_{}", self.boundary)
    }

    /// Adds one operation. Its URL is absolute: Azurite answers relative ones with a 500.
    pub(in crate::protocol) fn push(&mut self, request: &Request) {
        let Request { method, target, headers, body } = request;
        self.mark("--changeset_", "\r\n");
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
        self.mark("--changeset_", "--\r\n");
        self.mark("--batch_", "--\r\n");
        self.body.into()
    }

    /// The boundary between two texts.
    fn mark(&mut self, before: &str, after: &str) {
        for text in [before, &self.boundary, after] {
            self.body.extend_from_slice(text.as_bytes());
        }
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
