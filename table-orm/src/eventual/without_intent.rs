//! Brings rows in step that no intent lists, and finds those that one lists: what repairs, backfills and
//! checked queries need.

use super::due_entry::DueEntry;
use super::eventual_rows::EventualKey;
use super::eventual_type::EventualType;
use super::pending::Pending;
use super::settle::Settler;
use super::sweep::Sweep;
use super::ticket_rows::shares;
use crate::entity::{read_row, split_page};
use crate::error::{Result, SettleError};
use crate::model::Metadata;
use crate::plan::TableClient;
use crate::query::{KeyRange, RowQuery, Span};
use futures_core::future::BoxFuture;
use std::collections::BTreeSet;

/// Writes the rows of these keys as the canonical rows of the partition say. Each key is one that only the
/// entity of its entry can have.
///
/// # Errors
/// Some rows may not be in step. Doing it again is safe.
pub(crate) fn settle_keys<'f>(
    home: &'f TableClient,
    kind: EventualType,
    partition_key: &'f str,
    due: &'f [DueEntry],
) -> BoxFuture<'f, Result<(), SettleError>> {
    Box::pin(
        async move { Settler { home, kind, partition_key }.write_rows(shares(due), None).await },
    )
}

/// The keys that intents of a partition list: whoever wrote their entities may be settling them. Leaves out
/// intents that this version cannot read.
pub(crate) fn pending_keys<'f>(
    home: &'f TableClient,
    kind: EventualType,
    partition_key: &'f str,
) -> BoxFuture<'f, Result<BTreeSet<EventualKey>>> {
    Box::pin(async move {
        let partition = Span::Exact(partition_key.to_owned());
        let query = home.query(KeyRange { partition, row: Sweep::rows() });
        let mut pages = home.pages(RowQuery { metadata: Metadata::Minimal, ..query });
        let mut keys = BTreeSet::new();
        while let Some(page) = pages.next().await? {
            for row in split_page(&page)? {
                if let Ok(Some(pending)) =
                    Pending::read(read_row(0, row.get().as_bytes())?, &home.table, kind)
                {
                    let due = pending.intent.due.into_iter().flat_map(|entry| entry.keys);
                    keys.extend(due.map(|(_, key)| key));
                }
            }
        }
        Ok(keys)
    })
}
