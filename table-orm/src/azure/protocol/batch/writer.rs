//! The multipart body of a transaction's requests.

use crate::azure::protocol::sink::BodySink;
use crate::azure::protocol::write::Write;
use uuid::Uuid;

/// The body of a `$batch` request under construction: one change set.
pub(in crate::azure::protocol) struct BatchWriter<'e, S> {
    endpoint: &'e str,
    boundary: String,
    /// The text before the method of each operation.
    before: String,
    /// The text after its URL.
    after: String,
    body: S,
}

impl<'e, S: BodySink> BatchWriter<'e, S> {
    /// Starts a change set in an empty body.
    pub(in crate::azure::protocol) fn new(
        endpoint: &'e str,
        accept: &str,
        boundary: Uuid,
        body: S,
    ) -> Self {
        let (high, low) = boundary.as_u64_pair();
        // It is in each part. No line of JSON starts as a boundary does, so half of the bits are enough.
        let boundary = format!("{:016x}", high ^ low);
        let before = format!(
            "--changeset_{boundary}\r\nContent-Type: application/http\r\n\
             Content-Transfer-Encoding: binary\r\n\r\n"
        );
        let after = format!(" HTTP/1.1\r\nAccept: {accept}\r\nDataServiceVersion: 3.0\r\n");
        let mut writer = Self { endpoint, boundary, before, after, body };
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
        let Self { endpoint, before, after, body, .. } = self;
        push(body, &[before, write.method.name(), " ", endpoint]);
        write.push_target(body);
        push(body, &[after]);
        for (name, value) in write.headers.iter().flatten() {
            push(body, &[canonical(name), ": ", value, "\r\n"]);
        }
        push(body, &["\r\n"]);
        body.put_bytes(&write.body);
        push(body, &["\r\n"]);
    }

    /// Returns the whole body.
    pub(in crate::azure::protocol) fn finish(mut self) -> S {
        self.mark("--changeset_", "--\r\n");
        self.mark("--batch_", "--\r\n");
        self.body
    }

    /// Appends the boundary between two texts.
    fn mark(&mut self, before: &str, after: &str) {
        push(&mut self.body, &[before, &self.boundary, after]);
    }
}

fn push(body: &mut impl BodySink, texts: &[&str]) {
    texts.iter().for_each(|text| body.put(text));
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
