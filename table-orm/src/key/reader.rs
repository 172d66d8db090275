//! Splits a stored key back into its components.
//!
//! Invariant: a component is read only from the text that its encoder writes for the value.

use super::chars::unescape;
use super::{Escape, KeyError, KeyFault, KeyPart, KeyText, Width};
use std::borrow::Cow;
use std::marker::PhantomData;

/// A reader of a stored key, from left to right along its template.
#[derive(Debug)]
pub struct KeyReader<'a> {
    entity: &'static str,
    key: &'a str,
    rest: &'a str,
    escape: Escape,
    /// A buffer in which each value is written again, to compare it with the stored text.
    written: KeyText,
}

impl<'a> KeyReader<'a> {
    /// A reader at the start of a key of that entity.
    #[must_use]
    pub const fn new(entity: &'static str, escape: Escape, key: &'a str) -> Self {
        Self { entity, key, rest: key, escape, written: KeyText::empty(entity, escape) }
    }

    /// Reads a literal of the template.
    ///
    /// # Errors
    /// When the key continues with other text: [`KeyFault::Malformed`].
    pub fn literal(&mut self, literal: &str) -> Result<(), KeyError> {
        self.rest = self.rest.strip_prefix(literal).ok_or_else(|| self.malformed("", self.key))?;
        Ok(())
    }

    /// Reads a component that ends before the literal `until`, or with the key when that is empty.
    ///
    /// # Errors
    /// When the component does not write such text: [`KeyFault::Malformed`].
    pub fn part<X, T: KeyPart<X>>(
        &mut self,
        component: &'static str,
        until: &'static str,
    ) -> Result<T, KeyError> {
        let end = match T::WIDTH {
            Width::Fixed(width) => Some(width),
            _ if until.is_empty() => Some(self.rest.len()),
            _ => self.rest.find(until),
        };
        let (text, rest) = end
            .and_then(|end| self.rest.split_at_checked(end))
            .ok_or_else(|| self.malformed_part(component, until))?;
        self.rest = rest;
        let value = match self.escape {
            Escape::Encode if text.contains('~') => {
                Cow::Owned(unescape(text).ok_or_else(|| self.malformed(component, text))?)
            }
            _ => Cow::Borrowed(text),
        };
        let value = T::decode(&value).map_err(|fault| KeyError {
            entity: self.entity,
            component,
            value: value.into_owned(),
            fault,
        })?;
        self.written.clear();
        self.written.part::<X, T>(component, &value, until)?;
        if self.written.as_str() == text { Ok(value) } else { Err(self.malformed(component, text)) }
    }

    /// Ends the key.
    ///
    /// # Errors
    /// When there is more text: [`KeyFault::Malformed`].
    pub fn finish(self) -> Result<(), KeyError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.malformed("", self.key)) }
    }

    /// The error of a component whose end was not found.
    fn malformed_part(&self, component: &'static str, until: &str) -> KeyError {
        let end = self.rest.find(until).filter(|_| !until.is_empty());
        self.malformed(component, &self.rest[..end.unwrap_or(self.rest.len())])
    }

    fn malformed(&self, component: &'static str, text: &str) -> KeyError {
        KeyError {
            entity: self.entity,
            component,
            value: text.to_owned(),
            fault: KeyFault::Malformed,
        }
    }
}

/// The two keys of a row of entity type `E`, and the template of its entity that the RowKey was
/// written from.
#[doc(hidden)]
#[derive(Debug)]
pub struct StoredKeys<'a, E> {
    pub(crate) row: usize,
    pub(crate) partition_key: &'a str,
    pub(crate) row_key: &'a str,
    pub(crate) entity: PhantomData<fn() -> E>,
}
