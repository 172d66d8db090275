//! The placeholders of a key template, and whether the text of one is told by that of another.

use crate::key::{Shape, TemplatePart};

/// A placeholder of a template: what it says, and the texts that it writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placeholder<'t> {
    /// The text between its braces, such as `n:08`.
    pub text: &'t str,
    pub part: &'t TemplatePart,
}

impl<'t> Placeholder<'t> {
    /// The placeholder of that index.
    pub const fn of(template: &'t str, parts: &'t [TemplatePart], index: usize) -> Self {
        Self { text: between_braces(template, index), part: &parts[index] }
    }

    /// Whether its text is a number in decimal digits.
    pub const fn is_decimal(&self) -> bool {
        let padded = self.text.len() > self.part.name.len();
        match self.part.shape {
            Shape::Number(_) => !padded,
            Shape::Digits(_) => padded,
            _ => false,
        }
    }

    /// Whether the text of `other`, of the same field, says the text of this one.
    pub const fn is_told_by(&self, other: &Self) -> bool {
        same(self.part.name, other.part.name)
            && (self.is_decimal() && other.is_decimal()
                || same(self.text, other.text) && same_shape(self.part.shape, other.part.shape))
    }

    /// The text of this placeholder for the value that `other` writes as `text`; `None` where it has none.
    pub fn text_for(&self, other: &Self, text: &str) -> Option<String> {
        if !(self.is_decimal() && other.is_decimal()) {
            return Some(text.to_owned());
        }
        let digits = match text.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        };
        match self.part.shape {
            Shape::Digits(width) if digits.len() <= width => Some(format!("{digits:0>width$}")),
            Shape::Number(width) if digits.len() <= width => Some(digits.to_owned()),
            _ => None,
        }
    }
}

/// Whether two texts are the same, as a constant.
pub(super) const fn same(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut at = 0;
    while at < left.len() && at < right.len() && left[at] == right[at] {
        at += 1;
    }
    at == left.len() && at == right.len()
}

const fn same_shape(left: Shape, right: Shape) -> bool {
    match (left, right) {
        (Shape::Digits(left), Shape::Digits(right))
        | (Shape::Number(left), Shape::Number(right)) => left == right,
        (Shape::Pattern(left), Shape::Pattern(right)) => same(left, right),
        (Shape::OneOf(left), Shape::OneOf(right)) => {
            let mut at = 0;
            while at < left.len() && at < right.len() && same(left[at], right[at]) {
                at += 1;
            }
            at == left.len() && at == right.len()
        }
        // Only the type knows its texts. The conversion is compared as entities are read and written.
        (Shape::Own(..), Shape::Own(..)) => true,
        (Shape::Char, Shape::Char) | (Shape::Text, Shape::Text) => true,
        _ => false,
    }
}

/// The text between the braces of that index. Two braces are one of the literal.
const fn between_braces(template: &str, index: usize) -> &str {
    let bytes = template.as_bytes();
    let (mut at, mut left) = (0, index);
    while at < bytes.len() {
        let twice = at + 1 < bytes.len() && bytes[at] == bytes[at + 1];
        match bytes[at] {
            b'{' | b'}' if twice => at += 1,
            b'{' if left == 0 => {
                let mut end = at + 1;
                while end < bytes.len() && bytes[end] != b'}' {
                    end += 1;
                }
                return template.split_at(end).0.split_at(at + 1).1;
            }
            b'{' => left -= 1,
            _ => {}
        }
        at += 1;
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_between_single_braces() {
        let text = |index| between_braces("A{{{shop}}}__{n:08}{{", index);
        assert_eq!([text(0), text(1), text(2)], ["shop", "n:08", ""]);
    }

    #[test]
    fn a_number_is_written_in_the_width_of_the_other_template_if_it_fits() {
        let part = |shape| TemplatePart::new("n", shape, "");
        let (digits, number) = (part(Shape::Digits(3)), part(Shape::Number(10)));
        let padded = Placeholder { text: "n:03", part: &digits };
        let plain = Placeholder { text: "n", part: &number };
        assert!(padded.is_told_by(&plain) && plain.is_told_by(&padded));
        assert_eq!(padded.text_for(&plain, "42").as_deref(), Some("042"));
        assert_eq!(padded.text_for(&plain, "0").as_deref(), Some("000"));
        assert_eq!(plain.text_for(&padded, "000").as_deref(), Some("0"));
        assert_eq!(padded.text_for(&plain, "1000"), None);
    }
}
