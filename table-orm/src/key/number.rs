//! Integers in keys.
//!
//! Unsigned: bare digits ([`Plain`], equality only), exactly `N` digits ([`Padded`]), the type's
//! full width ([`Ascending`]), or subtracted from the largest ([`Descending`],
//! [`DescendingPadded`]). Signed: moved up by the type's minimum into an unsigned of full width
//! ([`Biased`], the same as [`Ascending`]), or that subtracted from the largest ([`Descending`]).

use super::{
    Ascending, Biased, Descending, DescendingPadded, KeyFault, KeyPart, KeyText, Padded, Plain,
    PrefixFree, Shape, Sorted, SortedLast, Width,
};

/// Digits of the largest `u64`.
const MAX_DIGITS: usize = 20;

/// The texts of 0 to 99, in two digits each.
const PAIRS: &str = "\
00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748\
49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697\
9899";
const ZEROS: &str = "00000000000000000000";

/// Writes `value` in exactly `width` digits.
fn write(key: &mut KeyText, value: u64, width: usize) -> Result<(), KeyFault> {
    let digits = digits(value);
    if digits > width {
        key.push_plain(&value.to_string());
        return Err(KeyFault::Width(width));
    }
    let mut zeros = width - digits;
    while zeros > 0 {
        let some = zeros.min(ZEROS.len());
        key.push_plain(&ZEROS[..some]);
        zeros -= some;
    }
    push(key, value, digits);
    Ok(())
}

/// Appends a value of that many digits.
fn push(key: &mut KeyText, value: u64, digits: usize) {
    let (head, last) = (value / 100, 2 * (value % 100) as usize);
    if digits > 2 {
        push(key, head, digits - 2);
    }
    key.push_plain(if digits == 1 { &PAIRS[last + 1..last + 2] } else { &PAIRS[last..last + 2] });
}

/// How many digits a number has.
fn digits(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Reads digits; every character must be one.
fn read(text: &str) -> Result<u64, KeyFault> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(KeyFault::Malformed);
    }
    text.parse().map_err(|_| KeyFault::Malformed)
}

/// The largest number of `width` digits that fits a `u64`.
const fn largest(width: usize) -> u64 {
    if width >= MAX_DIGITS { u64::MAX } else { 10_u64.pow(width as u32) - 1 }
}

macro_rules! sorted {
    ($type:ident: $($encoder:ident),*) => {$(
        impl SortedLast<$encoder> for $type {}
        impl Sorted<$encoder> for $type {}
        impl PrefixFree<$encoder> for $type {}
    )*};
}

macro_rules! unsigned {
    ($($type:ident: $digits:literal, $most:expr;)*) => {$(
        impl KeyPart<Plain> for $type {
            const WIDTH: Width = Width::UpTo($digits);
            const SHAPE: Shape = Shape::Number($digits);

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                let value = *self as u64;
                write(key, value, digits(value))
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                if text.len() > 1 && text.starts_with('0') {
                    return Err(KeyFault::Malformed);
                }
                read(text)?.try_into().map_err(|_| KeyFault::Malformed)
            }
        }

        impl<const N: usize> KeyPart<Padded<N>> for $type {
            const WIDTH: Width = Width::Fixed(N);
            const SHAPE: Shape = Shape::Digits(N);

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                write(key, *self as u64, N)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                read(text)?.try_into().map_err(|_| KeyFault::Malformed)
            }
        }

        impl<const N: usize> KeyPart<DescendingPadded<N>> for $type {
            const WIDTH: Width = Width::Fixed(N);
            const SHAPE: Shape = Shape::Digits(N);
            const REVERSED: bool = true;
            const GROWS: bool = true;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                match largest(N).checked_sub(*self as u64) {
                    Some(reversed) => write(key, reversed, N),
                    None => write(key, *self as u64, N),
                }
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                let value = largest(N).checked_sub(read(text)?).ok_or(KeyFault::Malformed)?;
                value.try_into().map_err(|_| KeyFault::Malformed)
            }
        }

        impl KeyPart<Ascending> for $type {
            const WIDTH: Width = Width::Fixed($digits);
            const SHAPE: Shape = Shape::Digits($digits);
            const GROWS: bool = true;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                write(key, *self as u64, $digits)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                read(text)?.try_into().map_err(|_| KeyFault::Malformed)
            }
        }

        impl KeyPart<Descending> for $type {
            const WIDTH: Width = Width::Fixed($digits);
            const SHAPE: Shape = Shape::Digits($digits);
            const REVERSED: bool = true;
            const GROWS: bool = true;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                write(key, $most - *self as u64, $digits)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                let value = $most.checked_sub(read(text)?).ok_or(KeyFault::Malformed)?;
                value.try_into().map_err(|_| KeyFault::Malformed)
            }
        }

        impl<const N: usize> SortedLast<Padded<N>> for $type {}
        impl<const N: usize> Sorted<Padded<N>> for $type {}
        impl<const N: usize> PrefixFree<Padded<N>> for $type {}
        impl<const N: usize> SortedLast<DescendingPadded<N>> for $type {}
        impl<const N: usize> Sorted<DescendingPadded<N>> for $type {}
        impl<const N: usize> PrefixFree<DescendingPadded<N>> for $type {}
        sorted!($type: Ascending, Descending);
    )*};
}

// A `usize` has the same text on every machine.
unsigned! {
    u8: 3, u8::MAX as u64;
    u16: 5, u16::MAX as u64;
    u32: 10, u32::MAX as u64;
    u64: 20, u64::MAX;
    usize: 20, u64::MAX;
}

macro_rules! signed {
    ($($type:ident as $unsigned:ident: $digits:literal),*) => {$(
        impl KeyPart<Biased> for $type {
            const WIDTH: Width = Width::Fixed($digits);
            const SHAPE: Shape = Shape::Digits($digits);

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                write(key, self.abs_diff($type::MIN) as u64, $digits)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                let biased: $unsigned = read(text)?.try_into().map_err(|_| KeyFault::Malformed)?;
                Ok($type::MIN.wrapping_add_unsigned(biased))
            }
        }

        impl KeyPart<Ascending> for $type {
            const WIDTH: Width = Width::Fixed($digits);
            const SHAPE: Shape = Shape::Digits($digits);
            const GROWS: bool = true;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                <Self as KeyPart<Biased>>::encode(self, key)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                <Self as KeyPart<Biased>>::decode(text)
            }
        }

        impl KeyPart<Descending> for $type {
            const WIDTH: Width = Width::Fixed($digits);
            const SHAPE: Shape = Shape::Digits($digits);
            const REVERSED: bool = true;
            const GROWS: bool = true;

            fn encode(&self, key: &mut KeyText) -> Result<(), KeyFault> {
                write(key, self.abs_diff($type::MAX) as u64, $digits)
            }

            fn decode(text: &str) -> Result<Self, KeyFault> {
                let reversed: $unsigned = read(text)?.try_into().map_err(|_| KeyFault::Malformed)?;
                Ok($type::MAX.wrapping_sub_unsigned(reversed))
            }
        }

        sorted!($type: Biased, Ascending, Descending);
    )*};
}

signed!(i8 as u8: 3, i16 as u16: 5, i32 as u32: 10, i64 as u64: 20);
