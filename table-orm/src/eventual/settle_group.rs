//! Settles many entities with fewer requests: those of one partition share transactions.
//!
//! Invariants:
//! - Each entity has a ticket of its own. Whoever holds a ticket that was replaced cannot use it, and starts again.
//! - Canonical rows are read after all tickets are answered.
//! - A transaction that is rejected falls back to the entities one by one.
//!
//! So sharing requests decides nothing about what is safe.

use super::eventual_rows::EventualRows;
use super::settle::Settler;
use super::ticket::Ticket;
use super::ticket_rows::{Ready, Share, Stop, at_once};
use crate::entity::{RowHead, read_row, split_page};
use crate::error::Result;
use crate::model::order;
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Batch, StoredRow};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::Bound;

/// As many entities are read by point queries, each; more begin with a range query.
const FEW: usize = 3;

impl Settler<'_> {
    /// The tickets of the shares. Many of one partition are replaced in one transaction, which makes those void
    /// that others hold.
    pub(super) async fn tickets(
        &self,
        open: &[Share],
        together: bool,
    ) -> Vec<Result<Ticket, Stop>> {
        let mut places: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (index, share) in open.iter().enumerate() {
            let alone = (!together).then_some(index);
            places.entry((&share.table, &share.partition_key, alone)).or_default().push(index);
        }
        let chunks: Vec<&[usize]> =
            places.values().flat_map(|indices| indices.chunks(self.most_rows() + 1)).collect();
        let obtained = at_once(chunks.iter().map(|chunk| self.chunk(open, chunk))).await;
        let mut tickets: Vec<_> =
            chunks.into_iter().flatten().copied().zip(obtained.into_iter().flatten()).collect();
        tickets.sort_by_key(|(index, _)| *index);
        tickets.into_iter().map(|(_, ticket)| ticket).collect()
    }

    /// The tickets of shares of one partition.
    async fn chunk(&self, open: &[Share], chunk: &[usize]) -> Vec<Result<Ticket, Stop>> {
        let Some(share) = chunk.first().map(|&index| &open[index]) else {
            return Vec::new();
        };
        if chunk.len() == 1 {
            return vec![self.ticket(share).await];
        }
        let client = self.home.in_other_table(&share.table);
        let entities = chunk.iter().map(|&index| self.entity(&open[index].canonical));
        match Ticket::replace(&client, &share.partition_key, self.home, entities).await {
            Ok(tickets) => tickets.into_iter().map(Ok).collect(),
            Err(error) => {
                // After a refusal, the next round asks for each by itself.
                let first = match Stop::after(error) {
                    Stop::Refused(_) => Stop::Overtaken,
                    stop => stop,
                };
                let others = chunk.iter().skip(1).map(|_| Err(Stop::Overtaken));
                std::iter::once(Err(first)).chain(others).collect()
            }
        }
    }

    /// Reads canonical rows. Returns the `eventual` rows that each calls for.
    pub(super) async fn entities(
        &self,
        canonical: &BTreeSet<&str>,
    ) -> Result<BTreeMap<String, EventualRows>> {
        let mut rows = BTreeMap::new();
        let mut left = canonical.clone();
        let mut found = left.len();
        // A page of mostly other rows is the last one.
        while left.len() > FEW && found > FEW {
            self.read_range(&left, &mut rows).await?;
            let before = left.len();
            left.retain(|&row_key| !rows.contains_key(row_key));
            found = before - left.len();
        }
        let read = at_once(left.iter().map(|row_key| self.wanted(row_key))).await;
        for (row_key, wanted) in left.into_iter().zip(read) {
            rows.insert(row_key.to_owned(), wanted?);
        }
        Ok(rows)
    }

    /// Reads one page that begins with the first of these rows.
    async fn read_range(
        &self,
        canonical: &BTreeSet<&str>,
        rows: &mut BTreeMap<String, EventualRows>,
    ) -> Result<()> {
        let by_key = |one: &&&str, other: &&&str| order::compare(one, other);
        let ends = canonical.iter().min_by(by_key).zip(canonical.iter().max_by(by_key));
        let Some((first, last)) = ends else { return Ok(()) };
        let bound = |row_key: &str| Bound::Included(row_key.to_owned());
        let keys = KeyRange {
            partition: Span::Exact(self.partition_key.to_owned()),
            row: Span::Between(bound(first), bound(last)),
        };
        let query = RowQuery { metadata: self.kind.metadata, ..self.home.query(keys) };
        let page = self.home.page(&query).await?;
        let mut end = None;
        for row in split_page(&page.body)? {
            let body = Bytes::copy_from_slice(row.get().as_bytes());
            let RowHead { row_key, .. } = read_row(0, &body)?;
            if canonical.contains(&*row_key) {
                let row = StoredRow { body, header: None };
                rows.insert(row_key.clone(), self.called_for(row).await?);
            }
            end = Some(row_key);
        }
        let is_read = |row_key: &str| match (&page.continuation, &end) {
            (None, _) => true,
            (Some(_), Some(end)) => order::compare(row_key, end).is_le(),
            (Some(_), None) => false,
        };
        // Within what was read, a row that is not there is gone.
        for &row_key in canonical.iter().filter(|&&row_key| is_read(row_key)) {
            rows.entry(row_key.to_owned()).or_default();
        }
        Ok(())
    }

    /// Writes shares of one partition in one transaction, or one by one where it is refused.
    pub(super) async fn write_group(&self, mut group: Vec<Ready<'_>>) {
        if group.len() == 1
            && let Some(one) = group.pop()
        {
            return self.write(one).await;
        }
        let Some(Ready { share, .. }) = group.first() else { return };
        let (client, partition_key) =
            (self.home.in_other_table(&share.table), share.partition_key.clone());
        let tickets = group.iter().map(|ready| ready.ticket.consume());
        let rows = group
            .iter()
            .flat_map(|Ready { share, wanted, .. }| share.operations(wanted, self.most_rows()));
        let batch = Batch { partition_key, operations: tickets.chain(rows).collect() };
        match client.send_changes(batch, None).await {
            Ok(_) => {
                group.iter_mut().for_each(|ready| {
                    let count = ready.share.row_keys.len().min(self.most_rows());
                    ready.share.row_keys.drain(..count);
                });
            }
            Err(error) if error.is_unanswered() => {
                let mut stop = Stop::Unanswered(error);
                for ready in &mut group {
                    ready.share.stopped = Some(mem::replace(&mut stop, Stop::Overtaken));
                }
            }
            // Refused as a whole, so each ticket is as good as before.
            Err(_) => {
                at_once(group.into_iter().map(|ready| self.write(ready))).await;
            }
        }
    }
}
