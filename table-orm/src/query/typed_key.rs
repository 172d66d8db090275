//! Typed keys under construction: what generated builders such as `race.by_bib().bib(7)` hold.
//!
//! The type parameter says which components are given, so that a component out of order does not
//! compile. The text itself is in an untyped [`KeyBuilder`].

use super::KeyBuilder;
use super::row_range::{Below, RowRange};
use crate::key::{
    Escape, IntoRange, IntoValue, KeyError, KeyPart, KeyReader, KeyText, Plain, PrefixOf, Shape,
};
use std::fmt;
use std::marker::PhantomData;

/// A PartitionKey under construction. Keeps the first error, which the call that sends the query
/// returns.
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

    /// The partition's rows whose keys start with the literal `start`.
    #[must_use]
    pub fn row_key<S>(&self, start: &'static str) -> RowKey<S> {
        let partition_key = self.key.clone().and_then(KeyText::finish);
        RowKey::new(KeyBuilder::new(self.entity, self.escape, partition_key, start))
    }

    /// Its text.
    pub(crate) fn finish(self) -> Result<String, KeyError> {
        self.key.and_then(KeyText::finish)
    }
}

/// A RowKey under construction. The state `S` says which components are given.
pub struct RowKey<S> {
    key: KeyBuilder,
    state: PhantomData<S>,
}

impl<S> RowKey<S> {
    const fn new(key: KeyBuilder) -> Self {
        Self { key, state: PhantomData }
    }

    /// The rows whose next component starts with `prefix`. `then` is the literal after it.
    pub fn starts_with<X, T, R>(
        self,
        component: &'static str,
        prefix: impl PrefixOf<T, X>,
        then: &'static str,
    ) -> RowRange<R> {
        RowRange::new(self.key.starts_with_text(component, prefix.into_prefix(), then))
    }

    /// The rows whose keys start with the components so far.
    pub fn below<R>(self) -> Below<R> {
        Below::new(self.key.prefix())
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

/// What generated code does with a component and the literal `then` after it.
///
/// Generated code always names it as `<T as Part<X>>`, so a type that keys cannot hold is one
/// compile error, however many keys it is part of.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key as `{X}`",
    label = "no `{X}` key text for this type",
    note = "unsigned integers are `{{f}}` or `{{f:0N}}`; signed ones need `#[component(x = \
            biased(f))]`; enums and newtypes need `#[derive(KeyPart)]`; floats and bytes have no \
            key text",
    note = "a type of the crate `chrono` 0.4, `jiff` 0.2 or `ulid` 3 needs the feature of `table-orm` \
            with that crate's name"
)]
pub trait Part<X = Plain>: Sized {
    const SHAPE: Shape;
    const GROWS: bool;

    /// Writes the value into a key.
    fn write(
        &self,
        key: &mut KeyText,
        component: &'static str,
        then: &'static str,
    ) -> Result<(), KeyError>;

    /// Reads a value from a key.
    fn read(
        key: &mut KeyReader<'_>,
        component: &'static str,
        then: &'static str,
    ) -> Result<Self, KeyError>;

    /// Appends a value to a PartitionKey.
    fn push_partition(
        key: PartitionKey,
        component: &'static str,
        value: impl IntoValue<Self>,
        then: &'static str,
    ) -> PartitionKey {
        value.into_value().push_ref(key, component, then)
    }

    /// Appends the value to a PartitionKey.
    fn push_ref(
        &self,
        key: PartitionKey,
        component: &'static str,
        then: &'static str,
    ) -> PartitionKey;

    /// Appends a value to a RowKey.
    fn push<S, N>(
        key: RowKey<S>,
        component: &'static str,
        value: impl IntoValue<Self>,
        then: &'static str,
    ) -> RowKey<N>;

    /// The rows whose value lies in that range.
    fn range<S, R>(
        key: RowKey<S>,
        component: &'static str,
        range: impl IntoRange<Self>,
    ) -> RowRange<R>;
}

#[diagnostic::do_not_recommend]
impl<X, T: KeyPart<X>> Part<X> for T {
    const SHAPE: Shape = T::SHAPE;
    const GROWS: bool = T::GROWS;

    fn write(
        &self,
        key: &mut KeyText,
        component: &'static str,
        then: &'static str,
    ) -> Result<(), KeyError> {
        key.part::<X, T>(component, self, then)?;
        key.literal(then);
        Ok(())
    }

    fn read(
        key: &mut KeyReader<'_>,
        component: &'static str,
        then: &'static str,
    ) -> Result<Self, KeyError> {
        let value = key.part::<X, T>(component, then)?;
        key.literal(then)?;
        Ok(value)
    }

    fn push_ref(
        &self,
        mut key: PartitionKey,
        component: &'static str,
        then: &'static str,
    ) -> PartitionKey {
        if let Ok(text) = &mut key.key
            && let Err(error) = self.write(text, component, then)
        {
            key.key = Err(error);
        }
        key
    }

    fn push<S, N>(
        key: RowKey<S>,
        component: &'static str,
        value: impl IntoValue<Self>,
        then: &'static str,
    ) -> RowKey<N> {
        RowKey::new(key.key.part::<X, T>(component, &value.into_value(), then))
    }

    fn range<S, R>(
        key: RowKey<S>,
        component: &'static str,
        range: impl IntoRange<Self>,
    ) -> RowRange<R> {
        RowRange::new(key.key.range::<X, T>(component, range.into_range()))
    }
}
