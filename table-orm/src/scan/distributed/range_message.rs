//! The text of a message: a range and its scan, and nothing else.
//!
//! Invariant: scan and range ids are short ASCII without quotes or markup, so the text is JSON,
//! valid in XML without escapes, and under 200 bytes, even in base64.

use serde::{Deserialize, Serialize};

/// The most characters of a scan's id.
pub(super) const MAX_ID: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RangeMessage {
    pub scan: String,
    pub range: String,
}

impl RangeMessage {
    pub fn text(&self) -> String {
        let Self { scan, range } = self;
        format!(r#"{{"scan":"{scan}","range":"{range}"}}"#)
    }

    /// Reads a message; `None` if it holds something else.
    pub fn read(text: &str) -> Option<Self> {
        let message: Self = serde_json::from_str(text).ok()?;
        (is_id(&message.scan) && is_id(&message.range)).then_some(message)
    }
}

/// Whether it can be a scan's id.
pub(super) fn is_id(id: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    (1..=MAX_ID).contains(&id.len()) && id.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_under_200_bytes_and_comes_back() {
        let message = RangeMessage { scan: "s".repeat(MAX_ID), range: "f".repeat(32) };
        let in_base64 = message.text().len().div_ceil(3) * 4;
        assert!(in_base64 < 200, "{in_base64}");
        assert_eq!(RangeMessage::read(&message.text()), Some(message));
        for text in ["", "{}", "hello", r#"{"scan":"a/b","range":"1"}"#] {
            assert_eq!(RangeMessage::read(text), None, "{text}");
        }
    }
}
