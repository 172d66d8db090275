//! The members that a query selects, appended row by row.
//!
//! Most rows of a page have one shape, so the names of its members are compared with the selected ones once.
//! Invariant: what is appended of a row does not depend on the rows before it.

use super::packed::PackedRow;
use super::selected_shape::{SelectedGap, SelectedShape};
use super::shape::{Shapes, SharedShape};
use super::stored::corrupt;
use crate::model::TYPE_ANNOTATION;
use crate::store::StoreError;
use std::borrow::Cow;

/// The names of members that a query selects.
#[derive(Debug)]
pub(crate) struct Selection<'q, 'r, N> {
    names: &'q [N],
    /// Those of the row before, by its shape.
    last: Option<(Cow<'r, SharedShape>, SelectedShape)>,
    /// The shapes of the rows of a file.
    shapes: Shapes,
}

impl<'q, 'r, N: AsRef<str>> Selection<'q, 'r, N> {
    pub(crate) fn new(names: &'q [N]) -> Self {
        Self { names, last: None, shapes: Shapes::default() }
    }

    /// Appends a row in memory with the selected members only, and their types.
    pub(crate) fn append_packed(&mut self, row: &'r PackedRow, out: &mut Vec<u8>) {
        let start = out.len();
        row.append_selected(selected(&mut self.last, self.names, Cow::Borrowed(row.shape())), out);
        close(out, start);
    }

    /// The same of a row in a file.
    pub(crate) fn append_text(&mut self, row: &[u8], out: &mut Vec<u8>) -> Result<(), StoreError> {
        let damaged = || corrupt("no JSON object");
        if row.first() != Some(&b'{') {
            return Err(damaged());
        }
        let start = out.len();
        let (shape, values) = self.shapes.of(row);
        let selected = selected(&mut self.last, self.names, Cow::Owned(shape));
        if !selected.is_whole || selected.gaps.len() != values.len() {
            return Err(damaged());
        }
        for (SelectedGap { text, is_selected, .. }, (_, value)) in selected.gaps.iter().zip(values)
        {
            if *is_selected {
                out.extend_from_slice(text);
                out.extend_from_slice(&row[value.clone()]);
            }
        }
        out.extend_from_slice(&selected.rest);
        close(out, start);
        Ok(())
    }
}

/// The members selected of a shape.
fn selected<'l, 'r>(
    last: &'l mut Option<(Cow<'r, SharedShape>, SelectedShape)>,
    names: &[impl AsRef<str>],
    shape: Cow<'r, SharedShape>,
) -> &'l SelectedShape {
    last.take_if(|(last, _)| !last.is(&shape));
    let (_, selected) = last.get_or_insert_with(|| {
        let selected = SelectedShape::new(&shape, |member| {
            let property = member.strip_suffix(TYPE_ANNOTATION).unwrap_or(member);
            names.iter().any(|name| name.as_ref() == property)
        });
        (shape, selected)
    });
    selected
}

/// Makes an object of the members from `start` on, each of which is behind a comma.
fn close(out: &mut Vec<u8>, start: usize) {
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::visit_members;
    use crate::store::ErrorCode;
    use proptest::prelude::*;

    fn selected(selection: &mut Selection<'_, '_, &str>, row: &str) -> String {
        let mut out = b"before".to_vec();
        selection.append_text(row.as_bytes(), &mut out).unwrap();
        String::from_utf8(out.split_off(6)).unwrap()
    }

    /// The members of an object whose properties have these names.
    fn members(object: &str, names: &[&str]) -> Vec<(String, String)> {
        let mut members = Vec::new();
        visit_members(object, |member| {
            if names.contains(&member.property()) {
                members.push((member.name.into_owned(), member.value.to_owned()));
            }
        })
        .unwrap();
        members
    }

    #[test]
    fn selected_members_keep_their_types() {
        let row = r#"{"Timestamp":"t","A":1,"B":"2","B@odata.type":"Edm.Int64","C":3}"#;
        let select = |names: &[&str]| selected(&mut Selection::new(names), row);
        assert_eq!(
            select(&["B", "Timestamp"]),
            r#"{"Timestamp":"t","B":"2","B@odata.type":"Edm.Int64"}"#
        );
        assert_eq!(select(&["Absent"]), "{}");
        assert_eq!(select(&["B@odata.type"]), "{}");
        assert_eq!(select(&[]), "{}");
    }

    #[test]
    fn text_that_ends_within_a_row_is_a_damaged_row() {
        let row = r#"{"Timestamp":"t","A":1,"B":"2","B@odata.type":"Edm.Int64","C":3}"#;
        for end in 0..row.len() {
            let mut selection = Selection::new(&["A"]);
            selection.append_text(row.as_bytes(), &mut Vec::new()).unwrap();
            let damaged = selection.append_text(&row.as_bytes()[..end], &mut Vec::new());
            assert_eq!(damaged.unwrap_err().code, ErrorCode::INTERNAL_ERROR, "{end}");
        }
    }

    proptest! {
        #[test]
        fn the_rows_before_change_nothing(
            rows in prop::collection::vec(
                prop::collection::btree_map(
                    "[AB]{1,2}|É|B@odata\\.type|A@odata\\.type|PartitionKey|RowKey|Timestamp",
                    "1|-2\\.5e3|true|\"\"|\"a,\\\\\"\\{b\"",
                    0..6,
                ),
                1..6,
            ),
            [comma, colon] in prop::sample::select(vec![[",", ":"], [" , ", " : "]]),
            names in prop::sample::subsequence(
                vec!["A", "B", "AB", "É", "PartitionKey", "RowKey", "Timestamp"], 0..=7,
            ),
        ) {
            let mut page = Selection::new(&names);
            for row in rows {
                let texts = row.iter().map(|(name, value)| format!("\"{name}\"{colon}{value}"));
                let row = format!("{{{}}}", texts.collect::<Vec<_>>().join(comma));
                let selection = selected(&mut page, &row);
                prop_assert_eq!(&selection, &selected(&mut Selection::new(&names), &row));
                prop_assert_eq!(members(&selection, &names), members(&row, &names));
                let mut all = 0;
                visit_members(&selection, |_| all += 1).unwrap();
                prop_assert_eq!(members(&row, &names).len(), all);
            }
        }
    }
}
