//! The service's rules for containers and for parts of blobs.

use super::{BlobError, BlobErrorKind, MAX_PARTS};

/// Refuses a part that no blob can have.
pub(crate) fn check_part(name: &str, part: u32, bytes: usize) -> Result<(), BlobError> {
    let message = match (part, bytes) {
        (_, 0) => "a part of a blob has at least one byte".to_owned(),
        (MAX_PARTS.., _) => format!("a blob has at most {MAX_PARTS} parts; make them larger"),
        _ => return Ok(()),
    };
    Err(BlobError::new(BlobErrorKind::Invalid, name, message))
}

/// Refuses a name that no container can have: 3 to 63 lower-case letters, digits and single dashes, with a letter or
/// digit at either end (service documentation, "Naming containers, blobs and metadata").
#[cfg(feature = "azure-blob")]
pub(crate) fn check_container(container: &str) -> Result<(), BlobError> {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let named = (3..=63).contains(&container.len())
        && container.bytes().all(inner)
        && !container.contains("--")
        && !container.starts_with('-')
        && !container.ends_with('-');
    if named {
        return Ok(());
    }
    let message = format!(
        "no container can have the name {container:?}; use 3 to 63 lower-case letters, digits and single dashes, and \
         start and end with a letter or digit"
    );
    Err(BlobError::new(BlobErrorKind::Invalid, "", message))
}

#[cfg(all(test, feature = "azure-blob"))]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_service_accepts_are_valid() {
        let longest = "c".repeat(63);
        for name in ["abc", "123", "a-b-c", &longest] {
            assert!(check_container(name).is_ok(), "{name}");
        }
        let too_long = "c".repeat(64);
        for name in ["", "ab", "Films", "a--b", "-ab", "ab-", "a_b", "$root", "a/b", &too_long] {
            assert!(check_container(name).is_err(), "{name}");
        }
    }
}
