//! The multipart body of a transaction's requests.

use crate::azure::protocol::write::Write;
use bytes::Bytes;
use uuid::Uuid;

/// The body of a `$batch` request under construction: one change set.
pub(in crate::azure::protocol) struct BatchWriter<'e> {
    endpoint: &'e str,
    boundary: String,
    /// The text before the method of each operation.
    before: String,
    /// The text after its URL.
    after: String,
    /// The path of the operation being written.
    target: String,
    body: Vec<u8>,
}

/// About the bytes of an operation beside its URL and body.
const FRAME: usize = 360;

impl<'e> BatchWriter<'e> {
    /// Starts a change set. `operations` and the `bytes` of their bodies are estimates.
    pub(in crate::azure::protocol) fn new(
        endpoint: &'e str,
        accept: &str,
        boundary: Uuid,
        operations: usize,
        bytes: usize,
    ) -> Self {
        let boundary = boundary.to_string();
        let before = format!(
            "--changeset_{boundary}\r\nContent-Type: application/http\r\n\
             Content-Transfer-Encoding: binary\r\n\r\n"
        );
        let after = format!(" HTTP/1.1\r\nAccept: {accept}\r\nDataServiceVersion: 3.0\r\n");
        let body = Vec::with_capacity(bytes + (operations + 1) * (FRAME + endpoint.len()));
        let mut writer = Self { endpoint, boundary, before, after, target: String::new(), body };
        writer.mark("--batch_", "\r\nContent-Type: multipart/mixed; boundary=changeset_");
        writer.mark("", "\r\n\r\n");
        writer
    }

    /// Returns the `Content-Type` of the body.
    pub(in crate::azure::protocol) fn content_type(&self) -> String {
        format!("multipart/mixed; boundary=batch_{}", self.boundary)
    }

    /// Adds one operation. Its URL is absolute: Azurite answers relative ones with a 500.
    pub(in crate::azure::protocol) fn push(&mut self, write: &Write<'_>) {
        let Self { endpoint, before, after, target, body, .. } = self;
        target.clear();
        write.push_target(target);
        push(body, &[before, write.method.name(), " ", endpoint, target, after]);
        for (name, value) in write.headers.iter().flatten() {
            push(body, &[canonical(name), ": ", value, "\r\n"]);
        }
        push(body, &["\r\n"]);
        body.extend_from_slice(&write.body);
        push(body, &["\r\n"]);
    }

    /// Returns the whole body.
    pub(in crate::azure::protocol) fn finish(mut self) -> Bytes {
        self.mark("--changeset_", "--\r\n");
        self.mark("--batch_", "--\r\n");
        self.body.into()
    }

    /// Appends the boundary between two texts.
    fn mark(&mut self, before: &str, after: &str) {
        push(&mut self.body, &[before, &self.boundary, after]);
    }
}

fn push(body: &mut Vec<u8>, texts: &[&str]) {
    for text in texts {
        body.extend_from_slice(text.as_bytes());
    }
}

/// Returns a header's name in its common spelling. Case does not matter in HTTP, but the service's
/// OData library reads these names, not its HTTP server.
fn canonical(name: &'static str) -> &'static str {
    match name {
        "content-type" => "Content-Type",
        "if-match" => "If-Match",
        "prefer" => "Prefer",
        "x-http-method" => "X-HTTP-Method",
        _ => name,
    }
}
