//! What a caller may pass as a typed value, a range or a prefix.

use super::{Plain, Sorted, SortedLast, TextPart};
use std::borrow::Cow;
use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// An argument for a value of type `T`: a `T`, a `&T`, or `&str` for text.
#[diagnostic::on_unimplemented(
    message = "expected a value of type `{T}`, found `{Self}`",
    label = "expected `{T}`",
    note = "pass a `{T}`, or a `&{T}` if it is `Clone`; a `String` may also be passed as `&str`"
)]
pub trait IntoValue<T> {
    /// The value.
    fn into_value(self) -> T;
}

impl<T> IntoValue<T> for T {
    fn into_value(self) -> T {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: Clone> IntoValue<T> for &T {
    fn into_value(self) -> T {
        self.clone()
    }
}

#[diagnostic::do_not_recommend]
impl IntoValue<String> for &str {
    fn into_value(self) -> String {
        self.to_owned()
    }
}

#[diagnostic::do_not_recommend]
impl IntoValue<Box<str>> for &str {
    fn into_value(self) -> Box<str> {
        self.into()
    }
}

#[diagnostic::do_not_recommend]
impl<'a> IntoValue<Cow<'a, str>> for &'a str {
    fn into_value(self) -> Cow<'a, str> {
        Cow::Borrowed(self)
    }
}

/// An argument for a range of `T`: any of Rust's ranges, or a pair of bounds.
#[diagnostic::on_unimplemented(
    message = "expected a range of `{T}`, found `{Self}`",
    label = "expected a range such as `a..b` of `{T}`",
    note = "pass `a..b`, `a..=b`, `a..`, `..b`, or a pair of `Bound`s of `{T}`"
)]
pub trait IntoRange<T> {
    /// Its two bounds.
    fn into_range(self) -> (Bound<T>, Bound<T>);
}

macro_rules! ranges {
    ($($range:ident($self:ident) => $lower:expr, $upper:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T, V: IntoValue<T>> IntoRange<T> for $range<V> {
            fn into_range($self) -> (Bound<T>, Bound<T>) {
                ($lower, $upper)
            }
        }
    )*};
}

ranges! {
    Range(self) => Bound::Included(self.start.into_value()), Bound::Excluded(self.end.into_value());
    RangeFrom(self) => Bound::Included(self.start.into_value()), Bound::Unbounded;
    RangeTo(self) => Bound::Unbounded, Bound::Excluded(self.end.into_value());
    RangeToInclusive(self) => Bound::Unbounded, Bound::Included(self.end.into_value());
}

#[diagnostic::do_not_recommend]
impl<T, V: IntoValue<T>> IntoRange<T> for RangeInclusive<V> {
    fn into_range(self) -> (Bound<T>, Bound<T>) {
        let (start, end) = self.into_inner();
        (Bound::Included(start.into_value()), Bound::Included(end.into_value()))
    }
}

#[diagnostic::do_not_recommend]
impl<T> IntoRange<T> for RangeFull {
    fn into_range(self) -> (Bound<T>, Bound<T>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

#[diagnostic::do_not_recommend]
impl<T, L: IntoValue<T>, U: IntoValue<T>> IntoRange<T> for (Bound<L>, Bound<U>) {
    fn into_range(self) -> (Bound<T>, Bound<T>) {
        (self.0.map(IntoValue::into_value), self.1.map(IntoValue::into_value))
    }
}

/// A range of a component's values, whose text by encoder `X` sorts as the values do.
///
/// The bound on the component's type is here and not on the builder's method, so that a component
/// that does not sort is an error only where a query asks for a range of it.
#[diagnostic::on_unimplemented(
    message = "expected a range of `{T}`, found `{Self}`",
    label = "expected a range such as `a..b` of `{T}`",
    note = "pass `a..b`, `a..=b`, `a..`, `..b`, or a pair of `Bound`s of `{T}`"
)]
pub trait RangeOf<T, X = Plain>: IntoRange<T> {}

impl<T: Sorts<X>, X, R: IntoRange<T>> RangeOf<T, X> for R {}

/// A range of the last component's values.
#[diagnostic::on_unimplemented(
    message = "expected a range of `{T}`, found `{Self}`",
    label = "expected a range such as `a..b` of `{T}`",
    note = "pass `a..b`, `a..=b`, `a..`, `..b`, or a pair of `Bound`s of `{T}`"
)]
pub trait LastRangeOf<T, X = Plain>: IntoRange<T> {}

impl<T: SortsLast<X>, X, R: IntoRange<T>> LastRangeOf<T, X> for R {}

/// [`Sorted`], with an error message that does not list every such type.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` written as `{X}` does not sort, so a query cannot ask for a range of it \
               here",
    label = "equality only",
    note = "an unsigned integer sorts with a width: `{{f:0N}}`; a signed one as `biased(f)`; an \
            enum where its codes ascend; text only as the last component of its key"
)]
pub trait Sorts<X> {}

#[diagnostic::do_not_recommend]
impl<X, T: Sorted<X>> Sorts<X> for T {}

/// [`SortedLast`], with an error message that does not list every such type.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` written as `{X}` does not sort, so a query cannot ask for a range of it",
    label = "equality only",
    note = "an unsigned integer sorts with a width: `{{f:0N}}`; a signed one as `biased(f)`; an \
            enum where its codes ascend"
)]
pub trait SortsLast<X> {}

#[diagnostic::do_not_recommend]
impl<X, T: SortedLast<X>> SortsLast<X> for T {}

/// An argument for the start of a text component.
pub trait PrefixOf<T, X = Plain> {
    /// The text that encoder `X` writes for it.
    fn into_prefix(self) -> String;
}

impl<T: TextPart<X>, X, P: AsRef<str>> PrefixOf<T, X> for P {
    fn into_prefix(self) -> String {
        T::prefix(self.as_ref())
    }
}
