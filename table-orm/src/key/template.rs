//! A key template as data: which keys it writes, and where their components are.
//!
//! Invariant: a template [takes](KeyTemplate::takes) every key that it writes.

use super::coding::Coding;
use super::shape::units;
use super::{Escape, Shape};
use crate::model::MAX_KEY_UNITS;

/// A component of a key template, and the literal after it.
#[derive(Debug, Clone, Copy)]
pub struct TemplatePart {
    /// The component's name.
    pub name: &'static str,
    /// The texts that its values can have.
    pub shape: Shape,
    /// The literal after it.
    pub separator: &'static str,
    /// The most UTF-16 units of its text, if its field has a limit.
    pub max: Option<usize>,
    /// The field from which it is written; empty where a function of the app writes it.
    pub(crate) field: &'static str,
    /// How it is written.
    pub(crate) coding: Coding,
}

impl TemplatePart {
    /// A component with the literal `separator` after it, written as the value of the field of that name.
    #[must_use]
    pub const fn new(name: &'static str, shape: Shape, separator: &'static str) -> Self {
        Self { name, shape, separator, max: None, field: name, coding: Coding::Value }
    }

    /// Returns the same component, whose field limits its text to that many UTF-16 units.
    #[must_use]
    pub const fn max(mut self, units: usize) -> Self {
        self.max = Some(units);
        self
    }

    /// How a component that is no field is written: two encoders may write texts of one shape.
    pub(crate) fn encoder(&self) -> Option<String> {
        Some(match self.coding {
            Coding::Value if self.field == self.name => return None,
            Coding::Value => "ascending".to_owned(),
            Coding::Computed => "function of the app".to_owned(),
            Coding::Reversed => "descending".to_owned(),
            Coding::ReversedDigits => "descending digits".to_owned(),
            Coding::Lower => "lower case".to_owned(),
            Coding::Shard(shards, ..) => format!("shard of {shards}"),
            Coding::Spread => "spread".to_owned(),
        })
    }

    /// Whether no text of it starts another, or a literal ends it.
    pub(crate) const fn has_end(&self) -> bool {
        !self.separator.is_empty()
            || self.shape.fixed().is_some()
            || matches!(self.shape, Shape::OneOf(_) | Shape::Char)
    }

    /// Whether the texts sort as the values do in the keys of a template, of which this is the `last` component or not.
    /// Those of a shard follow from the values, and do not sort as these do.
    pub(crate) fn sorts(&self, last: bool, escape: Escape) -> bool {
        !self.is_shard() && self.shape.sorts(last && self.separator.is_empty(), escape)
    }

    const fn most_units(&self) -> Option<usize> {
        match (self.max, self.shape.most_units()) {
            (Some(max), Some(units)) if units < max => Some(units),
            (Some(max), _) => Some(max),
            (None, units) => units,
        }
    }

    /// The component's text at the start of `key`, and the rest after the separator.
    fn split<'k>(&self, key: &'k str) -> Option<(&'k str, &'k str)> {
        match self.shape.fixed() {
            Some(width) => {
                let (text, rest) = key.split_at_checked(width)?;
                Some((text, without(self.separator, rest)?))
            }
            None if self.separator.is_empty() => Some((key, "")),
            None => key.split_once(self.separator),
        }
    }
}

/// The text after a literal.
fn without<'k>(literal: &str, text: &'k str) -> Option<&'k str> {
    if literal.is_empty() { Some(text) } else { text.strip_prefix(literal) }
}

/// A key template: a literal, then components with a literal after each.
#[derive(Debug, Clone, Copy)]
pub struct KeyTemplate<'t> {
    /// The literal that every key starts with.
    pub start: &'t str,
    /// The components.
    pub parts: &'t [TemplatePart],
}

impl<'t> KeyTemplate<'t> {
    /// The key of a single text.
    #[must_use]
    pub const fn literal(start: &'t str) -> Self {
        Self { start, parts: &[] }
    }

    /// Returns the same start with these components after it. Does not compile over 512 UTF-16 units, or
    /// where a component has no end.
    #[must_use]
    #[track_caller]
    pub const fn parts(self, parts: &'t [TemplatePart]) -> Self {
        Self { parts, ..self }.checked()
    }

    /// The most UTF-16 units of a key; `None` where a component is text without a limit, or escaped,
    /// whose keys are checked as they are written.
    #[must_use]
    pub const fn longest(&self) -> Option<usize> {
        let (units, bounded) = self.known_units();
        if bounded { Some(units) } else { None }
    }

    /// The units of the components with a bound, and whether these are all.
    const fn known_units(&self) -> (usize, bool) {
        let (mut all, mut bounded, mut at) = (units(self.start), true, 0);
        while at < self.parts.len() {
            all += units(self.parts[at].separator);
            match self.parts[at].most_units() {
                Some(units) => all += units,
                None => bounded = false,
            }
            at += 1;
        }
        (all, bounded)
    }

    /// No fewer than its known units. The compiler need not count the characters of literals for it.
    const fn most_bytes(&self) -> usize {
        let (mut all, mut at) = (self.start.len(), 0);
        while at < self.parts.len() {
            let part = &self.parts[at];
            all += part.separator.len();
            if let Some(units) = part.most_units() {
                all += units;
            }
            at += 1;
        }
        all
    }

    /// Returns the same template, if the service accepts all keys of it and shows where each component ends.
    #[must_use]
    #[track_caller]
    pub const fn checked(self) -> Self {
        assert!(
            self.most_bytes() <= MAX_KEY_UNITS || self.known_units().0 <= MAX_KEY_UNITS,
            "this template writes keys of more than 512 UTF-16 units; shorten its components or \
             literals"
        );
        let mut at = 1;
        while at < self.parts.len() {
            let TemplatePart { shape, separator, .. } = &self.parts[at - 1];
            assert!(
                !separator.is_empty() || shape.fixed().is_some(),
                "two components need a literal between them unless the first is of fixed width; \
                 write a separator such as `__` between them"
            );
            at += 1;
        }
        self
    }

    /// A component, and the key from its text on; `None` where the key has another form before it.
    pub(crate) fn component<'k>(
        &self,
        at: usize,
        key: &'k str,
    ) -> Option<(&TemplatePart, &'k str)> {
        let (before, part) = (self.parts.get(..at)?, self.parts.get(at)?);
        let rest = key.strip_prefix(self.start);
        let rest =
            before.iter().try_fold(rest?, |rest, part| part.split(rest).map(|(_, rest)| rest));
        Some((part, rest?))
    }

    /// The texts of the components in a key of the template, up to the first that it does not have.
    pub(crate) fn texts<'k>(&self, key: &'k str) -> impl Iterator<Item = &'k str> + use<'k, 't> {
        let mut rest = key.strip_prefix(self.start);
        self.parts.iter().map_while(move |part| {
            let (text, behind) = part.split(rest?)?;
            rest = Some(behind);
            Some(text)
        })
    }

    /// The text of that component in a key; `None` where the key has another form before it.
    pub(crate) fn text<'k>(&self, at: usize, key: &'k str) -> Option<&'k str> {
        let (part, key) = self.component(at, key)?;
        part.split(key).map(|(text, _)| text)
    }

    /// The first component whose text does not sort as its values do in the range of these keys. Components that
    /// both keys have in common need not sort.
    pub(crate) fn unsorted(
        &self,
        start: Option<&str>,
        end: Option<&str>,
        escape: Escape,
    ) -> Option<&TemplatePart> {
        let common = start.zip(end).map_or(0, |(start, end)| {
            let pairs = self.texts(start).zip(self.texts(end));
            pairs.take_while(|(start, end)| start == end).count()
        });
        let last = self.parts.len().checked_sub(1)?;
        let mut rest = self.parts.iter().enumerate().skip(common);
        rest.find_map(|(at, part)| (!part.sorts(at == last, escape)).then_some(part))
    }

    /// Returns whether a key reads to its end as this template, each component in its shape.
    ///
    /// The text of a component without a fixed width ends where the literal after it occurs first:
    /// no value contains it.
    #[must_use]
    pub fn takes(&self, key: &str, escape: Escape) -> bool {
        let Some(mut rest) = without(self.start, key) else { return false };
        for part in self.parts {
            match part.split(rest) {
                Some((text, behind)) if part.shape.takes(text, escape) => rest = behind,
                _ => return false,
            }
        }
        rest.is_empty()
    }
}
