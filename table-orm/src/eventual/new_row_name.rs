//! New names for helper rows: in the order of their instants, and no two the same.

use crate::model::DateTime;
use crate::plan::Connection;
use crate::sync::Random;
use time::OffsetDateTime;

/// A new RowKey that begins so.
pub(crate) fn new_row_name(start: &str, connection: &Connection) -> String {
    format!("{start}{}", ulid(connection.clock.now(), &connection.random))
}

/// 26 characters: 48 bits of the time in milliseconds, then 80 random bits, in base 32.
fn ulid(now: DateTime, random: &Random) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let nanoseconds = OffsetDateTime::from(now).unix_timestamp_nanos();
    let time = (nanoseconds.max(0).unsigned_abs() / 1_000_000) & ((1 << 48) - 1);
    let random = (u128::from(random.next()) << 64 | u128::from(random.next())) & ((1 << 80) - 1);
    let value = time << 80 | random;
    (0..26).rev().map(|digit| char::from(DIGITS[(value >> (5 * digit)) as usize & 31])).collect()
}
