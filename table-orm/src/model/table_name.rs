//! The name of a table.

use super::Printable;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A valid table name: 3 to 63 ASCII letters and digits, the first a letter, and not `tables`
/// (service documentation, "Understanding the Table service data model"). The service ignores case
/// in names, and Cosmos DB does not. Two values of this type are equal when their spelling is the
/// same, case included.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName(Arc<str>);

/// The error of a text that cannot name a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` cannot name a table: {rule}",
    Printable(.name)
)]
pub struct TableNameError {
    name: String,
    rule: &'static str,
}

/// The service's rule.
const RULE: &str =
    "use 3 to 63 ASCII letters and digits, starting with a letter; `tables` is reserved";

impl TableName {
    /// Checks a name.
    ///
    /// # Errors
    /// When the service would reject the name: [`TableNameError`].
    pub fn new(name: &str) -> Result<Self, TableNameError> {
        let valid = (3..=63).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric())
            && !name.eq_ignore_ascii_case("tables");
        if valid {
            Ok(Self(name.into()))
        } else {
            Err(TableNameError { name: name.to_owned(), rule: RULE })
        }
    }

    /// Checks that tables of periods can have names of that base: with the digits of a period after it.
    pub(crate) fn checked_base(self, digits: usize) -> Result<Self, TableNameError> {
        if self.0.ends_with(|letter: char| letter.is_ascii_digit()) {
            let rule = "end it with a letter, because the digits of a period follow";
            return Err(TableNameError { name: self.0.to_string(), rule });
        }
        Self::new(&format!("{self}{}", "0".repeat(digits))).map(|_| self)
    }

    /// A name that the derive has checked.
    pub(crate) fn checked(name: &str) -> Self {
        Self(name.into())
    }

    /// Whether both names are those of one table: the service ignores case.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }

    /// The name as it was spelled.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TableName {
    type Err = TableNameError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_names_are_rejected() {
        for name in ["", "ab", "1abc", "a-b", "a b", "Tables", "é23", &"a".repeat(64)] {
            assert!(TableName::new(name).is_err(), "{name}");
        }
        assert!(TableName::new("abc").is_ok() && TableName::new(&"a".repeat(63)).is_ok());
    }
}
