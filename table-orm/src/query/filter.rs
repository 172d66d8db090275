//! A condition on properties, as the service's `$filter` expresses it.

use crate::model::Edm;
use std::borrow::Cow;
use std::fmt;

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
}

/// A condition on a row. `Display` writes the `$filter` expression, with every value escaped.
///
/// A comparison with a property that the row lacks, or that has another EDM type, is neither true
/// nor false: the row matches neither the comparison nor its negation.
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

    /// The precedence of the outermost operator: `or`, `and`, then the others.
    const fn precedence(&self) -> u8 {
        match self {
            Self::Or(..) => 0,
            Self::And(..) => 1,
            Self::Not(_) | Self::Compare { .. } => 2,
        }
    }

    fn operand(&self, f: &mut fmt::Formatter<'_>, parent: &Self) -> fmt::Result {
        if self.precedence() < parent.precedence() {
            write!(f, "({self})")
        } else {
            write!(f, "{self}")
        }
    }
}

/// The condition does not hold.
impl std::ops::Not for Filter {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare { property, comparison, value } => {
                write!(f, "{property} {} {value}", comparison.name())
            }
            Self::And(left, right) => {
                left.operand(f, self)?;
                f.write_str(" and ")?;
                right.operand(f, self)
            }
            Self::Or(left, right) => {
                left.operand(f, self)?;
                f.write_str(" or ")?;
                right.operand(f, self)
            }
            Self::Not(inner) => write!(f, "not ({inner})"),
        }
    }
}
