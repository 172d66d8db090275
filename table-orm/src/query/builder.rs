//! A key given from left to right, with what is given so far as a type: what generated builders hold.

use super::KeyBuilder;
use crate::key::{
    Escape, IntoRange, IntoValue, KeyError, KeyPart, KeyReader, KeyText, Plain, PrefixOf, Width,
};
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

    /// The rows whose next component starts with `prefix`. `then` is the literal behind it.
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

/// What generated code does with a component and the literal `then` behind it.
///
/// Named as `<T as Part<X>>` throughout, so that a type that cannot stand in a key is one error,
/// however often it stands in one.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a key as `{X}`",
    label = "no `{X}` key text for this type",
    note = "unsigned integers are `{{f}}` or `{{f:0N}}`; signed ones need \
            `#[component(x = biased(f))]`; enums and newtypes need `#[derive(KeyPart)]`; floats and \
            bytes have no key text"
)]
pub trait Part<X = Plain>: Sized {
    const WIDTH: Width;

    /// Writes it into a key.
    fn write(
        &self,
        key: &mut KeyText,
        component: &'static str,
        then: &'static str,
    ) -> Result<(), KeyError>;

    /// Reads it out of a key.
    fn read(
        key: &mut KeyReader<'_>,
        component: &'static str,
        then: &'static str,
    ) -> Result<Self, KeyError>;

    /// Gives it to a PartitionKey.
    fn give_partition(
        key: PartitionKey,
        component: &'static str,
        value: impl IntoValue<Self>,
        then: &'static str,
    ) -> PartitionKey {
        value.into_value().give_one(key, component, then)
    }

    /// Gives it to one PartitionKey of several.
    fn give_one(
        &self,
        key: PartitionKey,
        component: &'static str,
        then: &'static str,
    ) -> PartitionKey;

    /// Gives it to a RowKey.
    fn give<S, N>(
        key: RowKey<S>,
        component: &'static str,
        value: impl IntoValue<Self>,
        then: &'static str,
    ) -> RowKey<N>;

    /// The rows that have it in that range.
    fn range<S, R>(
        key: RowKey<S>,
        component: &'static str,
        range: impl IntoRange<Self>,
    ) -> RowRange<R>;
}

#[diagnostic::do_not_recommend]
impl<X, T: KeyPart<X>> Part<X> for T {
    const WIDTH: Width = T::WIDTH;

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

    fn give_one(
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

    fn give<S, N>(
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
