//! Moves slots to new accounts, until each account has its share.

use super::super::AccountsError;
use super::map::Slot;
use super::{GRACE, Growing};
use crate::store::{ErrorCode, StoreError};
use futures_util::future::try_join_all;
use futures_util::stream::{self, TryStreamExt as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many slots move at once, and how many partitions of each.
const SLOTS_AT_ONCE: usize = 16;
const AT_ONCE: usize = 4;

/// What [`Accounts::grow`](super::super::Accounts::grow) has moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrowReport {
    /// How many slots, of 1,024.
    pub slots: u32,
    /// How many partitions.
    pub partitions: u64,
    /// How many rows.
    pub rows: u64,
}

impl Growing {
    pub async fn grow(&self) -> Result<GrowReport, AccountsError> {
        let mut growth = GrowReport::default();
        // What an earlier call began may have been for fewer accounts.
        while self.begin().await? {
            self.move_marked(&mut growth).await?;
        }
        Ok(growth)
    }

    /// Moves the slots that are marked.
    async fn move_marked(&self, growth: &mut GrowReport) -> Result<(), StoreError> {
        let seen = self.map.now().await?;
        // From now on, who reads by an older map gets no answer.
        tokio::time::sleep(GRACE).await;
        self.complete_tables().await?;
        let moving = (0..).zip(&seen.map.slots).filter_map(|(slot, at)| match *at {
            Slot::Moving { from, to } => Some((slot, from, to)),
            Slot::At(_) => None,
        });
        let moving: Vec<_> = moving.collect();
        for slots in moving.chunks(SLOTS_AT_ONCE) {
            let moves = slots.iter().map(|&(slot, from, to)| self.move_slot(slot, from, to));
            for (partitions, rows) in try_join_all(moves).await? {
                growth.partitions += partitions;
                growth.rows += rows;
            }
            loop {
                let seen = self.map.now().await?;
                let Some(arrived) = seen.map.arrived(slots.iter().map(|(slot, ..)| *slot)) else {
                    break;
                };
                match self.map.replace(&seen, &arrived).await {
                    Ok(()) => {
                        growth.slots += slots.len() as u32;
                        break;
                    }
                    Err(error) => changed_by_another(error)?,
                }
            }
        }
        Ok(())
    }

    /// Marks the slots that move; returns whether there are any.
    async fn begin(&self) -> Result<bool, StoreError> {
        loop {
            let seen = self.map.now().await?;
            let Some(grown) = seen.map.grown(self.stores.len()) else {
                return Ok(seen.map.is_moving());
            };
            match self.map.replace(&seen, &grown).await {
                Ok(()) => return Ok(true),
                Err(error) => changed_by_another(error)?,
            }
        }
    }

    /// Moves the partitions of a slot; returns how many, and their rows.
    async fn move_slot(&self, slot: u16, from: usize, to: usize) -> Result<(u64, u64), StoreError> {
        self.register.close(&*self.stores[from], slot).await?;
        let partitions = self.register.partitions(&*self.stores[from], slot).await?;
        let left = partitions.into_iter().filter(|partition| !partition.has_moved);
        let (count, rows) = (AtomicU64::new(0), AtomicU64::new(0));
        let moves = stream::iter(left.map(Ok::<_, StoreError>));
        let moves = moves.try_for_each_concurrent(AT_ONCE, |partition| {
            let (count, rows) = (&count, &rows);
            async move {
                rows.fetch_add(self.move_partition(from, to, &partition).await?, Relaxed);
                count.fetch_add(1, Relaxed);
                Ok(())
            }
        });
        moves.await?;
        Ok((count.into_inner(), rows.into_inner()))
    }
}

/// Goes on if another process has changed the map.
fn changed_by_another(error: StoreError) -> Result<(), StoreError> {
    if error.code == ErrorCode::UPDATE_CONDITION_NOT_SATISFIED { Ok(()) } else { Err(error) }
}
