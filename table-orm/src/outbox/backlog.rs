//! How many events wait, and for how long.

use super::Outbox;
use super::named::Named;
use super::queries::{events, scan};
use crate::entity::{DynamicEntity, TableEntity, read_row, split_page};
use crate::error::Result;
use crate::eventual::{PartitionScope, Scope};
use crate::model::{DateTime, SYSTEM_PROPERTIES};
use crate::query::{KeyRange, RowQuery, Span};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

/// The events that wait in an outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Backlog {
    /// The events.
    pub events: u64,
    /// The partitions that have events.
    pub partitions: u64,
    /// The age of the oldest event, by the service's clock: the lag of the outbox.
    pub oldest: Option<Duration>,
}

impl<E: TableEntity> Outbox<E> {
    /// Counts the events that wait, and returns the age of the oldest. Takes one partition, the partitions that a
    /// [register](crate::Repo::register) names, or with a [`ScanPermit`](crate::ScanPermit) all of them. It
    /// reads keys and timestamps alone, in pages of 1,000 events.
    ///
    /// # Errors
    /// Those of a query, or of a scan.
    pub async fn backlog(&self, scope: impl PartitionScope<E>) -> Result<Backlog> {
        let (mut backlog, mut partitions) = (Backlog::default(), BTreeSet::new());
        let mut oldest: Option<DateTime> = None;
        let mut add = |row: DynamicEntity| {
            backlog.events += 1;
            partitions.insert(row.partition_key);
            oldest = oldest.into_iter().chain(row.timestamp).min_by_key(|time| time.ticks());
        };
        match scope.scope() {
            Scope::Partition(partition) => self.each_in(partition?, &mut add).await?,
            Scope::Register(register) => {
                for Named { partition_key, .. } in Named::all(&self.client, &register).await? {
                    self.each_in(Span::Exact(partition_key), &mut add).await?;
                }
            }
            Scope::Table(permit) => {
                let none: [&str; 0] = [];
                let mut rows = scan(&self.client, &permit).select(none).stream();
                while let Some(row) = rows.next().await? {
                    add(row);
                }
            }
        }
        backlog.partitions = partitions.len() as u64;
        backlog.oldest = oldest.map(|oldest| self.client.age(oldest));
        Ok(backlog)
    }

    /// Reads the keys and timestamps of the events of a partition.
    async fn each_in(
        &self,
        partition: Span,
        add: &mut (impl FnMut(DynamicEntity) + Send),
    ) -> Result<()> {
        let keys = KeyRange { partition, row: events() };
        let select = SYSTEM_PROPERTIES.map(Cow::Borrowed).to_vec();
        let query = RowQuery { select: Some(select), ..self.client.query(keys) };
        let mut pages = self.client.pages(query);
        while let Some(page) = pages.next().await? {
            for row in split_page(&page)? {
                add(read_row(0, row.get().as_bytes())?);
            }
        }
        Ok(())
    }
}
