//! The keys of a type, from a text of the lock.

use super::describe::CODES;
use super::text::Item;
use crate::key::{Escape, Shape, TextShape, TextTemplate, TextTemplateFault};

impl Item {
    /// The template of the item, each component in the shape that the item states first.
    pub fn template(&self, template: &str) -> Result<TextTemplate, TextTemplateFault> {
        TextTemplate::parse(template, |component| self.shapes(component).next()?)
    }

    /// The template of the partitions of an `eventual` row, whose components the item states last: the row may have
    /// them in another shape.
    pub fn partition_template(&self, template: &str) -> Result<TextTemplate, TextTemplateFault> {
        TextTemplate::parse(template, |component| self.shapes(component).next_back()?)
    }

    /// What is known of each shape of a component.
    fn shapes(&self, component: &str) -> impl DoubleEndedIterator<Item = Option<TextShape>> {
        let label = format!("component {component}");
        let stated = self.facts.iter().filter(move |(other, _)| *other == label);
        stated.map(|(_, text)| shape(text))
    }

    /// How text in keys is escaped, if the item is that of the keys.
    pub fn escape(&self) -> Escape {
        match self.get("escape") {
            Some("encode") => Escape::Encode,
            _ => Escape::Reject,
        }
    }
}

/// The texts of a component, as `describe` writes them; `None` for what it does not say.
fn shape(text: &str) -> Option<TextShape> {
    let number = |text: &str| text.parse().ok();
    if let Some(digits) = text.strip_prefix("number of up to ") {
        return number(digits.strip_suffix(" digits")?).map(|most| Shape::Number(most).into());
    }
    if let Some(digits) = text.strip_suffix(" digits") {
        return number(digits).map(|digits| Shape::Digits(digits).into());
    }
    if let Some(pattern) = text.strip_prefix("pattern ") {
        return Some(TextShape::Pattern(pattern.to_owned()));
    }
    if let Some(codes) = text.strip_prefix(CODES) {
        return codes_of(codes).map(TextShape::Codes);
    }
    let own = text.strip_prefix("of the app, ").and_then(|text| text.strip_suffix(" units"));
    match (text, own) {
        ("character", _) => Some(Shape::Char.into()),
        // "up to N units" is no number.
        (_, Some(units)) => number(units).map(TextShape::Width),
        _ => None,
    }
}

/// Codes, each in quotes; `None` where one has an escape.
fn codes_of(text: &str) -> Option<Vec<String>> {
    let codes = text.strip_prefix('"')?.strip_suffix('"')?;
    let all = || codes.split("\" \"").map(str::to_owned);
    (!codes.contains('\\')).then(|| all().collect())
}
