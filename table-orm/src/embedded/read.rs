//! Point queries and pages.
//!
//! Invariant: one page reads one snapshot of committed rows. It ends at its row limit, after
//! [`MAX_SCANNED_ROWS`] or with [`MAX_PAGE_BYTES`], whichever comes first, so every request is short.

use super::apply::table_not_found;
use super::database::{Database, ReadTable};
use super::read_rows::ReadRows;
use super::row::Row;
use super::seek::{Seek, SeekBound};
use super::selection::Selection;
use super::{MAX_PAGE_BYTES, MAX_SCANNED_ROWS, layout, seek};
use crate::model::{Continuation, MAX_COMPARISONS, MAX_PAGE_ROWS};
use crate::query::{Filter, RowQuery};
use crate::store::{ErrorCode, Page, StoreError, StoredRow, limits};
use std::borrow::Cow;
use std::ops::Bound;

/// Memory for a whole page is reserved once it has so many rows, by their length: most pages have few.
const SAMPLED_ROWS: usize = 64;

/// Reads one row by its key.
pub(crate) fn get(
    database: &Database,
    table: &str,
    key: &[u8],
    select: Option<&[&str]>,
) -> Result<Option<StoredRow>, StoreError> {
    let table = open(database, table)?;
    let rows = table.rows();
    let Some(row) = rows.get(key).map_err(failed)? else {
        return Ok(None);
    };
    // A whole row holds its version; a selection may have no Timestamp.
    let header = select.map(|_| row.etag()).transpose()?;
    let mut body = Vec::new();
    row.append_to(select.map(Selection::new).as_mut(), &mut body)?;
    Ok(Some(StoredRow { body: body.into(), header }))
}

/// Reads one page of a query.
pub(crate) fn query(database: &Database, query: &RowQuery) -> Result<Page, StoreError> {
    check(query)?;
    let mut seek = Seek::new(query)?;
    let table = open(database, query.table.as_str())?;
    let rows = table.rows();
    let mut page = PageRows::new(query);
    while !seek.is_empty() {
        match page.fill(&rows, &seek)? {
            PageStep::Resume(lower) => seek.lower = lower,
            PageStep::End(continuation) => return Ok(page.finish(continuation)),
        }
    }
    Ok(page.finish(None))
}

/// Returns all table names in order, spelled as at creation.
pub(crate) fn table_names(database: &Database) -> Result<Vec<String>, StoreError> {
    database.table_names().map_err(failed)
}

fn check(query: &RowQuery) -> Result<(), StoreError> {
    let invalid = |message: String| Err(StoreError::new(ErrorCode::INVALID_INPUT, message));
    if let Some(top) = query.top
        && !(1..=MAX_PAGE_ROWS).contains(&top)
    {
        return invalid(format!(
            "A page of {top} rows was requested; the limit is 1 to {MAX_PAGE_ROWS}."
        ));
    }
    query.filter.as_ref().map_or(Ok(()), limits::check_finite)?;
    let comparisons = query.comparisons();
    if comparisons > MAX_COMPARISONS {
        return invalid(format!(
            "The filter has {comparisons} comparisons; the limit is {MAX_COMPARISONS}."
        ));
    }
    Ok(())
}

fn open(database: &Database, table: &str) -> Result<ReadTable, StoreError> {
    let found = database.table(&layout::lower_case(table)).map_err(failed)?;
    found.ok_or_else(|| table_not_found(table))
}

fn failed(error: redb::Error) -> StoreError {
    let message = "Reading the database file failed; check the disk.";
    StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(error)
}

/// Builds the error of a query whose task did not finish.
pub(crate) fn abandoned(error: tokio::task::JoinError) -> StoreError {
    let message = "A panic or the runtime's shutdown ended the query.";
    StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(error)
}

/// The step after a walk over the rows.
enum PageStep {
    /// Continue from this bound.
    Resume(Bound<Vec<u8>>),
    /// The page is complete. A continuation means that more rows follow.
    End(Option<Continuation>),
}

/// A page under construction.
struct PageRows<'q, 'r> {
    filter: Option<&'q Filter>,
    selection: Option<Selection<'q, 'r, Cow<'static, str>>>,
    top: usize,
    body: Vec<u8>,
    returned: usize,
    scanned: usize,
}

impl<'q, 'r> PageRows<'q, 'r> {
    fn new(query: &'q RowQuery) -> Self {
        Self {
            filter: query.filter.as_ref(),
            selection: query.select.as_deref().map(Selection::new),
            top: query.top.unwrap_or(MAX_PAGE_ROWS).into(),
            body: br#"{"value":["#.to_vec(),
            returned: 0,
            scanned: 0,
        }
    }

    fn fill(&mut self, rows: &'r ReadRows<'_>, seek: &Seek) -> Result<PageStep, StoreError> {
        let bounds =
            (seek.lower.as_ref().map(Vec::as_slice), seek.upper.as_ref().map(Vec::as_slice));
        for entry in rows.range(bounds).map_err(failed)? {
            let (key, row) = entry.map_err(failed)?;
            if self.scanned == MAX_SCANNED_ROWS {
                return Ok(PageStep::End(Some(seek::token(&key))));
            }
            if let Some(SeekBound::SkipTo(lower)) = seek.rows.as_ref().map(|rows| rows.locate(&key))
            {
                self.scanned += 1;
                return Ok(PageStep::Resume(lower));
            }
            if self.returned == self.top || self.body.len() >= MAX_PAGE_BYTES {
                return Ok(PageStep::End(Some(seek::token(&key))));
            }
            self.scanned += 1;
            self.take(&row)?;
        }
        Ok(PageStep::End(None))
    }

    fn take(&mut self, row: &Row<'r>) -> Result<(), StoreError> {
        if let Some(filter) = self.filter
            && !row.matches(filter)?
        {
            return Ok(());
        }
        if self.returned > 0 {
            self.body.push(b',');
        }
        self.returned += 1;
        row.append_to(self.selection.as_mut(), &mut self.body)?;
        if self.returned == SAMPLED_ROWS {
            let rest = self.body.len() / SAMPLED_ROWS * self.top.saturating_sub(SAMPLED_ROWS);
            self.body.reserve(rest.min(MAX_PAGE_BYTES));
        }
        Ok(())
    }

    fn finish(mut self, continuation: Option<Continuation>) -> Page {
        self.body.extend_from_slice(b"]}");
        let scanned = u32::try_from(self.scanned).ok();
        Page { body: self.body.into(), continuation, scanned }
    }
}
