//! Which RowKeys a template writes, as far as its start tells.
//!
//! Invariant: what a template writes it also [takes](RowTemplate::takes), and it lies in its span.

use super::{GuardTemplate, RowTemplate};
use crate::query::Span;
use std::ops::Bound;

impl RowTemplate {
    /// The same row, whose keys surely go on with that many digits behind [`start`](Self::start).
    #[must_use]
    pub const fn digits(mut self, digits: usize) -> Self {
        self.digits = digits;
        self
    }

    /// Whether the template has no placeholder, and so writes one key only: its start.
    #[must_use]
    pub const fn is_literal(&self) -> bool {
        let key = self.key.as_bytes();
        let mut at = 0;
        while at < key.len() {
            if key[at] == b'{' {
                if at + 1 == key.len() || key[at + 1] != b'{' {
                    return false;
                }
                at += 1;
            }
            at += 1;
        }
        true
    }

    /// Whether a stored RowKey looks like one of this template: by its start, and by the digits
    /// behind it.
    ///
    /// ```
    /// use table_orm::entity::RowTemplate;
    /// let employee = RowTemplate::full("row", "{number:05}", "").digits(5);
    /// let department = RowTemplate::full("row", "Department", "Department");
    /// assert!(employee.takes("00001") && !employee.takes("Department"));
    /// assert!(department.takes("Department") && !department.takes("Departments"));
    /// ```
    #[must_use]
    pub fn takes(&self, row_key: &str) -> bool {
        match row_key.strip_prefix(self.start) {
            Some(rest) if self.is_literal() => rest.is_empty(),
            Some(rest) => {
                let digits = rest.bytes().take(self.digits);
                rest.len() >= self.digits && { digits }.all(|byte| byte.is_ascii_digit())
            }
            None => false,
        }
    }

    /// Whether one RowKey could be of both templates, as far as their starts and digits tell.
    #[must_use]
    pub const fn may_equal(&self, other: &Self) -> bool {
        let (shorter, longer) =
            if self.start.len() <= other.start.len() { (self, other) } else { (other, self) };
        let (start, beyond) = (shorter.start.as_bytes(), longer.start.as_bytes());
        let mut at = 0;
        while at < start.len() {
            if start[at] != beyond[at] {
                return false;
            }
            at += 1;
        }
        if shorter.is_literal() {
            return start.len() == beyond.len() && longer.digits == 0;
        }
        let mut digits = 0;
        while digits < shorter.digits && at < beyond.len() {
            if !beyond[at].is_ascii_digit() {
                return false;
            }
            digits += 1;
            at += 1;
        }
        // A key that ends before the digits of the other do is none of its keys.
        !longer.is_literal() || digits == shorter.digits
    }

    /// The range of RowKeys that holds all it writes, and as few others as the start tells.
    pub(crate) fn span(&self) -> Span {
        if self.is_literal() {
            Span::Exact(self.start.to_owned())
        } else if self.digits > 0 {
            let bound = |next: char| format!("{}{next}", self.start);
            // `:` is the character behind `9`.
            Span::Between(Bound::Included(bound('0')), Bound::Excluded(bound(':')))
        } else {
            Span::prefix(self.start)
        }
    }
}

impl GuardTemplate {
    /// The guard as a row beside the entity's others.
    pub(crate) const fn row(&self) -> RowTemplate {
        RowTemplate::partial(self.name, self.key, self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn full(key: &'static str, start: &'static str) -> RowTemplate {
        RowTemplate::full("row", key, start)
    }

    #[test]
    fn templates_may_equal_unless_their_starts_or_digits_differ() {
        let number = full("{n:05}", "").digits(5);
        let department = full("Department", "Department");
        let by_name = full("{name}", "");
        let a = full("A:{x}", "A:");
        let cases = [
            (number, department, false),
            (number, by_name, true),
            (number, full("{m:03}-{x}", "").digits(3), true),
            (number, full("123", "123"), false),
            (number, full("12345", "12345"), true),
            (number, full("12a{x}", "12a"), false),
            (by_name, department, true),
            (a, full("B:{x}", "B:"), false),
            (a, full("A:B{x}", "A:B"), true),
            (full("A:", "A:"), a, true),
            (full("A:", "A:"), full("A:{n:02}", "A:").digits(2), false),
            (full("A", "A"), a, false),
            (department, department, true),
        ];
        for (left, right, expected) in cases {
            assert_eq!(left.may_equal(&right), expected, "{left:?} {right:?}");
            assert_eq!(right.may_equal(&left), expected, "{right:?} {left:?}");
        }
    }

    #[test]
    fn doubled_braces_are_no_placeholder() {
        assert!(full("{{x}}", "{x}").is_literal());
        assert!(!full("{{{x}", "{").is_literal());
        assert!(full("{{x}}", "{x}").takes("{x}"));
    }

    #[test]
    fn a_span_holds_what_the_template_takes() {
        let number = full("{n:05}", "").digits(5).span();
        assert!(number.contains("00000") && number.contains("99999"));
        assert!(!number.contains("Department") && !number.contains("-"));
        assert_eq!(full("A:{x}", "A:").span(), Span::prefix("A:"));
        assert_eq!(full("{x}", "").span(), Span::All);
    }
}
