//! The templates of an entity's rows, and which RowKeys each of them writes.
//!
//! Invariant: a template [takes](RowTemplate::takes) every RowKey that it writes, and its span
//! holds it.

use super::TableEntity;
use crate::key::{Escape, KeyTemplate, TemplatePart};
use crate::model::{TableName, reserved_start};
use crate::query::Span;
use serde::Serialize;
use std::ops::Bound;

/// How much of the entity a row stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyKind {
    /// Every property.
    Full,
    /// The properties named by `include`, or all but those named by `exclude`.
    Partial,
}

/// One of the rows an entity is stored in, as its `#[row(..)]` attribute declares it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RowTemplate {
    /// The row's name, such as `by_bib`.
    pub name: &'static str,
    /// The RowKey's template, such as `BIB:{bib:05}__{name}`.
    pub key: &'static str,
    /// The literal that every such RowKey starts with, such as `BIB:`; no other row of the entity
    /// has a key that starts with it.
    pub start: &'static str,
    /// How much it stores.
    pub copy: CopyKind,
    /// The components of the RowKey.
    pub parts: &'static [TemplatePart],
    /// The field with one row for each of its elements, where the attribute says `each(.. in field)`.
    pub each: Option<&'static str>,
    /// Whether an entity may lack the row: the attribute has a `when`, or a component is an `Option`.
    pub sparse: bool,
    /// The fields that a partial copy stores, by their stored names; empty for a full copy.
    pub fields: &'static [&'static str],
}

impl RowTemplate {
    /// Whether a key that starts with a key of the template continues it. `ISS:42` does not show where it
    /// ends: `ISS:421` is a key of another row.
    pub(crate) const fn has_end(&self) -> bool {
        match self.parts {
            [.., last] => last.has_end(),
            [] => false,
        }
    }

    /// A row with every property, whose key has no components.
    #[must_use]
    pub const fn full(name: &'static str, key: &'static str, start: &'static str) -> Self {
        let (copy, parts, fields) = (CopyKind::Full, &[], &[]);
        Self { name, key, start, copy, parts, each: None, sparse: false, fields }
    }

    /// A row with some of the properties, whose key has no components.
    #[must_use]
    pub const fn partial(name: &'static str, key: &'static str, start: &'static str) -> Self {
        Self { copy: CopyKind::Partial, ..Self::full(name, key, start) }
    }

    /// Returns the same row, whose key has these components after its start. Does not compile where keys have
    /// more than 512 UTF-16 units, or a component has no end.
    #[must_use]
    #[track_caller]
    pub const fn parts(mut self, parts: &'static [TemplatePart]) -> Self {
        self.parts = KeyTemplate { start: self.start, parts }.checked().parts;
        self
    }

    /// Returns the same row, which stores only these fields.
    #[must_use]
    pub const fn fields(mut self, fields: &'static [&'static str]) -> Self {
        self.fields = fields;
        self
    }

    /// Returns the same row, which an entity may lack.
    #[must_use]
    pub const fn sparse(mut self) -> Self {
        self.sparse = true;
        self
    }

    /// Returns the same row, written for each element of that field.
    #[must_use]
    pub const fn each(mut self, field: &'static str) -> Self {
        self.each = Some(field);
        self
    }

    /// Returns whether the template has no placeholder, and so writes only one key: its start.
    #[must_use]
    pub const fn is_literal(&self) -> bool {
        self.parts.is_empty()
    }

    /// The RowKey's template as data.
    #[must_use]
    pub const fn template(&self) -> KeyTemplate<'static> {
        KeyTemplate { start: self.start, parts: self.parts }
    }

    /// Returns whether a stored RowKey reads to its end as this template, each component in its shape.
    /// RowKeys of helper rows, which begin with `DUE:`, `EXP:`, `LOB:`, `MOV:`, `OUT:`, `SEQ:`, `SUM:`, `TKT:` or `UNQ:`, do
    /// not, unless the template begins so.
    ///
    /// ```
    /// use table_orm::entity::RowTemplate;
    /// use table_orm::key::{Escape::Reject, Shape, TemplatePart};
    /// const ID: TemplatePart = TemplatePart::new("id", Shape::Digits(5), "");
    /// const DOCUMENT: RowTemplate = RowTemplate::full("row", "DOC:{id:05}", "DOC:").parts(&[ID]);
    /// assert!(DOCUMENT.takes("DOC:00001", Reject));
    /// assert!(!DOCUMENT.takes("DOC:00001__REV:001", Reject));
    /// ```
    #[must_use]
    pub fn takes(&self, row_key: &str, escape: Escape) -> bool {
        self.template().takes(row_key, escape)
            && reserved_start(row_key).is_none_or(|start| self.start.starts_with(start))
    }

    /// The smallest range by the template's start that holds every RowKey it writes. Without a literal
    /// there, the first component may be one that starts with a digit.
    pub(crate) fn span(&self) -> Span {
        let digit = self.parts.first().is_some_and(|part| part.shape.starts_with_digit());
        if self.is_literal() {
            Span::Exact(self.start.to_owned())
        } else if self.start.is_empty() && digit {
            // `:` is the character after `9`.
            Span::Between(Bound::Included("0".to_owned()), Bound::Excluded(":".to_owned()))
        } else {
            Span::prefix(self.start)
        }
    }
}

/// The guard row of a `unique(..)`: while it exists, no other entity can have the same values. That of a
/// plain one is a row of the entity's partition, whose RowKey holds the values. That of a `unique(.., across)`
/// is the row `UNQ` of a partition whose PartitionKey holds them.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct GuardTemplate {
    /// What is unique: fields and components, joined by `_`.
    pub name: &'static str,
    /// The template of the key with the values, such as `UNQ:bib:{bib}`.
    pub key: &'static str,
    /// The literal that every such key starts with, such as `UNQ:bib:`; no other row's starts
    /// so.
    pub start: &'static str,
    /// The components of the key.
    pub parts: &'static [TemplatePart],
    /// Whether it guards the values over all partitions.
    pub across: bool,
    /// The table that holds it; `None` for the table of the entity.
    pub table: Option<&'static str>,
}

impl GuardTemplate {
    /// The only property of a guard row in the entity's partition: the RowKey of the canonical row that it
    /// belongs to.
    pub const REFERENCE: &'static str = "Canonical";

    /// A guard of those values.
    #[must_use]
    pub const fn new(name: &'static str, key: &'static str, start: &'static str) -> Self {
        Self { name, key, start, parts: &[], across: false, table: None }
    }

    /// Returns the same guard, of values that are unique over all partitions.
    #[must_use]
    pub const fn across(mut self) -> Self {
        self.across = true;
        self
    }

    /// Returns the same guard in another table.
    #[must_use]
    pub const fn table(mut self, table: &'static str) -> Self {
        self.table = Some(table);
        self
    }

    /// The table that holds the guard of an entity in the table `home`.
    #[must_use]
    pub fn table_of(&self, home: &TableName) -> TableName {
        table_or(self.table, home)
    }

    /// Returns the same guard, whose key has these components after its start. Does not compile where keys
    /// have more than 512 UTF-16 units, or a component has no end.
    #[must_use]
    #[track_caller]
    pub const fn parts(mut self, parts: &'static [TemplatePart]) -> Self {
        self.parts = KeyTemplate { start: self.start, parts }.checked().parts;
        self
    }

    /// The guard as a row template.
    pub(crate) const fn row(&self) -> RowTemplate {
        let row = RowTemplate::partial(self.name, self.key, self.start);
        RowTemplate { parts: self.parts, ..row.fields(&[Self::REFERENCE]) }
    }
}

/// A row of an entity in another partition or table, as `#[row(.., eventual)]` declares it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EventualTemplate {
    /// The row itself.
    pub row: RowTemplate,
    /// The table that holds it; `None` for the table of the entity.
    pub table: Option<&'static str>,
    /// The PartitionKey's template, such as `{day}`.
    pub partition: &'static str,
    /// The PartitionKey's template as data.
    pub partition_key: KeyTemplate<'static>,
}

impl EventualTemplate {
    /// Returns that row in the partition of another key, in the table of the entity.
    #[must_use]
    pub const fn new(
        row: RowTemplate,
        partition: &'static str,
        partition_key: KeyTemplate<'static>,
    ) -> Self {
        Self { row, table: None, partition, partition_key }
    }

    /// Returns the same row in another table.
    #[must_use]
    pub const fn table(mut self, table: &'static str) -> Self {
        self.table = Some(table);
        self
    }

    /// The table that holds the row of an entity in the table `home`.
    #[must_use]
    pub fn table_of(&self, home: &TableName) -> TableName {
        table_or(self.table, home)
    }
}

/// The table of that name, or `home` without a name.
fn table_or(name: Option<&str>, home: &TableName) -> TableName {
    // The derive checks the name.
    name.and_then(|name| TableName::new(name).ok()).unwrap_or_else(|| home.clone())
}

/// The templates of an entity type in its own partition, in the order of
/// [`EntityRow::index`](crate::entity::EntityRow::index).
pub(super) fn templates(
    rows: &'static [RowTemplate],
    guards: &'static [GuardTemplate],
) -> impl Iterator<Item = RowTemplate> {
    rows.iter().copied().chain(guards.iter().map(GuardTemplate::row))
}

/// The template at an index.
pub(crate) const fn template_at<E: TableEntity>(index: usize) -> Option<RowTemplate> {
    let (rows, guards) = (E::ROWS, E::GUARDS);
    if index < rows.len() {
        Some(rows[index])
    } else if index < rows.len() + guards.len() {
        Some(guards[index - rows.len()].row())
    } else if let Some(eventual) = eventual_at::<E>(index) {
        Some(eventual.row)
    } else {
        None
    }
}

/// The index of the first template of a row in another partition.
pub(crate) const fn first_eventual<E: TableEntity>() -> usize {
    E::ROWS.len() + E::GUARDS.len()
}

/// The template at an index, of a row in another partition or table.
pub(crate) const fn eventual_at<E: TableEntity>(index: usize) -> Option<&'static EventualTemplate> {
    let first = first_eventual::<E>();
    if index < first || index - first >= E::EVENTUAL.len() {
        return None;
    }
    Some(&E::EVENTUAL[index - first])
}

/// The table of the row at an index; `None` for that of its entity.
pub(crate) const fn table_at<E: TableEntity>(index: usize) -> Option<&'static str> {
    match eventual_at::<E>(index) {
        Some(eventual) => eventual.table,
        None => None,
    }
}

/// Whether the row at an index is in a table of its own.
pub(crate) const fn has_own_table<E: TableEntity>(index: usize) -> bool {
    table_at::<E>(index).is_some()
}

/// The template of the PartitionKeys of the row at an index.
pub(crate) fn partition_at<E: TableEntity>(index: usize) -> KeyTemplate<'static> {
    eventual_at::<E>(index).map_or(E::PARTITION_KEY, |eventual| eventual.partition_key)
}

/// The name of the template at an index.
pub(crate) fn name_of<E: TableEntity>(index: usize) -> &'static str {
    template_at::<E>(index).map_or("", |template| template.name)
}

/// The smallest range of RowKeys that holds every row of the entity type in its own partition.
pub(crate) fn rows_of<E: TableEntity>() -> Span {
    span_of(E::ROWS, E::GUARDS)
}

fn span_of(rows: &[RowTemplate], guards: &[GuardTemplate]) -> Span {
    let guards = guards.iter().filter(|guard| !guard.across).map(GuardTemplate::row);
    let own = rows.iter().copied().chain(guards);
    own.map(|template| template.span()).reduce(Span::hull).unwrap_or(Span::All)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Escape::Reject, Shape};

    const fn part(shape: Shape, separator: &'static str) -> TemplatePart {
        TemplatePart::new("x", shape, separator)
    }

    fn full(start: &'static str, parts: &'static [TemplatePart]) -> RowTemplate {
        RowTemplate::full("row", "", start).parts(parts)
    }

    #[test]
    fn the_literals_between_placeholders_distinguish_keys() {
        let line = full("", const { &[part(Shape::Text, "__LINE"), part(Shape::Digits(3), "")] });
        assert!(line.takes("a__LINE001", Reject) && line.takes("__LINE000", Reject));
        for other in ["a__HEAD", "a", "__LINE", "a__LINE01", "a__LINE0010", "a__LINE001__X"] {
            assert!(!line.takes(other, Reject), "{other}");
        }
        let end = full("A:", const { &[part(Shape::Text, ":"), part(Shape::Text, ":Z")] });
        assert!(end.takes("A:1:2:Z", Reject));
        // The literals may not overlap, and each component ends at the first one.
        for other in ["A:1:Z", "A:1:2:Z ", "A::Z", "A:Z:Z:Z:Z"] {
            assert!(!end.takes(other, Reject), "{other}");
        }
    }

    #[test]
    fn keys_of_helper_rows_are_taken_by_their_own_templates_only() {
        let text = full("", const { &[part(Shape::Text, "")] });
        let guard = full("UNQ:bib:", const { &[part(Shape::Digits(10), "")] });
        assert!(text.takes("DUE", Reject) && text.takes("DUEs", Reject) && text.takes("", Reject));
        for helper in [
            "DUE:x",
            "EXP:x",
            "LOB:x",
            "MOV:x",
            "OUT:1",
            "SEQ:x",
            "SUM:x:00",
            "TKT:",
            "UNQ:bib:0000000001",
        ] {
            assert!(!text.takes(helper, Reject), "{helper}");
        }
        assert!(guard.takes("UNQ:bib:0000000001", Reject));
    }

    #[test]
    fn a_span_holds_what_the_template_takes() {
        let number = full("", const { &[part(Shape::Digits(5), "")] }).span();
        assert!(number.contains("00000") && number.contains("99999"));
        assert!(!number.contains("Department") && !number.contains("-"));
        let texts = const { &[part(Shape::Text, "")] };
        assert_eq!(full("A:", texts).span(), Span::prefix("A:"));
        assert_eq!(full("", texts).span(), Span::All);
        assert_eq!(full("A", &[]).span(), Span::Exact("A".to_owned()));
    }
}
