//! A purge in progress: page by page of the index.

use super::builder::Purge;
use super::report::{PurgeFailure, PurgeReport};
use crate::entity::{
    Loaded, OwnRows, RowHead, TableEntity, canonical, expiry_row, has_row, is_alive, partition_key,
    read_rows, row_key,
};
use crate::error::{Error, Result};
use crate::layer::Counted;
use crate::model::DateTime;
use crate::plan::{CanonicalKey, Connection, TableClient};
use crate::query::RowQuery;
use crate::repo::get::MAX_PARALLEL_GETS;
use crate::repo::maintenance::{EventualRowKeys, MaintainedType, settle};
use crate::repo::{BulkReport, Repo};
use crate::sync::{Concurrent, Pace};
use futures_core::future::BoxFuture;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) struct PurgeRun<E> {
    repo: Repo<E>,
    counted: Arc<Counted>,
    until: DateTime,
    queries: Vec<RowQuery>,
    left: u64,
    pace: Pace,
    report: PurgeReport,
}

impl<E: TableEntity + 'static> PurgeRun<E> {
    pub fn new(purge: Purge<E>) -> Self {
        let until = purge.until();
        let mut queries = purge.queries(until);
        let Purge { client, limit, rate, .. } = purge;
        let pace = Pace::begin(client.connection.timer, rate);
        // A purge that stops at its limit does not leave the same partitions to the next one each time.
        let first = client.connection.random.next() as usize % queries.len().max(1);
        queries.rotate_left(first);
        let counted = Counted::new(Arc::clone(&client.connection.store));
        let connection: Connection = client.connection.with_store(Arc::clone(&counted) as _);
        let client = TableClient { connection: Arc::new(connection), ..client };
        Self {
            repo: Repo { client, entity: PhantomData },
            counted,
            until,
            queries,
            left: limit.unwrap_or(u64::MAX),
            pace,
            report: PurgeReport::default(),
        }
    }

    pub async fn run(mut self) -> PurgeReport {
        if let Err(error) = self.partitions().await {
            self.report.ended = Some(error.repeatable());
        }
        self.report.progress.requests = self.counted.take() as u64;
        self.report
    }

    async fn partitions(&mut self) -> Result<()> {
        for query in std::mem::take(&mut self.queries) {
            if !self.partition(query).await? {
                self.report.progress.is_limited = true;
                break;
            }
        }
        Ok(())
    }

    /// Purges what one partition of the index names. Returns whether there is room for more.
    async fn partition(&mut self, query: RowQuery) -> Result<bool> {
        let client = self.repo.client.clone();
        let mut pages = client.pages(query);
        loop {
            if self.left == 0 {
                return Ok(false);
            }
            let Some(page) = pages.next().await? else { return Ok(true) };
            let (heads, _) = read_rows::<RowHead>(&OwnRows::ANY, &page, None, usize::MAX)?;
            let mut heads = &heads[..];
            // What is not deleted does not count towards the limit, so a part may leave room for the next one.
            while !heads.is_empty() {
                if self.left == 0 {
                    return Ok(false);
                }
                let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(heads.len());
                let (part, later) = heads.split_at(most);
                self.pace.due(most).await;
                self.page(&client, part).await?;
                heads = later;
            }
        }
    }

    async fn page(&mut self, client: &TableClient, heads: &[RowHead]) -> Result<()> {
        let Some(index) = expiry_row::<E>() else { return Ok(()) };
        let rows = heads.iter().filter_map(|head| {
            EventualRowKeys::of(
                MaintainedType::of::<E>(),
                client,
                index,
                (&head.partition_key, &head.row_key),
            )
        });
        let rows: Vec<_> = rows.collect();
        let keys: Vec<_> = rows.iter().map(|row| row.home.clone()).collect();
        let read = keys.into_iter().map(|key| async move { client.load::<E>(&key).await });
        // An entity that cannot be read is a failure of its own.
        let read = Concurrent::in_order(read, MAX_PARALLEL_GETS).all().await;
        let (mut expired, mut stale) =
            (Vec::new(), BTreeMap::<String, Vec<EventualRowKeys>>::new());
        for (row, loaded) in rows.into_iter().zip(read) {
            match loaded {
                Ok(Some(loaded)) if self.is_due(&loaded, index, &row)? => expired.push(loaded),
                Ok(_) => stale.entry(row.home.partition_key.clone()).or_default().push(row),
                Err(error) => self.fail(row.home, error)?,
            }
        }
        self.delete(expired).await?;
        self.settle(client, stale).await
    }

    /// Whether the entity has expired, and has this row of the index.
    fn is_due(&self, loaded: &Loaded<E>, index: usize, row: &EventualRowKeys) -> Result<bool> {
        let keys = (&*row.key.partition_key, &*row.key.row_key);
        Ok(!is_alive::<E>(loaded.stored(), Some(self.until)) && has_row(&**loaded, index, keys)?)
    }

    async fn delete(&mut self, expired: Vec<Loaded<E>>) -> Result<()> {
        let deletes = self.repo.delete_many(expired).continue_on_failure();
        let BulkReport { written, failures, .. } = deletes.await;
        self.report.progress.purged += written.entities + written.present;
        self.report.progress.unsettled += written.unsettled;
        self.left = self.left.saturating_sub(written.entities + written.present);
        for failure in failures {
            let Some(entity) = failure.entity else { return Err(failure.error) };
            let key = home::<E>(&entity)?;
            match failure.error {
                Error::Conflict(row) | Error::NotFound(row) if row.row_key == key.row_key => {
                    self.report.progress.changed += 1;
                }
                error => self.fail(key, error)?,
            }
        }
        Ok(())
    }

    /// Brings rows of the index in step whose entities have not expired, or are gone.
    async fn settle(
        &mut self,
        client: &TableClient,
        stale: BTreeMap<String, Vec<EventualRowKeys>>,
    ) -> Result<()> {
        let settling = stale.into_iter().map(|(home, rows)| async move {
            let settled = settle(MaintainedType::of::<E>(), client, &home, &rows).await?;
            Ok::<_, Error>(if settled { rows.len() as u64 } else { 0 })
        });
        let mut settled = Concurrent::unordered(settling, MAX_PARALLEL_GETS);
        while let Some(rows) = settled.next().await {
            self.report.progress.settled += rows?;
        }
        Ok(())
    }

    /// Notes an entity that could not be deleted; an error that is not its own ends the purge.
    fn fail(&mut self, key: CanonicalKey, error: Error) -> Result<()> {
        if !error.is_of_one_entity() {
            return Err(error);
        }
        let CanonicalKey { partition_key, row_key } = key;
        self.report.failures.push(PurgeFailure { partition_key, row_key, error });
        Ok(())
    }
}

impl<E: TableEntity + 'static> IntoFuture for Purge<E> {
    type Output = PurgeReport;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(PurgeRun::new(self).run())
    }
}

/// The key of the canonical row.
fn home<E: TableEntity>(entity: &E) -> Result<CanonicalKey> {
    Ok(CanonicalKey {
        partition_key: partition_key(entity)?,
        row_key: row_key(entity, canonical::<E>())?.unwrap_or_default(),
    })
}
