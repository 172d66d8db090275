//! How much of a long test to run.

use std::env;

/// Whether long tests run: where `TABLE_ORM_LONG` is set.
pub fn is_long() -> bool {
    env::var_os("TABLE_ORM_LONG").is_some()
}

/// The long dose where `TABLE_ORM_LONG=1`, and a twentieth of it where `TABLE_ORM_LONG=some`, if that is more than the
/// short one.
pub fn dose<T: Dose>(short: T, long: T) -> T {
    match env::var("TABLE_ORM_LONG").as_deref() {
        Ok("1") => long,
        Ok("some") => T::some(short, long),
        _ => short,
    }
}

/// What says how much there is to do.
pub trait Dose {
    /// A twentieth of the long dose, or the short one.
    fn some(short: Self, long: Self) -> Self;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Dose for $number {
            fn some(short: Self, long: Self) -> Self {
                short.max(long / 20)
            }
        }
    )*};
}

numbers!(u32, u64, usize, i32, i64);
