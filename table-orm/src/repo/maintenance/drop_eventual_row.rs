//! Deletes the rows of a kind that the app's types no longer have.
//!
//! Invariant: only rows whose keys read as those of the kind are deleted, and of several tables only those of one.

use crate::entity::{
    EventualHead, OwnRows, Row, RowHead, RowOf, TableEntity, eventual_at, is_of_table, read_rows,
    row_span,
};
use crate::error::{Error, Result};
use crate::model::{Metadata, TableName};
use crate::plan::{Plan, Step, TableClient};
use crate::query::{KeyRange, RowQuery, ScanPermit, Span};
use crate::repo::bulk::DEFAULT_PARALLELISM;
use crate::repo::get::reading_heads;
use crate::repo::{Repo, entity_costs};
use crate::store::{Action, Batch, IfMatch, Operation};
use crate::sync::Concurrent;
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

/// What a deletion of all rows of a kind did.
#[derive(Debug, Default)]
#[must_use = "it may hold an error"]
#[non_exhaustive]
pub struct DropEventualRowReport {
    /// Rows that were deleted.
    pub rows: u64,
    /// The error that ended it before the end. Call it again.
    pub ended: Option<Error>,
}

impl DropEventualRowReport {
    /// Returns the number of rows that were deleted when the call reached the end.
    ///
    /// # Errors
    /// The error that ended it.
    pub fn all(self) -> Result<u64> {
        self.ended.map_or(Ok(self.rows), Err)
    }
}

/// A deletion of all rows of a kind: `.await` sends it, `.plan()` shows what it reads.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct DropEventualRow<R> {
    client: TableClient,
    /// The table of the entities.
    home: TableName,
    query: RowQuery,
    reason: String,
    row: PhantomData<fn() -> R>,
}

impl<E: TableEntity> Repo<E> {
    /// Deletes all rows of kind `R` in other partitions. Call it when the types of the app no longer have this
    /// row: it was removed, or got another key.
    ///
    /// Reads every row of their table, and is billed for it. Deletes up to 100 rows a request. Deploy the
    /// types without the row first: a writer that still has it writes it again. Declare the earlier form of
    /// the type for this call. After an error, call it again.
    ///
    /// If the rows are in a table of their own, it deletes only those whose entities are in this `Repo`'s
    /// table.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// mod before {
    ///     # use table_orm::TableEntity;
    ///     #[derive(TableEntity)]
    ///     #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
    ///     #[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
    ///     pub struct Member { pub user: String, pub room: String }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// let members = tables.repo::<before::Member>();
    /// # members.create_table().await?;
    /// # members.insert(&before::Member { user: "ann".into(), room: "hall".into() }).await?;
    /// let permit = ScanPermit::because("by_room has another key now");
    /// members.drop_eventual_row::<before::MemberByRoom>(permit).await.all()?;
    /// assert_eq!(members.list(before::Member::by_room("hall")).count().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn drop_eventual_row<R: RowOf<E>>(&self, permit: ScanPermit) -> DropEventualRow<R> {
        const {
            assert!(
                eventual_at::<E>(R::INDEX).is_some(),
                "`drop_eventual_row` is for rows in other partitions, declared `eventual`"
            );
        }
        let keys = KeyRange { partition: Span::All, row: row_span::<R>() };
        let query = self.client.query_of::<R>(keys);
        let query = reading_heads::<R>(query, &OwnRows::of::<R>());
        let query = RowQuery { metadata: Metadata::None, ..query };
        let (client, reason) =
            (self.client.in_other_table(&query.table), permit.reason().to_owned());
        let home = self.client.table.clone();
        DropEventualRow { client, home, query, reason, row: PhantomData }
    }
}

impl<R: Row> DropEventualRow<R> {
    /// Returns the first request for rows, and what the deletes cost for each row that it finds. Sends nothing.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let (query, reason) = (self.query.clone(), Some(self.reason.clone()));
        let (table, of_each) = (query.table.clone(), entity_costs::dropping().into());
        let read = Step::Read { query, limit: None, reason };
        Plan { steps: vec![read, Step::WriteFound { table, of_each }] }
    }

    async fn run(self) -> DropEventualRowReport {
        let mut report = DropEventualRowReport::default();
        if let Err(error) = self.pages(&mut report.rows).await {
            report.ended = Some(error.repeatable());
        }
        report
    }

    async fn pages(self, deleted: &mut u64) -> Result<()> {
        let Self { client, home, query, .. } = self;
        let own = const { OwnRows::of::<R>() };
        let mut pages = client.pages(query);
        while let Some(page) = pages.next().await? {
            let (rows, _) = read_rows::<EventualHead>(&own, &page, None, usize::MAX)?;
            let of_table = |row: EventualHead| {
                let is = is_of_table::<R::Entity>(R::INDEX, &home, row.home_table.as_deref());
                is.then_some(row.keys)
            };
            let rows: Vec<_> = rows.into_iter().filter_map(of_table).collect();
            let batches = batches(rows, client.store().transaction_operations()).into_iter();
            let deletes = batches.map(|batch| async {
                let rows = batch.operations.len() as u64;
                client.send_changes(batch, None).await.map(|_| rows)
            });
            let mut deletes = Concurrent::unordered(deletes, DEFAULT_PARALLELISM);
            while let Some(rows) = deletes.next().await {
                *deleted += rows?;
            }
        }
        Ok(())
    }
}

impl<R: Row + 'static> IntoFuture for DropEventualRow<R> {
    type Output = DropEventualRowReport;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Rows in key order as transactions that delete them.
fn batches(rows: Vec<RowHead>, most: usize) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for RowHead { partition_key, row_key } in rows {
        let operation = Operation { row_key, action: Action::Delete(IfMatch::Any) };
        match batches.last_mut() {
            Some(last) if last.partition_key == partition_key && last.operations.len() < most => {
                last.operations.push(operation);
            }
            _ => batches.push(Batch { partition_key, operations: vec![operation] }),
        }
    }
    batches
}
