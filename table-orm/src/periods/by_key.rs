//! Calls by a key, which a type with a table for each period does not have: hints for those who look for them.

use super::{Bucketed, Periods};

/// A key that says in which period its entity is. There is none.
#[diagnostic::on_unimplemented(
    message = "a key does not say in which period its entity is",
    label = "the key of a row in the table of any period",
    note = "choose the table first: `periods.at(time).get(key)`; or read several: \
            `periods.during(from..to).list(key)`"
)]
pub trait KeyWithPeriod {}

#[doc(hidden)]
#[allow(clippy::unused_self, reason = "no key compiles")]
impl<E: Bucketed> Periods<E> {
    pub fn get<K: KeyWithPeriod>(&self, _key: K) {}

    pub fn load<K: KeyWithPeriod>(&self, _key: K) {}

    pub fn list<K: KeyWithPeriod>(&self, _key: K) {}

    pub fn update<K: KeyWithPeriod, F>(&self, _key: K, _change: F) {}

    pub fn merge<K: KeyWithPeriod, P>(&self, _key: K, _patch: P) {}
}
