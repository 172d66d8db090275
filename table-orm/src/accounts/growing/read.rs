//! Reads a partition from the account that it is in.
//!
//! Invariant: while a slot moves, rows read from its old account count only if the partition does not take writes
//! in the new account yet, as a later read of the new account shows.

use super::super::Answer;
use super::super::merge::{self, AccountPage, Merged};
use super::super::position::{Position, Token, not_of_query};
use super::fence::is_reserved;
use super::map::{Map, Slot};
use super::map_row::Seen;
use super::{Growing, ROUNDS};
use crate::entity::RowHead;
use crate::model::{Metadata, TableName};
use crate::query::{RowQuery, Span};
use crate::store::{ErrorCode, Page, StoreError, StoredRow};
use crate::sync::Concurrent;
use std::collections::{BTreeSet, HashSet};

/// How many partitions are looked up at once.
const AT_ONCE: usize = 16;

/// Partitions of one table that take writes where their slot goes to.
type Arrived = HashSet<String>;

impl Growing {
    pub async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Answer<Option<StoredRow>> {
        self.check(table)?;
        let read = |account: usize| {
            self.stores[account].get(table, partition_key, row_key, select, metadata)
        };
        for _ in 0..ROUNDS {
            let seen = self.map.current().await?;
            let row = match seen.map.slot(partition_key) {
                Slot::At(account) => read(account).await?,
                Slot::Moving { from, to } => {
                    let before = match self.opened.holds(to, table, partition_key) {
                        true => None,
                        false => Some(read(from).await?),
                    };
                    match before {
                        Some(row) if !self.is_open(to, table, partition_key).await? => row,
                        _ => read(to).await?,
                    }
                }
            };
            if seen.is_settled() {
                return Ok(row.filter(|_| !is_reserved(row_key)));
            }
        }
        Err(too_slow())
    }

    pub async fn query(&self, query: &RowQuery) -> Answer<Page> {
        self.check(&query.table)?;
        let token = Token::of(query)?;
        // One of fixed accounts does not say after which row.
        if token.as_ref().is_some_and(|token| token.version == 0) {
            return Err(not_of_query());
        }
        for _ in 0..ROUNDS {
            let seen = self.map.current().await?;
            let positions = self.positions(&seen, query, token.as_ref());
            let merged = if seen.map.is_moving() {
                self.while_moving_page(&seen, query, &positions).await?
            } else {
                let mut pages = merge::fetch(&self.stores, query, &positions).await?;
                keep(&mut pages, &seen.map, &Arrived::new());
                merge::merge(query, pages, |_, _| true)?
            };
            if seen.is_settled() {
                return Ok(page(&seen, token, merged));
            }
        }
        Err(too_slow())
    }

    /// Where each account goes on: as the token says, if no slot has moved since; else after the last row.
    fn positions(&self, seen: &Seen, query: &RowQuery, token: Option<&Token>) -> Vec<Position> {
        let mut positions = match token {
            Some(token)
                if token.version == seen.map.version
                    && token.positions.len() == self.stores.len()
                    && !seen.map.is_moving() =>
            {
                token.positions.clone()
            }
            token => {
                let last = token.and_then(|token| token.last.clone());
                let last = last.map(|(partition_key, row_key)| RowHead { partition_key, row_key });
                vec![Position::behind_row(last); self.stores.len()]
            }
        };
        // An account that no slot is in has no rows, and perhaps not the table.
        for position in positions.iter_mut().skip(seen.map.accounts()) {
            *position = Position::End;
        }
        if let Span::Exact(partition_key) = &query.keys.partition {
            let slot = seen.map.slot(partition_key);
            let is_there = |account| match slot {
                Slot::At(at) => at == account,
                Slot::Moving { from, to } => from == account || to == account,
            };
            for (account, position) in positions.iter_mut().enumerate() {
                if !is_there(account) {
                    *position = Position::End;
                }
            }
        }
        positions
    }

    /// Reads the next rows while slots move, account after account: a slot goes to a later account, so its
    /// rows are looked for first where they come from. A later account that has not got the table yet has no row.
    async fn while_moving_page(
        &self,
        seen: &Seen,
        query: &RowQuery,
        positions: &[Position],
    ) -> Answer<Merged> {
        let table = &query.table;
        let asked = merge::ask(query, positions)?;
        let mut arrived = Arrived::new();
        'all: loop {
            let mut pages = Vec::<AccountPage>::new();
            for (account, position) in positions.iter().enumerate() {
                // An account before it has answered, so it has the table.
                let is_later = positions[..account].iter().any(|at| *at != Position::End);
                let mut page = AccountPage::at(account, position.clone());
                while page.rows.is_empty() && page.position != Position::End {
                    let read = merge::next_rows(&*self.stores[account], &asked, page).await;
                    page = match read {
                        Err(error) if is_later && error.code == ErrorCode::TABLE_NOT_FOUND => {
                            AccountPage::at(account, Position::End)
                        }
                        page => page?,
                    };
                    let mut partitions: BTreeSet<_> =
                        page.rows.iter().map(|(row, _)| row.partition_key.clone()).collect();
                    if let Span::Exact(partition_key) = &query.keys.partition {
                        partitions.insert(partition_key.clone());
                    }
                    let new = self.arrivals(seen, table, partitions, &arrived).await?;
                    let reads_again = new.iter().any(|(_, to)| *to == account);
                    arrived.extend(new.into_iter().map(|(partition_key, _)| partition_key));
                    if reads_again {
                        // What was read before, where it comes from, may hold it too.
                        continue 'all;
                    }
                    keep(std::slice::from_mut(&mut page), &seen.map, &arrived);
                }
                pages.push(page);
            }
            return merge::merge(query, pages, |_, _| true);
        }
    }

    /// Those of the partitions that have arrived, and are not known to, with the account that they are in.
    async fn arrivals(
        &self,
        seen: &Seen,
        table: &TableName,
        partitions: BTreeSet<String>,
        known: &Arrived,
    ) -> Answer<Vec<(String, usize)>> {
        let moving = partitions.into_iter().filter(|partition| !known.contains(partition));
        let moving = moving.filter_map(|partition| match seen.map.slot(&partition) {
            Slot::Moving { to, .. } => Some((partition, to)),
            Slot::At(_) => None,
        });
        let found = moving.map(|(partition, to)| async move {
            let is_open = self.is_open(to, table, &partition).await?;
            Ok::<_, StoreError>(is_open.then_some((partition, to)))
        });
        let found = Concurrent::unordered(found, AT_ONCE).try_all().await?;
        Ok(found.into_iter().flatten().collect())
    }
}

/// Drops rows of the protocol, and rows in an account that is not theirs.
fn keep(pages: &mut [AccountPage], map: &Map, arrived: &Arrived) {
    for page in pages {
        let account = page.account;
        page.rows.retain(|(row, _)| {
            let place = match map.slot(&row.partition_key) {
                Slot::At(place) => place,
                Slot::Moving { to, .. } if arrived.contains(&row.partition_key) => to,
                Slot::Moving { from, .. } => from,
            };
            place == account && !is_reserved(&row.row_key)
        });
    }
}

/// The page with its continuation.
fn page(seen: &Seen, token: Option<Token>, merged: Merged) -> Page {
    if merged.is_last() {
        return merged.page;
    }
    let last = merged.last.map(|row| (row.partition_key, row.row_key));
    let last = last.or_else(|| token.and_then(|token| token.last));
    let positions = if seen.map.is_moving() { Vec::new() } else { merged.positions };
    let token = Token { version: seen.map.version, last, positions };
    Page { continuation: Some(token.continuation()), ..merged.page }
}

fn too_slow() -> StoreError {
    let message = "The read took longer than a minute each time, so its map of the accounts was too \
                   old. Try again.";
    StoreError::new(ErrorCode::SERVER_BUSY, message)
}
