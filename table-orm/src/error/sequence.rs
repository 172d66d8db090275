//! Why a sequence gives no number.

/// A sequence that gives no number. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SequenceError {
    /// Fewer numbers than asked for are left below `i64::MAX`.
    #[error(
        "sequence `{name}` has fewer than {count} numbers left below the largest Int64; nothing was written: \
         start another sequence"
    )]
    Exhausted {
        /// The sequence's name.
        name: String,
        /// How many numbers were asked for.
        count: u64,
    },
}
