//! Messages that a constant puts together, for a mistake that a compiler reports.

/// Text that a constant puts together.
pub(crate) struct ConstMessage {
    bytes: [u8; 1024],
    len: usize,
}

impl ConstMessage {
    pub const fn new(text: &str) -> Self {
        Self { bytes: [0; 1024], len: 0 }.and(text)
    }

    pub const fn and(mut self, text: &str) -> Self {
        let mut at = 0;
        while at < text.len() && self.len < self.bytes.len() {
            self.bytes[self.len] = text.as_bytes()[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    pub const fn text(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "two fields are stored as one property",
        }
    }
}
