//! Copies of totals in one partition: what the sum over all partitions is added up from.
//!
//! Invariants:
//! - A copy follows from the row of its total alone.
//! - Different rows of totals have copies with different keys, and no copy has the key of a total: the name of a
//!   sum is not empty.

use super::declaration::Sum;
use super::summed_type::{SummedType, differences};
use super::total::{START, TOTAL, Total, TotalRow};
use crate::entity::query::is_canonical_key;
use crate::entity::read::read_row;
use crate::entity::rows::body;
use crate::entity::{InvalidEntity, RowHead, TableEntity};
use crate::key::{Escape, KeyError, KeyReader, KeyText, Plain};
use crate::property::{PropertiesWriter, PropertyError};
use bytes::Bytes;

/// What the RowKey of a copy begins with.
pub(crate) const COPIES: &str = "SUM::";

/// Whether a sum of the type is over all partitions.
pub(crate) fn has_sum_copies<E: TableEntity>() -> bool {
    E::HAS_SUMS && E::sums().iter().any(Sum::is_over_partitions)
}

/// Whether a RowKey can be that of a canonical row, or of a total with a copy.
pub(crate) fn is_canonical_or_total<E: TableEntity>(row_key: &str) -> bool {
    is_canonical_key::<E>(row_key) || copied_total::<E>(row_key).is_some()
}

/// The total with that RowKey, if it has copies, and which of its rows it is.
pub(crate) fn copied_total<E: TableEntity>(row_key: &str) -> Option<(Total, u8)> {
    if const { !E::HAS_SUMS } || !row_key.starts_with(START) {
        return None;
    }
    let sums = E::sums();
    sums.iter().filter(|sum| sum.is_over_partitions()).find_map(|sum| sum.shard_of(row_key))
}

/// The PartitionKey of the copies of a sum.
pub(crate) fn copies_partition(name: &str) -> String {
    format!("{START}{name}")
}

impl Total {
    /// The RowKey of the copy of one of its rows, which is in the partition `home`.
    pub fn copy_key(&self, shard: u8, home: &str) -> Result<String, KeyError> {
        let mut key = KeyText::new("Sum", Escape::Encode);
        key.literal(COPIES);
        if let Some(group) = &self.group {
            key.part::<Plain, String>(self.name, group, ":")?;
            key.literal(":");
        }
        // The PartitionKey is a key already, and ends this one.
        key.literal(&format!("{shard:02}:{home}"));
        key.finish()
    }
}

impl<E> Sum<E> {
    /// The group that the copy with that RowKey belongs to: empty for a sum without groups.
    pub(crate) fn group_of_copy(&self, row_key: &str) -> Result<String, KeyError> {
        let mut key = KeyReader::new("Sum", Escape::Encode, row_key);
        key.literal(COPIES)?;
        if self.is_in_groups() {
            key.part::<Plain, String>(self.name(), ":")
        } else {
            Ok(String::new())
        }
    }
}

/// The totals with copies that a write changes, from the canonical row before and after.
pub(crate) fn changed_copies<E: TableEntity>(
    before: Option<&Bytes>,
    after: Option<&Bytes>,
) -> Result<Vec<Total>, InvalidEntity> {
    let changed = differences(SummedType::of::<E>().iter(), [before, after])?;
    let sums = E::sums();
    let is_copied =
        |total: &Total| sums.iter().any(|sum| sum.name() == total.name && sum.is_over_partitions());
    Ok(changed.into_keys().filter(is_copied).collect())
}

/// The copy of a total, from its row as it is stored: its keys and its JSON object. `None` for a row that is no
/// total with copies.
pub(crate) fn copy_of_total<E: TableEntity>(
    row: &[u8],
) -> Result<Option<(String, String, Bytes)>, InvalidEntity> {
    if const { !E::HAS_SUMS } || !has_sum_copies::<E>() {
        return Ok(None);
    }
    let home: RowHead = read_row(0, row)?;
    let Some((total, shard)) = copied_total::<E>(&home.row_key) else { return Ok(None) };
    let TotalRow(value) = read_row(0, row)?;
    let partition_key = copies_partition(total.name);
    let row_key = total.copy_key(shard, &home.partition_key)?;
    let body = copy_body(&partition_key, &row_key, value)?;
    Ok(Some((partition_key, row_key, body)))
}

fn copy_body(partition_key: &str, row_key: &str, total: i64) -> Result<Bytes, PropertyError> {
    let mut out = PropertiesWriter::new("Sum");
    out.property(TOTAL, &total)?;
    body(partition_key, row_key, &out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(group: Option<&str>) -> Total {
        Total { name: "state", group: group.map(str::to_owned), shards: 4 }
    }

    #[test]
    fn the_key_of_a_copy_is_split_at_the_group() {
        const BY_STATE: Sum<()> = Sum::by_group("state", |()| (String::new(), 1));
        for group in ["", "open", "a:b", "a:00", "~", "a/b"] {
            let key = total(Some(group)).copy_key(3, "acme:00:x").unwrap();
            assert_eq!(BY_STATE.group_of_copy(&key).unwrap(), group, "{key}");
        }
        assert_eq!(total(Some("open")).copy_key(3, "acme").unwrap(), "SUM::open:03:acme");
        assert_eq!(total(None).copy_key(0, "acme").unwrap(), "SUM::00:acme");
    }

    #[test]
    fn no_two_rows_of_totals_share_a_copy() {
        let one = total(Some("a:00:b")).copy_key(0, "c").unwrap();
        let other = total(Some("a")).copy_key(0, "b:00:c").unwrap();
        assert_ne!(one, other);
    }

    #[test]
    fn a_partition_whose_key_leaves_no_room_for_the_copy_is_an_error() {
        assert!(total(None).copy_key(0, &"p".repeat(504)).is_ok());
        assert!(total(None).copy_key(0, &"p".repeat(505)).is_err());
    }
}
