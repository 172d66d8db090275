//! The events that the writes of entities add to the outbox of their partition.
//!
//! Invariant: an event has the number that the head of the outbox names, and its transaction raises that
//! number under the version that was read. So the numbers of a partition are in the order in which its
//! transactions took effect, whoever sent them and however late they arrived.

use super::canonical_key::CanonicalKey;
use super::table_client::TableClient;
use crate::entity::{
    Change, DynamicEntity, EventContent, EventRowKey, EventValues, HEAD, Head, ReportedType,
    RowHead, read_row, split_page,
};
use crate::error::{Error, Result};
use crate::model::{ETag, MAX_STRING_UNITS, PARTITION_KEY, ROW_KEY};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Action, Batch, IfMatch, Operation};
use bytes::Bytes;
use std::ops::Bound;

/// The number of the first event of a partition.
const FIRST: u64 = 1;

/// The number of a partition's next event, as it was read.
#[derive(Debug)]
pub(crate) struct StoredHead {
    next: u64,
    /// `None` where there is no row yet.
    etag: Option<ETag>,
}

impl StoredHead {
    /// The write of the number after that many events, over the version that was read. It also makes each
    /// transaction fail that read the number before and did not take effect yet.
    pub fn raised(&self, partition_key: &str, events: usize) -> Result<Operation> {
        let head = Head { next: self.next + events as u64 }.body(partition_key)?;
        Ok(Operation { row_key: HEAD.to_owned(), action: Action::over(head, self.etag.clone()) })
    }
}

impl TableClient {
    pub(super) fn is_reported(&self, row_key: &str) -> bool {
        self.reported_types(row_key).next().is_some()
    }

    /// Whether the transaction may add events.
    pub fn may_add_events(&self, batch: &Batch) -> bool {
        let mut rows = batch.operations.iter();
        !self.reported.is_empty() && rows.any(|operation| self.is_reported(&operation.row_key))
    }

    /// The types that may have such a canonical row: several, where the rows' `kind` distinguishes them.
    fn reported_types(&self, row_key: &str) -> impl Iterator<Item = &ReportedType> {
        self.reported.iter().filter(move |reported| reported.is_canonical(row_key))
    }

    /// Whether the event of a write depends on the stored row. A write under a condition shows by itself
    /// what it does.
    pub(super) fn reads_for_event(&self, operation: &Operation) -> bool {
        self.reported_types(&operation.row_key).any(|reported| {
            let shows = match &operation.action {
                Action::InsertOrReplace(_) | Action::InsertOrMerge(_) => false,
                Action::Merge(..) => !reported.values.after,
                Action::Insert(_) | Action::Replace(..) | Action::Delete(_) => true,
            };
            reported.values.before || reported.is_marked || !shows
        })
    }

    /// What an operation does to an entity: from the canonical row before it to that after it. `None` for a
    /// row of another type, and for an operation that only requires a version.
    pub(super) fn event(
        &self,
        operation: &Operation,
        [before, after]: [Option<&Bytes>; 2],
    ) -> Result<Option<EventContent>> {
        if !self.is_reported(&operation.row_key) || requires_only(operation)? {
            return Ok(None);
        }
        let read = self.reads_for_event(operation);
        for reported in self.reported_types(&operation.row_key) {
            let is_own = |row: Option<&Bytes>| row.map_or(Ok(false), |row| reported.is_own(row));
            let (was, is) = (is_own(before)?, is_own(after)?);
            let change = match &operation.action {
                Action::Insert(_) if is => Change::Inserted,
                Action::Delete(_) if was || !read => Change::Deleted,
                Action::Replace(..) | Action::Merge(..) if !read => Change::Updated,
                _ => match (was, is) {
                    (true, true) => Change::Updated,
                    (true, false) => Change::Deleted,
                    (false, true) => Change::Inserted,
                    (false, false) => continue,
                },
            };
            let event = EventContent {
                entity: reported.entity.to_owned(),
                change,
                row_key: operation.row_key.clone(),
                from: None,
                before: None,
                after: None,
                left_out: Vec::new(),
            };
            let rows = [
                before.filter(|_| was && reported.values.before),
                after.filter(|_| is && reported.values.after),
            ];
            return Ok(Some(event.with_rows(rows, self.store().hidden_property())?));
        }
        Ok(None)
    }

    /// The most bytes that the values in the events of these operations take in a request.
    pub(super) fn most_value_bytes(&self, batch: &Batch) -> usize {
        // A unit of the text takes at most three bytes: it is a character, or a quote with its escape.
        const LONGEST: usize = 3 * MAX_STRING_UNITS;
        let of = |operation: &Operation| {
            let before = !matches!(operation.action, Action::Insert(_));
            let after = match &operation.action {
                Action::Insert(body) | Action::InsertOrReplace(body) | Action::Replace(body, _) => {
                    LONGEST.min(2 * body.len())
                }
                Action::InsertOrMerge(_) | Action::Merge(..) => LONGEST,
                Action::Delete(_) => 0,
            };
            let bytes = |reported: &ReportedType| {
                let EventValues { before: asks_before, after: asks_after } = reported.values;
                LONGEST * usize::from(before && asks_before) + after * usize::from(asks_after)
            };
            self.reported_types(&operation.row_key).map(bytes).max().unwrap_or_default()
        };
        if self.reported.is_empty() { 0 } else { batch.operations.iter().map(of).sum() }
    }

    /// The same events, with one for each entity whose canonical key changes. Where another entity takes
    /// over the old key, or gave up the new one, the events say what became of each key.
    pub(super) fn with_moves(&self, mut events: Vec<EventContent>) -> Vec<EventContent> {
        for (from, to) in &self.moves {
            let place = |change, key: &String| {
                events.iter().position(|event| event.change == change && event.row_key == *key)
            };
            let deleted = place(Change::Deleted, from);
            let Some((deleted, inserted)) = deleted.zip(place(Change::Inserted, to)) else {
                continue;
            };
            let was = &mut events[deleted];
            let (before, left_out) = (was.before.take(), std::mem::take(&mut was.left_out));
            let after = &mut events[inserted];
            after.change = Change::Moved;
            after.from = Some(from.clone());
            after.before = before;
            after.left_out = [left_out, std::mem::take(&mut after.left_out)].concat();
            events.remove(deleted);
        }
        events
    }

    /// The key of the row with the number of a partition's next event.
    pub(super) fn outbox_head(&self, partition_key: &str) -> CanonicalKey {
        CanonicalKey { partition_key: partition_key.to_owned(), row_key: HEAD.to_owned() }
    }

    /// Reads the number of a partition's next event.
    pub async fn stored_head(&self, partition_key: &str) -> Result<StoredHead> {
        Ok(match self.row(&self.point(&self.outbox_head(partition_key))).await? {
            Some(row) => {
                let etag = Some(row.etag()?);
                StoredHead { next: read_row::<Head>(0, &row.body)?.next, etag }
            }
            None => StoredHead { next: FIRST, etag: None },
        })
    }

    /// The number after that of the last event that is there.
    async fn after_last_event(&self, partition_key: &str) -> Result<u64> {
        let [first, end] = [EventRowKey::FIRST, EventRowKey::END].map(str::to_owned);
        let partition = Span::Exact(partition_key.to_owned());
        let row = Span::Between(Bound::Included(first), Bound::Excluded(end));
        let select = Some(vec![PARTITION_KEY.into(), ROW_KEY.into()]);
        let query = RowQuery { select, ..self.query(KeyRange { partition, row }) };
        let (mut pages, mut next) = (self.pages(query), FIRST);
        while let Some(page) = pages.next().await? {
            for row in split_page(&page)? {
                let RowHead { row_key, .. } = read_row(0, row.get().as_bytes())?;
                next = EventRowKey::read(&row_key).map_or(next, |EventRowKey(last)| last + 1);
            }
        }
        Ok(next)
    }

    /// The inserts of events with the next numbers, after the write that takes these. `is_behind` says that there
    /// was an event under such a number: another program deleted the row with the number, or brought
    /// back an old one.
    pub(super) async fn numbered(
        &self,
        partition_key: &str,
        events: &[EventContent],
        is_behind: bool,
    ) -> Result<Vec<Operation>> {
        let mut head = self.stored_head(partition_key).await?;
        if is_behind {
            head.next = head.next.max(self.after_last_event(partition_key).await?);
        }
        let next = head.next;
        let mut operations = vec![head.raised(partition_key, events.len())?];
        for (number, event) in (next..).zip(events) {
            let action = Action::Insert(event.body(partition_key, number)?);
            operations.push(Operation { row_key: EventRowKey(number).to_string(), action });
        }
        Ok(operations)
    }
}

/// Whether a transaction failed because there was an event under a number that it took.
pub(super) fn is_number_taken(error: &Error) -> bool {
    let Error::AlreadyExists(rejection) = error else { return false };
    EventRowKey::read(&rejection.row_key).is_some()
}

/// Whether the operation changes nothing: it fails unless the row has a version.
pub(super) fn requires_only(operation: &Operation) -> Result<bool> {
    Ok(match &operation.action {
        Action::Merge(set, IfMatch::ETag(_)) => {
            read_row::<DynamicEntity>(0, set)?.properties.is_empty()
        }
        _ => false,
    })
}
