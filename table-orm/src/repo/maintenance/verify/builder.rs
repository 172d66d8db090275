//! The calls that start a verify, and its settings.

use super::joined::query;
use super::leftover;
use crate::entity::{RowOf, TableEntity, WholePartition, rows_of};
use crate::error::Result;
use crate::key::KeyError;
use crate::model::Metadata;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{IntoSpan, KeyRange, RowQuery, ScanPermit, Span};
use crate::repo::Repo;
use crate::repo::maintenance::MaintainedType;
use std::marker::PhantomData;

/// A verify: `.await` returns all findings with counts, `.stream()` each finding as soon as it is certain,
/// `.plan()` shows what it reads. It writes nothing.
///
/// It reads each row of the entity type once, at most 1000 a request. It holds one page and the rows of the
/// current partition that have no match so far. If index rows sort before canonical ones (`AGE:` before
/// `BIB:`), these are the index rows of a whole partition.
///
/// It compares typed values, so the number format of a store makes no finding. The expected rows follow
/// from the canonical rows alone. It ignores rows whose keys match no template of the entity, and
/// [counts](super::VerifyReport::undecided) index rows that may belong to an unreadable canonical row.
///
/// The service has no snapshot over several pages: while others write, a finding may be about a row that
/// was just being moved. [`Repo::repair`] reads the rows again before it writes.
///
/// ```
/// # use table_orm::{ScanPermit, TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "runners", partition = "{race}")]
/// # #[row(by_bib, key = "BIB:{bib:05}")]
/// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
/// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let runners = Tables::in_memory()?.repo::<Runner>();
/// # runners.create_table().await?;
/// # runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55, city: None }).await?;
/// let verify = runners.verify_table(ScanPermit::because("weekly check"));
/// let mut findings = verify.partition_range("B".to_owned().."C".to_owned()).stream();
/// assert_eq!(findings.next().await?, None);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited or streamed"]
#[derive(Debug)]
pub struct Verify<E> {
    pub(super) client: TableClient,
    pub(super) query: Result<RowQuery, KeyError>,
    /// The queries for rows in other partitions that it reads first.
    pub(super) joined: Vec<RowQuery>,
    joined_reason: Option<String>,
    reason: Option<String>,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> Repo<E> {
    /// Finds the rows of one partition that are out of step with their canonical rows: missing,
    /// orphaned, stale, or with the wrong properties. Reads every row once, 1000 a request, and writes
    /// nothing.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables, TableName};
    /// use table_orm::repo::Problem;
    ///
    /// #[derive(TableEntity)]
    /// #[table(name = "runners", partition = "{race}")]
    /// #[row(by_bib, key = "BIB:{bib:05}")]
    /// #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// struct Runner { race: String, bib: u32, age: u8 }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// let runners = tables.repo::<Runner>();
    /// # runners.create_table().await?;
    /// runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55 }).await?;
    /// // Another tool deletes a row.
    /// let rows = tables.table(runners.table().clone());
    /// let copy = rows.get("Boston", "AGE:055__00007").await?.unwrap();
    /// rows.delete(&copy).await?;
    ///
    /// let report = runners.verify(Runner::partition("Boston")).await?;
    /// assert_eq!((report.entities, report.findings.len()), (1, 1));
    /// assert_eq!(report.findings[0].row_key, "AGE:055__00007");
    /// assert_eq!(report.findings[0].problem, Problem::Missing);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a request fails, such as with [`Error::TableNotFound`](crate::Error::TableNotFound). A missing table of
    /// rows in other partitions is no error: each of its rows is then a finding,
    /// [`TableMissing`](crate::repo::Problem::TableMissing). [`Error::Unauthorized`](crate::Error::Unauthorized) under a
    /// signature with a range of RowKeys, which hides rows.
    pub fn verify<Q>(&self, partition: Q) -> Verify<E>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        self.verify_keys(partition.into_keys().map(|keys| keys.partition), None)
    }

    /// Finds the rows of the whole table that are out of step, as [`verify`](Self::verify) does in one
    /// partition. Reads every row of the table, and is billed for it.
    ///
    /// For a type with sums [over partitions](crate::Sum::over_partitions), it also finds the tickets in their partitions
    /// that nobody used ([`Leftover`](crate::repo::Problem::Leftover)): one request more for each such sum.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55, city: None }).await?;
    /// let report = runners.verify_table(ScanPermit::because("weekly check")).await?;
    /// assert_eq!((report.entities, report.rows), (1, 2));
    /// assert!(report.findings.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_table(&self, permit: ScanPermit) -> Verify<E> {
        self.verify_keys(Ok(Span::All), Some(permit.reason().to_owned()))
    }

    fn verify_keys(&self, partition: Result<Span, KeyError>, reason: Option<String>) -> Verify<E> {
        let query = partition.map(|partition| {
            let mut query = self.client.query(KeyRange { partition, row: rows_of::<E>() });
            query.metadata = Metadata::Minimal;
            query
        });
        let (client, joined, joined_reason) = (self.client.clone(), Vec::new(), None);
        Verify { client, query, joined, joined_reason, reason, entity: PhantomData }
    }
}

impl<E: TableEntity> Verify<E> {
    /// Reads only the partitions in a range of stored PartitionKeys, for example to continue where an earlier
    /// run ended. Has no effect on a verify of one partition.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # for race in ["Boston", "Chicago"] {
    /// #     runners.insert(&Runner { race: race.into(), bib: 7, age: 55, city: None }).await?;
    /// # }
    /// let check = runners.verify_table(ScanPermit::because("weekly check"));
    /// let rest = check.partition_range("Boston2".to_owned()..).await?;
    /// assert_eq!(rest.entities, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn partition_range(mut self, range: impl IntoSpan) -> Self {
        if let Ok(query) = &mut self.query
            && self.reason.is_some()
        {
            query.keys.partition = range.into_span();
        }
        self
    }

    /// Reads all `eventual` rows of the type first, instead of one point query for each. It reads a row that
    /// they do not confirm by a point query, as before. So it finds every row that was out of step when they
    /// were read. Guards of values that are unique over all partitions are read one by one in either case.
    ///
    /// It scans each table that has such rows, and is billed for it. It pays where the verify covers most
    /// of a table. It holds these rows in memory: about the bytes of their JSON, and 200 more for each. If that is
    /// too much, leave it out, or verify a range of partitions without it.
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
    /// # members.insert(&Member { user: "ann".into(), room: "kitchen".into() }).await?;
    /// let weekly = || ScanPermit::because("weekly check");
    /// let report = members.verify_table(weekly()).join(weekly()).await?;
    /// assert_eq!((report.entities, report.findings.len()), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn join(mut self, permit: ScanPermit) -> Self {
        let home = &self.client.table;
        let queries = E::EVENTUAL.iter().map(|row| query(row.table_of(home), row.row.span()));
        self.joined.clear();
        for query in queries {
            if !self.joined.contains(&query) {
                self.joined.push(query);
            }
        }
        self.joined_reason = Some(permit.reason().to_owned());
        self
    }

    /// Returns the first request for each table, without sending it.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let joined = self.joined.iter().map(|query| (query.clone(), self.joined_reason.clone()));
        let own = (self.query.clone()?, self.reason.clone());
        let tickets =
            leftover::queries(MaintainedType::of::<E>(), &self.client, &own.0.keys.partition);
        let tickets = tickets.into_iter().map(|query| (query, None));
        let read = |(query, reason)| Step::Read { query, limit: None, reason }.into();
        Ok(joined.chain([own]).chain(tickets).map(read).collect())
    }
}
