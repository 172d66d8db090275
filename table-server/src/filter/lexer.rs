//! The tokens of a filter.

use super::FilterError;
use table_orm::azure::protocol::instant;
use table_orm::model::Edm;
use uuid::Uuid;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'t> {
    /// A property's name, an operator or another word.
    Word(&'t str),
    Literal(Edm),
    Open,
    Close,
    /// A character that begins no other token.
    Unknown,
}

/// The tokens of a text, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The position of the next token, in bytes.
    pub(super) fn position(&self) -> usize {
        self.text.len() - self.rest().trim_start().len()
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Returns the next token, and moves past it; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Token<'t>>, FilterError> {
        self.at = self.position();
        let Some(first) = self.rest().chars().next() else { return Ok(None) };
        let token = match first {
            '(' | ')' => {
                self.at += 1;
                if first == '(' { Token::Open } else { Token::Close }
            }
            '\'' => Token::Literal(self.quoted()?.into()),
            '0'..='9' | '-' | '+' | '.' => Token::Literal(self.number()?),
            _ if is_word(first) => self.word()?,
            _ => {
                self.at += first.len_utf8();
                Token::Unknown
            }
        };
        Ok(Some(token))
    }

    /// Reads a text in quotes; a quote in it is doubled.
    fn quoted(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        let mut text = String::new();
        let mut rest = &self.rest()[1..];
        loop {
            let open =
                FilterError::Syntax { at: start, expected: "a text with a quote at its end" };
            let end = rest.find('\'').ok_or(open)?;
            text.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('\'') {
                Some(after) => {
                    text.push('\'');
                    rest = after;
                }
                None => {
                    self.at = self.text.len() - rest.len();
                    return Ok(text);
                }
            }
        }
    }

    /// Reads a number. `L` marks an Int64, and a fraction, an exponent or `D` a Double.
    fn number(&mut self) -> Result<Edm, FilterError> {
        let start = self.at;
        let rest = self.rest();
        if let Some(after) = ["-Infinity", "-INF"].iter().find_map(|word| rest.strip_prefix(word)) {
            self.at = self.text.len() - after.len();
            return Ok(f64::NEG_INFINITY.into());
        }
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        let text = &rest[..rest.find(|c| !part(c)).unwrap_or(rest.len())];
        self.at += text.len();
        let invalid = || FilterError::Literal(start);
        if let Some(digits) = text.strip_suffix(['L', 'l']) {
            return Ok(digits.parse::<i64>().map_err(|_| invalid())?.into());
        }
        let double = text.strip_suffix(['D', 'd', 'F', 'f', 'M', 'm']);
        if double.is_none() && !text.contains(['.', 'e', 'E']) {
            let value: i64 = text.parse().map_err(|_| invalid())?;
            return Ok(i32::try_from(value).map_or_else(|_| value.into(), Edm::from));
        }
        let value: f64 = double.unwrap_or(text).parse().map_err(|_| invalid())?;
        if value.is_finite() { Ok(value.into()) } else { Err(invalid()) }
    }

    fn word(&mut self) -> Result<Token<'t>, FilterError> {
        let (start, rest) = (self.at, self.rest());
        let end = rest.find(|c| !is_word(c) && !c.is_numeric()).unwrap_or(rest.len());
        let word = &rest[..end];
        self.at += end;
        if self.rest().starts_with('\'') {
            let text = self.quoted()?;
            return typed(word, &text).map(Token::Literal).ok_or(FilterError::Literal(start));
        }
        Ok(match word {
            "true" => Token::Literal(true.into()),
            "false" => Token::Literal(false.into()),
            "NaN" => Token::Literal(f64::NAN.into()),
            "Infinity" | "INF" => Token::Literal(f64::INFINITY.into()),
            _ => Token::Word(word),
        })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads a literal such as `guid'..'`.
fn typed(name: &str, text: &str) -> Option<Edm> {
    match &*name.to_ascii_lowercase() {
        "datetime" => instant::parse(text).map(Edm::from),
        "guid" => Uuid::parse_str(text).ok().map(Edm::from),
        "x" | "binary" => hexadecimal(text).map(Edm::from),
        _ => None,
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::try_from(digit(pair[0])? * 16 + digit(*pair.get(1)?)?).ok()).collect()
}
