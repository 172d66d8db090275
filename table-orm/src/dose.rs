//! How much of a long test to run.

/// The long dose where `TABLE_ORM_LONG=1`, and a twentieth of it where `TABLE_ORM_LONG=some`, if that is more than the
/// short one.
pub(crate) fn dose<T: Dose>(short: T, long: T) -> T {
    let given = std::env::var_os("TABLE_ORM_LONG");
    match given.as_ref().and_then(|given| given.to_str()) {
        Some("1") => long,
        Some("some") => T::some(short, long),
        _ => short,
    }
}

pub(crate) trait Dose {
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

/// Bounds, which hold for the short dose.
impl Dose for f64 {
    fn some(short: Self, _: Self) -> Self {
        short
    }
}

impl<T> Dose for (T, f64) {
    fn some(short: Self, _: Self) -> Self {
        short
    }
}
