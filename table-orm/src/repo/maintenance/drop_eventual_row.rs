//! Deletes the rows of a kind that the app's types no longer have.
//!
//! Invariant: only rows whose two keys read as those of the kind are deleted, and none whose keys read as those of a
//! row of a type that the call knows. Of several tables, only the rows of one are.

use crate::entity::{
    EventualHead, OwnRows, Row, RowHead, TableEntity, eventual_at, home_key, is_of_table,
    partition_at, read_rows, row_span, table_at, template_at,
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
    /// Rows that were deleted; in a [`dry_run`](DropEventualRow::dry_run), those that would be.
    pub rows: u64,
    /// Rows that were kept, because their keys also read as those of a row that a present type has.
    pub kept: u64,
    /// The error that ended it before the end. Call it again.
    pub ended: Option<Error>,
}

impl DropEventualRowReport {
    /// Returns the number of rows that were deleted, or of a dry run would be, when the call reached the end.
    ///
    /// # Errors
    /// The error that ended it.
    pub fn all(self) -> Result<u64> {
        self.ended.map_or(Ok(self.rows), Err)
    }
}

/// A deletion of all rows of a kind: `.await` sends it, `.plan()` shows what it reads, and `.dry_run()` counts what it
/// would delete.
///
/// A row is deleted if both of its keys read as those of the kind. It is kept, and counted, if they also read as those
/// of a row that the type of the `Repo` has, or a type that [`keeping`](Self::keeping) names. Where the keys of the
/// former and the present rows look alike, all are kept: then [`verify_eventual_table`](Repo::verify_eventual_table)
/// finds the rows that no entity has, and [`repair`](Repo::repair) deletes these.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct DropEventualRow<R> {
    client: TableClient,
    /// The table of the entities.
    home: TableName,
    query: RowQuery,
    reason: String,
    /// Whose rows are kept.
    present: Vec<PresentType>,
    dry: bool,
    row: PhantomData<fn() -> R>,
}

/// A type whose rows are kept.
#[derive(Debug, Clone)]
struct PresentType {
    /// The table of its entities; `None` where it is not known.
    home: Option<TableName>,
    has: fn(&Self, &TableName, &RowHead) -> bool,
}

impl PresentType {
    fn of<E: TableEntity>(home: Option<TableName>) -> Self {
        Self { home, has: Self::has_row::<E> }
    }

    /// Whether the type may have a row with such keys in a table.
    fn has_row<E: TableEntity>(&self, table: &TableName, row: &RowHead) -> bool {
        let home = self.home.as_ref().map(TableName::as_str);
        let mut templates = (0..).map_while(|index| Some((index, template_at::<E>(index)?)));
        templates.any(|(index, template)| {
            let own = table_at::<E>(index).or(home);
            own.is_none_or(|own| own.eq_ignore_ascii_case(table.as_str()))
                && partition_at::<E>(index).takes(&row.partition_key, E::ESCAPE)
                && template.takes(&row.row_key, E::ESCAPE)
        })
    }
}

impl<E: TableEntity> Repo<E> {
    /// Deletes all rows of kind `R` in other partitions. Call it when the types of the app no longer have this
    /// row: it was removed, or got another key.
    ///
    /// `R` is a row of the earlier declaration of the type. Rows whose keys read as those of a row that the type has
    /// now are kept: all of them, if `R` is such a row. To delete rows of a type that is gone, call it on a `Repo` of a
    /// declaration without the row. If other types have rows in this table, name them with
    /// [`keeping`](DropEventualRow::keeping), and look at a [`dry_run`](DropEventualRow::dry_run).
    ///
    /// Reads every row of their table, and is billed for it. Deletes up to 100 rows a request. Deploy the
    /// types without the row first: a writer that still has it writes it again. After an error, call it again.
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
    /// #[derive(TableEntity)]
    /// #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
    /// #[row(by_room, partition = "ROOM@{room}", key = "USER:{user}", eventual)]
    /// struct Member { user: String, room: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let former = tables.repo::<before::Member>();
    /// # former.create_table().await?;
    /// # former.insert(&before::Member { user: "ann".into(), room: "hall".into() }).await?;
    /// let members = tables.repo::<Member>();
    /// let permit = || ScanPermit::because("by_room has another key now");
    /// members.backfill_table(permit()).await.all()?;
    /// members.drop_eventual_row::<before::MemberByRoom>(permit()).await.all()?;
    /// assert_eq!(members.list(Member::by_room("hall")).count().await?, 1);
    /// # assert_eq!(former.list(before::Member::by_room("hall")).count().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn drop_eventual_row<R: Row>(&self, permit: ScanPermit) -> DropEventualRow<R> {
        const {
            assert!(
                eventual_at::<R::Entity>(R::INDEX).is_some(),
                "`drop_eventual_row` is for rows in other partitions, declared `eventual`"
            );
            assert!(
                <R::Entity>::TABLE.eq_ignore_ascii_case(E::TABLE),
                "`drop_eventual_row` takes a row of an earlier declaration of the type; both have one table"
            );
        }
        let keys = KeyRange { partition: Span::All, row: row_span::<R>() };
        let query = self.client.query_of::<R>(keys);
        let query = reading_heads::<R>(query, &OwnRows::of::<R>());
        let query = RowQuery { metadata: Metadata::None, ..query };
        let (client, reason) =
            (self.client.in_other_table(&query.table), permit.reason().to_owned());
        let home = self.client.table.clone();
        let present = vec![PresentType::of::<E>(Some(home.clone()))];
        DropEventualRow { client, home, query, reason, present, dry: false, row: PhantomData }
    }
}

impl<R> DropEventualRow<R> {
    /// Keeps every row whose keys read as those of a row of `T`, a type that has rows in the same table. The entities of
    /// `T` may be in any table, so more may be kept than `T` has.
    pub fn keeping<T: TableEntity>(mut self) -> Self {
        self.present.push(PresentType::of::<T>(None));
        self
    }

    /// Deletes nothing. The report says how many rows would be deleted, and how many would be kept.
    pub const fn dry_run(mut self) -> Self {
        self.dry = true;
        self
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
        if let Err(error) = self.pages(&mut report).await {
            report.ended = Some(error.repeatable());
        }
        report
    }

    async fn pages(self, report: &mut DropEventualRowReport) -> Result<()> {
        let Self { client, home, query, present, dry, .. } = self;
        let own = const { OwnRows::of::<R>() };
        let table = query.table.clone();
        let is_present = |row: &RowHead| present.iter().any(|kind| (kind.has)(kind, &table, row));
        let mut pages = client.pages(query);
        while let Some(page) = pages.next().await? {
            let (rows, _) = read_rows::<EventualHead>(&own, &page, None, usize::MAX)?;
            let is_own = |EventualHead { keys, home_table }: &EventualHead| {
                is_of_table::<R::Entity>(R::INDEX, &home, home_table.as_deref())
                    && home_key::<R::Entity>(R::INDEX, &keys.partition_key, &keys.row_key).is_some()
            };
            let rows = rows.into_iter().filter(is_own).map(|row| row.keys);
            let (kept, rows): (Vec<_>, Vec<_>) = rows.partition(is_present);
            report.kept += kept.len() as u64;
            if dry {
                report.rows += rows.len() as u64;
                continue;
            }
            let batches = batches(rows, client.store().transaction_operations()).into_iter();
            let deletes = batches.map(|batch| async {
                let rows = batch.operations.len() as u64;
                client.send_changes(batch, None).await.map(|_| rows)
            });
            let mut deletes = Concurrent::unordered(deletes, DEFAULT_PARALLELISM);
            while let Some(rows) = deletes.next().await {
                report.rows += rows?;
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
