//! What a writer did since its last report.
//!
//! Invariant: a failure is here until the call that returns it takes it. So a call that is dropped leaves it to the
//! next one.

use super::journal::Entry;
use super::lanes::Ticket;
use super::report::{WriterFailure, WriterReport};
use crate::repo::BulkProgress;
use std::mem;

pub(super) struct Unreported<E> {
    pub written: BulkProgress,
    failures: Vec<(WriterFailure<E>, Vec<Ticket>)>,
    /// The bytes of the failures.
    bytes: usize,
}

impl<E> Default for Unreported<E> {
    fn default() -> Self {
        Self { written: BulkProgress::default(), failures: Vec::new(), bytes: 0 }
    }
}

impl<E> Unreported<E> {
    pub fn fail(&mut self, failure: WriterFailure<E>, tickets: Vec<Ticket>) {
        self.bytes += tickets.iter().map(|ticket| ticket.share.num_permits()).sum::<usize>();
        self.failures.push((failure, tickets));
    }

    /// The bytes of the failures.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    pub const fn has_no_failures(&self) -> bool {
        self.failures.is_empty()
    }

    /// Takes from the failures their entries in the journal.
    pub fn take_entries(&mut self) -> Vec<Entry> {
        let tickets = self.failures.iter_mut().flat_map(|(_, tickets)| tickets);
        tickets.filter_map(|ticket| ticket.entry.take()).collect()
    }

    /// The report. The failures give their room back.
    pub fn take(&mut self) -> WriterReport<E> {
        let Self { written, failures, .. } = mem::take(self);
        let failures = failures.into_iter().map(|(failure, _)| failure).collect();
        WriterReport { written, failures }
    }
}
