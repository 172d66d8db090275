//! The options of a scan, checked before the first request.

use super::scan::{MAX_CONCURRENCY, Names, Scan};
use crate::error::{Error, Result, ScanError};
use crate::key::forbidden_in;
use crate::model::{MAX_COMPARISONS, MAX_PAGE_ROWS, PARTITION_KEY, ROW_KEY, order};
use crate::plan::{Plan, Step};
use crate::query::Filter;
use crate::scan::engine::{Rules, Splitter, bounds, first_request, is_split_char, max, min, span};
use crate::sync::Random;
use std::borrow::Cow;

impl<T, R> Scan<T, R> {
    /// The source of random waits, so that scans throttled together do not come back together.
    pub(in crate::scan) fn random(&self) -> Random {
        self.seed.map_or_else(Random::from_system, Random::seeded)
    }

    /// The checked options, as the workers follow them.
    pub(in crate::scan) fn rules(self, select: Option<Names>, keys_only: bool) -> Result<Rules> {
        let mut query = self.query?;
        if self.workers == 0 {
            return Err(ScanError::NoWorkers.into());
        }
        if self.workers > MAX_CONCURRENCY {
            return Err(
                ScanError::TooManyWorkers { given: self.workers, most: MAX_CONCURRENCY }.into()
            );
        }
        if self.rounds.0 == 0 || self.rounds.1 == 0 {
            return Err(ScanError::NoPagesPerPrefix.into());
        }
        query.top = match self.page_size.map(u16::try_from) {
            None => None,
            Some(Ok(rows @ 1..=MAX_PAGE_ROWS)) => Some(rows),
            Some(_) => return Err(Error::PageSize(self.page_size.unwrap_or_default())),
        };
        let page_size = query.top;
        let page = page_size.unwrap_or(MAX_PAGE_ROWS);
        // A scan that leaves out unreadable rows may need more rows than its limit.
        if let Some(rows @ 1..) = self.limit.and_then(|limit| u16::try_from(limit).ok())
            && rows < page
            && self.skip.is_none()
        {
            query.top = Some(rows);
        }
        if let Some(character) = forbidden_in(&self.prefix) {
            return Err(ScanError::PrefixCharacter { prefix: self.prefix, character }.into());
        }
        if let Splitter::Keys(keys) = &self.splitter
            && let Some(key) = keys.iter().find(|key| !key.chars().all(is_split_char))
        {
            return Err(ScanError::SplitKey(key.clone()).into());
        }
        let (lo, hi) = bounds(&query.keys.partition);
        let lo = max(lo, self.prefix.clone());
        let hi = min(hi, order::successor(&self.prefix));
        if hi.as_ref().is_some_and(|hi| order::compare(&lo, hi).is_ge()) {
            return Err(ScanError::EmptyRange { lower: lo, upper: hi }.into());
        }
        let rows = bounds(&query.keys.row);
        query.keys.partition = span(&lo, hi.as_deref());
        query.select = select;
        // A range of partitions takes two comparisons beside those of the rows, a range of rows in
        // one partition three in all.
        let of_rows = usize::from(!rows.0.is_empty()) + usize::from(rows.1.is_some());
        let comparisons = query.filter.as_ref().map_or(0, Filter::comparisons)
            + self.alive.comparisons()
            + 3.max(2 + of_rows);
        if comparisons > MAX_COMPARISONS {
            return Err(Error::FilterTooLong(comparisons));
        }
        // One page after the other finds the first rows in key order soonest; without a filter, as many
        // workers as the rows fill pages find any rows soonest.
        let in_turn = self.ordered && self.limit.is_some();
        let splitter = if in_turn { Splitter::Serial } else { self.splitter };
        let most = match self.limit {
            _ if splitter == Splitter::Serial => 1,
            Some(limit) if query.filter.is_none() => limit.div_ceil(page.into()).max(1),
            _ => usize::MAX,
        };
        // A single worker reads in order anyway.
        let ordered = self.ordered && splitter != Splitter::Serial;
        Ok(Rules {
            query,
            page_size,
            partitions: (lo, hi),
            rows,
            prefix: self.prefix,
            splitter,
            rounds: self.rounds,
            workers: self.workers.min(most),
            ordered,
            buffer: self.buffer,
            keys_only,
            limit: self.limit,
            after: self.after,
        })
    }
}

impl<T, R> Scan<T, R> {
    /// The first request. Later requests depend on the keys it finds. The plan is empty where the scan
    /// begins [after](Self::after) its last partition.
    ///
    /// # Errors
    /// [`Error::Scan`] if the options of the scan do not fit together.
    pub fn plan(&self) -> Result<Plan> {
        let rules = self.clone().rules(self.selected(), false)?;
        let (limit, reason) = (self.limit, Some(self.reason.clone()));
        let query = first_request(rules).map(|query| self.alive.only(&query).into_owned());
        Ok(query.map(|query| Step::Read { query, limit, reason }).into())
    }

    /// The properties to ask for: the selected ones, or those of `T`, and the keys.
    pub(in crate::scan) fn selected(&self) -> Option<Names> {
        // The error is reported with the others.
        let given = self.query.as_ref().ok().and_then(|query| query.select.clone());
        given.or_else(self.reader.select).map(|mut names| {
            for key in [PARTITION_KEY, ROW_KEY] {
                if !names.iter().any(|name| name == key) {
                    names.push(Cow::Borrowed(key));
                }
            }
            names.extend(self.own.beside(&names));
            names
        })
    }
}
