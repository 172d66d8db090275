//! A message on the wire: its text is base64, so no XML parser changes it.

use crate::queue::{Message, Receipt};
use azure_storage_queue::models::ReceivedMessage;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Encodes the text of a message.
pub(crate) fn encode(text: &str) -> String {
    STANDARD.encode(text)
}

/// Reads a message; `None` for one without an id, receipt or count.
pub(crate) fn read(received: ReceivedMessage) -> Option<Message> {
    let text = decode(received.message_text.unwrap_or_default());
    let receipt = Receipt::new(received.message_id?, received.pop_receipt?);
    Some(Message::new(text, received.dequeue_count?.try_into().ok()?, receipt))
}

/// Decodes the text of a message. Text of another program that is not base64 of UTF-8 text is
/// returned as it is.
fn decode(sent: String) -> String {
    let decoded = STANDARD.decode(sent.trim()).ok();
    decoded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::MAX_MESSAGE_BYTES;

    #[test]
    fn every_text_comes_back() {
        for text in ["", " ", "&<>\"'", "a\r\nb\t", "é\u{1F3C3}\u{FFFF}\0", "dGV4dA=="] {
            assert_eq!(decode(encode(text)), text);
        }
    }

    #[test]
    fn text_of_other_programs_is_returned_as_it_is() {
        for text in ["{\"job\":1}", "not base64", "/w=="] {
            assert_eq!(decode(text.to_owned()), text);
        }
        assert_eq!(decode(" dGV4dA==\n".to_owned()), "text");
    }

    #[test]
    fn the_longest_text_fills_what_the_service_holds() {
        assert_eq!(encode(&"x".repeat(MAX_MESSAGE_BYTES)).len(), 64 * 1024);
    }
}
