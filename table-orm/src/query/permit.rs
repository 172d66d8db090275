//! The permit to scan.

/// Permission to read a whole table or a range of partitions. Records why.
///
/// A scan reads every row of its range, and the service bills each, however few it returns.
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
    /// Permits a scan, for that reason.
    #[must_use]
    pub fn because(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }

    /// Why the scan is permitted.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
