//! All members of one row, for lookup by name.

use crate::codec::{RawMember, SeenNames, visit_members};
use crate::model::TYPE_ANNOTATION;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;

/// All members of one row, in the order of its text.
#[derive(Debug)]
pub(crate) struct RowMembers<'a> {
    members: Vec<RawMember<'a>>,
    names: SeenNames,
}

impl<'a> RowMembers<'a> {
    /// Reads a JSON object.
    pub(crate) fn read(object: &'a str) -> serde_json::Result<Self> {
        let mut row = Self { members: Vec::with_capacity(16), names: SeenNames::default() };
        visit_members(object, |member| {
            row.names.add(member.name.as_bytes());
            row.members.push(member);
        })?;
        Ok(row)
    }

    pub(crate) const fn len(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, RawMember<'a>> {
        self.members.iter()
    }

    /// Returns the JSON text of a member's value.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.iter().find(|member| member.name == name).map(|member| member.value)
    }

    /// Returns the JSON text of a property's type annotation.
    pub(crate) fn annotation(&self, property: &str) -> Option<&'a str> {
        let annotates = |member: &&RawMember<'a>| member.annotated() == Some(property);
        self.iter().find(annotates).map(|member| member.value)
    }

    /// Returns a name that two members have.
    pub(crate) fn duplicate(&self) -> Option<&str> {
        if !self.names.may_repeat {
            return None;
        }
        let sorted = sorted(&self.members);
        sorted.windows(2).find(|pair| pair[0].name == pair[1].name).map(|pair| &*pair[0].name)
    }

    /// Prepares the lookup of members by name. No two have the same.
    pub(crate) fn by_name(&self) -> ByName<'_, 'a> {
        let members = &*self.members;
        let is_beside = |(at, member): (usize, &RawMember<'_>)| {
            member
                .annotated()
                .is_none_or(|name| beside(members, at, |it| it.name == name).is_some())
        };
        let pairs = members.iter().enumerate().all(is_beside);
        ByName { members, pairs, sorted: OnceCell::new() }
    }
}

/// The members of a row, for lookup by name. A row may have hundreds, each with an annotation, which mostly is beside
/// its property.
#[derive(Debug)]
pub(crate) struct ByName<'m, 'a> {
    members: &'m [RawMember<'a>],
    /// Whether each annotation is beside its property.
    pairs: bool,
    /// In the order of [`by_length`], once they are needed.
    sorted: OnceCell<Vec<&'m RawMember<'a>>>,
}

impl<'m, 'a> ByName<'m, 'a> {
    /// Returns the JSON text of a member's value.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let sorted = self.sorted();
        let at = sorted.binary_search_by(|member| by_length(&member.name, name)).ok()?;
        Some(sorted[at].value)
    }

    /// Returns the members in the order of their text, each with its place.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &'m RawMember<'a>)> + use<'m, 'a> {
        self.members.iter().enumerate()
    }

    /// Returns the JSON text of the type annotation of the property at a place.
    pub(crate) fn annotation(&self, at: usize) -> Option<&'a str> {
        let property = &*self.members.get(at)?.name;
        let annotates = |member: &RawMember<'_>| member.annotated() == Some(property);
        match beside(self.members, at, annotates) {
            None if !self.pairs => self.distant_annotation(property),
            found => found,
        }
    }

    /// Returns the JSON text of the value of `property`, which the member at a place annotates.
    pub(crate) fn annotated(&self, at: usize, property: &str) -> Option<&'a str> {
        match beside(self.members, at, |member| member.name == property) {
            None if !self.pairs => self.get(property),
            found => found,
        }
    }

    fn distant_annotation(&self, property: &str) -> Option<&'a str> {
        let length = property.len() + TYPE_ANNOTATION.len();
        let order = |member: &&RawMember<'_>| {
            let name = member.name.as_bytes();
            name.len().cmp(&length).then_with(|| {
                let (head, tail) = name.split_at(property.len());
                head.cmp(property.as_bytes()).then_with(|| tail.cmp(TYPE_ANNOTATION.as_bytes()))
            })
        };
        let sorted = self.sorted();
        let at = sorted.binary_search_by(order).ok()?;
        Some(sorted[at].value)
    }

    fn sorted(&self) -> &[&'m RawMember<'a>] {
        self.sorted.get_or_init(|| sorted(self.members))
    }
}

/// The JSON text of the value of the member before or after a place, if it is the one.
fn beside<'a>(
    members: &[RawMember<'a>],
    at: usize,
    is_it: impl Fn(&RawMember<'a>) -> bool,
) -> Option<&'a str> {
    let after = members.get(at + 1).filter(|member| is_it(member));
    let found = after.or_else(|| members.get(at.checked_sub(1)?).filter(|member| is_it(member)));
    found.map(|member| member.value)
}

fn sorted<'m, 'a>(members: &'m [RawMember<'a>]) -> Vec<&'m RawMember<'a>> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_unstable_by(|left, right| by_length(&left.name, &right.name));
    sorted
}

/// Shorter names first: most pairs differ in length, which is quicker to compare than text.
fn by_length(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// Returns the text of a JSON string; `None` when the value is not a string, or not Unicode.
pub(crate) fn text(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(value).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_keep_their_text_and_names_are_read() {
        let members =
            RowMembers::read(r#" {"A":1.50 , "\u0042":"x\n","B@odata.type":"Edm.String"} "#)
                .unwrap();
        assert_eq!(members.get("A"), Some("1.50"));
        assert_eq!(members.get("B"), Some(r#""x\n""#));
        assert_eq!(members.annotation("B"), Some(r#""Edm.String""#));
        assert_eq!(members.annotation("A"), None);
        let by_name = members.by_name();
        assert_eq!(by_name.get("B"), Some(r#""x\n""#));
        assert_eq!(by_name.get("C"), None);
        assert_eq!(
            [0, 1, 2, 3].map(|at| by_name.annotation(at)),
            [None, Some(r#""Edm.String""#), None, None]
        );
        assert_eq!(by_name.annotated(2, "B"), Some(r#""x\n""#));
        assert_eq!(members.duplicate(), None);
    }

    proptest! {
        #[test]
        fn an_annotation_is_found_wherever_it_is(
            texts in Just([
                r#""A":0"#, r#""B":0"#, r#""B@odata.type":1"#, r#""C":0"#, r#""C@odata.type":2"#, r#""BB":0"#,
            ].to_vec()).prop_shuffle(),
        ) {
            let object = format!("{{{}}}", texts.join(","));
            let members = RowMembers::read(&object).unwrap();
            let by_name = members.by_name();
            for (at, member) in by_name.iter() {
                let expected = match member.property() {
                    "B" => Some("1"),
                    "C" => Some("2"),
                    _ => None,
                };
                match member.annotated() {
                    Some(property) => prop_assert_eq!(by_name.annotated(at, property), Some("0")),
                    None => prop_assert_eq!(by_name.annotation(at), expected),
                }
            }
        }
    }

    #[test]
    fn an_annotation_without_its_property_has_no_value() {
        for object in
            [r#"{"A@odata.type":1,"B":0}"#, r#"{"B":0,"B@odata.type":1,"A@odata.type":1}"#]
        {
            let members = RowMembers::read(object).unwrap();
            let by_name = members.by_name();
            let (at, _) = by_name.iter().find(|(_, member)| member.property() == "A").unwrap();
            assert_eq!(by_name.annotated(at, "A"), None, "{object}");
        }
    }

    #[test]
    fn only_one_object_is_a_row() {
        for text in ["", "1", "[]", "{", "{}x", "{\"A\"}", "{} {}", "{\"A\":}"] {
            assert!(RowMembers::read(text).is_err(), "{text}");
        }
        let members = RowMembers::read(r#"{"A":1,"B":2,"A":3}"#).unwrap();
        assert_eq!(members.duplicate(), Some("A"));
    }

    #[test]
    fn half_a_surrogate_pair_is_not_text() {
        assert_eq!(text(r#""\ud83c""#), None);
        assert_eq!(text(r#""\ud83c\udfc3""#).as_deref(), Some("\u{1F3C3}"));
        assert_eq!(text("5"), None);
        assert_eq!(text("\""), None);
    }
}
