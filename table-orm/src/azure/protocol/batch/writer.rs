//! The multipart body of a transaction's requests.

use crate::azure::protocol::sink::BodySink;
use crate::azure::protocol::write::Write;

/// The media type of the body.
pub(in crate::azure::protocol) const CONTENT_TYPE: &str = "multipart/mixed; boundary=batch_1";
/// What stands before the change set.
const START: &str = "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n";
/// The text before the method of each operation.
const BEFORE: &str = "--changeset_1\r\nContent-Type: application/http\r\n\
                      Content-Transfer-Encoding: binary\r\n\r\n";
const END: &str = "--changeset_1--\r\n--batch_1--\r\n";

/// The body of a `$batch` request under construction: one change set.
///
/// The boundaries are in each part, and always the same: no line of JSON, and none of a part's head, starts as they do.
pub(in crate::azure::protocol) struct BatchWriter<'e, S> {
    endpoint: &'e str,
    /// The text after the URL of each operation.
    after: String,
    body: S,
}

impl<'e, S: BodySink> BatchWriter<'e, S> {
    /// Starts a change set in an empty body.
    pub(in crate::azure::protocol) fn new(endpoint: &'e str, accept: &str, mut body: S) -> Self {
        let after = format!(" HTTP/1.1\r\nAccept: {accept}\r\nDataServiceVersion: 3.0\r\n");
        body.put(START);
        Self { endpoint, after, body }
    }

    /// Adds one operation. Its URL is absolute: Azurite answers relative ones with a 500.
    pub(in crate::azure::protocol) fn push(&mut self, write: &Write<'_>) {
        let Self { endpoint, after, body } = self;
        push(body, &[BEFORE, write.method.name(), " ", endpoint]);
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
        self.body.put(END);
        self.body
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
