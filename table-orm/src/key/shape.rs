//! What text a component can have, so that a stored key shows which template wrote it.

use super::Escape;
use super::chars::unescape;

/// The length of a component's text, in UTF-16 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Always that long, and ASCII.
    Fixed(usize),
    /// At most that long.
    UpTo(usize),
    /// As long as the value.
    Unbounded,
}

impl Width {
    /// Returns whether every value's text has the same length.
    #[must_use]
    pub const fn is_fixed(self) -> bool {
        matches!(self, Self::Fixed(_))
    }
}

/// The texts that the values of a component can have.
///
/// A stored row belongs to a type when its RowKey has the literals of one of the type's templates,
/// and between them components of these shapes.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Shape {
    /// Exactly that many digits.
    Digits(usize),
    /// A number of at most that many digits, without leading zeros.
    Number(usize),
    /// Text of a pattern: `0` stands for a digit, `7` for a digit up to 7, `x` for a hexadecimal
    /// digit in lower case, `A` for a character of Crockford's base 32. Every other character
    /// stands for itself. All are ASCII.
    Pattern(&'static str),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// One character.
    Char,
    /// Any text.
    Text,
    /// Text of that width that the function accepts.
    Own(Width, fn(&str) -> bool),
}

impl Shape {
    /// The bytes of every text, if all are ASCII and equally long.
    #[must_use]
    pub const fn fixed(self) -> Option<usize> {
        match self {
            Self::Digits(width) | Self::Own(Width::Fixed(width), _) => Some(width),
            Self::Pattern(pattern) => Some(pattern.len()),
            Self::OneOf(texts) => common_length(texts),
            _ => None,
        }
    }

    /// The most UTF-16 units of a text; `None` without a bound.
    #[must_use]
    pub const fn most_units(self) -> Option<usize> {
        match self {
            Self::Digits(width) | Self::Number(width) => Some(width),
            Self::Own(Width::Fixed(width) | Width::UpTo(width), _) => Some(width),
            Self::Pattern(pattern) => Some(pattern.len()),
            Self::OneOf(texts) => {
                let (mut most, mut at) = (0, 0);
                while at < texts.len() {
                    let units = units(texts[at]);
                    most = if units > most { units } else { most };
                    at += 1;
                }
                Some(most)
            }
            Self::Char => Some(2),
            Self::Text | Self::Own(Width::Unbounded, _) => None,
        }
    }

    /// Returns whether every text starts with a digit.
    #[must_use]
    pub fn starts_with_digit(self) -> bool {
        match self {
            Self::Digits(width) => width > 0,
            Self::Number(_) => true,
            Self::Pattern(pattern) => pattern.starts_with(['0', '7']),
            _ => false,
        }
    }

    /// Whether the texts sort as the values do. Texts of any length do only at the end of a key, as the `last`.
    pub(crate) fn sorts(self, last: bool, escape: Escape) -> bool {
        match self {
            Self::Number(_) => false,
            Self::OneOf(codes) => codes.is_sorted(),
            Self::Text | Self::Char => last && matches!(escape, Escape::Reject),
            _ => true,
        }
    }

    /// Returns whether a component can have that text in a key with this treatment of text.
    #[must_use]
    pub fn takes(self, text: &str, escape: Escape) -> bool {
        match self {
            Self::Digits(width) => text.len() == width && is_digits(text),
            Self::Number(width) => {
                let digits = 1..=width;
                digits.contains(&text.len())
                    && is_digits(text)
                    && (text.len() == 1 || !text.starts_with('0'))
            }
            Self::Pattern(pattern) => {
                let fits = |(symbol, byte): (u8, u8)| fits(symbol, byte);
                text.len() == pattern.len() && pattern.bytes().zip(text.bytes()).all(fits)
            }
            Self::OneOf(texts) => texts.contains(&text),
            Self::Char => {
                unescaped(text, escape, |text| text.chars().nth(1).is_none() && !text.is_empty())
            }
            Self::Text => true,
            Self::Own(_, accepts) => unescaped(text, escape, accepts),
        }
    }
}

/// The length of all texts, if they are ASCII and equally long.
const fn common_length(texts: &[&str]) -> Option<usize> {
    let mut at = 0;
    while at < texts.len() {
        if !texts[at].is_ascii() || texts[at].len() != texts[0].len() {
            return None;
        }
        at += 1;
    }
    if texts.is_empty() { None } else { Some(texts[0].len()) }
}

/// The UTF-16 units of a text.
pub(super) const fn units(text: &str) -> usize {
    let (mut units, mut at) = (0, 0);
    while at < text.len() {
        units += match text.as_bytes()[at] {
            // Goes on with a character.
            0x80..0xC0 => 0,
            0xF0.. => 2,
            _ => 1,
        };
        at += 1;
    }
    units
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether `accepts` holds for the text without its escapes.
fn unescaped(text: &str, escape: Escape, accepts: impl Fn(&str) -> bool) -> bool {
    match escape {
        Escape::Encode if text.contains('~') => unescape(text).is_some_and(|text| accepts(&text)),
        _ => accepts(text),
    }
}

/// Whether a symbol of a pattern stands for that byte.
pub(super) const fn fits(symbol: u8, byte: u8) -> bool {
    match symbol {
        b'0' => byte.is_ascii_digit(),
        b'7' => matches!(byte, b'0'..=b'7'),
        b'x' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        b'A' => {
            byte.is_ascii_digit()
                || byte.is_ascii_uppercase() && !matches!(byte, b'I' | b'L' | b'O' | b'U')
        }
        _ => symbol == byte,
    }
}
