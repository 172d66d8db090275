//! Pages of several accounts as one page, in key order.
//!
//! Invariant: a row is returned when no account can have one before it that was not returned.

use super::Answer;
use super::position::Position;
use crate::codec::{members_by_name, write_object};
use crate::entity::{RowHead, read_row, split_page};
use crate::model::{MAX_COMPARISONS, MAX_PAGE_ROWS, PARTITION_KEY, ROW_KEY};
use crate::query::RowQuery;
use crate::store::{ErrorCode, Page, Store, StoreError};
use bytes::Bytes;
use futures_util::future::try_join_all;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// Rows of one account that come next, and where it goes on after them.
#[derive(Debug)]
pub(super) struct AccountPage {
    pub account: usize,
    pub rows: VecDeque<(RowHead, Bytes)>,
    pub position: Position,
    scanned: Option<u32>,
}

impl AccountPage {
    /// No rows yet.
    pub fn at(account: usize, position: Position) -> Self {
        let scanned = (position == Position::End).then_some(0);
        Self { account, rows: VecDeque::new(), position, scanned }
    }
}

/// Reads the next rows of each account.
pub(super) async fn fetch(
    stores: &[Arc<dyn Store>],
    query: &RowQuery,
    positions: &[Position],
) -> Answer<Vec<AccountPage>> {
    let query = &ask(query, positions)?;
    let pages = stores.iter().zip(positions).enumerate().map(|(account, (store, position))| {
        next_rows(&**store, query, AccountPage::at(account, position.clone()))
    });
    try_join_all(pages).await
}

/// The query for each account that is not read to its end: it returns a share of the page, with the keys.
pub(super) fn ask(query: &RowQuery, positions: &[Position]) -> Answer<RowQuery> {
    let accounts = positions.iter().filter(|position| **position != Position::End).count();
    let most = MAX_PAGE_ROWS;
    if query.top.is_some_and(|top| !(1..=most).contains(&top)) {
        let message = format!("A page has 1 to {most} rows.");
        return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
    }
    let share = usize::from(query.top.unwrap_or(most)).div_ceil(accounts.max(1));
    let mut query = RowQuery { top: Some(share as u16), continuation: None, ..query.clone() };
    if let Some(select) = &mut query.select {
        let keys = [PARTITION_KEY, ROW_KEY].into_iter();
        let missing: Vec<_> = keys.filter(|key| !select.iter().any(|name| name == key)).collect();
        select.extend(missing.into_iter().map(Cow::Borrowed));
    }
    Ok(query)
}

/// Reads the next rows of one account: a page, and after the last page of a partition one more.
pub(super) async fn next_rows(
    store: &dyn Store,
    query: &RowQuery,
    mut next: AccountPage,
) -> Answer<AccountPage> {
    loop {
        let Some(query) = next.position.query(query) else {
            next.position = Position::End;
            next.scanned = next.scanned.or(Some(0));
            return Ok(next);
        };
        if query.comparisons() > MAX_COMPARISONS {
            let message = format!(
                "The query has more than {MAX_COMPARISONS} comparisons, counting up to two that \
                 continue it inside a partition. Use a shorter filter."
            );
            return Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
        }
        let page = store.query(&query).await?;
        next.add(&page)?;
        let ends = next.position.is_in_partition() && page.continuation.is_none();
        next.position = next.position.next(page.continuation);
        if !ends {
            return Ok(next);
        }
    }
}

impl AccountPage {
    fn add(&mut self, page: &Page) -> Answer<()> {
        let unreadable = |error| {
            StoreError::new(ErrorCode::INTERNAL_ERROR, "The page of an account cannot be read.")
                .caused_by(error)
        };
        for row in split_page(&page.body).map_err(unreadable)? {
            let row = page.body.slice_ref(row.get().as_bytes());
            let head = read_row::<RowHead>(0, &row).map_err(unreadable)?;
            self.rows.push_back((head, row));
        }
        self.scanned = match (self.scanned, page.scanned) {
            (Some(before), Some(now)) => Some(before.saturating_add(now)),
            (before, now) => before.or(now),
        };
        Ok(())
    }
}

/// Rows of several accounts as one page.
pub(super) struct Merged {
    pub page: Page,
    /// The last row of the page.
    pub last: Option<RowHead>,
    /// Where each account goes on.
    pub positions: Vec<Position>,
}

impl Merged {
    /// Whether every row was returned.
    pub fn is_last(&self) -> bool {
        self.positions.iter().all(|position| *position == Position::End)
    }
}

/// Makes one page, without its continuation, of the rows that `is_here` keeps.
pub(super) fn merge(
    query: &RowQuery,
    mut pages: Vec<AccountPage>,
    mut is_here: impl FnMut(usize, &RowHead) -> bool,
) -> Answer<Merged> {
    let most = query.top.unwrap_or(MAX_PAGE_ROWS);
    let mut body = br#"{"value":["#.to_vec();
    let (mut count, mut last) = (0, None);
    while count < most {
        let blocked = |page: &AccountPage| page.rows.is_empty() && page.position != Position::End;
        if pages.iter().any(blocked) {
            break;
        }
        let heads = pages.iter().enumerate();
        let heads = heads.filter_map(|(account, page)| Some((&page.rows.front()?.0, account)));
        let Some((_, account)) = heads.min() else { break };
        let Some((head, row)) = pages[account].rows.pop_front() else { break };
        if is_here(account, &head) {
            body.extend_from_slice(if count == 0 { b"" } else { b"," });
            body.extend_from_slice(&selected(query, &row)?);
            count += 1;
            last = Some(head);
        }
    }
    body.extend_from_slice(b"]}");
    let scanned = pages.iter().try_fold(0_u32, |all, page| Some(all.saturating_add(page.scanned?)));
    let page = Page { body: body.into(), continuation: None, scanned };
    Ok(Merged { page, last, positions: pages.into_iter().map(position).collect() })
}

/// Where an account goes on: at its first row that was not returned.
fn position(page: AccountPage) -> Position {
    match page.rows.into_iter().next() {
        Some((head, _)) => Position::Within(head.partition_key, head.row_key, None),
        None => page.position,
    }
}

/// The row without the keys that the query did not ask for.
fn selected(query: &RowQuery, row: &Bytes) -> Answer<Bytes> {
    let Some(select) = &query.select else { return Ok(row.clone()) };
    let is_missing = |key: &str| !select.iter().any(|name| name == key);
    if ![PARTITION_KEY, ROW_KEY].into_iter().any(is_missing) {
        return Ok(row.clone());
    }
    let mut members = members_by_name(row).map_err(|error| {
        StoreError::new(ErrorCode::INTERNAL_ERROR, "The row of an account cannot be read.")
            .caused_by(error)
    })?;
    members.retain(|name, _| !([PARTITION_KEY, ROW_KEY].contains(&&**name) && is_missing(name)));
    Ok(write_object(&members).into())
}
