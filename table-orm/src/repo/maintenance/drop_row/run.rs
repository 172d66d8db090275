//! A drop in progress.

use super::builder::DropRow;
use super::judge::Verdict;
use super::report::{DropRowReport, KeptReason, KeptRow};
use crate::entity::{TableEntity, split_page};
use crate::error::Result;
use crate::plan::CanonicalKey;
use crate::repo::maintenance::Deletes;
use crate::repo::maintenance::verify::VersionedRow;
use crate::store::Page;
use futures_core::future::BoxFuture;

impl<'a, E: TableEntity + 'a> IntoFuture for DropRow<'a, E> {
    type Output = DropRowReport;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<E: TableEntity> DropRow<'_, E> {
    async fn run(mut self) -> DropRowReport {
        let unknown_components = self.judge.unknown_components();
        let is_dry_run = self.dry;
        let mut report =
            DropRowReport { unknown_components, is_dry_run, ..DropRowReport::default() };
        report.progress.token = self.pages.token.clone();
        if let Err(error) = self.pages(&mut report).await {
            report.ended = Some(error.repeatable());
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
        let (mut deletes, mut kept) = (Deletes::of(client), Vec::new());
        let rows = split_page(&page.body)?;
        let read = rows.len() as u64;
        for row in rows {
            let row = VersionedRow::read(row.get().as_bytes())?;
            match self.judge.verdict(&row)? {
                Verdict::Other => {}
                Verdict::Keep(reason) => kept.push(KeptRow {
                    partition_key: row.partition_key,
                    row_key: row.row_key,
                    reason,
                }),
                Verdict::Delete => {
                    let key =
                        CanonicalKey { partition_key: row.partition_key, row_key: row.row_key };
                    deletes.add(key, row.etag);
                }
            }
        }
        let sent = if self.dry { deletes.would() } else { deletes.send(self.parallelism).await? };
        report.progress.read += read;
        report.progress.rows += sent.rows;
        report.progress.requests += sent.requests;
        let changed = sent.changed.into_iter().map(|CanonicalKey { partition_key, row_key }| {
            KeptRow { partition_key, row_key, reason: KeptReason::Changed }
        });
        kept.into_iter().chain(changed).for_each(|row| report.keep(row));
        Ok(())
    }
}
