//! Where the next page of a query starts.

/// Where the next page starts: the two continuation headers. Each is opaque and independently
/// optional.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Continuation {
    /// `x-ms-continuation-NextPartitionKey`.
    pub next_partition_key: Option<String>,
    /// `x-ms-continuation-NextRowKey`.
    pub next_row_key: Option<String>,
}
