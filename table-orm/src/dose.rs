//! How much of a long test to run.

/// The long dose where `TABLE_ORM_LONG=1`.
pub(crate) fn dose<T>(short: T, long: T) -> T {
    let is_long = std::env::var_os("TABLE_ORM_LONG").is_some_and(|value| value == "1");
    if is_long { long } else { short }
}
