//! What no queue takes, refused before anything is sent.

use super::{MAX_RECEIVED, MAX_TEXT, MAX_VISIBILITY, QueueError, QueueErrorKind};
use std::time::Duration;

fn invalid(queue: &str, message: impl Into<String>) -> QueueError {
    QueueError::new(QueueErrorKind::Invalid, queue, message)
}

/// Names have 3 to 63 lower-case letters, digits and single dashes, and a letter or digit at both
/// ends (service documentation, "Naming Queues and Metadata").
pub(super) fn check_name(queue: &str) -> Result<(), QueueError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let valid = (3..=63).contains(&queue.len())
        && queue.split('-').all(|part| !part.is_empty() && part.bytes().all(plain));
    if valid {
        return Ok(());
    }
    let rule = "a queue's name has 3 to 63 lower-case letters, digits and single dashes, and \
                neither starts nor ends with a dash";
    Err(invalid(queue, rule))
}

pub(super) fn check_text(queue: &str, text: &str) -> Result<(), QueueError> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    let length = text.len();
    Err(invalid(queue, format!("a message of {length} bytes is longer than {MAX_TEXT}")))
}

pub(super) fn check_received(
    queue: &str,
    most: usize,
    visibility: Duration,
) -> Result<(), QueueError> {
    if !(1..=MAX_RECEIVED).contains(&most) {
        return Err(invalid(queue, format!("a request receives 1 to {MAX_RECEIVED} messages")));
    }
    if visibility < Duration::from_secs(1) {
        return Err(invalid(queue, "a message is received for one second at least"));
    }
    check_hidden(queue, visibility)
}

pub(super) fn check_hidden(queue: &str, visibility: Duration) -> Result<(), QueueError> {
    if visibility <= MAX_VISIBILITY {
        return Ok(());
    }
    Err(invalid(queue, "a message is hidden for seven days at most"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_letters_digits_and_single_dashes() {
        for name in ["abc", "a-1", "123", &"a".repeat(63)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let long = "a".repeat(64);
        for name in [
            "", "ab", &long, "Abc", "a_b", "-ab", "ab-", "a--b", "a/b", "a.b", "abé", "a b", "../x",
        ] {
            assert_eq!(check_name(name).unwrap_err().kind, QueueErrorKind::Invalid, "{name}");
        }
    }

    #[test]
    fn counts_times_and_lengths_have_bounds() {
        let second = Duration::from_secs(1);
        let received = |most, visibility| check_received("jobs", most, visibility).is_ok();
        assert!(received(1, second) && received(32, MAX_VISIBILITY));
        assert!(!received(0, second) && !received(33, second));
        assert!(!received(1, Duration::from_millis(999)));
        assert!(!received(1, MAX_VISIBILITY + Duration::from_nanos(1)));
        assert!(check_hidden("jobs", Duration::ZERO).is_ok());
        assert!(check_text("jobs", &"x".repeat(MAX_TEXT)).is_ok());
        assert!(check_text("jobs", &"x".repeat(MAX_TEXT + 1)).is_err());
    }
}
