//! Compares rows in other partitions with the canonical rows of their entities, from the rows' side: it
//! finds rows whose entities are gone, and tickets that nobody used.

use super::differences::differences;
use super::eventual_rows::mark_pending;
use super::expected::expected_eventual_rows;
use super::finding::{Finding, Problem};
use super::joined::{Joined, query};
use super::leftover;
use super::report::VerifyReport;
use super::versioned_row::VersionedRow;
use crate::entity::{
    OwnRows, Query, Row, RowOf, TableEntity, canonical_rows, eventual_at, is_of_table, keys_of,
    row_span, split_page,
};
use crate::error::Result;
use crate::eventual::LeftTicket;
use crate::key::KeyError;
use crate::model::Metadata;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{KeyRange, RowQuery, ScanPermit, Span};
use crate::repo::Repo;
use crate::repo::get::MAX_PARALLEL_GETS;
use crate::repo::maintenance::{EventualRowKeys, MaintainedType};
use crate::sync::Concurrent;
use bytes::Bytes;
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

/// A verify of rows in other partitions: `.await` returns all findings, `.plan()` shows the first request. It
/// writes nothing.
///
/// Costs one request for each 1000 rows, and one for the canonical row of each of them, at most 16 in flight.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct VerifyEventual<R> {
    client: TableClient,
    query: Result<RowQuery, KeyError>,
    reason: Option<String>,
    /// The query for canonical rows that it reads first, and why it may.
    joined: Option<(RowQuery, String)>,
    row: PhantomData<fn() -> R>,
}

impl<E: TableEntity> Repo<E> {
    /// Finds rows in other partitions that are out of step, from their side: rows that no entity has any
    /// more, and rows that store other values than their entity. [`verify`](Self::verify) finds those that an
    /// entity lacks. [`repair`](Self::repair) takes the findings of both.
    ///
    /// With the same requests, it finds the tickets of the type's entities in these partitions that nobody used:
    /// [`Leftover`](crate::repo::Problem::Leftover), once they are two minutes old. `repair` deletes those older
    /// than a day. A query of one row does not look for tickets.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # use table_orm::repo::Problem;
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
    /// # #[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
    /// # struct Member { user: String, room: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let members = tables.repo::<Member>();
    /// # members.create_table().await?;
    /// // Another program writes a row of a room, and no member.
    /// let rows = tables.table(members.table().clone());
    /// let row = table_orm::DynamicEntity::new("kitchen", "USER:ann");
    /// rows.insert(&row.with("User", "ann").with("Room", "kitchen")).await?;
    ///
    /// let report = members.verify_eventual(Member::by_room("kitchen")).await?;
    /// assert_eq!(report.findings[0].problem, Problem::Orphan);
    /// assert_eq!(members.repair(report.findings).await.all()?, 1);
    /// assert_eq!(members.list(Member::by_room("kitchen")).count().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_eventual<Q>(&self, query: Q) -> VerifyEventual<Q::Row>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        VerifyEventual::new(self.client.clone(), keys_of(query), None)
    }

    /// Does what [`verify_eventual`](Self::verify_eventual) does with all rows of kind `R`, such as
    /// `MemberByRoom`. Reads every row of their table, and is billed for it.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
    /// # #[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
    /// # struct Member { user: String, room: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let members = Tables::in_memory()?.repo::<Member>();
    /// # members.create_table().await?;
    /// members.insert(&Member { user: "ann".into(), room: "kitchen".into() }).await?;
    /// let permit = ScanPermit::because("nightly check");
    /// let report = members.verify_eventual_table::<MemberByRoom>(permit).await?;
    /// assert!(report.findings.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_eventual_table<R: RowOf<E>>(&self, permit: ScanPermit) -> VerifyEventual<R> {
        let keys = KeyRange { partition: Span::All, row: row_span::<R>() };
        VerifyEventual::new(self.client.clone(), Ok(keys), Some(permit.reason().to_owned()))
    }
}

impl<R: Row> VerifyEventual<R> {
    fn new(client: TableClient, keys: Result<KeyRange, KeyError>, reason: Option<String>) -> Self {
        const {
            assert!(
                eventual_at::<R::Entity>(R::INDEX).is_some(),
                "`verify_eventual` is for rows in other partitions, declared `eventual`; `verify` checks \
                 those of the entity's own partition"
            );
        }
        let query = keys.map(|keys| {
            let of_one_row = matches!(keys.row, Span::Exact(_));
            let query = RowQuery { metadata: Metadata::Minimal, ..client.query_of::<R>(keys) };
            if of_one_row { query } else { query.with_rows(LeftTicket::rows()) }
        });
        Self { client, query, reason, joined: None, row: PhantomData }
    }

    /// Reads all canonical rows of the type first, instead of one point query for each row in another
    /// partition. It finds the same: what these rows do not confirm is read by a point query as before.
    ///
    /// It scans the table of the entities, and is billed for it. It pays where the verify covers most of the rows.
    /// It holds the canonical rows in memory: about the bytes of their JSON, and 200 more for each.
    pub fn join(mut self, permit: ScanPermit) -> Self {
        let joined = query(self.client.table.clone(), canonical_rows::<R::Entity>());
        self.joined = Some((joined, permit.reason().to_owned()));
        self
    }

    /// Returns the first request, and that it reads canonical rows. Sends nothing.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let read = |query, reason| Step::Read { query, limit: None, reason };
        let own = read(self.query.clone()?, self.reason.clone());
        let table = self.client.table.clone();
        let steps = match self.joined.clone() {
            Some((query, reason)) => [read(query, Some(reason)), own],
            None => [own, Step::ReadCanonical { table }],
        };
        Ok(steps.into_iter().map(Plan::from).collect())
    }

    async fn run(self) -> Result<VerifyReport>
    where
        R: 'static,
        R::Entity: 'static,
    {
        let (client, query) = (self.client, self.query?);
        let table = query.table.clone();
        let queries = self.joined.into_iter().map(|(query, _)| query).collect();
        let joined = Joined::read(&client, queries).await?;
        let (of, own) = (MaintainedType::of::<R::Entity>(), const { OwnRows::of::<R>() });
        let mut report = VerifyReport::default();
        let mut pages = client.pages(query);
        while let Some(page) = pages.next().await? {
            let (mut compared, mut left) = (Vec::new(), Vec::new());
            for row in split_page(&page)? {
                report.rows += 1;
                let stored = Bytes::copy_from_slice(row.get().as_bytes());
                let row = VersionedRow::read(&stored)?;
                if LeftTicket::has_key(&row.row_key) {
                    left.extend(leftover::finding(of, &client, &table, &stored)?);
                    continue;
                }
                let stated = row.context.home_table.as_deref();
                if !own.take(&row.context)
                    || !is_of_table::<R::Entity>(R::INDEX, &client.table, stated)
                {
                    continue;
                }
                if is_confirmed(of, R::INDEX, &client, &row, &joined)? {
                    report.entities += 1;
                } else {
                    compared.push(compare(of, R::INDEX, client.clone(), stored));
                }
            }
            let compared = Concurrent::in_order(compared, MAX_PARALLEL_GETS).try_all().await?;
            let mut findings = Vec::new();
            for compared in compared {
                match compared {
                    Compared::Same => report.entities += 1,
                    Compared::Undecided => report.undecided += 1,
                    Compared::Differs(finding) => findings.push(*finding),
                }
            }
            mark_pending(&client, of.settled, &mut findings).await?;
            report.findings.append(&mut findings);
            report.findings.append(&mut left);
        }
        Ok(report)
    }
}

impl<R: Row + 'static> IntoFuture for VerifyEventual<R>
where
    R::Entity: 'static,
{
    type Output = Result<VerifyReport>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// A row beside its canonical row.
enum Compared {
    Same,
    Differs(Box<Finding>),
    /// The canonical row cannot be read, or the key names none.
    Undecided,
}

async fn compare(
    of: &'static MaintainedType,
    index: usize,
    client: TableClient,
    stored: Bytes,
) -> Result<Compared> {
    let row = VersionedRow::read(&stored)?;
    let keys = (&*row.partition_key, &*row.row_key);
    let Some(found) = EventualRowKeys::of(of, &client, index, keys) else {
        return Ok(Compared::Undecided);
    };
    let home = &found.home;
    let canonical = client.annotated_row(&home.partition_key, &home.row_key).await?;
    let canonical = canonical.as_ref().map(|row| &row.body);
    let Some(problem) = problem_of(of, index, &client, &row, canonical)? else {
        return Ok(Compared::Undecided);
    };
    Ok(problem.map_or(Compared::Same, |problem| {
        Compared::Differs(Box::new(found.finding(of, Some(&row.etag), problem)))
    }))
}

/// Whether the canonical row among those expects just this row.
fn is_confirmed(
    of: &'static MaintainedType,
    index: usize,
    client: &TableClient,
    row: &VersionedRow<'_>,
    joined: &Joined,
) -> Result<bool> {
    if joined.is_empty() {
        return Ok(false);
    }
    let keys = (&*row.partition_key, &*row.row_key);
    let found = EventualRowKeys::of(of, client, index, keys);
    let canonical = found.as_ref().and_then(|found| {
        joined.row(&client.table, &found.home.partition_key, &found.home.row_key)
    });
    // Without one, the point query decides.
    let Some(canonical) = canonical else { return Ok(false) };
    Ok(matches!(problem_of(of, index, client, row, Some(canonical))?, Some(None)))
}

/// What is wrong with a row, by its canonical row; `None` where that cannot be read.
fn problem_of(
    of: &'static MaintainedType,
    index: usize,
    client: &TableClient,
    row: &VersionedRow<'_>,
    canonical: Option<&Bytes>,
) -> Result<Option<Option<Problem>>> {
    let canonical = match canonical {
        Some(canonical) if of.own.take(&VersionedRow::read(canonical)?.context) => canonical,
        _ => return Ok(Some(Some(Problem::Orphan))),
    };
    let Ok(rows) = expected_eventual_rows(of, &client.table, canonical) else {
        return Ok(None);
    };
    let expected = rows.iter().find(|(_, partition_key, expected)| {
        expected.index == index
            && *partition_key == row.partition_key
            && expected.row_key == row.row_key
    });
    let Some((.., expected)) = expected else { return Ok(Some(Some(Problem::Orphan))) };
    let hidden = client.store().hidden_property();
    differences(of, expected, row.body, hidden).map(Some)
}
