//! The untyped key under construction: encodes components from left to right, and turns the text
//! into the key range of a query.
//!
//! Invariant: a range holds exactly the rows whose given components have the given values. It never
//! holds a neighbour whose text merely starts with the same characters.

use crate::key::{Escape, KeyError, KeyFault, KeyPart, KeyText, TextPart};
use crate::model::order;
use crate::query::{KeyRange, Span};
use std::ops::Bound;

/// The key of a query under construction, without types. Keeps the first error and returns it at
/// the end.
///
/// Generated builders wrap it in a [`RowKey`](super::RowKey), which checks the order of components
/// at compile time.
#[derive(Debug, Clone)]
pub struct KeyBuilder {
    partition_key: Result<String, KeyError>,
    row_key: KeyText,
    error: Option<KeyError>,
}

impl KeyBuilder {
    /// A key in that partition, which starts with the literal `start`.
    #[must_use]
    pub fn new(
        entity: &'static str,
        escape: Escape,
        partition_key: Result<String, KeyError>,
        start: &'static str,
    ) -> Self {
        let mut row_key = KeyText::new(entity, escape);
        row_key.literal(start);
        Self { partition_key, row_key, error: None }
    }

    /// Appends the next component, and the literal `then` after it.
    #[must_use]
    pub fn part<X, T: KeyPart<X>>(
        mut self,
        component: &'static str,
        value: &T,
        then: &'static str,
    ) -> Self {
        if self.error.is_none() {
            match self.row_key.part::<X, T>(component, value, then) {
                Ok(()) => self.row_key.literal(then),
                Err(error) => self.error = Some(error),
            }
        }
        self
    }

    /// The row of the complete key.
    ///
    /// # Errors
    /// When a key cannot hold one of the values: the first such error.
    pub fn exact(self) -> Result<KeyRange, KeyError> {
        self.keys(|row_key| Ok(Span::Exact(row_key.finish()?)))
    }

    /// The rows whose keys start with the components so far.
    ///
    /// # Errors
    /// When a key cannot hold one of the values: the first such error.
    pub fn prefix(self) -> Result<KeyRange, KeyError> {
        self.keys(|row_key| Ok(Span::prefix(row_key.finish()?)))
    }

    /// The rows whose next component lies in a range of values. A bound with more digits than the
    /// component holds lies above all its values: a range that starts there holds no row.
    ///
    /// # Errors
    /// When a key cannot hold one of the values: the first such error. When the range starts after it
    /// ends: [`KeyFault::InvertedRange`].
    pub fn range<X, T: KeyPart<X>>(
        self,
        component: &'static str,
        (lower, upper): (Bound<T>, Bound<T>),
    ) -> Result<KeyRange, KeyError> {
        if let Some(value) = self.too_wide::<X, T>(&lower) {
            return self.above::<X, T>(component, value, &upper);
        }
        let upper = match upper {
            bound if self.too_wide::<X, T>(&bound).is_some() => Bound::Unbounded,
            bound => bound,
        };
        let (lower, upper) = if T::REVERSED { (upper, lower) } else { (lower, upper) };
        self.keys(|row_key| {
            let text = |value: &T| {
                let mut key = row_key.clone();
                key.part::<X, T>(component, value, "")?;
                key.finish()
            };
            // The rows of a value are all keys that start with its text. Where another value's text
            // may start the same, the component is the last one, and the row is the key itself.
            let after = |key: String| {
                if T::PREFIX_FREE {
                    order::successor(&key).map_or(Bound::Unbounded, Bound::Included)
                } else {
                    Bound::Excluded(key)
                }
            };
            let through = |key: String| {
                if T::PREFIX_FREE {
                    order::successor(&key).map_or(Bound::Unbounded, Bound::Excluded)
                } else {
                    Bound::Included(key)
                }
            };
            let prefix = row_key.as_str();
            let start = match &lower {
                Bound::Included(value) => Bound::Included(text(value)?),
                Bound::Excluded(value) => after(text(value)?),
                Bound::Unbounded if prefix.is_empty() => Bound::Unbounded,
                Bound::Unbounded => Bound::Included(prefix.to_owned()),
            };
            let end = match &upper {
                Bound::Included(value) => through(text(value)?),
                Bound::Excluded(value) => Bound::Excluded(text(value)?),
                Bound::Unbounded => {
                    order::successor(prefix).map_or(Bound::Unbounded, Bound::Excluded)
                }
            };
            if let (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) = (&lower, &upper)
            {
                let (lower, upper) = (text(lower)?, text(upper)?);
                if order::compare(&lower, &upper).is_gt() {
                    return Err(KeyError {
                        entity: row_key.entity(),
                        component,
                        value: format!("{}..{}", &lower[prefix.len()..], &upper[prefix.len()..]),
                        fault: KeyFault::InvertedRange,
                    });
                }
            }
            Ok(match (start, end) {
                (Bound::Unbounded, Bound::Unbounded) => Span::All,
                (start, end) => Span::Between(start, end),
            })
        })
    }

    /// The text of a bound that has more digits than the component holds.
    fn too_wide<X, T: KeyPart<X>>(&self, bound: &Bound<T>) -> Option<String> {
        let (Bound::Included(value) | Bound::Excluded(value)) = bound else { return None };
        let error = self.row_key.clone().part::<X, T>("", value, "").err()?;
        matches!(error.fault, KeyFault::Width(_)).then_some(error.value)
    }

    /// The empty range from `lower`, which has too many digits, to `upper`.
    fn above<X, T: KeyPart<X>>(
        self,
        component: &'static str,
        lower: String,
        upper: &Bound<T>,
    ) -> Result<KeyRange, KeyError> {
        let ends = self.too_wide::<X, T>(upper).is_none();
        self.keys(|row_key| {
            let prefix = row_key.as_str().to_owned();
            if let (true, Bound::Included(upper) | Bound::Excluded(upper)) = (ends, upper) {
                let mut key = row_key.clone();
                key.part::<X, T>(component, upper, "")?;
                return Err(KeyError {
                    entity: row_key.entity(),
                    component,
                    value: format!("{lower}..{}", &key.as_str()[prefix.len()..]),
                    fault: KeyFault::InvertedRange,
                });
            }
            Ok(Span::Between(Bound::Included(prefix.clone()), Bound::Excluded(prefix)))
        })
    }

    /// The rows whose next component is text that starts with `prefix`. `then` is the literal
    /// after the component.
    ///
    /// # Errors
    /// When a key cannot hold one of the values: the first such error. When the prefix could run into
    /// the literal after the component: [`KeyFault::SeparatorStart`].
    pub fn starts_with<X, T: TextPart<X>>(
        self,
        component: &'static str,
        prefix: &str,
        then: &'static str,
    ) -> Result<KeyRange, KeyError> {
        self.starts_with_text(component, T::prefix(prefix), then)
    }

    pub(crate) fn starts_with_text(
        self,
        component: &'static str,
        prefix: String,
        then: &'static str,
    ) -> Result<KeyRange, KeyError> {
        self.keys(|mut row_key| {
            let start = row_key.as_str().len();
            row_key.text_prefix(component, &prefix, then)?;
            if !then.is_empty() && row_key.touches(start, then) {
                return Err(KeyError {
                    entity: row_key.entity(),
                    component,
                    value: prefix,
                    fault: KeyFault::SeparatorStart(then),
                });
            }
            Ok(Span::prefix(row_key.finish()?))
        })
    }

    fn keys(
        self,
        row: impl FnOnce(KeyText) -> Result<Span, KeyError>,
    ) -> Result<KeyRange, KeyError> {
        let partition = Span::Exact(self.partition_key?);
        if let Some(error) = self.error {
            return Err(error);
        }
        Ok(KeyRange { partition, row: row(self.row_key)? })
    }
}
