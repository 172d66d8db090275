//! The map: which account each slot is in.

use super::super::route::{SLOTS, account_of, slot_of};
use std::fmt::Write as _;

/// Where a slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    At(usize),
    Moving { from: usize, to: usize },
}

/// Where each slot is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Map {
    /// Rises with each change.
    pub version: u64,
    pub slots: Vec<Slot>,
}

impl Map {
    /// The map of that number of accounts, which have no rows yet.
    pub fn first(accounts: usize) -> Self {
        let slots = (0..SLOTS).map(|slot| Slot::At(account_of(slot, accounts))).collect();
        Self { version: 1, slots }
    }

    pub fn slot(&self, partition_key: &str) -> Slot {
        self.slots[usize::from(slot_of(partition_key))]
    }

    pub fn is_moving(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Moving { .. }))
    }

    /// How many accounts it needs.
    pub fn accounts(&self) -> usize {
        let last = self.slots.iter().map(|slot| match *slot {
            Slot::At(account) => account,
            Slot::Moving { from, to } => from.max(to),
        });
        last.max().map_or(0, |last| last.saturating_add(1))
    }

    /// The same map, in which slots are on their way to the new ones of that number of accounts; `None` if no slot
    /// has to move.
    pub fn grown(&self, accounts: usize) -> Option<Self> {
        let mut grown = self.clone();
        for (number, slot) in (0..SLOTS).zip(&mut grown.slots) {
            let to = account_of(number, accounts);
            match *slot {
                Slot::At(from) if from < to => *slot = Slot::Moving { from, to },
                _ => {}
            }
        }
        grown.version += 1;
        (grown.slots != self.slots).then_some(grown)
    }

    /// The same map with slots that have arrived; `None` if each of them had before.
    pub fn arrived(&self, numbers: impl Iterator<Item = u16>) -> Option<Self> {
        let mut arrived = self.clone();
        for number in numbers {
            if let Some(slot @ &mut Slot::Moving { to, .. }) =
                arrived.slots.get_mut(usize::from(number))
            {
                *slot = Slot::At(to);
            }
        }
        arrived.version += 1;
        (arrived.slots != self.slots).then_some(arrived)
    }

    /// The slots, as `0,1,0>2,..`.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for slot in &self.slots {
            let comma = if text.is_empty() { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = match slot {
                Slot::At(account) => write!(text, "{comma}{account}"),
                Slot::Moving { from, to } => write!(text, "{comma}{from}>{to}"),
            };
        }
        text
    }

    /// Reads the text of the slots.
    pub fn read(version: u64, text: &str) -> Option<Self> {
        let slots = text.split(',').map(|slot| match slot.split_once('>') {
            Some((from, to)) => {
                Some(Slot::Moving { from: from.parse().ok()?, to: to.parse().ok()? })
            }
            None => Some(Slot::At(slot.parse().ok()?)),
        });
        let slots: Vec<_> = slots.collect::<Option<_>>()?;
        (slots.len() == usize::from(SLOTS)).then_some(Self { version, slots })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_as_it_was_written() {
        let map = Map::first(3).grown(4).unwrap();
        assert_eq!(Map::read(map.version, &map.text()), Some(map));
        assert_eq!(Map::read(1, "0,1"), None);
        assert_eq!(Map::read(1, ""), None);
    }

    #[test]
    fn a_new_account_takes_its_share_and_no_other_slot_moves() {
        let map = Map::first(2);
        let grown = map.grown(3).unwrap();
        let moving = grown.slots.iter().filter(|slot| matches!(slot, Slot::Moving { to: 2, .. }));
        assert!((250..430).contains(&moving.count()));
        let arrived = grown.arrived(0..SLOTS).unwrap();
        assert_eq!(arrived.slots, Map::first(3).slots);
        assert_eq!((arrived.grown(3), arrived.accounts()), (None, 3));
    }
}
