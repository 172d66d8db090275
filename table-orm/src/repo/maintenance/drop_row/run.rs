//! A drop in progress.

use super::builder::DropRow;
use super::judge::Verdict;
use super::report::{DropRowReport, KeptReason, KeptRow};
use crate::entity::{TableEntity, split_page};
use crate::error::{Error, Result};
use crate::plan::TableClient;
use crate::repo::maintenance::verify::VersionedRow;
use crate::store::{Action, Batch, IfMatch, Operation, Page};
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

impl<'a, E: TableEntity + 'a> IntoFuture for DropRow<'a, E> {
    type Output = DropRowReport;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<E: TableEntity> DropRow<'_, E> {
    async fn run(mut self) -> DropRowReport {
        let mut report = DropRowReport::default();
        report.progress.token = self.pages.token.clone();
        if let Err(error) = self.pages(&mut report).await {
            report.ended = Some(error);
        }
        report
    }

    async fn pages(&mut self, report: &mut DropRowReport) -> Result<()> {
        loop {
            let (page, next) = self.pages.read().await?;
            self.page(&page, report).await?;
            self.pages.token.clone_from(&next);
            report.progress.token = next;
            if let Some(progress) = &mut self.progress {
                progress(&report.progress);
            }
            if report.progress.token.is_none() {
                return Ok(());
            }
        }
    }

    /// Deletes the former rows of a page. An unfinished page does not count: a resumed drop reads it again.
    async fn page(&mut self, page: &Page, report: &mut DropRowReport) -> Result<()> {
        let client = &self.pages.client;
        let (mut batches, mut kept) = (Vec::new(), Vec::new());
        for row in split_page(&page.body)? {
            let row = VersionedRow::read(row.get().as_bytes())?;
            match self.judge.verdict(&row)? {
                Verdict::Other => {}
                Verdict::Keep(reason) => kept.push(KeptRow {
                    partition_key: row.partition_key,
                    row_key: row.row_key,
                    reason,
                }),
                Verdict::Delete => {
                    add(&mut batches, row, client.store().transaction_operations());
                }
            }
        }
        let sent = if self.dry {
            Deleted::by(&batches)
        } else {
            let sending: Vec<_> = batches.into_iter().map(|batch| delete(client, batch)).collect();
            let sending = stream::iter(sending).buffered(self.parallelism);
            sending.try_fold(Deleted::default(), |sum, one| async { Ok(sum.and(one)) }).await?
        };
        report.progress.rows += sent.rows;
        report.progress.requests += sent.requests;
        kept.into_iter().chain(sent.changed).for_each(|row| report.keep(row));
        Ok(())
    }
}

/// Adds the deletion of a row to the transactions. Rows come in key order.
fn add(batches: &mut Vec<Batch>, row: VersionedRow<'_>, most: usize) {
    let VersionedRow { partition_key, row_key, etag, .. } = row;
    let operation = Operation { row_key, action: Action::Delete(IfMatch::ETag(etag)) };
    match batches.last_mut() {
        Some(last) if last.partition_key == partition_key && last.operations.len() < most => {
            last.operations.push(operation);
        }
        _ => batches.push(Batch { partition_key, operations: vec![operation] }),
    }
}

/// What transactions have done.
#[derive(Default)]
struct Deleted {
    rows: u64,
    requests: u64,
    changed: Vec<KeptRow>,
}

impl Deleted {
    /// What these would do.
    fn by(batches: &[Batch]) -> Self {
        let rows = batches.iter().map(|batch| batch.operations.len() as u64).sum();
        Self { rows, requests: batches.len() as u64, changed: Vec::new() }
    }

    fn and(mut self, other: Self) -> Self {
        self.rows += other.rows;
        self.requests += other.requests;
        self.changed.extend(other.changed);
        self
    }
}

/// Sends deletions together, without rows that have changed or are gone.
async fn delete(client: &TableClient, mut batch: Batch) -> Result<Deleted> {
    let mut deleted = Deleted::default();
    while !batch.operations.is_empty() {
        deleted.requests += 1;
        let Err(error) = client.send(batch.clone()).await else {
            deleted.rows += batch.operations.len() as u64;
            break;
        };
        let changed = match &error {
            Error::Conflict(_) => true,
            Error::NotFound(_) => false,
            _ => return Err(error),
        };
        let failed = error.rejection().and_then(|rejection| rejection.operation);
        match failed.filter(|(index, _)| *index < batch.operations.len()) {
            Some((index, _)) => {
                let Operation { row_key, .. } = batch.operations.remove(index);
                let partition_key = batch.partition_key.clone();
                let row = KeptRow { partition_key, row_key, reason: KeptReason::Changed };
                deleted.changed.extend(changed.then_some(row));
            }
            None => return Err(error),
        }
    }
    Ok(deleted)
}
