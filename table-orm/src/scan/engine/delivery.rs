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

/// The bytes of a page in flight until one has come: a full page of rows of 1 KiB.
const FIRST_PAGE: f64 = 1_048_576.0;
/// A page in flight counts as the largest one, which is forgotten by this share with each page.
const FORGOTTEN: f64 = 1.0 / 64.0;
/// The share of the buffer that pages a whole buffer ahead may not fill, so that nearer ones can.
const NEAR: f64 = 0.5;

/// Rows on their way to the consumer.
#[derive(Debug)]
pub(in crate::scan) struct QueuedPage<T> {
    /// The start of its range.
    pub range: Position,
    pub rows: Vec<T>,
    pub first: RowHead,
    pub last: RowHead,
    /// What it counts towards the buffer: its JSON, the structs read from it, and their extra bytes.
    pub bytes: usize,
}

/// The pages of one range.
#[derive(Debug)]
struct Outbox<T> {
    /// Committed pages that the consumer has not taken.
    queue: VecDeque<QueuedPage<T>>,
    /// Committed pages that the consumer is not done with.
    unsettled: usize,
    /// The bytes of the queue.
    bytes: usize,
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
    /// Pages that wait, their bytes, and the most bytes at a time.
    waiting_pages: usize,
    waiting_bytes: usize,
    pub most_bytes: usize,
    /// The bytes that a page in flight counts as; `None` before the first page.
    page_bytes: Option<f64>,
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
            waiting_bytes: 0,
            most_bytes: 0,
            page_bytes: None,
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

    /// Whether the most pages that may wait in no order do wait or are on their way.
    pub fn is_full(&self) -> bool {
        self.waiting_pages + self.requested >= 2 * self.rules.workers
    }

    /// Whether the buffer has room for a page of the earliest range.
    pub fn has_room_for_earliest(&self) -> bool {
        self.used() + self.page_bytes() <= self.rules.buffer as f64
    }

    /// Whether the buffer has room for a page that comes `ahead` bytes after those handed out, beside
    /// one of the earliest range.
    pub fn has_room(&self, ahead: f64) -> bool {
        let buffer = self.rules.buffer as f64;
        let near = NEAR * (ahead / buffer).min(1.0);
        2.0_f64.mul_add(self.page_bytes(), self.used()) <= buffer * (1.0 - near)
    }

    /// The bytes that a page in flight counts as.
    pub fn page_bytes(&self) -> f64 {
        self.page_bytes.unwrap_or(FIRST_PAGE)
    }

    fn used(&self) -> f64 {
        (self.requested as f64).mul_add(self.page_bytes(), self.waiting_bytes as f64)
    }

    /// The bytes of a range's pages that wait.
    pub fn bytes_of(&self, range: &Position) -> f64 {
        self.outboxes.get(range).map_or(0.0, |outbox| outbox.bytes as f64)
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
            bytes: 0,
            delivered: None,
        });
        outbox.unsettled += 1;
    }

    /// Queues a page that was committed.
    pub fn push(&mut self, page: QueuedPage<T>) {
        let Some(outbox) = self.outboxes.get_mut(&page.range) else { return };
        self.waiting_pages += 1;
        self.waiting_bytes += page.bytes;
        self.most_bytes = self.most_bytes.max(self.waiting_bytes);
        let bytes = page.bytes as f64;
        let largest = self.page_bytes.map_or(bytes, |largest| largest * (1.0 - FORGOTTEN));
        self.page_bytes = Some(largest.max(bytes));
        outbox.bytes += page.bytes;
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
        let outbox = self.outboxes.get_mut(range)?;
        let page = outbox.queue.pop_front()?;
        outbox.bytes -= page.bytes;
        self.waiting_pages -= 1;
        self.waiting_bytes -= page.bytes;
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
