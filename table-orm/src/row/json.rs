//! The JSON of rows and pages, read from left to right.
//!
//! Invariant: what is read is JSON, and what `serde_json` would read. It reads the values; only
//! punctuation, and strings that have no escapes, are read here.

use crate::property::RowFault;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny};
use serde_json::{Deserializer, Error};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

type Result<T, E = Error> = std::result::Result<T, E>;

/// What is left to read of a text.
#[derive(Debug)]
pub(super) struct Json<'de> {
    pub rest: &'de str,
}

impl<'de> Json<'de> {
    /// A text, checked to be UTF-8 as a whole, which costs less than string by string.
    pub fn new(json: &'de [u8]) -> Result<Self> {
        str::from_utf8(json).map(|rest| Self { rest }).map_err(Error::custom)
    }

    /// Takes a value.
    pub fn value<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        let mut reader = Deserializer::from_str(self.rest);
        let value = seed.deserialize(&mut reader)?;
        let length = reader.into_iter::<IgnoredAny>().byte_offset();
        self.rest = &self.rest[length..];
        Ok(value)
    }

    /// Takes a string: a slice of the text, where it has no escapes.
    pub fn text(&mut self) -> Result<Cow<'de, str>> {
        match self.plain("\"", "\"") {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.value(PhantomData),
        }
    }

    /// Takes a string without escapes, together with the quotes and what else is expected around it.
    #[inline(always)]
    fn plain(&mut self, start: &str, end: &str) -> Option<&'de str> {
        let text = self.rest.strip_prefix(start)?;
        let length = text.bytes().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '))?;
        let (text, rest) = text.split_at(length);
        self.rest = rest.strip_prefix(end)?;
        Some(text)
    }

    /// Takes a value that nothing is done with.
    pub fn ignore(&mut self) -> Result<()> {
        self.value(PhantomData::<IgnoredAny>).map(drop)
    }

    /// Takes the name of an object's next member, as far as its value; `None` at the object's end.
    pub fn name(&mut self, is_first: bool) -> Result<Option<Cow<'de, str>>> {
        let plain = if is_first { self.plain("{\"", "\":") } else { self.plain(",\"", "\":") };
        plain.map_or_else(|| self.other_name(is_first), |name| Ok(Some(Cow::Borrowed(name))))
    }

    /// The same where there are spaces or escapes, or where no name comes next.
    fn other_name(&mut self, is_first: bool) -> Result<Option<Cow<'de, str>>> {
        if is_first {
            self.expect(b'{')?;
        }
        if self.take(b'}') {
            return Ok(None);
        }
        if !is_first {
            self.expect(b',')?;
        }
        if self.next() != Some(b'"') {
            return Err(self.unexpected("a name"));
        }
        let name = self.text()?;
        self.expect(b':')?;
        Ok(Some(name))
    }

    /// Takes an array, element by element.
    pub fn array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), RowFault>,
    ) -> Result<(), RowFault> {
        self.expect(b'[')?;
        if self.take(b']') {
            return Ok(());
        }
        element(self)?;
        while self.take(b',') {
            element(self)?;
        }
        Ok(self.expect(b']')?)
    }

    /// Takes the end.
    pub fn end(&mut self) -> Result<()> {
        if self.next().is_none() { Ok(()) } else { Err(self.unexpected("the end")) }
    }

    /// The next byte that is no space.
    fn next(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.rest.bytes().next() {
            self.rest = &self.rest[1..];
        }
        self.rest.bytes().next()
    }

    fn take(&mut self, mark: u8) -> bool {
        let is_next = self.next() == Some(mark);
        if is_next {
            self.rest = &self.rest[1..];
        }
        is_next
    }

    fn expect(&mut self, mark: u8) -> Result<()> {
        if self.take(mark) {
            Ok(())
        } else {
            Err(self.unexpected(format_args!("`{}`", char::from(mark))))
        }
    }

    #[cold]
    fn unexpected(&self, expected: impl fmt::Display) -> Error {
        match self.rest.chars().next() {
            Some(found) => Error::custom(format_args!("expected {expected}, found `{found}`")),
            None => Error::custom(format_args!("expected {expected}, found the end")),
        }
    }
}
