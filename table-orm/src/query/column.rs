//! A property named in a filter, with its type.

use super::{Comparison, Filter};
use crate::edm::Edm;
use crate::key::IntoValue;
use crate::property::{Property, PropertyFault};
use std::fmt;
use std::marker::PhantomData;

/// A stored property of type `T`, to be compared with values of that type.
pub struct Column<T> {
    property: &'static str,
    value: PhantomData<fn(T)>,
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Column<T> {}

impl<T> fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Column").field(&self.property).finish()
    }
}

impl<T> Column<T> {
    /// The property of that name.
    #[must_use]
    pub const fn new(property: &'static str) -> Self {
        Self { property, value: PhantomData }
    }
}

/// A typed condition; a value that no property can store is kept as an error until it is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition(pub(crate) Result<Filter, (String, PropertyFault)>);

impl<T: Property> Column<T> {
    fn compare(self, comparison: Comparison, value: impl IntoValue<T>) -> Condition {
        let compared = value.into_value().edm().and_then(|edm: Option<Edm>| {
            let edm = edm.ok_or(PropertyFault::Missing)?;
            Ok(Filter::compare(self.property, comparison, edm))
        });
        Condition(compared.map_err(|fault| (self.property.to_owned(), fault)))
    }

    /// Equal.
    pub fn eq(self, value: impl IntoValue<T>) -> Condition {
        self.compare(Comparison::Equal, value)
    }

    /// Stored, and not equal.
    pub fn ne(self, value: impl IntoValue<T>) -> Condition {
        self.compare(Comparison::NotEqual, value)
    }

    /// Greater.
    pub fn gt(self, value: impl IntoValue<T>) -> Condition {
        self.compare(Comparison::Greater, value)
    }

    /// Greater or equal.
    pub fn ge(self, value: impl IntoValue<T>) -> Condition {
        self.compare(Comparison::GreaterOrEqual, value)
    }

    /// Less.
    pub fn lt(self, value: impl IntoValue<T>) -> Condition {
        self.compare(Comparison::Less, value)
    }

    /// Less or equal.
    pub fn le(self, value: impl IntoValue<T>) -> Condition {
        self.compare(Comparison::LessOrEqual, value)
    }
}

impl Condition {
    /// Both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.both(other, Filter::and)
    }

    /// At least one holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.both(other, Filter::or)
    }

    fn both(self, other: Self, join: impl FnOnce(Filter, Filter) -> Filter) -> Self {
        Self(self.0.and_then(|left| other.0.map(|right| join(left, right))))
    }
}

/// It does not hold, and every property it compares is stored.
impl std::ops::Not for Condition {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0.map(|filter| !filter))
    }
}
