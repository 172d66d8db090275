//! Enums whose variants have codes: keys and properties hold the code as it is.

use super::{KeyFault, KeyPart, KeyText, Plain, PrefixFree, Shape, Width};

/// An enum whose variants have codes. `#[derive(KeyPart)]` implements it, and checks that no code is a prefix of
/// another.
///
/// ```
/// use table_orm::KeyPart;
/// use table_orm::key::Coded;
///
/// #[derive(Debug, PartialEq, KeyPart)]
/// enum State {
///     #[key("OPEN")]
///     Open,
///     #[key("PAID")]
///     Paid,
/// }
///
/// assert_eq!(State::Open.code(), "OPEN");
/// assert_eq!(State::of_code("PAID"), Some(State::Paid));
/// ```
pub trait Coded: Sized {
    /// The codes of all variants.
    const CODES: &'static [&'static str];

    /// Returns the variant's code.
    fn code(&self) -> &'static str;

    /// Returns the variant that has the code.
    fn of_code(code: &str) -> Option<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: Coded> KeyPart<Plain> for T {
    const WIDTH: Width = match (Self::SHAPE.fixed(), Self::SHAPE.most_units()) {
        (Some(width), _) => Width::Fixed(width),
        (None, Some(units)) => Width::UpTo(units),
        (None, None) => Width::Unbounded,
    };
    const SHAPE: Shape = Shape::OneOf(T::CODES);
    const PREFIX_FREE: bool = true;

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        key.literal(self.code());
        Ok(())
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        T::of_code(text).ok_or(KeyFault::Malformed)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Coded> PrefixFree<Plain> for T {}
