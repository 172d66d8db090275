//! The rows of one partition, matched in key order.
//!
//! Invariant: memory holds only rows without a match so far. Such a row is either an index row that no
//! canonical row has expected, or an expected row that was not read yet. Index rows that sort before the
//! canonical ones are kept until their canonical row is read. For those that sort after, the expected rows
//! are kept.

use super::differences::differences;
use super::expected::{ExpectedRow, expected_rows, index_rows, own_canonical};
use super::finding::{Finding, Problem};
use super::versioned_row::VersionedRow;
use crate::entity::Ownership;
use crate::error::Result;
use crate::model::{ETag, order};
use crate::repo::maintenance::MaintainedType;
use bytes::Bytes;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The rows of one partition that have no match so far.
#[derive(Debug)]
pub(crate) struct Partition {
    of: &'static MaintainedType,
    pub key: String,
    /// Rows that follow from a canonical row and were not read yet, by RowKey.
    expected: HashMap<String, OwnedRow>,
    /// Index rows that were read and that no canonical row expects so far, by RowKey.
    unmatched: HashMap<String, Unmatched>,
    /// The RowKeys of canonical rows that cannot be read as the entity.
    unreadable: HashSet<String>,
    /// The property that the store adds to rows.
    hidden: Option<String>,
}

/// An expected row, and the RowKey of the canonical row that expects it.
#[derive(Debug)]
struct OwnedRow {
    row: ExpectedRow,
    owner: Arc<str>,
}

/// An index row that was read and has no match so far.
#[derive(Debug)]
struct Unmatched {
    index: usize,
    etag: ETag,
    body: Bytes,
}

/// The role of a row that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    Canonical,
    Index,
    /// Of another entity type, or moved.
    Other,
}

impl Partition {
    /// `hidden` is the property that the store adds to rows.
    pub fn new(of: &'static MaintainedType, key: String, hidden: Option<String>) -> Self {
        let (expected, unmatched) = (HashMap::new(), HashMap::new());
        Self { of, key, expected, unmatched, unreadable: HashSet::new(), hidden }
    }

    /// Takes the next row, and appends the findings that it completes.
    pub fn row(&mut self, row: VersionedRow<'_>, findings: &mut Vec<Finding>) -> Result<RowKind> {
        match (self.of.template_of)(&row.context) {
            None | Some((_, Ownership::OtherType)) => Ok(RowKind::Other),
            Some((index, Ownership::Moved(to))) => {
                let problem = Problem::Moved { to };
                findings.push(self.finding(index, &row.row_key, None, Some(&row.etag), problem));
                Ok(RowKind::Other)
            }
            Some((index, Ownership::Own)) if index == self.of.canonical => {
                self.canonical_row(&row, findings)?;
                Ok(RowKind::Canonical)
            }
            Some((index, Ownership::Own)) => {
                self.index_row(index, row, findings)?;
                Ok(RowKind::Index)
            }
        }
    }

    fn canonical_row(&mut self, row: &VersionedRow<'_>, findings: &mut Vec<Finding>) -> Result<()> {
        let rows = match expected_rows(self.of, &row.partition_key, &row.row_key, row.body) {
            Ok(rows) => rows,
            Err(problem) => {
                self.unreadable.insert(row.row_key.clone());
                let etag = Some(&row.etag);
                findings.push(self.finding(self.of.canonical, &row.row_key, None, etag, problem));
                return Ok(());
            }
        };
        let own: Arc<str> = row.row_key.as_str().into();
        for row in index_rows(self.of, rows) {
            let row_key = row.row_key.clone();
            let expected = OwnedRow { row, owner: Arc::clone(&own) };
            if let Some(Unmatched { etag, body, .. }) = self.unmatched.remove(&row_key) {
                findings.extend(self.compare(&row_key, &expected, &etag, &body)?);
            } else if order::compare(&row_key, &own).is_lt() {
                findings.push(self.missing(&row_key, &expected));
            } else {
                match self.expected.entry(row_key) {
                    Entry::Vacant(entry) => drop(entry.insert(expected)),
                    // Two entities cannot share a row: that of the second one is missing.
                    Entry::Occupied(entry) => {
                        let row_key = entry.key().clone();
                        findings.push(self.missing(&row_key, &expected));
                    }
                }
            }
        }
        Ok(())
    }

    fn index_row(
        &mut self,
        index: usize,
        row: VersionedRow<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        match self.expected.remove(&row.row_key) {
            Some(expected) => {
                findings.extend(self.compare(&row.row_key, &expected, &row.etag, row.body)?);
            }
            None => {
                let VersionedRow { row_key, etag, body, .. } = row;
                let unmatched = Unmatched { index, etag, body: Bytes::copy_from_slice(body) };
                self.unmatched.insert(row_key, unmatched);
            }
        }
        Ok(())
    }

    /// Appends what the end of the partition decides: missing rows and orphans. Returns the number of
    /// index rows that may belong to an unreadable canonical row.
    pub fn finish(self, findings: &mut Vec<Finding>) -> u64 {
        let missing =
            self.expected.iter().map(|(row_key, expected)| self.missing(row_key, expected));
        let (undecided, orphans): (Vec<_>, Vec<_>) =
            self.unmatched.iter().partition(|(row_key, row)| self.may_be_expected(row_key, row));
        let orphans = orphans.into_iter().map(|(row_key, row)| {
            self.finding(row.index, row_key, None, Some(&row.etag), Problem::Orphan)
        });
        append_in_order(missing.chain(orphans).collect(), findings);
        undecided.len() as u64
    }

    /// Whether an index row without a match may belong to an unreadable canonical row.
    fn may_be_expected(&self, row_key: &str, row: &Unmatched) -> bool {
        !self.unreadable.is_empty()
            && own_canonical(self.of, row.index, &self.key, row_key, &row.body)
                .is_none_or(|canonical| self.unreadable.contains(&canonical))
    }

    fn compare(
        &self,
        row_key: &str,
        expected: &OwnedRow,
        etag: &ETag,
        stored: &[u8],
    ) -> Result<Option<Finding>> {
        let OwnedRow { row, owner } = expected;
        let problem = differences(self.of, row, stored, self.hidden.as_deref())?;
        Ok(problem
            .map(|problem| self.finding(row.index, row_key, Some(owner), Some(etag), problem)))
    }

    fn missing(&self, row_key: &str, expected: &OwnedRow) -> Finding {
        let OwnedRow { row, owner } = expected;
        self.finding(row.index, row_key, Some(owner), None, Problem::Missing)
    }

    fn finding(
        &self,
        index: usize,
        row_key: &str,
        canonical: Option<&str>,
        etag: Option<&ETag>,
        problem: Problem,
    ) -> Finding {
        Finding {
            entity: self.of.name.to_owned(),
            row: (self.of.name_of)(index).to_owned(),
            partition_key: self.key.clone(),
            row_key: row_key.to_owned(),
            canonical: canonical.map(str::to_owned),
            location: None,
            etag: etag.map(|etag| etag.as_str().to_owned()),
            problem,
        }
    }
}

/// Appends findings in the order of their keys.
fn append_in_order(mut last: Vec<Finding>, findings: &mut Vec<Finding>) {
    last.sort_by(|left, right| order::compare(&left.row_key, &right.row_key));
    findings.append(&mut last);
}
