//! The service's rules for the names of queues, for messages and for their times.

use super::{MAX_RECEIVED, MAX_VISIBILITY, QueueError, QueueErrorKind};
use std::time::Duration;

/// The most bytes of a message's text: 48 KiB, which is 64 KiB in base64, the service's limit
/// (service documentation, "Put Message").
pub const MAX_MESSAGE_BYTES: usize = 48 * 1024;

/// Refuses a name that no queue can have: 3 to 63 lower-case letters, digits and single dashes,
/// with a letter or digit at either end (service documentation, "Naming queues and metadata").
pub(crate) fn check_name(queue: &str) -> Result<(), QueueError> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let named = (3..=63).contains(&queue.len())
        && queue.bytes().all(inner)
        && !queue.contains("--")
        && !queue.starts_with('-')
        && !queue.ends_with('-');
    if named {
        return Ok(());
    }
    let message = "no queue can have this name; use 3 to 63 lower-case letters, digits and single \
                   dashes, and start and end with a letter or digit";
    Err(QueueError::new(QueueErrorKind::Invalid, queue, message))
}

pub(crate) fn check_text(queue: &str, text: &str) -> Result<(), QueueError> {
    if text.len() <= MAX_MESSAGE_BYTES {
        return Ok(());
    }
    let message = format!(
        "the message has {} bytes, and the limit is {MAX_MESSAGE_BYTES}; store the content in a \
         row and send its key",
        text.len()
    );
    Err(QueueError::new(QueueErrorKind::Invalid, queue, message))
}

/// Refuses a visibility time-out below `least` or above the service's limit.
pub(crate) fn check_time(queue: &str, time: Duration, least: Duration) -> Result<(), QueueError> {
    if (least..=MAX_VISIBILITY).contains(&time) {
        return Ok(());
    }
    let message = format!("a message cannot be hidden for {time:?}; use {least:?} to 7 days");
    Err(QueueError::new(QueueErrorKind::Invalid, queue, message))
}

pub(crate) fn check_most(queue: &str, most: usize) -> Result<(), QueueError> {
    if (1..=MAX_RECEIVED).contains(&most) {
        return Ok(());
    }
    let message = format!("one request cannot receive {most} messages; use 1 to {MAX_RECEIVED}");
    Err(QueueError::new(QueueErrorKind::Invalid, queue, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_service_accepts_are_valid() {
        let longest = "q".repeat(63);
        for name in ["abc", "123", "a-b-c", "copies-poison", &longest] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let too_long = "q".repeat(64);
        for name in ["", "ab", "Copies", "a--b", "-ab", "ab-", "a_b", "a.b", "größe", &too_long] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
