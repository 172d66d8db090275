//! Settles what ended processes left, in one partition or in a whole table.

use super::Scan;
use crate::entity::{DynamicEntity, TableEntity};
use crate::error::Result;
use crate::eventual::{EventualType, PartitionScope, SETTLE_GRACE, Scope, SettleReport, Sweep};
use crate::plan::{Plan, Step};
use crate::query::{ScanPermit, Span};
use crate::register;
use crate::repo::Repo;
use futures_core::future::BoxFuture;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

impl<E: TableEntity> Repo<E> {
    /// Settles what ended processes left: brings `eventual` rows in step with their entities, and frees values
    /// that no entity has. Takes one partition, a [register](Repo::register), or with a [`ScanPermit`] the
    /// whole table. Returns what it settled, and what it left and why.
    ///
    /// A write of an entity settles its rows in other partitions by itself. If its process ends in between,
    /// they follow when this runs: run it as a job. Without one, they may stay as they are for ever. Two may
    /// run at a time.
    ///
    /// It leaves what is younger than [`SETTLE_GRACE`] to its writer, or the time set by
    /// [`grace`](Settle::grace). It settles the entities of `E` only.
    ///
    /// A partition costs one query. The whole table costs a scan: the service reads all of its rows, and
    /// returns those to settle. With `unique(.., across)` these are two queries, or two scans. A register costs
    /// 16 queries, the queries of each partition that it names, and one delete for each that is clean then.
    /// Each intent that is found costs 2 requests for each other partition, and 2 more.
    ///
    /// A register may not name the partition of a request that took effect minutes late. So also scan the
    /// table, for example once a week.
    ///
    /// ```
    /// use std::time::Duration;
    /// use table_orm::{ScanPermit, TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
    /// #[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
    /// struct Member { user: String, room: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let members = Tables::in_memory()?.repo::<Member>();
    /// members.create_table().await?;
    /// members.insert(&Member { user: "ann".into(), room: "kitchen".into() }).await?;
    /// // The insert has settled its row by itself.
    /// let ann = members.settle(Member::partition("ann")).await.all()?;
    /// assert_eq!(ann.settled, 0);
    /// let permit = ScanPermit::because("what ended processes left");
    /// let all = members.settle(permit).grace(Duration::from_secs(600)).await.all()?;
    /// assert_eq!((all.settled, all.young), (0, 0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// When the partition, the table or the register cannot be read, it ends with the error in
    /// [`SettleReport::ended`]. An intent that cannot be settled stays, and is in [`SettleReport::failures`]; so is a
    /// partition of the register that cannot be read. [`all`](SettleReport::all) turns either into an error.
    pub fn settle<S: PartitionScope<E>>(&self, scope: S) -> Settle<E> {
        let sweep =
            Sweep { home: self.client.clone(), kind: EventualType::of::<E>(), grace: SETTLE_GRACE };
        Settle { sweep, scope: scope.scope(), entity: PhantomData }
    }
}

/// A settling of what ended processes left: `.await` runs it, `.plan()` shows its first request.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Settle<E> {
    sweep: Sweep,
    scope: Scope,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> Settle<E> {
    /// Sets the age below which an intent is left to its writer, instead of [`SETTLE_GRACE`]. A shorter one is
    /// safe, and costs the writer and this call some requests. What a register names stays named for
    /// [`SETTLE_GRACE`] at least.
    ///
    /// The age is by the service's clock. For a store that states no time, such as the embedded one, it is by
    /// this machine's clock.
    pub const fn grace(mut self, age: Duration) -> Self {
        self.sweep.grace = age;
        self
    }

    /// Returns the queries for what is left, or of a register, without sending them.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        match &self.scope {
            Scope::Partition(partition) => {
                let partition = partition.clone()?;
                let queries = self.sweep.left_rows();
                let query = |rows| Step::read(self.sweep.query(partition.clone(), rows)).into();
                Ok(queries.map(query).collect())
            }
            Scope::Register(table) => {
                Ok(register::queries(table).map(|query| Step::read(query).into()).collect())
            }
            Scope::Table(permit) => {
                self.sweep.left_rows().map(|rows| self.scan(rows, permit).plan()).collect()
            }
        }
    }

    fn scan(&self, rows: Span, permit: &ScanPermit) -> Scan<DynamicEntity> {
        let home = &self.sweep.home;
        let store = Arc::clone(&home.connection.store);
        Scan::untyped_in(store, home.table.clone(), rows, permit)
    }

    async fn run(self) -> SettleReport {
        let mut report = SettleReport::default();
        if let Err(error) = self.settle(&mut report).await {
            report.ended = Some(error.repeatable());
        }
        report
    }

    async fn settle(self, report: &mut SettleReport) -> Result<()> {
        match &self.scope {
            Scope::Partition(Err(error)) => return Err(error.clone().into()),
            Scope::Partition(Ok(Span::Exact(partition_key))) => {
                self.sweep.partition(partition_key, report).await?;
            }
            // The query of a whole partition has one PartitionKey.
            Scope::Partition(Ok(_)) => {}
            Scope::Register(table) => self.sweep.registered(table, report).await?,
            Scope::Table(permit) => {
                for rows in self.sweep.left_rows() {
                    let mut intents = self.scan(rows, permit).stream();
                    while let Some(row) = intents.next().await? {
                        self.sweep.intent(row, report).await;
                    }
                }
            }
        }
        Ok(())
    }
}

impl<E: TableEntity + 'static> IntoFuture for Settle<E> {
    type Output = SettleReport;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
