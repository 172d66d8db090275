//! A key given from left to right, with what is given so far as a type: what generated builders hold.

use super::{Escape, IntoRange, IntoValue, KeyBuilder, KeyError, KeyPart, KeyText, PrefixOf};
use crate::query::RowRange;
use std::fmt;
use std::marker::PhantomData;

/// A complete PartitionKey under construction. The first error is kept and returned by the call
/// that reads.
#[derive(Debug, Clone)]
pub struct PartitionKey {
    key: Result<KeyText, KeyError>,
    entity: &'static str,
    escape: Escape,
}

impl PartitionKey {
    /// A key of that entity, which starts with the literal `start`.
    #[must_use]
    pub fn new(entity: &'static str, escape: Escape, start: &'static str) -> Self {
        let mut key = KeyText::new(entity, escape);
        key.literal(start);
        Self { key: Ok(key), entity, escape }
    }

    /// Gives the next component, and the literal `then` that follows it.
    #[must_use]
    pub fn part<X, T: KeyPart<X>>(
        mut self,
        component: &'static str,
        value: impl IntoValue<T>,
        then: &'static str,
    ) -> Self {
        if let Ok(key) = &mut self.key
            && let Err(error) = key.part_then::<X, T>(component, &value.into_value(), then)
        {
            self.key = Err(error);
        }
        self
    }

    /// The partition's rows whose keys start with the literal `start`.
    #[must_use]
    pub fn row<S>(&self, start: &'static str) -> RowKey<S> {
        let partition_key = self.key.clone().and_then(KeyText::finish);
        RowKey::new(KeyBuilder::new(self.entity, self.escape, partition_key, start))
    }
}

/// A RowKey under construction, of which the state `S` says what is given.
pub struct RowKey<S> {
    key: KeyBuilder,
    state: PhantomData<S>,
}

impl<S> RowKey<S> {
    const fn new(key: KeyBuilder) -> Self {
        Self { key, state: PhantomData }
    }

    /// Gives the next component, and the literal `then` that follows it.
    #[must_use]
    pub fn part<X, T: KeyPart<X>, N>(
        self,
        component: &'static str,
        value: impl IntoValue<T>,
        then: &'static str,
    ) -> RowKey<N> {
        RowKey::new(self.key.part::<X, T>(component, &value.into_value(), then))
    }

    /// The rows whose next component lies in a range of values.
    ///
    /// Its error is the first of the partition or a component, or
    /// [`KeyFault::InvertedRange`](super::KeyFault::InvertedRange).
    pub fn range<X, T: KeyPart<X>, R>(
        self,
        component: &'static str,
        range: impl IntoRange<T>,
    ) -> RowRange<R> {
        RowRange::new(self.key.range::<X, T>(component, range.into_range()))
    }

    /// The rows whose next component starts with `prefix`. `then` is the literal behind it.
    ///
    /// Its error is that of [`KeyBuilder::starts_with`].
    pub fn starts_with<X, T, R>(
        self,
        component: &'static str,
        prefix: impl PrefixOf<T, X>,
        then: &'static str,
    ) -> RowRange<R> {
        RowRange::new(self.key.starts_with_text(component, prefix.into_prefix(), then))
    }

    /// The untyped key.
    #[must_use]
    pub fn into_builder(self) -> KeyBuilder {
        self.key
    }
}

impl<S> Clone for RowKey<S> {
    fn clone(&self) -> Self {
        Self::new(self.key.clone())
    }
}

impl<S> fmt::Debug for RowKey<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}
