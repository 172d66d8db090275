//! The templates of an entity's rows, and which RowKeys each of them writes, judged by its
//! literals.
//!
//! Invariant: a template [takes](RowTemplate::takes) every RowKey that it writes, and its span
//! holds it.

use super::{Row, TableEntity};
use crate::query::Span;
use std::borrow::Cow;
use std::ops::Bound;

/// How much of the entity a row stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyKind {
    /// Every property.
    Full,
    /// The properties named by `include`, or all but those named by `exclude`.
    Partial,
}

/// One of the rows an entity is stored in, as its `#[row(..)]` attribute declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowTemplate {
    /// The row's name, such as `by_bib`.
    pub name: &'static str,
    /// The RowKey's template, such as `BIB:{bib:05}__{name}`.
    pub key: &'static str,
    /// The literal that every such RowKey starts with, such as `BIB:`; no other row's key starts
    /// with it.
    pub start: &'static str,
    /// How much it stores.
    pub copy: CopyKind,
    /// How many ASCII digits follow an empty start: they distinguish its keys from those of other
    /// types in the same partition.
    pub digits: usize,
}

impl RowTemplate {
    /// A row with every property.
    #[must_use]
    pub const fn full(name: &'static str, key: &'static str, start: &'static str) -> Self {
        Self { name, key, start, copy: CopyKind::Full, digits: 0 }
    }

    /// A row with some of the properties.
    #[must_use]
    pub const fn partial(name: &'static str, key: &'static str, start: &'static str) -> Self {
        Self { name, key, start, copy: CopyKind::Partial, digits: 0 }
    }
}

/// The guard row of a `unique(..)`: while it exists, no other entity of the partition can have the
/// same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardTemplate {
    /// What is unique: fields and components, joined by `_`.
    pub name: &'static str,
    /// The RowKey's template, such as `UNQ:bib:{bib}`.
    pub key: &'static str,
    /// The literal that every such RowKey starts with, such as `UNQ:bib:`; no other row's starts
    /// so.
    pub start: &'static str,
}

impl GuardTemplate {
    /// The only property of a guard row: the RowKey of the canonical row that it belongs to.
    pub const REFERENCE: &'static str = "Canonical";

    /// A guard of those values.
    #[must_use]
    pub const fn new(name: &'static str, key: &'static str, start: &'static str) -> Self {
        Self { name, key, start }
    }
}

impl RowTemplate {
    /// The same template, whose keys have that many digits behind [`start`](Self::start).
    #[must_use]
    pub const fn digits(mut self, digits: usize) -> Self {
        self.digits = digits;
        self
    }

    /// Whether the template has no placeholder, and so writes only one key: its start.
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

    /// Whether a stored RowKey matches this template: its literals, and the digits behind the
    /// first.
    ///
    /// ```
    /// use table_orm::entity::RowTemplate;
    /// let employee = RowTemplate::full("row", "{number:05}", "").digits(5);
    /// let department = RowTemplate::full("row", "Department", "Department");
    /// assert!(employee.takes("00001") && !employee.takes("Department"));
    /// assert!(department.takes("Department") && !department.takes("Departments"));
    /// let order = RowTemplate::full("row", "{order}__HEAD", "");
    /// assert!(order.takes("7__HEAD") && !order.takes("7__LINE"));
    /// ```
    #[must_use]
    pub fn takes(&self, row_key: &str) -> bool {
        match row_key.strip_prefix(self.start) {
            Some(rest) if self.is_literal() => rest.is_empty(),
            Some(rest) => {
                let digits = rest.bytes().take(self.digits);
                rest.len() >= self.digits
                    && { digits }.all(|byte| byte.is_ascii_digit())
                    && self.takes_behind_start(rest)
            }
            None => false,
        }
    }

    /// Whether `rest` has the literals behind the first one in their order, the last at its end.
    fn takes_behind_start(&self, mut rest: &str) -> bool {
        let (_, mut template) = literal(self.key);
        while let Some(behind) = template {
            let (text, next) = literal(behind);
            match next {
                None => return rest.ends_with(&*text),
                Some(_) => match rest.split_once(&*text) {
                    Some((_, behind)) => rest = behind,
                    None => return false,
                },
            }
            template = next;
        }
        true
    }

    /// Whether the ranges that queries of the two templates read overlap. A range bounds only the
    /// first digit: `2024:00001` lies between `00001` and `99999`.
    #[must_use]
    pub const fn overlaps(&self, other: &Self) -> bool {
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
            start.len() == beyond.len() && longer.digits == 0
        } else if shorter.digits == 0 {
            true
        } else if at < beyond.len() {
            beyond[at].is_ascii_digit()
        } else {
            !longer.is_literal()
        }
    }

    /// The smallest range by the template's start that holds every RowKey it writes.
    pub(crate) fn span(&self) -> Span {
        if self.is_literal() {
            Span::Exact(self.start.to_owned())
        } else if self.digits > 0 {
            let bound = |next: char| format!("{}{next}", self.start);
            // `:` is the character after `9`.
            Span::Between(Bound::Included(bound('0')), Bound::Excluded(bound(':')))
        } else {
            Span::prefix(self.start)
        }
    }
}

/// The literal at the start of a template, and the rest behind its first placeholder.
fn literal(template: &str) -> (Cow<'_, str>, Option<&str>) {
    let mut from = 0;
    let end = loop {
        match template[from..].find('{') {
            None => break None,
            Some(at) if template[from + at..].starts_with("{{") => from += at + 2,
            Some(at) => break Some(from + at),
        }
    };
    let text = &template[..end.unwrap_or(template.len())];
    let text = if text.contains(['{', '}']) {
        Cow::Owned(text.replace("{{", "{").replace("}}", "}"))
    } else {
        Cow::Borrowed(text)
    };
    let behind = end.and_then(|at| template[at..].split_once('}'));
    (text, behind.map(|(_, behind)| behind))
}

impl GuardTemplate {
    /// The guard as a row template.
    pub(crate) const fn row(&self) -> RowTemplate {
        RowTemplate::partial(self.name, self.key, self.start)
    }
}

/// The index of the canonical row among the rows of an entity type.
pub(crate) const fn canonical<E: TableEntity>() -> usize {
    <E::Canonical as Row>::INDEX
}

/// The templates of an entity type, in the order of
/// [`EntityRow::index`](crate::entity::EntityRow::index).
fn templates<E: TableEntity>() -> impl Iterator<Item = RowTemplate> {
    E::ROWS.iter().copied().chain(E::GUARDS.iter().map(GuardTemplate::row))
}

/// The index and name of the template that writes such a RowKey; `None` for a row of another type
/// in the same partition.
pub(crate) fn template_of<E: TableEntity>(row_key: &str) -> Option<(usize, &'static str)> {
    templates::<E>()
        .enumerate()
        .filter(|(_, template)| template.takes(row_key))
        .max_by_key(|(_, template)| template.start.len())
        .map(|(index, template)| (index, template.name))
}

/// The name of the template at an index.
pub(crate) fn name_of<E: TableEntity>(index: usize) -> &'static str {
    templates::<E>().nth(index).map_or("", |template| template.name)
}

/// The smallest range of RowKeys that holds every row of the entity type.
pub(crate) fn rows_of<E: TableEntity>() -> Span {
    templates::<E>().map(|template| template.span()).reduce(Span::hull).unwrap_or(Span::All)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn full(key: &'static str, start: &'static str) -> RowTemplate {
        RowTemplate::full("row", key, start)
    }

    #[test]
    fn templates_overlap_where_a_query_of_one_reads_keys_of_the_other() {
        // Each with a key that it writes.
        let number = (full("{n:05}", "").digits(5), "20240");
        let short = (full("{n:03}-{x}", "").digits(3), "202-a");
        let dated = (full("2024:{n:05}", "2024:"), "2024:00007");
        let ordinal = (full("1st:{x}", "1st:"), "1st:a");
        let year = (full("2024", "2024"), "2024");
        let nothing = (full("", ""), "");
        let by_name = (full("{name}", ""), "Ann");
        let department = (full("Department", "Department"), "Department");
        let a = (full("A:{x}", "A:"), "A:x");
        let ab = (full("A:B{x}", "A:B"), "A:Bx");
        let a_number = (full("A:{n:02}", "A:").digits(2), "A:07");
        let a_alone = (full("A:", "A:"), "A:");
        let cases = [
            (number, short, true),
            (number, dated, true),
            (number, ordinal, true),
            (number, year, true),
            (number, by_name, true),
            (number, department, false),
            (number, nothing, false),
            (number, a, false),
            (dated, year, false),
            (dated, ordinal, false),
            (by_name, department, true),
            (department, department, true),
            (a, ab, true),
            (a, a_number, true),
            (a, a_alone, true),
            (ab, a_number, false),
            (ab, a_alone, false),
            (a_number, a_alone, false),
        ];
        for ((left, left_key), (right, right_key), expected) in cases {
            assert!(left.takes(left_key) && right.takes(right_key), "{left_key} {right_key}");
            assert_eq!(left.overlaps(&right), expected, "{left:?} {right:?}");
            assert_eq!(right.overlaps(&left), expected, "{right:?} {left:?}");
            let read = left.span().contains(right_key) || right.span().contains(left_key);
            assert!(expected || !read, "{left:?} {right:?}");
        }
    }

    #[test]
    fn doubled_braces_are_not_a_placeholder() {
        assert!(full("{{x}}", "{x}").is_literal());
        assert!(!full("{{{x}", "{").is_literal());
        assert!(full("{{x}}", "{x}").takes("{x}"));
    }

    #[test]
    fn the_literals_between_placeholders_distinguish_keys() {
        let line = full("{order}__LINE{line:03}", "");
        assert!(line.takes("a__LINE001") && line.takes("__LINE"));
        assert!(!line.takes("a__HEAD") && !line.takes("a"));
        let braces = full("{{{x}}}__{y}", "{");
        assert!(braces.takes("{a}__b") && braces.takes("{}__}__"));
        assert!(!braces.takes("{a__b") && !braces.takes("a}__b"));
        let end = full("A:{x}:{y}:Z", "A:");
        assert!(end.takes("A:1:2:Z") && end.takes("A:Z:Z:Z:Z"));
        // The literals may not overlap.
        assert!(!end.takes("A:1:Z") && !end.takes("A:1:2:Z ") && !end.takes("A::Z"));
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
