//! The words after a number of rows.

/// The word after that number.
pub(crate) const fn rows(number: u64) -> &'static str {
    if number == 1 { "row" } else { "rows" }
}

/// The words after that number, before what became of them.
pub(crate) const fn rows_were(number: u64) -> &'static str {
    if number == 1 { "row was" } else { "rows were" }
}

/// The word after that number.
pub(crate) const fn partitions(number: u64) -> &'static str {
    if number == 1 { "partition" } else { "partitions" }
}
