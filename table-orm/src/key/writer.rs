//! The text of a key under construction.
//!
//! Invariants: a key has no character that the service forbids (components are checked here,
//! literals by the derive). The literal after a component occurs first where the component ends,
//! so that the key splits back in one way only.

use super::chars::{check_length, forbidden_in, is_forbidden};
use super::{KeyError, KeyFault};
use std::mem;

/// What happens to a text value with characters that a key cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// The value is rejected with a typed error.
    Reject,
    /// The characters are written as `~` and their UTF-8 bytes in hexadecimal, as is `~` itself and
    /// the first character of the separator that follows.
    Encode,
}

/// A key's text under construction.
#[derive(Debug, Clone)]
pub struct KeyText {
    text: String,
    entity: &'static str,
    escape: Escape,
    /// The literal after the component being written; empty when the component's end is known.
    until: &'static str,
    /// The index of the element that the key is written for, where a row is written for each.
    element: usize,
}

impl KeyText {
    /// An empty key of that entity.
    #[must_use]
    pub fn new(entity: &'static str, escape: Escape) -> Self {
        // Long enough for most keys; one allocation for the whole key.
        Self { text: String::with_capacity(64), entity, escape, until: "", element: 0 }
    }

    /// An empty key without an allocation.
    pub(super) const fn empty(entity: &'static str, escape: Escape) -> Self {
        Self { text: String::new(), entity, escape, until: "", element: 0 }
    }

    /// The same key, of the row for the element with that index: `each(label in labels)`.
    pub(crate) const fn for_element(mut self, element: usize) -> Self {
        self.element = element;
        self
    }

    /// The index of the element that the key is written for, in the collection of `each(label in
    /// labels)`.
    #[must_use]
    pub const fn element(&self) -> usize {
        self.element
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
    }

    /// Appends a literal of the template, unchanged.
    #[inline]
    pub fn literal(&mut self, literal: &str) {
        self.text.push_str(literal);
    }

    /// Appends the text that `write` appends, as a component's value before the literal `until`.
    #[inline]
    pub(super) fn component(
        &mut self,
        component: &'static str,
        until: &'static str,
        write: impl FnOnce(&mut Self) -> Result<(), KeyFault>,
    ) -> Result<(), KeyError> {
        let start = self.text.len();
        // A value may write components of its own.
        let outer = mem::replace(&mut self.until, until);
        let written = write(self).and_then(|()| self.check_separator(start, until));
        self.until = outer;
        written.map_err(|fault| self.error(component, start, fault))
    }

    /// Appends text as a component's value, checked and escaped.
    ///
    /// # Errors
    /// When the text has a forbidden character and the entity rejects them:
    /// [`KeyFault::Forbidden`].
    pub fn push_text(&mut self, text: &str) -> Result<(), KeyFault> {
        match self.escape {
            Escape::Reject => {
                self.text.push_str(text);
                match forbidden_in(text) {
                    Some(c) => Err(KeyFault::Forbidden(c)),
                    None => Ok(()),
                }
            }
            Escape::Encode => {
                let separator = self.until.chars().next();
                for c in text.chars() {
                    if is_forbidden(c) || c == '~' || Some(c) == separator {
                        let mut utf8 = [0; 4];
                        for byte in c.encode_utf8(&mut utf8).bytes() {
                            self.text.push('~');
                            self.digit(byte >> 4);
                            self.digit(byte & 15);
                        }
                    } else {
                        self.text.push(c);
                    }
                }
                Ok(())
            }
        }
    }

    /// Appends the start of a text component: escaped, but not compared with the separator.
    pub(crate) fn text_prefix(
        &mut self,
        component: &'static str,
        prefix: &str,
        until: &'static str,
    ) -> Result<(), KeyError> {
        let start = self.text.len();
        self.until = until;
        self.push_text(prefix).map_err(|fault| self.error(component, start, fault))
    }

    /// Appends text that needs no check: ASCII characters that keys can hold.
    #[inline]
    pub(super) fn push_plain(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn digit(&mut self, digit: u8) {
        self.text.push(char::from(b"0123456789ABCDEF"[usize::from(digit & 15)]));
    }

    /// Checks that the separator does not occur before the value ends.
    fn check_separator(&self, start: usize, literal: &'static str) -> Result<(), KeyFault> {
        let until = literal.as_bytes();
        let value = &self.text.as_bytes()[start..];
        let Some(first) = until.first() else { return Ok(()) };
        let found_early = |at: usize| {
            let tail = &value[at..];
            if tail.len() >= until.len() {
                tail.starts_with(until)
            } else {
                // The value ends inside a possible match, which the separator after it may
                // complete.
                until.starts_with(tail) && until.starts_with(&until[tail.len()..])
            }
        };
        if value.iter().enumerate().any(|(at, byte)| byte == first && found_early(at)) {
            return Err(KeyFault::Separator(literal));
        }
        Ok(())
    }

    fn error(&mut self, component: &'static str, start: usize, fault: KeyFault) -> KeyError {
        let value = self.text.split_off(start);
        KeyError { entity: self.entity, component, value, fault }
    }

    /// The finished text.
    ///
    /// # Errors
    /// When the key is longer than 512 UTF-16 units: [`KeyFault::TooLong`].
    pub fn finish(self) -> Result<String, KeyError> {
        match check_length(&self.text) {
            Ok(()) => Ok(self.text),
            Err(fault) => {
                Err(KeyError { entity: self.entity, component: "", value: self.text, fault })
            }
        }
    }

    /// The text so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) const fn entity(&self) -> &'static str {
        self.entity
    }

    /// Whether what was written from `start` on could run into the separator `until`.
    pub(crate) fn touches(&self, start: usize, until: &str) -> bool {
        let value = &self.text[start..];
        value.contains(until)
            || until.char_indices().skip(1).any(|(at, _)| value.ends_with(&until[..at]))
    }
}
