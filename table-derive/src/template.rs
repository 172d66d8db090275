//! Key templates: `BIB:{bib:05}__{name}`, the syntax of format strings.

use crate::errors::{Errors, mistake};
use crate::tokens::*;

pub struct Template {
    pub literal: LitStr,
    pub text: String,
    /// The literal before the first placeholder.
    pub start: String,
    pub slots: Vec<Slot>,
    /// Whether it is malformed, so that `slots` is a guess.
    pub broken: bool,
}

/// A placeholder, with the literal after it.
pub struct Slot {
    pub name: String,
    /// The `N` of `:0N`.
    pub digits: Option<usize>,
    pub separator: String,
}

impl Template {
    pub fn parse(literal: LitStr) -> syn::Result<Self> {
        let text = literal.value();
        let mut start = String::new();
        let mut slots: Vec<Slot> = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let literal_after = slots.last_mut().map_or(&mut start, |slot| &mut slot.separator);
            match c {
                '{' | '}' if chars.peek() == Some(&c) => {
                    chars.next();
                    literal_after.push(c);
                }
                '{' => {
                    let mut inside = String::new();
                    let closed = chars.by_ref().any(|c| {
                        inside.push(c);
                        matches!(c, '{' | '}')
                    });
                    if !closed || inside.pop() != Some('}') {
                        return Err(malformed(&literal, "a `{` is not closed"));
                    }
                    slots.push(Slot::parse(&literal, &inside)?);
                }
                '}' => return Err(malformed(&literal, "a `}` has no `{`")),
                _ => literal_after.push(c),
            }
        }
        Ok(Self { literal, text, start, slots, broken: false })
    }

    /// The literals before, between and after the placeholders.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        let separators = self.slots.iter().map(|slot| slot.separator.as_str());
        std::iter::once(self.start.as_str()).chain(separators)
    }

    /// The template, or a guess after an error.
    pub fn parse_or_guess(literal: LitStr, errors: &Errors) -> Self {
        let parsed = Self::parse(literal.clone());
        errors.keep(parsed).unwrap_or_else(|| Self::guess(literal))
    }

    /// The placeholder for a template that the user did not write.
    pub fn missing() -> Self {
        Self::guess(LitStr::new("", Span::call_site()))
    }

    /// A template of the names after each `{`, for the fallback.
    pub fn guess(literal: LitStr) -> Self {
        let text = literal.value();
        let name = |c: char| c.is_alphanumeric() || c == '_';
        let names = text.split('{').skip(1).map(|rest| rest.split(|c| !name(c)).next());
        let slots = names.flatten().filter(|name| !name.is_empty()).map(|name| Slot {
            name: name.to_owned(),
            digits: None,
            separator: String::new(),
        });
        let slots = slots.collect();
        Self { literal, text, start: String::new(), slots, broken: true }
    }
}

impl Slot {
    fn parse(literal: &LitStr, inside: &str) -> syn::Result<Self> {
        let (name, format) =
            inside.split_once(':').map_or((inside, None), |(name, format)| (name, Some(format)));
        if let Some(field) = name.strip_prefix("r#") {
            return Err(
                mistake!(literal => "`{{{inside}}}`: a template names a field without `r#`",
                help: "write `{{{field}}}`"),
            );
        }
        if name.contains('(') {
            return Err(
                mistake!(literal => "`{{{inside}}}`: a template names a component, and has no encoder",
                help: "declare `#[component(x = {inside})]`, and write `{{x}}`"),
            );
        }
        if !is_name(name) {
            return Err(malformed(literal, &format!("`{{{inside}}}` names no field")));
        }
        let digits = format.map(|format| {
            digits(format).ok_or_else(|| {
                mistake!(literal => "`{{{inside}}}` has a format that key templates do not support",
                    help: "write `{{{name}:0N}}` for N digits, such as `{{{name}:05}}`, or `{{{name}}}`")
            })
        });
        Ok(Self { name: name.to_owned(), digits: digits.transpose()?, separator: String::new() })
    }
}

/// Whether it is spelled as a name of Rust, which names of properties are, too.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// The `N` of `0N`.
fn digits(format: &str) -> Option<usize> {
    let number = format.strip_prefix('0')?;
    let plain = !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|digits| plain && (1..=512).contains(digits))
}

fn malformed(literal: &LitStr, wrong: &str) -> syn::Error {
    mistake!(literal => "malformed key template: {wrong}",
        help: "write placeholders as `{{field}}` or `{{field:05}}`, and a literal brace as `{{{{` or `}}}}`")
}
