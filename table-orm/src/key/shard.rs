//! Shards: they spread a load that is too much for one partition over several PartitionKeys.
//!
//! Invariant: the shard of a value never changes, because stored keys contain it. It is the 64-bit
//! FNV-1a hash of the value's own key text (for a signed integer the text of `biased(f)`), mixed by
//! the finalizer of SplitMix64, modulo the number of shards.

use super::{Biased, Escape, KeyFault, KeyPart, KeyText, Plain, Shape, Width};
use crate::sync::mix;

/// The 64-bit FNV-1a hash. Stored values depend on it: it is the same in every version and on every
/// machine.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// One of `N` shards, as the component `shard(f, N)` writes it: its number, with the digits of the
/// largest. The value cannot be read back from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard<const N: u32>(u32);

impl<const N: u32> Shard<N> {
    const DIGITS: usize = match N.saturating_sub(1).checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    };

    /// The shard of a value.
    pub fn of<T: Sharded>(value: &T) -> Self {
        // The value's own text is not stored here, so all of it can be hashed.
        let mut text = KeyText::new("", Escape::Encode);
        // A value without key text hashes what it wrote: its own field or key rejects it.
        let _ = value.write(&mut text);
        let shard = hash(text.as_str()) % u64::from(N.max(1));
        Self(shard as u32)
    }

    /// What `make` returns for each shard.
    pub fn map_all<T>(make: impl FnMut(Self) -> T) -> Vec<T> {
        (0..N).map(Self).map(make).collect()
    }
}

/// A type whose values spread over shards.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no key text to compute a shard from",
    label = "cannot be spread over shards",
    note = "shard by an integer, text, a `Uuid`, or a type with `#[derive(KeyPart)]` that is not a \
            newtype of a signed integer or a float"
)]
pub trait Sharded {
    /// Whether that text has leading zeros.
    const PADDED: bool = false;

    /// Writes the text that the shard is computed from.
    fn write(&self, text: &mut KeyText) -> Result<(), KeyFault>;
    /// Reads that text, of a number also without leading zeros.
    fn read_value(text: &str) -> Result<Self, KeyFault>
    where
        Self: Sized;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart<Plain>> Sharded for T {
    fn write(&self, text: &mut KeyText) -> Result<(), KeyFault> {
        self.encode(text)
    }

    fn read_value(text: &str) -> Result<Self, KeyFault> {
        Self::decode(text)
    }
}

macro_rules! signed {
    ($($type:ident),*) => {$(
        #[diagnostic::do_not_recommend]
        impl Sharded for $type {
            const PADDED: bool = true;

            fn write(&self, text: &mut KeyText) -> Result<(), KeyFault> {
                KeyPart::<Biased>::encode(self, text)
            }

            fn read_value(text: &str) -> Result<Self, KeyFault> {
                <Self as KeyPart<Biased>>::decode(text)
            }
        }
    )*};
}

signed!(i8, i16, i32, i64);

impl<const N: u32> KeyPart<Plain> for Shard<N> {
    const WIDTH: Width = Width::Fixed(Self::DIGITS);
    const SHAPE: Shape = Shape::Digits(Self::DIGITS);

    fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
        key.push_plain(&format!("{:0width$}", self.0, width = Self::DIGITS));
        Ok(())
    }

    fn decode(text: &str) -> Result<Self, KeyFault> {
        // A parser of numbers would take a sign.
        let written = text.len() == Self::DIGITS && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| written && *number < N);
        number.map(Self).ok_or(KeyFault::Malformed)
    }
}

fn hash(text: &str) -> u64 {
    mix(fnv(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn text<const N: u32>(shard: Shard<N>) -> String {
        let mut key = KeyText::new("Test", Escape::Reject);
        shard.encode(&mut key).unwrap();
        key.as_str().to_owned()
    }

    #[test]
    fn the_text_has_as_many_digits_as_the_largest_shard() {
        assert_eq!(text(Shard::<1>::of(&7_u32)), "0");
        assert_eq!(Shard::<10>::map_all(text)[9], "9");
        assert_eq!(Shard::<11>::map_all(text)[0], "00");
        assert_eq!(Shard::<1000>::map_all(text)[7], "007");
    }

    #[test]
    fn a_stored_shard_is_read_back_and_no_other_text() {
        for shard in Shard::<16>::map_all(|shard| shard) {
            assert_eq!(Shard::decode(&text(shard)), Ok(shard));
        }
        for text in ["16", "x1", "+1", "1", "001", ""] {
            assert_eq!(Shard::<16>::decode(text), Err(KeyFault::Malformed), "{text}");
        }
    }

    #[test]
    fn values_spread_evenly_over_any_number_of_shards() {
        fn spread<const N: u32>() {
            let mut shards = BTreeMap::<u32, u32>::new();
            for id in 0..10_000_u32 {
                *shards.entry(Shard::<N>::of(&id).0).or_default() += 1;
            }
            assert_eq!(shards.len(), N as usize);
            let even = 10_000 / N;
            assert!(shards.values().all(|count| count.abs_diff(even) < even / 4), "{shards:?}");
        }
        spread::<2>();
        spread::<10>();
        spread::<16>();
        spread::<37>();
    }

    #[test]
    fn a_signed_integer_has_the_shard_of_its_biased_text() {
        assert_eq!(Shard::<1000>::of(&-1_i8), Shard::of(&"127".to_owned()));
        assert_eq!(Shard::<1000>::of(&0_i64), Shard::of(&"09223372036854775808".to_owned()));
    }

    #[test]
    fn text_that_a_key_cannot_hold_has_a_shard() {
        assert!(Shard::<16>::of(&"a/b?#".to_owned()).0 < 16);
    }
}
