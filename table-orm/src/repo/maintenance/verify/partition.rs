//! The rows of one partition, matched as they pass in key order.
//!
//! Invariant: what is held are the rows that have not met their counterpart yet, and nothing else:
//! index rows that no canonical row has told of, and the reverse. Where index rows sort behind the
//! canonical ones that is the rows told of; where they sort before, the index rows themselves.

use super::differences::differences;
use super::finding::{Finding, Problem};
use super::found::Found;
use super::told::{index_rows, own_canonical, told_rows};
use crate::entity::{EntityRow, TableEntity, canonical, name_of, template_of};
use crate::error::Result;
use crate::model::{ETag, order};
use bytes::Bytes;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Partition<E> {
    pub key: String,
    /// Rows told of by a canonical row and not met, by RowKey.
    told: HashMap<String, Told>,
    /// Index rows met and not told of, by RowKey.
    met: HashMap<String, Met>,
    /// Canonical rows of which it is not known what they tell.
    silent: HashSet<String>,
    /// The property that the store adds to rows.
    hidden: Option<String>,
    entity: PhantomData<fn() -> E>,
}

#[derive(Debug)]
struct Told {
    index: usize,
    canonical: Arc<str>,
    body: Bytes,
}

#[derive(Debug)]
struct Met {
    index: usize,
    etag: ETag,
    body: Bytes,
}

/// What a row was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Canonical,
    Index,
    /// Of another entity type.
    Other,
}

impl<E: TableEntity> Partition<E> {
    /// `hidden` is the property that the store adds to rows.
    pub fn new(key: String, hidden: Option<String>) -> Self {
        let (told, met) = (HashMap::new(), HashMap::new());
        Self { key, told, met, silent: HashSet::new(), hidden, entity: PhantomData }
    }

    /// Takes the next row, and appends what is found by it.
    pub fn row(&mut self, row: Found<'_>, findings: &mut Vec<Finding>) -> Result<Kind> {
        match template_of::<E>(&row.row_key) {
            None => Ok(Kind::Other),
            Some((index, _)) if index == canonical::<E>() => {
                self.canonical_row(&row, findings)?;
                Ok(Kind::Canonical)
            }
            Some((index, _)) => {
                self.index_row(index, row, findings)?;
                Ok(Kind::Index)
            }
        }
    }

    fn canonical_row(&mut self, row: &Found<'_>, findings: &mut Vec<Finding>) -> Result<()> {
        let rows = match told_rows::<E>(&row.partition_key, &row.row_key, row.body) {
            Ok(rows) => rows,
            Err(problem) => {
                self.silent.insert(row.row_key.clone());
                let etag = Some(&row.etag);
                findings.push(self.finding(canonical::<E>(), &row.row_key, None, etag, problem));
                return Ok(());
            }
        };
        let own: Arc<str> = row.row_key.as_str().into();
        for EntityRow { index, row_key, body } in index_rows::<E>(rows) {
            let told = Told { index, canonical: Arc::clone(&own), body };
            if let Some(met) = self.met.remove(&row_key) {
                findings.extend(self.compare(&row_key, &told, &met.etag, &met.body)?);
            } else if order::compare(&row_key, &own).is_lt() {
                findings.push(self.missing(&row_key, &told));
            } else {
                match self.told.entry(row_key) {
                    Entry::Vacant(entry) => drop(entry.insert(told)),
                    // Two entities cannot share a row: the second one's is not there.
                    Entry::Occupied(entry) => {
                        let row_key = entry.key().clone();
                        findings.push(self.missing(&row_key, &told));
                    }
                }
            }
        }
        Ok(())
    }

    fn index_row(
        &mut self,
        index: usize,
        row: Found<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        match self.told.remove(&row.row_key) {
            Some(told) => {
                findings.extend(self.compare(&row.row_key, &told, &row.etag, row.body)?);
            }
            None => {
                let met = Met { index, etag: row.etag, body: Bytes::copy_from_slice(row.body) };
                self.met.insert(row.row_key, met);
            }
        }
        Ok(())
    }

    /// What is found by the partition's end: rows that were never met, or never told of. Returns
    /// how many rows it is not known of which they are.
    pub fn finish(self, findings: &mut Vec<Finding>) -> u64 {
        let told = self.told.iter().map(|(row_key, told)| self.missing(row_key, told));
        let (undecided, orphans): (Vec<_>, Vec<_>) =
            self.met.iter().partition(|(row_key, met)| self.may_be_told_of(row_key, met));
        let orphans = orphans.into_iter().map(|(row_key, met)| {
            self.finding(met.index, row_key, None, Some(&met.etag), Problem::Orphan)
        });
        let mut last: Vec<_> = told.chain(orphans).collect();
        last.sort_by(|left, right| order::compare(&left.row_key, &right.row_key));
        findings.append(&mut last);
        undecided.len() as u64
    }

    /// Whether a row that was not told of may belong to a canonical row that could not be read.
    fn may_be_told_of(&self, row_key: &str, met: &Met) -> bool {
        !self.silent.is_empty()
            && own_canonical::<E>(met.index, &self.key, row_key, &met.body)
                .is_none_or(|canonical| self.silent.contains(&canonical))
    }

    fn compare(
        &self,
        row_key: &str,
        told: &Told,
        etag: &ETag,
        stored: &[u8],
    ) -> Result<Option<Finding>> {
        let problem = differences(&told.body, stored, self.hidden.as_deref())?;
        Ok(problem.map(|problem| {
            self.finding(told.index, row_key, Some(&told.canonical), Some(etag), problem)
        }))
    }

    fn missing(&self, row_key: &str, told: &Told) -> Finding {
        self.finding(told.index, row_key, Some(&told.canonical), None, Problem::Missing)
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
            entity: E::NAME.to_owned(),
            row: name_of::<E>(index).to_owned(),
            partition_key: self.key.clone(),
            row_key: row_key.to_owned(),
            canonical: canonical.map(str::to_owned),
            etag: etag.map(|etag| etag.as_str().to_owned()),
            problem,
        }
    }
}
