//! What the consumer of a scan gets: pages, then an error or the end.
//!
//! Invariant: a page waits in the outbox of its range until it is taken, and the range is settled
//! only when its consumer is done with every page of it.

use super::page_keys::PageKeys;
use super::position::Position;
use super::rules::Rules;
use crate::entity::RowHead;
use crate::error::Error;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Pages that may wait for an earlier one, for each worker.
const HELD_PAGES: usize = 5;
/// Pages of the earliest range that may wait for the consumer.
const READY_PAGES: usize = 4;

/// Rows on their way to the consumer.
#[derive(Debug)]
pub(in crate::scan) struct QueuedPage<T> {
    /// The start of its range.
    pub range: Position,
    pub rows: Vec<T>,
    pub first: RowHead,
    pub last: RowHead,
    /// Stored rows it was read from.
    pub read: usize,
}

/// The pages of one range.
#[derive(Debug)]
struct Outbox<T> {
    /// Committed pages that the consumer has not taken.
    queue: VecDeque<QueuedPage<T>>,
    /// Committed pages that the consumer is not done with.
    unsettled: usize,
    /// The last row that the consumer is done with.
    delivered: Option<RowHead>,
}

#[derive(Debug)]
pub(super) struct Delivery<T> {
    rules: Arc<Rules>,
    /// By the start of their range.
    outboxes: BTreeMap<Position, Outbox<T>>,
    /// The ranges whose pages wait to be taken, oldest first; unused where rows leave in order.
    arrivals: VecDeque<Position>,
    /// Pages and rows that wait.
    waiting_pages: usize,
    waiting_rows: usize,
    /// Pages requested and not committed.
    pub requested: usize,
    /// Rows committed, or partition keys.
    found: usize,
    /// Pages and rows handed out, and rows left to another range.
    pub pages: u64,
    pub rows: u64,
    pub dropped: u64,
    pub failed: Option<Error>,
    pub stopped: bool,
}

impl<T> Delivery<T> {
    pub fn new(rules: Arc<Rules>) -> Self {
        Self {
            rules,
            outboxes: BTreeMap::new(),
            arrivals: VecDeque::new(),
            waiting_pages: 0,
            waiting_rows: 0,
            requested: 0,
            found: 0,
            pages: 0,
            rows: 0,
            dropped: 0,
            failed: None,
            stopped: false,
        }
    }

    /// Whether no more pages are to be read.
    pub fn is_ended(&self) -> bool {
        self.stopped || self.failed.is_some() || self.is_enough()
    }

    /// Whether as many rows as the limit were committed.
    pub fn is_enough(&self) -> bool {
        self.rules.limit.is_some_and(|limit| self.found >= limit)
    }

    /// Whether as many rows as the limit were handed out.
    pub fn has_handed_out_limit(&self) -> bool {
        self.rules.limit.is_some_and(|limit| self.rows >= limit as u64)
    }

    /// Whether no page waits.
    pub const fn is_empty(&self) -> bool {
        self.waiting_pages == 0
    }

    /// Whether the most rows that may wait do wait or are on their way, in pages of `page_rows`
    /// rows.
    pub fn is_full(&self, page_rows: f64) -> bool {
        if !self.rules.ordered {
            return self.waiting_pages + self.requested >= 2 * self.rules.workers;
        }
        let pages = (HELD_PAGES * self.rules.workers).max(4 * READY_PAGES) as f64;
        let rows = self.waiting_rows as f64 + self.requested as f64 * page_rows;
        rows >= pages * page_rows
    }

    /// Whether the most pages that may wait for that range, the earliest, do wait.
    pub fn is_head_full(&self, range: &Position) -> bool {
        self.outboxes.get(range).is_some_and(|outbox| outbox.queue.len() >= READY_PAGES)
    }

    /// Whether pages of a range wait.
    pub fn holds(&self, range: &Position) -> bool {
        self.outboxes.get(range).is_some_and(|outbox| !outbox.queue.is_empty())
    }

    /// How many of a page's first `owned` rows the limit still allows; they count as found then.
    pub fn claim(&mut self, page: &PageKeys<'_>, owned: usize) -> usize {
        let Some(limit) = self.rules.limit else { return owned };
        let left = limit - self.found;
        let (rows, items) = page.wanted(owned, left);
        self.found += items;
        rows
    }

    /// A page of a range is committed, and will be queued.
    pub fn expect(&mut self, range: &Position) {
        let outbox = self.outboxes.entry(range.clone()).or_insert_with(|| Outbox {
            queue: VecDeque::new(),
            unsettled: 0,
            delivered: None,
        });
        outbox.unsettled += 1;
    }

    /// Queues a page that was committed.
    pub fn push(&mut self, page: QueuedPage<T>) {
        let Some(outbox) = self.outboxes.get_mut(&page.range) else { return };
        self.waiting_pages += 1;
        self.waiting_rows += page.read;
        if !self.rules.ordered {
            self.arrivals.push_back(page.range.clone());
        }
        outbox.queue.push_back(page);
    }

    /// The page that came first, of any range.
    pub fn take_first(&mut self) -> Option<QueuedPage<T>> {
        let range = self.arrivals.pop_front()?;
        self.take_of(&range)
    }

    /// The next page of a range.
    pub fn take_of(&mut self, range: &Position) -> Option<QueuedPage<T>> {
        let page = self.outboxes.get_mut(range)?.queue.pop_front()?;
        self.waiting_pages -= 1;
        self.waiting_rows -= page.read;
        self.pages += 1;
        self.rows += page.rows.len() as u64;
        Some(page)
    }

    /// The consumer is done with a page of a range, up to its last row.
    pub fn settle(&mut self, range: &Position, last: RowHead) {
        if let Some(outbox) = self.outboxes.get_mut(range) {
            outbox.delivered = Some(last);
            outbox.unsettled -= 1;
        }
    }

    /// Whether the consumer is done with every page of a range so far.
    pub fn is_settled(&self, range: &Position) -> bool {
        self.outboxes.get(range).is_none_or(|outbox| outbox.unsettled == 0)
    }

    /// The last row of a range that the consumer is done with.
    pub fn delivered(&self, range: &Position) -> Option<&RowHead> {
        self.outboxes.get(range)?.delivered.as_ref()
    }

    /// Forgets a range that is settled and read to its end.
    pub fn forget(&mut self, range: &Position) {
        self.outboxes.remove(range);
    }
}
