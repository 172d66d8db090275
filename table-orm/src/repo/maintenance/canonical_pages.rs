//! The canonical rows of a partition or a table, page by page: what a backfill and a rewrite go through; or the
//! rows of another range, for a drop.
//!
//! Invariant: the token is where the next page starts, so whoever stops can go on there.

use crate::entity::{RowOf, TableEntity, WholePartition, canonical_rows};
use crate::error::Result;
use crate::key::KeyError;
use crate::model::Metadata;
use crate::plan::{Cost, Plan, Step, TableClient};
use crate::query::{KeyRange, PageStart, PageToken, RowQuery, ScanPermit, Span, fingerprint};
use crate::store::Page;

/// A read of canonical rows that can be resumed.
#[derive(Debug, Clone)]
pub(crate) struct CanonicalPages {
    pub client: TableClient,
    query: Result<RowQuery, KeyError>,
    reason: Option<String>,
    /// Where the next page starts; `None` before the first one.
    pub token: Option<PageToken>,
}

impl CanonicalPages {
    /// Those of one partition.
    pub fn of_partition<E, Q>(client: &TableClient, partition: Q) -> Self
    where
        E: TableEntity,
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        Self::of::<E>(client, partition.into_keys().map(|keys| keys.partition), None)
    }

    /// Those of the whole table.
    pub fn of_table<E: TableEntity>(client: &TableClient, permit: &ScanPermit) -> Self {
        Self::of::<E>(client, Ok(Span::All), Some(permit.reason().to_owned()))
    }

    fn of<E: TableEntity>(
        client: &TableClient,
        partition: Result<Span, KeyError>,
        reason: Option<String>,
    ) -> Self {
        let keys = partition.map(|partition| KeyRange { partition, row: canonical_rows::<E>() });
        Self::of_keys(client, keys, reason)
    }

    /// All rows in that range of the whole table.
    pub fn of_rows(client: &TableClient, row: Span, permit: &ScanPermit) -> Self {
        let keys = KeyRange { partition: Span::All, row };
        Self::of_keys(client, Ok(keys), Some(permit.reason().to_owned()))
    }

    fn of_keys(
        client: &TableClient,
        keys: Result<KeyRange, KeyError>,
        reason: Option<String>,
    ) -> Self {
        let query = keys.map(|keys| RowQuery { metadata: Metadata::Minimal, ..client.query(keys) });
        // What is stored of entities changes, and no entity.
        Self { client: client.unreported(), query, reason, token: None }
    }

    /// The next request, as a plan, and the writes that cost so much for each entity.
    pub fn plan(&self, of_each: Cost) -> Result<Plan> {
        let (query, reason) = (self.next_query()?, self.reason.clone());
        let table = query.table.clone();
        let read = Step::Read { query, limit: None, reason };
        Ok(Plan { steps: vec![read, Step::WriteFound { table, of_each: of_each.into() }] })
    }

    /// Reads the page at the token, and where the page after it starts.
    pub async fn read(&self) -> Result<(Page, Option<PageToken>)> {
        let query = self.next_query()?;
        let page = self.client.page(&query).await?;
        // Nobody reads these pages backward, so the token holds no earlier one.
        let next = page.continuation.clone().map(|next| PageStart::from(next).into());
        let next = next.map(|next| PageToken::new(fingerprint(&query), next));
        Ok((page, next))
    }

    fn next_query(&self) -> Result<RowQuery> {
        let mut query = self.query.clone()?;
        if let Some(token) = self.token.clone() {
            query.continuation = Some(token.open(&query)?.start.continuation);
        }
        Ok(query)
    }
}
