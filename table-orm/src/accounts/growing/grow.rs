//! New accounts take their slots.

use super::super::AccountsError;
use super::map::Slot;
use super::{Growing, SETTLE};
use crate::store::{ErrorCode, StoreError};
use futures_util::stream::{self, TryStreamExt as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many partitions move at once.
const AT_ONCE: usize = 8;

/// What [`Accounts::grow`](super::super::Accounts::grow) has moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Growth {
    /// How many slots, of 1,024.
    pub slots: u32,
    /// How many partitions.
    pub partitions: u64,
    /// How many rows.
    pub rows: u64,
}

impl Growing {
    pub async fn grow(&self) -> Result<Growth, AccountsError> {
        self.begin().await?;
        let mut growth = Growth::default();
        let mut seen = self.map.now().await?;
        if !seen.map.is_moving() {
            return Ok(growth);
        }
        // From now on, who reads by an older map gets no answer.
        tokio::time::sleep(SETTLE).await;
        for (slot, at) in (0..).zip(seen.map.slots.clone()) {
            let Slot::Moving { from, to } = at else { continue };
            let (partitions, rows) = self.move_slot(slot, from, to).await?;
            growth.partitions += partitions;
            growth.rows += rows;
            loop {
                seen = self.map.now().await?;
                let Some(arrived) = seen.map.arrived(slot) else { break };
                match self.map.replace(&seen, &arrived).await {
                    Ok(()) => {
                        growth.slots += 1;
                        break;
                    }
                    Err(error) => changed_by_another(error)?,
                }
            }
        }
        Ok(growth)
    }

    /// Marks the slots that move.
    async fn begin(&self) -> Result<(), StoreError> {
        loop {
            let seen = self.map.now().await?;
            let Some(grown) = seen.map.grown(self.stores.len()) else { return Ok(()) };
            match self.map.replace(&seen, &grown).await {
                Ok(()) => return Ok(()),
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
