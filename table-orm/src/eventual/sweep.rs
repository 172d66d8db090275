//! Settles the intents that other processes left.
//!
//! Invariant: an intent that is not settled stays, and the report has it.

use super::eventual_type::EventualType;
use super::intent::{self, Intent};
use super::pending::Pending;
use super::settle::settle;
use super::unique::{TICKET, hand_over};
use crate::entity::{DynamicEntity, read_row, split_page};
use crate::error::{Error, Result, SettleFailure};
use crate::model::{Metadata, TableName};
use crate::plan::TableClient;
use crate::query::{KeyRange, RowQuery, Span};
use crate::register;
use crate::store::IfMatch;
use std::time::Duration;

/// The age below which [`Repo::settle`](crate::Repo::settle) leaves an intent to the process that wrote it,
/// unless the call sets another one: 2 minutes.
pub const SETTLE_GRACE: Duration = Duration::from_secs(120);

/// How much a call of [`Repo::settle`](crate::Repo::settle) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SettleProgress {
    /// The intents whose rows in other partitions are in step now.
    pub settled: u64,
    /// The intents that were left because they are young: their writers may be settling them.
    pub young: u64,
    /// The partitions that a register has named for less time than the grace. They were not looked through:
    /// their intents are in none of the other numbers.
    pub young_partitions: u64,
}

/// The result of [`Repo::settle`](crate::Repo::settle).
#[derive(Debug, Default)]
#[must_use = "it may hold failures"]
#[non_exhaustive]
pub struct SettleReport {
    /// The progress it made.
    pub progress: SettleProgress,
    /// What was left because of an error.
    pub failures: Vec<SettleFailure>,
    /// The error that ended it before the end: the partition, the table or the register cannot be read. What was
    /// settled stays settled, so call it again.
    pub ended: Option<Error>,
}

impl SettleReport {
    /// Returns the progress when the call reached the end and left nothing because of an error. It may have left what
    /// is young.
    ///
    /// # Errors
    /// [`Error::Settle`] with the first failure, or else the error that ended it.
    pub fn all(self) -> Result<SettleProgress> {
        let failed = self.failures.into_iter().next().map(Error::from);
        failed.or(self.ended).map_or(Ok(self.progress), Err)
    }
}

/// A sweep of the intents of one type in one table.
#[derive(Debug, Clone)]
pub(crate) struct Sweep {
    pub home: TableClient,
    pub kind: EventualType,
    /// Younger intents are left.
    pub grace: Duration,
}

impl Sweep {
    /// The RowKeys of intents.
    pub fn rows() -> Span {
        Span::prefix(intent::START)
    }

    /// The RowKeys of what ended processes leave: of tickets where the type has values that are unique over
    /// all partitions, then of intents.
    pub fn left_rows(&self) -> impl Iterator<Item = Span> + use<> {
        let tickets = self.kind.has_values().then(|| Span::prefix(TICKET));
        tickets.into_iter().chain([Self::rows()])
    }

    /// The query for the rows of one of these ranges in those partitions.
    pub fn query(&self, partition: Span, row: Span) -> RowQuery {
        let query = self.home.query(KeyRange { partition, row });
        RowQuery { metadata: Metadata::Minimal, ..query }
    }

    /// Settles the intents of a partition, one after the other, and the tickets of reservations.
    pub async fn partition(&self, partition_key: &str, report: &mut SettleReport) -> Result<()> {
        for rows in self.left_rows() {
            let query = self.query(Span::Exact(partition_key.to_owned()), rows);
            let mut pages = self.home.pages(query);
            while let Some(page) = pages.next().await? {
                for row in split_page(&page)? {
                    self.intent(read_row(0, row.get().as_bytes())?, report).await;
                }
            }
        }
        Ok(())
    }

    /// Settles the partitions that pointers name which are older than the grace. Deletes the pointers to those
    /// where nothing is left. A partition that fails holds up no other.
    pub async fn registered(&self, register: &TableName, report: &mut SettleReport) -> Result<()> {
        let pointers = register::pointers(&self.home, register, self.kind.entity).await?;
        for (partition_key, pointers) in pointers {
            if pointers.iter().all(|pointer| pointer.age < self.grace) {
                report.progress.young_partitions += 1;
                continue;
            }
            if let Err(error) = self.named(&partition_key, pointers, register, report).await {
                let failure = SettleFailure::new(partition_key, String::new(), error.into());
                report.failures.push(failure);
            }
        }
        Ok(())
    }

    /// Settles a partition that pointers name.
    async fn named(
        &self,
        partition_key: &str,
        pointers: Vec<register::Found>,
        register: &TableName,
        report: &mut SettleReport,
    ) -> Result<()> {
        let left = report.progress.young + report.failures.len() as u64;
        self.partition(partition_key, report).await?;
        if report.progress.young + report.failures.len() as u64 == left {
            let old = pointers.into_iter().filter(|pointer| pointer.age >= register::GRACE);
            for pointer in old {
                register::remove(&self.home, register, pointer).await?;
            }
        }
        Ok(())
    }

    /// Settles one intent, or ticket of a reservation.
    pub async fn intent(&self, row: DynamicEntity, report: &mut SettleReport) {
        let (partition_key, row_key) = (row.partition_key.clone(), row.row_key.clone());
        let settled = match Pending::read(row, &self.home.table, self.kind) {
            Ok(None) => return,
            Ok(Some(pending)) if self.is_young(&pending) => {
                report.progress.young += 1;
                return;
            }
            Ok(Some(ticket)) if row_key.starts_with(TICKET) => match self.hand_over(ticket).await {
                Ok(Some(pending)) => settle(&self.home, self.kind, &pending).await,
                // Its transaction, or another client, was faster.
                Ok(None) => return,
                Err(error) => Err(error.into()),
            },
            Ok(Some(pending)) => settle(&self.home, self.kind, &pending).await,
            Err(error) => Err(error),
        };
        match settled {
            Ok(()) => report.progress.settled += 1,
            Err(error) => {
                report.failures.push(SettleFailure::new(partition_key, row_key, error));
            }
        }
    }

    /// Makes an intent of the ticket of a reservation, in one transaction: what was reserved with it is not
    /// taken any more. `None` where the ticket is gone.
    async fn hand_over(&self, ticket: Pending) -> Result<Option<Pending>> {
        let Pending { intent: ticket, etag, written, .. } = ticket;
        let row = ticket.row(&self.home, self.kind)?;
        let version = IfMatch::ETag(etag);
        let handed_over = hand_over(&self.home, (&ticket.row_key, version), row).await?;
        Ok(handed_over.map(|(row_key, etag)| {
            let intent = Intent { row_key, ..ticket };
            Pending { intent, etag, written, cover: None, prepared: None }
        }))
    }

    /// Whether the intent is younger than the grace.
    fn is_young(&self, pending: &Pending) -> bool {
        pending.written.is_some_and(|written| self.home.age(written) < self.grace)
    }
}
