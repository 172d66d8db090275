//! The partitions that a register names for their events.
//!
//! Invariant: a partition is named before a write that adds an event is sent. It stays named until a dispatcher
//! finds it without events, and knows that no write that was sent before can add one.
//!
//! A dispatcher reads the pointers first, and then, in this order:
//! 1. It reads the row with the number of the next event, and finds no event.
//! 2. It writes that row under the version that it read. So no event came in between, and each transaction that
//!    read the number before, answered or not, and however late it arrives, is rejected.
//! 3. It deletes the pointers in the versions that it read, if these are older than [`GRACE`].
//!
//! A transaction that adds an event later reads the number later, so its process lives then. Either that
//! process wrote its pointer within the last minute, so the version of the pointer is another one, or it has another
//! pointer. This holds too for a writer that uses a pointer which stands.
//!
//! Exception: a process that sends a write although it could not write its pointer again for a minute, for example
//! because its machine slept. Its events are not lost: the next write to the partition names it again, and a scan
//! finds them.
//!
//! Where events stay, the youngest pointer stays, which names them. The others are deleted: the partition is named as
//! long as it has events.

use super::queries::first_events;
use crate::entity::{EVENTS, EventRowKey, RowHead, read_row, split_page};
use crate::error::{Error, Result};
use crate::model::TableName;
use crate::plan::TableClient;
use crate::query::Span;
use crate::register::{self, Found, GRACE};
use crate::store::Batch;
use std::collections::BTreeMap;

/// A partition that pointers name.
pub(super) struct Named {
    pub partition_key: String,
    pointers: Vec<Found>,
}

impl Named {
    /// Reads the register.
    pub async fn all(client: &TableClient, register: &TableName) -> Result<Vec<Self>> {
        let named: BTreeMap<_, _> = register::pointers(client, register, EVENTS).await?;
        let named = named.into_iter();
        Ok(named.map(|(partition_key, pointers)| Self { partition_key, pointers }).collect())
    }

    /// Deletes the pointers that are not needed any more. `may_be_empty` says that nobody saw an event that
    /// stays.
    pub async fn forget(
        self,
        client: &TableClient,
        register: &TableName,
        may_be_empty: bool,
    ) -> Result<()> {
        if self.pointers.iter().all(|pointer| pointer.age < GRACE) {
            return Ok(());
        }
        let is_done = may_be_empty && self.is_done(client).await?;
        let mut pointers = self.pointers;
        pointers.sort_by_key(|pointer| pointer.age);
        let rest = pointers.into_iter().skip(usize::from(!is_done));
        for pointer in rest.filter(|pointer| pointer.age >= GRACE) {
            register::remove(client, register, pointer).await?;
        }
        Ok(())
    }

    /// Whether the partition has no event, and no write that was sent so far can add one.
    async fn is_done(&self, client: &TableClient) -> Result<bool> {
        let head = client.stored_head(&self.partition_key).await?;
        let mut pages = client.pages(first_events(client, self.span(), 3));
        while let Some(page) = pages.next().await? {
            for row in split_page(&page)? {
                let RowHead { row_key, .. } = read_row(0, row.get().as_bytes())?;
                if EventRowKey::read(&row_key).is_some() {
                    return Ok(false);
                }
            }
        }
        let operations = vec![head.raised(&self.partition_key, 0)?];
        let partition_key = self.partition_key.clone();
        match client.send(Batch { partition_key, operations }).await {
            Ok(_) => Ok(true),
            // A write has added an event meanwhile.
            Err(Error::Conflict(_) | Error::NotFound(_) | Error::AlreadyExists(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn span(&self) -> Span {
        Span::Exact(self.partition_key.clone())
    }
}
