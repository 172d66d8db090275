//! Which account has a partition.
//!
//! Invariant: the slot of a PartitionKey, and the account of a slot among n accounts, never change. A
//! golden file pins both.

use super::Answer;
use crate::key::fnv;
use crate::model::TableName;
use crate::store::{ErrorCode, StoreError};
use std::fmt;
use std::sync::Arc;

/// How many slots the PartitionKeys fall into.
pub(super) const SLOTS: u16 = 1024;

/// Returns the number of the account of a partition.
type OfPartition = dyn Fn(&TableName, &str) -> usize + Send + Sync;

/// How the account of a row is found.
#[derive(Clone)]
pub(super) enum Route {
    Table(Arc<dyn Fn(&TableName) -> usize + Send + Sync>),
    Partition(Arc<OfPartition>),
    Slots,
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Table(_) => "by table",
            Self::Partition(_) => "by a function",
            Self::Slots => "by partition",
        })
    }
}

impl Route {
    /// The number of the partition's account, from 0 to before `accounts`.
    pub fn account(
        &self,
        accounts: usize,
        table: &TableName,
        partition_key: &str,
    ) -> Answer<usize> {
        match self {
            Self::Table(account) => among(accounts, account(table), table),
            Self::Partition(account) => among(accounts, account(table, partition_key), table),
            Self::Slots => Ok(account_of(slot_of(partition_key), accounts)),
        }
    }

    /// The number of the account that has the whole table, if one has.
    pub fn account_of_table(&self, accounts: usize, table: &TableName) -> Answer<Option<usize>> {
        match self {
            Self::Table(account) => among(accounts, account(table), table).map(Some),
            _ => Ok(None),
        }
    }
}

fn among(accounts: usize, account: usize, table: &TableName) -> Answer<usize> {
    if account < accounts {
        return Ok(account);
    }
    let message = format!(
        "The app's function names account {account} for the table `{table}`; there are {accounts}, \
         counted from 0. Nothing was sent."
    );
    Err(StoreError::new(ErrorCode::INVALID_INPUT, message))
}

/// The slot of a PartitionKey, below [`SLOTS`].
pub(super) fn slot_of(partition_key: &str) -> u16 {
    let hash = fnv(partition_key.as_bytes());
    // The upper bits mix in: the lowest bits of this hash depend on the lowest bits of the text only.
    ((hash ^ (hash >> 29)) % u64::from(SLOTS)) as u16
}

/// The account of a slot, from 0 to before `accounts`: a jump consistent hash (Lamping and Veach, 2014). One more
/// account takes its share of the slots from all, and no other slot moves.
pub(super) fn account_of(slot: u16, accounts: usize) -> usize {
    let mut key = u64::from(slot);
    let (mut account, mut next) = (0, 0);
    while next < accounts as u64 {
        account = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((account + 1) << 31) / ((key >> 33) + 1);
    }
    account as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    fn counts(of: impl Iterator<Item = usize>, accounts: usize) -> Vec<usize> {
        let mut counts = vec![0; accounts];
        of.for_each(|account| counts[account] += 1);
        counts
    }

    #[test]
    fn every_account_has_its_share_of_slots_and_of_numbered_partitions() {
        for accounts in [1, 2, 3, 5, 8] {
            let slots = (0..SLOTS).map(|slot| account_of(slot, accounts));
            let keys = (0..20_000).map(|n| account_of(slot_of(&format!("{n:08}")), accounts));
            for (counts, all) in [(counts(slots, accounts), 1024), (counts(keys, accounts), 20_000)]
            {
                let (least, most) = (all * 3 / (accounts * 4), all * 5 / (accounts * 4));
                assert!(counts.iter().all(|count| (least..=most).contains(count)), "{counts:?}");
            }
        }
    }

    /// `fixtures/golden/slots.txt` is only ever added to, never edited.
    #[test]
    fn slots_and_accounts_are_pinned() {
        let golden = include_str!("../../../tests/fixtures/golden/slots.txt");
        let mut text = String::new();
        for line in golden.lines() {
            let key = line.split('\t').next().unwrap_or_default();
            let slot = slot_of(key);
            write!(text, "{key}\t{slot}").unwrap();
            (1..=8).for_each(|n| write!(text, "\t{}", account_of(slot, n)).unwrap());
            text.push('\n');
        }
        assert_eq!(text, golden, "stored rows would be looked for elsewhere");
        assert!(golden.lines().count() >= 12);
    }

    proptest! {
        #[test]
        fn one_more_account_takes_slots_and_moves_no_other(slot in 0..SLOTS, accounts in 1..63_usize) {
            let (before, after) = (account_of(slot, accounts), account_of(slot, accounts + 1));
            prop_assert!(before < accounts && (after == before || after == accounts));
        }

        #[test]
        fn every_key_has_a_slot(key in "\\PC{0,40}") {
            prop_assert!(slot_of(&key) < SLOTS);
        }
    }
}
