//! The visible leave to read a whole table.

/// Leave to read every row of a table or of a range of partitions, with the reason for it.
///
/// A scan reads, and is billed for, every row it passes, however few it returns.
///
/// ```
/// use table_orm::ScanPermit;
/// let permit = ScanPermit::because("nightly export");
/// assert_eq!(permit.reason(), "nightly export");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanPermit {
    reason: String,
}

impl ScanPermit {
    /// Leave to scan, because of `reason`.
    #[must_use]
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }

    /// Why the scan is right here.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
