//! Where the text of a request is written: into its URL, into its body, or only into a count of bytes.

/// Takes text, one piece after another.
pub(crate) trait Sink {
    fn put(&mut self, text: &str);
}

/// Takes bytes too.
pub(crate) trait BodySink: Sink {
    fn put_bytes(&mut self, bytes: &[u8]);
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, text: &str) {
        self.put_bytes(text.as_bytes());
    }
}

impl BodySink for Vec<u8> {
    fn put_bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// A count of bytes.
#[derive(Debug, Default)]
pub(crate) struct ByteCount(pub(crate) usize);

impl Sink for ByteCount {
    fn put(&mut self, text: &str) {
        self.put_bytes(text.as_bytes());
    }
}

impl BodySink for ByteCount {
    fn put_bytes(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}
