//! How a scan divides the table among its workers.

/// How a scan divides the table among its workers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Splitter {
    /// Idle workers split the range with most left, at keys guessed from the keys seen. Needs no
    /// knowledge of the keys, splits single partitions too, and keeps to the rate the service
    /// grants. A table of one page costs one request.
    #[default]
    Adaptive,
    /// Walks the tree of PartitionKey prefixes, one character at a time, as Joel Verhagen has
    /// described ("How to run a distributed scan of Azure Table Storage", 2020). Takes two to three
    /// times the requests, never splits a partition, and retries with back-off only.
    Prefix,
    /// Starts with the ranges between these PartitionKeys, then goes on as [`Adaptive`].
    ///
    /// [`Adaptive`]: Self::Adaptive
    Keys(Vec<String>),
    /// One request after the other.
    Serial,
}
