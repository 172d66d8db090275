//! A verify in progress: pages in key order, partition by partition.

use super::builder::Verify;
use super::eventual_rows;
use super::finding::Finding;
use super::guard_findings;
use super::joined::Joined;
use super::leftover;
use super::partition::{Partition, RowKind};
use super::report::VerifyReport;
use super::unused_values;
use super::versioned_row::VersionedRow;
use crate::entity::{RowHead, TableEntity, read_row, split_page};
use crate::error::Result;
use crate::plan::{CanonicalKey, TableClient};
use crate::query::RowQuery;
use crate::repo::maintenance::MaintainedType;
use crate::repo::pages::RowStream;
use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::stream;
use std::collections::VecDeque;

impl<E: TableEntity> Verify<E> {
    /// Returns the findings one after another, each as soon as it is certain.
    #[must_use]
    pub fn stream(self) -> RowStream<Finding>
    where
        E: 'static,
    {
        let run = self.begin();
        RowStream::new(stream::try_unfold(run, |run| async {
            let mut run = run?;
            Ok(run.next().await?.map(|finding| (finding, Ok(run))))
        }))
    }

    fn begin(self) -> Result<VerifyRun>
    where
        E: 'static,
    {
        self.client.requires_all_rows("")?;
        Ok(VerifyRun::new(MaintainedType::of::<E>(), self.client, self.query?, self.joined))
    }

    async fn run(self) -> Result<VerifyReport>
    where
        E: 'static,
    {
        let mut run = self.begin()?;
        let mut findings = Vec::new();
        while let Some(finding) = run.next().await? {
            findings.push(finding);
        }
        let VerifyRun { entities, rows, undecided, .. } = run;
        Ok(VerifyReport { entities, rows, undecided, findings })
    }
}

impl<E: TableEntity + 'static> IntoFuture for Verify<E> {
    type Output = Result<VerifyReport>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A verify in progress.
struct VerifyRun {
    of: &'static MaintainedType,
    client: TableClient,
    /// The queries for rows in other partitions that are to be read first.
    to_join: Vec<RowQuery>,
    joined: Joined,
    /// The next request; `None` at the end.
    query: Option<RowQuery>,
    partition: Option<Partition>,
    /// The requests for tickets that are to come after it.
    tickets: VecDeque<RowQuery>,
    /// Canonical rows whose rows in other partitions are to be compared.
    canonical: Vec<(CanonicalKey, Bytes)>,
    /// The next request for the rows of large values.
    values: Option<RowQuery>,
    /// The last of these rows.
    last_value: RowHead,
    ready: VecDeque<Finding>,
    entities: u64,
    rows: u64,
    undecided: u64,
}

impl VerifyRun {
    fn new(
        of: &'static MaintainedType,
        client: TableClient,
        query: RowQuery,
        to_join: Vec<RowQuery>,
    ) -> Self {
        let tickets = leftover::queries(of, &client, &query.keys.partition).into();
        let values = unused_values::query(of, &query);
        let (query, ready) = (Some(query), VecDeque::new());
        let canonical = Vec::new();
        Self {
            of,
            client,
            to_join,
            joined: Joined::default(),
            query,
            partition: None,
            tickets,
            canonical,
            values,
            last_value: RowHead::default(),
            ready,
            entities: 0,
            rows: 0,
            undecided: 0,
        }
    }

    async fn next(&mut self) -> Result<Option<Finding>> {
        if !self.to_join.is_empty() {
            self.joined = Joined::read(&self.client, std::mem::take(&mut self.to_join)).await?;
        }
        loop {
            if let Some(finding) = self.ready.pop_front() {
                return Ok(Some(finding));
            }
            let Some(query) = &mut self.query else {
                if let Some(query) = self.tickets.pop_front() {
                    self.read_tickets(query).await?;
                } else if let Some(query) = self.values.take() {
                    self.read_values(query).await?;
                } else {
                    return Ok(None);
                }
                continue;
            };
            let page = self.client.page(query).await?;
            query.continuation = page.continuation;
            if query.continuation.is_none() {
                self.query = None;
            }
            let mut findings = Vec::new();
            for row in split_page(&page.body)? {
                self.row(VersionedRow::read(row.get().as_bytes())?, &mut findings)?;
            }
            if self.query.is_none()
                && let Some(last) = self.partition.take()
            {
                self.undecided += last.finish(&mut findings);
            }
            let canonical = std::mem::take(&mut self.canonical);
            for (home, body) in &canonical {
                findings.extend(guard_findings::findings(self.of, &self.client, home, body).await?);
            }
            let found =
                eventual_rows::findings(self.of, self.client.clone(), canonical, &self.joined);
            findings.extend(found.await?);
            self.ready.extend(findings);
        }
    }

    async fn read_tickets(&mut self, query: RowQuery) -> Result<()> {
        let client = self.client.clone();
        let mut pages = client.pages(query);
        while let Some(page) = pages.next().await? {
            for row in split_page(&page)? {
                self.rows += 1;
                let row = row.get().as_bytes();
                self.ready.extend(leftover::finding(self.of, &client, &client.table, row)?);
            }
        }
        Ok(())
    }

    async fn read_values(&mut self, mut query: RowQuery) -> Result<()> {
        let page = self.client.page(&query).await?;
        query.continuation = page.continuation;
        // The rows of the partition were counted when they were read for their entities.
        for row in split_page(&page.body)? {
            let row: RowHead = read_row(0, row.get().as_bytes())?;
            if unused_values::is_next(&row, &self.last_value) {
                self.ready
                    .extend(unused_values::finding(self.of, &self.client, row.clone()).await?);
            }
            self.last_value = row;
        }
        self.values = Some(query).filter(|query| query.continuation.is_some());
        Ok(())
    }

    fn row(&mut self, row: VersionedRow<'_>, findings: &mut Vec<Finding>) -> Result<()> {
        self.rows += 1;
        if let Some(before) = self.partition.take_if(|open| open.key != row.partition_key) {
            self.undecided += before.finish(findings);
        }
        let hidden = self.client.store().hidden_property();
        let partition = self.partition.get_or_insert_with(|| {
            Partition::new(self.of, row.partition_key.clone(), hidden.map(str::to_owned))
        });
        let (row_key, body) = (row.row_key.clone(), row.body);
        if partition.row(row, findings)? == RowKind::Canonical {
            self.entities += 1;
            if (self.of.reaches_across)() {
                let partition_key = partition.key.clone();
                let key = CanonicalKey { partition_key, row_key };
                self.canonical.push((key, Bytes::copy_from_slice(body)));
            }
        }
        Ok(())
    }
}
