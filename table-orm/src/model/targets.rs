//! The rates that the service aims at, in rows of 1 KiB a second.

/// Rows a second of one account, 1 KiB each (service documentation, "Scalability and performance targets for Table
/// storage", which calls a row an entity).
pub const ACCOUNT_TARGET: u32 = 20_000;
/// Rows a second of one partition (the same).
pub const PARTITION_TARGET: u32 = 2_000;
/// Rows a second of one partition in the older literature.
pub const OLDER_PARTITION_TARGET: u32 = 500;
