//! Sends a transaction with its intents, and settles them.
//!
//! Invariant: where the table has a register, the partition is named there before the first request, until nothing is
//! left in it. What may be left after a failure stays named, and so does a partition that may have events.

use super::eventual_type::EventualType;
use super::intent::Intent;
use super::intents::Intents;
use super::pending::Pending;
use super::settle::Settler;
use super::settling::{Group, Settling};
use crate::entity::EVENTS;
use crate::error::Result;
use crate::model::ETag;
use crate::plan::{Cover, TableClient};
use crate::register::cover;
use crate::store::{Batch, StoredRow};
use futures_core::future::BoxFuture;
use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

impl Intents {
    /// Sends a transaction with its intents, after its values are reserved, and with `tickets_first` the tickets
    /// are made. Returns the versions that its operations returned, in order. `canonical` is as for
    /// [`send_changes`](TableClient::send_changes).
    pub fn send<'f>(
        &'f mut self,
        client: &'f TableClient,
        batch: Batch,
        canonical: Option<&'f str>,
        settling: &'f Settling,
    ) -> BoxFuture<'f, Result<Vec<Option<ETag>>>> {
        Box::pin(async move {
            if !settling.tickets_first {
                return self.send_prepared(client, batch, canonical, settling, false).await;
            }
            for (kind, intent) in &self.intents {
                let partition_key = &intent.partition_key;
                let settler = Settler { home: client, kind: *kind, partition_key };
                self.prepared.push(match self.can_be_prepared(intent) {
                    true => Box::pin(settler.prepare(intent, &self.rows)).await,
                    false => None,
                });
            }
            let sent = self.send_prepared(client, batch, canonical, settling, false).await;
            // One that is not answered may take effect, and use them.
            if sent
                .as_ref()
                .is_err_and(|error| !error.is_unanswered() || error.is_refused_as_busy())
            {
                for prepared in self.prepared.drain(..).flatten() {
                    Box::pin(prepared.give_up(client)).await;
                }
            }
            sent
        })
    }

    /// Sends a transaction that is rejected where a row that it deletes does not exist.
    pub fn send_deleting_all<'f>(
        &'f mut self,
        client: &'f TableClient,
        batch: Batch,
    ) -> BoxFuture<'f, Result<Vec<Option<ETag>>>> {
        Box::pin(async move {
            self.send_prepared(client, batch, None, &Settling::default(), true).await
        })
    }

    async fn send_prepared(
        &mut self,
        client: &TableClient,
        batch: Batch,
        canonical: Option<&str>,
        settling: &Settling,
        deletes_all: bool,
    ) -> Result<Vec<Option<ETag>>> {
        // Held until the transaction is answered, or given up.
        let _events = cover_events(client, &batch).await?;
        if !self.tickets.is_empty() {
            self.cover(client, &batch.partition_key).await?;
            return Box::pin(self.send_reserved(client, batch, canonical)).await;
        }
        let mut batch = batch;
        self.append_inserts(client, &mut batch)?;
        self.cover(client, &batch.partition_key).await?;
        let sender = self.sender(client);
        let sent = match deletes_all {
            true => sender.send(batch).await,
            false => sender.send_changes(batch, canonical).await,
        };
        match &sent {
            Err(error) if error.is_unanswered() && !error.is_refused_as_busy() => {
                if let Some(found) = error.stored_as_sent() {
                    Box::pin(self.settle_found(client, found, settling)).await;
                }
            }
            Err(_) => self.covers.iter().for_each(|(_, cover)| cover.end()),
            Ok(_) => {}
        }
        sent
    }

    /// Names the partition in the register, once for each type.
    async fn cover(&mut self, client: &TableClient, partition_key: &str) -> Result<()> {
        let kinds: BTreeSet<_> = self.rows().map(|(kind, _)| kind.entity).collect();
        for kind in kinds {
            let cover = Box::pin(cover(client, kind, partition_key)).await?;
            self.covers.extend(cover.map(|cover| (kind, Arc::new(cover))));
        }
        Ok(())
    }

    /// Settles them after the answer was lost and the rows were found as they were sent: in the background, or with
    /// those of the bulk write.
    async fn settle_found(
        &self,
        client: &TableClient,
        found: &[(String, Option<StoredRow>)],
        settling: &Settling,
    ) {
        let version = |(_, intent): &(_, Intent)| {
            let (_, row) = found.iter().find(|(row_key, _)| *row_key == intent.row_key)?;
            row.as_ref()?.etag().ok()
        };
        let etags: Vec<_> = self.intents.iter().map(version).collect();
        let later = Settling { later: true, aside: settling.aside.clone(), ..Settling::default() };
        self.clone().settle(client, &etags, &later).await;
    }

    /// Settles them after the transaction was found to have taken effect, although no answer stated their
    /// versions.
    pub async fn settle_unanswered(self, client: &TableClient, settling: &Settling) {
        let mut etags = Vec::with_capacity(self.intents.len());
        for (_, Intent { partition_key, row_key, .. }) in &self.intents {
            // One that is gone was settled by somebody else; one that cannot be read is left to a sweep.
            let row = client.annotated_row(partition_key, row_key).await.ok().flatten();
            etags.push(row.and_then(|row| row.etag().ok()));
        }
        self.settle(client, &etags, settling).await;
    }

    /// Settles them after the transaction took effect. `etags` are those of its operations.
    pub fn settle<'f>(
        self,
        client: &'f TableClient,
        etags: &'f [Option<ETag>],
        settling: &'f Settling,
    ) -> BoxFuture<'f, ()> {
        // Most writes leave nothing to settle.
        if self.intents.is_empty() && self.covers.is_empty() {
            settling.done();
            return Box::pin(ready(()));
        }
        Box::pin(async move {
            let first = etags.len().saturating_sub(self.intents.len());
            let inserted = etags[first..].iter().cloned();
            let covers = self.covers;
            let mut prepared = self.prepared.into_iter();
            let mut group = |((kind, intent), etag): ((EventualType, Intent), Option<ETag>)| {
                let prepared = prepared.next().flatten().map(Box::new);
                let cover = covers.iter().find(|(other, _)| *other == kind.entity);
                let cover = cover.map(|(_, cover)| Arc::clone(cover));
                Some((kind, vec![Pending { intent, etag: etag?, written: None, cover, prepared }]))
            };
            let kinds: Vec<_> = self.intents.iter().map(|(kind, _)| kind.entity).collect();
            let groups: Option<Vec<Group>> =
                self.intents.into_iter().zip(inserted).map(&mut group).collect();
            // What only took values has left nothing.
            let ended = covers.iter().filter(|(kind, _)| !kinds.contains(kind));
            ended.for_each(|(_, cover)| cover.end());
            // Without its version, an intent is left to a sweep.
            if let Some(groups) = groups {
                settling.settle(client, groups).await;
            }
        })
    }
}

/// Names the partition in the register where the transaction may add events, for whoever hands them on.
async fn cover_events(client: &TableClient, batch: &Batch) -> Result<Option<Cover>> {
    if !client.may_add_events(batch) {
        return Ok(None);
    }
    let cover = Box::pin(cover(client, EVENTS, &batch.partition_key)).await?;
    Ok(cover.map(Cover::stay))
}
