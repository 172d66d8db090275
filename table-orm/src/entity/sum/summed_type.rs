//! By how much the totals of some types change with a row, where the types are not known any more.

use super::total::Total;
use crate::entity::TableEntity;
use crate::entity::own_rows::{OwnRowError, OwnRows};
use crate::entity::query::is_canonical_key;
use crate::entity::read::read_own;
use crate::property::PropertyError;
use bytes::Bytes;
use std::collections::BTreeMap;

/// What entities add to each total.
pub(crate) type Contributions = BTreeMap<Total, i128>;

/// The sums over the entities of a type, which is not known any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SummedType {
    /// Its name.
    pub entity: &'static str,
    /// How many totals one transaction changes at most, whatever number of entities it writes.
    pub shared: usize,
    /// How many sums are by group. For each entity, one transaction changes the total of its group in each, and that
    /// of its former group.
    pub groups: usize,
    is_canonical: fn(&str) -> bool,
    contributions: fn(&[u8]) -> Result<Contributions, PropertyError>,
}

impl SummedType {
    /// `None` for a type without sums.
    pub fn of<E: TableEntity>() -> Option<Self> {
        if const { !E::HAS_SUMS } {
            return None;
        }
        let sums = E::sums();
        if sums.is_empty() {
            return None;
        }
        let groups = sums.iter().filter(|sum| sum.is_in_groups()).count();
        Some(Self {
            entity: E::NAME,
            shared: sums.len() - groups,
            groups,
            is_canonical: is_canonical_key::<E>,
            contributions: contributions::<E>,
        })
    }

    /// Whether the key is one of the type's canonical rows.
    pub fn is_canonical(&self, row_key: &str) -> bool {
        (self.is_canonical)(row_key)
    }

    /// What the entity of a canonical row adds; nothing if the row is of another type, or was moved.
    pub fn contributions(&self, row: &[u8]) -> Result<Contributions, PropertyError> {
        (self.contributions)(row)
    }
}

/// By how much the totals of these types change when a canonical row does. Leaves out those that do not.
pub(crate) fn differences<'s>(
    types: impl Iterator<Item = &'s SummedType> + Clone,
    [before, after]: [Option<&Bytes>; 2],
) -> Result<Contributions, PropertyError> {
    let mut change = Contributions::new();
    for (row, sign) in [(after, 1), (before, -1)] {
        let Some(row) = row else { continue };
        for summed in types.clone() {
            for (total, value) in summed.contributions(row)? {
                *change.entry(total).or_default() += sign * value;
            }
        }
    }
    change.retain(|_, value| *value != 0);
    Ok(change)
}

fn contributions<E: TableEntity>(row: &[u8]) -> Result<Contributions, PropertyError> {
    let entity = match read_own::<E>(&OwnRows::canonical::<E>(), row, None) {
        Ok(Some((entity, _))) => entity,
        Ok(None) | Err(OwnRowError::Moved(_)) => return Ok(Contributions::new()),
        Err(OwnRowError::Property(error)) => return Err(error),
    };
    let mut added = Contributions::new();
    for sum in E::sums() {
        let (total, value) = sum.contribution(&entity);
        *added.entry(total).or_default() += i128::from(value);
    }
    Ok(added)
}
