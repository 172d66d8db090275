//! A rewrite in progress.

use super::builder::{OnProgress, Rewrite};
use super::entity::{PreparedRewrite, prepare, rewrite_again};
use super::eventual_rows;
use super::report::{RewriteFailure, RewriteReport};
use crate::entity::{TableEntity, split_page};
use crate::error::Result;
use crate::plan::TableClient;
use crate::repo::bulk::Chunk;
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::canonical_pages::CanonicalPages;
use crate::repo::maintenance::repair::{Skipped, is_write_conflict};
use crate::repo::maintenance::verify::VersionedRow;
use crate::store::{Batch, Page};
use crate::sync::Concurrent;
use futures_core::future::BoxFuture;

impl<'a, E: TableEntity + 'a> IntoFuture for Rewrite<'a, E> {
    type Output = RewriteReport;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { pages, parallelism, progress, .. } = self;
        let of = MaintainedType::of::<E>();
        Box::pin(RewriteRun { of, pages, parallelism, progress }.run())
    }
}

/// A rewrite in progress.
struct RewriteRun<'a> {
    of: &'static MaintainedType,
    pages: CanonicalPages,
    parallelism: usize,
    progress: Option<OnProgress<'a>>,
}

impl RewriteRun<'_> {
    async fn run(mut self) -> RewriteReport {
        let mut report = RewriteReport::default();
        report.progress.token = self.pages.token.clone();
        if let Err(error) = self.pages(&mut report).await {
            report.ended = Some(error.repeatable());
        }
        report
    }

    async fn pages(&mut self, report: &mut RewriteReport) -> Result<()> {
        loop {
            let (page, next) = self.pages.read().await?;
            write_page(self.of, &self.pages.client, self.parallelism, &page, report).await?;
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
}

/// Writes the rows of one page's entities.
async fn write_page(
    of: &'static MaintainedType,
    client: &TableClient,
    parallelism: usize,
    page: &Page,
    report: &mut RewriteReport,
) -> Result<()> {
    let (mut preparing, mut renaming) = (Vec::new(), Vec::new());
    for row in split_page(&page.body)? {
        let row = VersionedRow::read(row.get().as_bytes())?;
        if of.own.take(&row.context) {
            if !of.aliases.is_empty() && !of.eventual.is_empty() {
                renaming.push(row.body);
            }
            preparing.push(prepare(of, client, row));
        }
    }
    let prepared = Concurrent::in_order(preparing, parallelism).try_all().await?;
    let mut written = Written::default();
    let chunks = chunks(client, prepared, &mut written).into_iter();
    let sending = chunks.map(|chunk| send(of, client, chunk));
    // An unfinished page does not count: a resumed rewrite reads it again.
    let sent = Concurrent::unordered(sending, parallelism).try_all().await?;
    let written = sent.into_iter().fold(written, Written::and);
    let (renamed, busy) = eventual_rows::rename(of, client, parallelism, &renaming).await?;
    report.progress.entities += written.entities;
    report.progress.rows += written.rows + renamed;
    report.skipped.extend(written.skipped);
    report.skipped.extend(busy);
    report.failures.extend(written.failures);
    Ok(())
}

/// The result of some entities.
#[derive(Default)]
struct Written {
    entities: u64,
    rows: u64,
    skipped: Vec<Skipped>,
    failures: Vec<RewriteFailure>,
}

impl Written {
    fn add(&mut self, PreparedRewrite { rows, skipped, .. }: PreparedRewrite) {
        self.entities += u64::from(skipped.is_empty());
        self.rows += rows;
        self.skipped.extend(skipped);
    }

    fn and(mut self, other: Self) -> Self {
        self.entities += other.entities;
        self.rows += other.rows;
        self.skipped.extend(other.skipped);
        self.failures.extend(other.failures);
        self
    }
}

/// The transactions of those entities that have rows to write. The others count as written.
fn chunks(
    client: &TableClient,
    prepared: Vec<PreparedRewrite>,
    written: &mut Written,
) -> Vec<Chunk<PreparedRewrite>> {
    let mut chunks: Vec<Chunk<PreparedRewrite>> = Vec::new();
    for mut entity in prepared {
        if entity.batch.operations.is_empty() {
            written.add(entity);
            continue;
        }
        let partition_key = entity.batch.partition_key.clone();
        let operations = std::mem::take(&mut entity.batch.operations);
        let measured = client.measure(Batch { partition_key, operations });
        let last = chunks.last_mut().filter(|last| {
            last.partition_key() == measured.batch.partition_key && last.takes(&measured)
        });
        match last {
            Some(chunk) => chunk.push(entity, measured),
            None => chunks.push(Chunk::of(entity, measured)),
        }
    }
    chunks
}

/// Sends a chunk of entities; one by one where another writer changed one of them.
async fn send(
    of: &'static MaintainedType,
    client: &TableClient,
    chunk: Chunk<PreparedRewrite>,
) -> Result<Written> {
    let mut written = Written::default();
    let (entities, batch) = chunk.split();
    match client.send(batch).await {
        Ok(_) => entities.into_iter().for_each(|entity| written.add(entity)),
        Err(error) if is_write_conflict(&error) => {
            for PreparedRewrite { canonical, batch, .. } in entities {
                let partition_key = batch.partition_key;
                match rewrite_again(of, client, &partition_key, &canonical).await {
                    Ok(entity) => entity.into_iter().for_each(|entity| written.add(entity)),
                    Err(error) if error.is_of_one_entity() => {
                        let row_key = canonical;
                        written.failures.push(RewriteFailure { partition_key, row_key, error });
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Err(error) => return Err(error),
    }
    Ok(written)
}
