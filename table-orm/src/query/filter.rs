//! A condition on properties, as the service's `$filter` expresses it.

use crate::model::{DateTime, Edm, EdmType};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use uuid::Uuid;

/// A comparison operator of `$filter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `eq`.
    Equal,
    /// `ne`.
    NotEqual,
    /// `gt`.
    Greater,
    /// `ge`.
    GreaterOrEqual,
    /// `lt`.
    Less,
    /// `le`.
    LessOrEqual,
}

impl Comparison {
    /// The operator's name in a filter expression.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Equal => "eq",
            Self::NotEqual => "ne",
            Self::Greater => "gt",
            Self::GreaterOrEqual => "ge",
            Self::Less => "lt",
            Self::LessOrEqual => "le",
        }
    }

    /// Whether it holds between two values in that order; `None` is the order of a NaN.
    #[must_use]
    pub fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => order.is_some_and(Ordering::is_le),
        }
    }

    /// The comparison that holds between two values where this one does not, NaN aside.
    pub(crate) const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
        }
    }
}

/// A condition on a row. `Display` writes the `$filter` expression, with every value escaped.
///
/// A comparison with a property that the row lacks, or that has another EDM type, does not hold, not
/// even `ne`. So its negation holds. [`is_present`](Self::is_present) finds out whether a row has a
/// property. (Cosmos DB for Table finds no row by what the row lacks.)
///
/// A filter cannot compare with NaN and infinities, for which servers have no common spelling: the
/// query fails with [`Error::Property`](crate::Error::Property). `gt` [`f64::MAX`] finds infinity.
///
/// ```
/// use table_orm::query::{Comparison, Filter};
/// let city = Filter::compare("City", Comparison::Equal, "Boston");
/// let adult = Filter::compare("Age", Comparison::GreaterOrEqual, 18);
/// assert_eq!(city.and(adult).to_string(), "City eq 'Boston' and Age ge 18");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Compares a property with a value of the property's type.
    Compare {
        /// The stored property.
        property: Cow<'static, str>,
        /// The operator.
        comparison: Comparison,
        /// The value.
        value: Edm,
    },
    /// Both conditions hold.
    And(Box<Self>, Box<Self>),
    /// At least one condition holds.
    Or(Box<Self>, Box<Self>),
    /// The condition does not hold.
    Not(Box<Self>),
}

impl Filter {
    /// Compares a property with a value.
    pub fn compare(
        property: impl Into<Cow<'static, str>>,
        comparison: Comparison,
        value: impl Into<Edm>,
    ) -> Self {
        Self::Compare { property: property.into(), comparison, value: value.into() }
    }

    /// The row has the property, with that type.
    ///
    /// The service has no such operator. This asks for any value of the type: one comparison, or two
    /// where the type has no smallest value.
    ///
    /// ```
    /// use table_orm::model::EdmType;
    /// use table_orm::query::Filter;
    /// let present = Filter::is_present("City", EdmType::String);
    /// assert_eq!(present.to_string(), "City ge ''");
    /// assert_eq!((!present).to_string(), "not (City ge '')");
    /// ```
    pub fn is_present(property: impl Into<Cow<'static, str>>, edm: EdmType) -> Self {
        let property = property.into();
        let compare = |comparison, value| Self::compare(property.clone(), comparison, value);
        let at_least = |least| compare(Comparison::GreaterOrEqual, least);
        // Azurite orders no truth values, GUIDs and bytes, and NaN has no order at all.
        let any = |value: Edm| {
            compare(Comparison::Equal, value.clone()).or(compare(Comparison::NotEqual, value))
        };
        match edm {
            EdmType::String => at_least(Edm::String(String::new())),
            EdmType::Int32 => at_least(Edm::Int32(i32::MIN)),
            EdmType::Int64 => at_least(Edm::Int64(i64::MIN)),
            EdmType::DateTime => at_least(Edm::DateTime(DateTime::MIN)),
            EdmType::Double => any(Edm::Double(0.0)),
            EdmType::Boolean => any(Edm::Boolean(false)),
            EdmType::Guid => any(Edm::Guid(Uuid::nil())),
            EdmType::Binary => any(Edm::Binary(Vec::new())),
        }
    }

    /// The first comparison with a number that is not finite, which not every server can read.
    pub(crate) fn not_finite(&self) -> Option<(&str, f64)> {
        match self {
            Self::Compare { property, value: Edm::Double(value), .. } if !value.is_finite() => {
                Some((property, *value))
            }
            Self::Compare { .. } => None,
            Self::And(left, right) | Self::Or(left, right) => {
                left.not_finite().or_else(|| right.not_finite())
            }
            Self::Not(inner) => inner.not_finite(),
        }
    }

    /// Both conditions hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::And(Box::new(self), Box::new(other))
    }

    /// At least one condition holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::Or(Box::new(self), Box::new(other))
    }

    /// The number of comparisons.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        match self {
            Self::Compare { .. } => 1,
            Self::And(left, right) | Self::Or(left, right) => {
                left.comparisons() + right.comparisons()
            }
            Self::Not(inner) => inner.comparisons(),
        }
    }

    /// The properties that it names, once for each comparison.
    pub(crate) fn properties(&self) -> Vec<&str> {
        match self {
            Self::Compare { property, .. } => vec![property],
            Self::And(left, right) | Self::Or(left, right) => {
                [left.properties(), right.properties()].concat()
            }
            Self::Not(inner) => inner.properties(),
        }
    }

    /// The precedence of the outermost operator: `or`, `and`, then the others.
    const fn precedence(&self) -> u8 {
        match self {
            Self::Or(..) => 0,
            Self::And(..) => 1,
            Self::Not(_) | Self::Compare { .. } => 2,
        }
    }

    /// The expression with `?` for each value, for logs and reports.
    ///
    /// ```
    /// use table_orm::query::{Comparison, Filter};
    /// let city = Filter::compare("City", Comparison::Equal, "Boston");
    /// assert_eq!((!city).without_values(), "not (City eq ?)");
    /// ```
    #[must_use]
    pub fn without_values(&self) -> String {
        let mut text = String::new();
        // Text takes all that is written to it.
        let _ = self.write(&mut text, false);
        text
    }

    fn write(&self, to: &mut impl fmt::Write, values: bool) -> fmt::Result {
        match self {
            Self::Compare { property, comparison, value } => {
                write!(to, "{property} {} ", comparison.name())?;
                if values { write!(to, "{value}") } else { to.write_char('?') }
            }
            Self::And(left, right) => {
                left.operand(to, self, values)?;
                to.write_str(" and ")?;
                right.operand(to, self, values)
            }
            Self::Or(left, right) => {
                left.operand(to, self, values)?;
                to.write_str(" or ")?;
                right.operand(to, self, values)
            }
            Self::Not(inner) => {
                to.write_str("not (")?;
                inner.write(to, values)?;
                to.write_char(')')
            }
        }
    }

    fn operand(&self, to: &mut impl fmt::Write, parent: &Self, values: bool) -> fmt::Result {
        if self.precedence() >= parent.precedence() {
            return self.write(to, values);
        }
        to.write_char('(')?;
        self.write(to, values)?;
        to.write_char(')')
    }
}

/// The condition does not hold: either it is false, or the row lacks what it compares.
impl std::ops::Not for Filter {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, true)
    }
}
