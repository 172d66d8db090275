//! All members of one row, for lookup by name.

use crate::codec::{RawMember, visit_members};
use crate::model::TYPE_ANNOTATION;
use std::borrow::Cow;
use std::cmp::Ordering;

/// All members of one row, in the order of its text.
#[derive(Debug)]
pub(crate) struct RowMembers<'a>(Vec<RawMember<'a>>);

impl<'a> RowMembers<'a> {
    /// Reads a JSON object.
    pub(crate) fn read(object: &'a str) -> serde_json::Result<Self> {
        let mut members = Vec::with_capacity(16);
        visit_members(object, |member| members.push(member))?;
        Ok(Self(members))
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, RawMember<'a>> {
        self.0.iter()
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

    /// Sorts the members for lookup by name.
    pub(crate) fn by_name(&self) -> ByName<'_, 'a> {
        let mut members: Vec<_> = self.iter().collect();
        members.sort_unstable_by(|left, right| by_length(&left.name, &right.name));
        ByName(members)
    }
}

/// The members of a row in the order of [`by_length`], because a row may have hundreds, each with an
/// annotation.
#[derive(Debug)]
pub(crate) struct ByName<'m, 'a>(Vec<&'m RawMember<'a>>);

impl<'a> ByName<'_, 'a> {
    /// Returns the JSON text of a member's value.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let at = self.0.binary_search_by(|member| by_length(&member.name, name)).ok()?;
        Some(self.0[at].value)
    }

    /// Returns the JSON text of a property's type annotation.
    pub(crate) fn annotation(&self, property: &str) -> Option<&'a str> {
        let length = property.len() + TYPE_ANNOTATION.len();
        let order = |member: &&RawMember<'_>| {
            let name = member.name.as_bytes();
            name.len().cmp(&length).then_with(|| {
                let (head, tail) = name.split_at(property.len());
                head.cmp(property.as_bytes()).then_with(|| tail.cmp(TYPE_ANNOTATION.as_bytes()))
            })
        };
        let at = self.0.binary_search_by(order).ok()?;
        Some(self.0[at].value)
    }

    /// Returns a name that two members have.
    pub(crate) fn duplicate(&self) -> Option<&str> {
        self.0.windows(2).find(|pair| pair[0].name == pair[1].name).map(|pair| &*pair[0].name)
    }
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
        assert_eq!(by_name.annotation("B"), Some(r#""Edm.String""#));
        for other in ["A", "", "B@", "BB", "B@odata.type"] {
            assert_eq!(by_name.annotation(other), None);
        }
        assert_eq!(by_name.duplicate(), None);
    }

    #[test]
    fn only_one_object_is_a_row() {
        for text in ["", "1", "[]", "{", "{}x", "{\"A\"}", "{} {}", "{\"A\":}"] {
            assert!(RowMembers::read(text).is_err(), "{text}");
        }
        let members = RowMembers::read(r#"{"A":1,"B":2,"A":3}"#).unwrap();
        assert_eq!(members.by_name().duplicate(), Some("A"));
    }

    #[test]
    fn half_a_surrogate_pair_is_not_text() {
        assert_eq!(text(r#""\ud83c""#), None);
        assert_eq!(text(r#""\ud83c\udfc3""#).as_deref(), Some("\u{1F3C3}"));
        assert_eq!(text("5"), None);
        assert_eq!(text("\""), None);
    }
}
