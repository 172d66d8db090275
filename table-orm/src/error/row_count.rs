//! The wrong number of results.

/// One result was expected, but there was no result or more than one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected exactly one `{entity}`, found {}", found_text(*.found))]
#[non_exhaustive]
pub struct RowCount {
    /// The type that was read.
    pub entity: &'static str,
    /// How many there were; 2 means two or more.
    pub found: usize,
}

fn found_text(found: usize) -> String {
    match found {
        0 => "none; if there may be none, use `optional`, `get` or `collect`".to_owned(),
        1 => "one".to_owned(),
        _ => format!("{found} or more; give more components, or use `collect`"),
    }
}
