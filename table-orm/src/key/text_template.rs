//! A key template that is known as text, such as one of an earlier version of a type.
//!
//! Invariant: it takes every key that the template wrote, and only keys with its literals.

use super::shape::fits;
use super::{Escape, KeyTemplate, Shape};

/// A template as it was declared, such as `STATE:{state}__{bib:05}`.
#[derive(Debug, Clone)]
pub(crate) struct TextTemplate {
    /// The literal that every key starts with.
    pub start: String,
    parts: Vec<TextTemplatePart>,
}

/// A component, and the literal after it.
#[derive(Debug, Clone)]
struct TextTemplatePart {
    name: String,
    shape: TextShape,
    separator: String,
}

/// What is known of a component's texts.
#[derive(Debug, Clone)]
pub(crate) enum TextShape {
    Known(Shape),
    Codes(Vec<String>),
    Pattern(String),
    /// Any text of that many ASCII characters.
    Width(usize),
}

impl TextShape {
    /// The bytes of every text, if all are ASCII and equally long.
    fn fixed(&self) -> Option<usize> {
        match self {
            Self::Known(shape) => shape.fixed(),
            Self::Width(width) => Some(*width),
            Self::Pattern(pattern) => Some(pattern.len()),
            Self::Codes(codes) => {
                let first = codes.first()?.len();
                codes.iter().all(|code| code.is_ascii() && code.len() == first).then_some(first)
            }
        }
    }

    fn takes(&self, text: &str, escape: Escape) -> bool {
        match self {
            Self::Known(shape) => shape.takes(text, escape),
            Self::Width(width) => text.len() == *width && text.is_ascii(),
            Self::Codes(codes) => codes.iter().any(|code| code == text),
            Self::Pattern(pattern) => {
                let bytes = || pattern.bytes().zip(text.bytes());
                text.len() == pattern.len() && bytes().all(|(symbol, byte)| fits(symbol, byte))
            }
        }
    }
}

impl From<Shape> for TextShape {
    fn from(shape: Shape) -> Self {
        Self::Known(shape)
    }
}

/// Why a text is no template that keys can be read by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TextTemplateFault {
    #[error("it is not a key template")]
    Malformed,
    #[error(
        "the width of its component `{0}` is unknown, and no literal after it shows where it ends"
    )]
    NoEnd(String),
}

impl TextTemplate {
    /// Reads a template in the syntax of `#[row(key = "..")]`. Of a component it knows the digits of `{name:05}`;
    /// `shape` may know more.
    pub fn parse(
        template: &str,
        shape: impl Fn(&str) -> Option<TextShape>,
    ) -> Result<Self, TextTemplateFault> {
        let mut key = Self { start: String::new(), parts: Vec::new() };
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            key.literal().push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix(brace) {
                key.literal().push_str(brace);
                rest = behind;
            } else {
                let inside = rest.split_once('}').filter(|_| brace == "{");
                let (inside, behind) = inside.ok_or(TextTemplateFault::Malformed)?;
                key.parts.push(TextTemplatePart::parse(inside, &shape)?);
                rest = behind;
            }
        }
        key.literal().push_str(rest);
        let last = key.parts.len().saturating_sub(1);
        let mut open = key.parts.iter().take(last).filter(|part| part.separator.is_empty());
        match open.find(|part| part.shape.fixed().is_none()) {
            Some(part) => Err(TextTemplateFault::NoEnd(part.name.clone())),
            None => Ok(key),
        }
    }

    /// The names of its components.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| &*part.name)
    }

    /// The literal after what was read so far.
    fn literal(&mut self) -> &mut String {
        match self.parts.last_mut() {
            Some(part) => &mut part.separator,
            None => &mut self.start,
        }
    }

    /// The texts of the components in a key of the template, up to the first that it does not have.
    pub fn texts<'k>(&self, key: &'k str) -> impl Iterator<Item = &'k str> {
        let mut rest = key.strip_prefix(&*self.start);
        self.parts.iter().map_while(move |part| {
            let (text, behind) = part.split(rest?)?;
            rest = Some(behind);
            Some(text)
        })
    }

    /// Whether a key reads to its end as the template, as far as it is known.
    pub fn takes(&self, key: &str, escape: Escape) -> bool {
        let Some(mut rest) = key.strip_prefix(&*self.start) else { return false };
        for part in &self.parts {
            match part.split(rest) {
                Some((text, behind)) if part.shape.takes(text, escape) => rest = behind,
                _ => return false,
            }
        }
        rest.is_empty()
    }
}

impl From<KeyTemplate<'static>> for TextTemplate {
    fn from(template: KeyTemplate<'static>) -> Self {
        let part = |part: &super::TemplatePart| TextTemplatePart {
            name: part.name.to_owned(),
            shape: TextShape::Known(part.shape),
            separator: part.separator.to_owned(),
        };
        Self { start: template.start.to_owned(), parts: template.parts.iter().map(part).collect() }
    }
}

impl TextTemplatePart {
    /// A component as it is written between braces.
    fn parse(
        inside: &str,
        shape: &impl Fn(&str) -> Option<TextShape>,
    ) -> Result<Self, TextTemplateFault> {
        let (name, format) = match inside.split_once(':') {
            Some((name, format)) => (name, Some(format)),
            None => (inside, None),
        };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let digits = format.map(|format| format.strip_prefix('0')?.parse().ok());
        let stated = match digits {
            _ if !is_name => return Err(TextTemplateFault::Malformed),
            Some(None) => return Err(TextTemplateFault::Malformed),
            Some(Some(digits)) => TextShape::Known(Shape::Digits(digits)),
            None => TextShape::Known(Shape::Text),
        };
        let shape = shape(name).unwrap_or(stated);
        Ok(Self { name: name.to_owned(), shape, separator: String::new() })
    }

    /// The component's text at the start of `key`, and the rest after the literal.
    fn split<'k>(&self, key: &'k str) -> Option<(&'k str, &'k str)> {
        match self.shape.fixed() {
            Some(width) => {
                let (text, rest) = key.split_at_checked(width)?;
                Some((text, rest.strip_prefix(&*self.separator)?))
            }
            None if self.separator.is_empty() => Some((key, "")),
            None => key.split_once(&*self.separator),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::TemplatePart;
    use proptest::prelude::*;

    fn parse(template: &str) -> Result<TextTemplate, TextTemplateFault> {
        TextTemplate::parse(template, |_| None)
    }

    #[test]
    fn a_text_takes_the_keys_that_its_template_wrote_and_no_key_with_other_literals() {
        let key = parse("STATE:{state}__{bib:05}").unwrap();
        for own in ["STATE:MA__00007", "STATE:__00007"] {
            assert!(key.takes(own, Escape::Reject), "{own}");
        }
        for other in
            ["STATE:MA__7", "STATE:MA__000070", "STATE:MA_00007", "STAT:MA__00007", "STATE:MA"]
        {
            assert!(!key.takes(other, Escape::Reject), "{other}");
        }
        let key = parse("{{{a:02}{b}}}").unwrap();
        assert!(key.takes("{07x}", Escape::Reject) && !key.takes("{7x}", Escape::Reject));
        assert!(parse("ALL").unwrap().takes("ALL", Escape::Reject));
    }

    #[test]
    fn a_text_that_no_key_can_be_read_by_is_refused() {
        for broken in ["{", "}", "A{b", "A}b", "{}", "{a b}", "{a:5}", "{a:0x}", "{a:{b}}"] {
            assert_eq!(parse(broken).err(), Some(TextTemplateFault::Malformed), "{broken}");
        }
        assert_eq!(parse("{day}{hour:02}").err(), Some(TextTemplateFault::NoEnd("day".into())));
        let day = |name: &str| (name == "day").then_some(TextShape::Width(10));
        let key = TextTemplate::parse("{day}{hour:02}", day).unwrap();
        assert!(key.takes("2026-11-2307", Escape::Reject));
    }

    #[test]
    fn stated_shapes_narrow_the_keys_of_a_text() {
        let shape = |name: &str| match name {
            "sex" => Some(TextShape::Codes(vec!["M".into(), "F".into()])),
            _ => Some(TextShape::Pattern("0x".into())),
        };
        let key = TextTemplate::parse("{sex}{id}", shape).unwrap();
        for (text, taken) in [("M1a", true), ("X1a", false), ("M1g", false), ("M1", false)] {
            assert_eq!(key.takes(text, Escape::Reject), taken, "{text}");
        }
    }

    proptest! {
        /// What a template takes, its text takes; with the shapes of its components, the same keys.
        #[test]
        fn a_text_is_never_narrower_than_its_template(key in "A:[0-9a-c_]{0,9}") {
            const PARTS: &[TemplatePart] = &[
                TemplatePart::new("code", Shape::OneOf(&["a", "bb"]), "_"),
                TemplatePart::new("number", Shape::Number(3), "__"),
                TemplatePart::new("digits", Shape::Digits(2), ""),
            ];
            let template = KeyTemplate::literal("A:").parts(PARTS);
            let taken = template.takes(&key, Escape::Reject);
            prop_assert_eq!(TextTemplate::from(template).takes(&key, Escape::Reject), taken);
            let text = parse("A:{code}_{number}__{digits:02}").unwrap();
            prop_assert!(!taken || text.takes(&key, Escape::Reject));
        }
    }
}
