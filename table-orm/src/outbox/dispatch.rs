//! The call that hands events on.

use super::Outbox;
use super::handler::Handler;
use super::named::Named;
use super::partition::PartitionDispatch;
use super::queries::{first_events, scan};
use super::report::DispatchReport;
use super::settings::Settings;
#[cfg(doc)]
use super::settings::{OUTBOX_LEASE, OUTBOX_PARALLELISM, REMOVED_AT_ONCE};
use crate::entity::TableEntity;
use crate::error::Result;
use crate::eventual::{PartitionScope, Scope};
use crate::plan::{Plan, Step, TableClient};
use crate::query::Span;
use crate::register;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// The shortest lease.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

impl<E: TableEntity> Outbox<E> {
    /// Hands events on to a handler, and removes those that it took. Takes one partition, the partitions that a
    /// [register](crate::Repo::register) names, or with a [`ScanPermit`](crate::ScanPermit) all of them. Returns
    /// when there are no more events.
    ///
    /// - **At least once**: an event is removed after the handler took it. It may come again: after an error of the
    ///   store, and when a process ends before it removed the event. Events have numbers, by which a handler
    ///   recognizes them.
    /// - **In order**: the events of a partition come in the order in which the writes took effect. Events
    ///   that come again may come after later ones. Partitions have no order among them.
    /// - **By one process**: it takes a lease on each partition. Any number of processes may run this.
    ///
    /// When the handler fails, the event stays, and those after it in the partition wait: for 1 second, then
    /// twice as long after each failure, up to 5 minutes. Calls during that time leave the partition alone.
    ///
    /// Run it again and again, as a job or in a loop. A partition with events costs one query, the write of
    /// the lease, and a transaction for 16 events. The scan costs as much as any scan: the service reads all
    /// rows of the table.
    ///
    /// A register costs 16 queries, and finds the events of each process that registered the table before it
    /// wrote. A partition stays named while it has events, and for 2 minutes after it was last named. It then
    /// costs one query in each call, and at the end 3 requests, and one for each name.
    ///
    /// ```
    /// use table_orm::outbox::Event;
    /// use table_orm::{TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "orders", partition = "{customer}", row = "{number:05}", outbox)]
    /// struct Order { customer: String, number: u32 }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let orders = Tables::in_memory()?.repo::<Order>();
    /// orders.create_table().await?;
    /// orders.insert(&Order { customer: "acme".into(), number: 1 }).await?;
    /// let acme = || Order::partition("acme");
    /// let busy = async |_: Event| Err("the mail server is busy");
    /// let report = orders.outbox().dispatch(acme(), busy).await;
    /// assert_eq!((report.progress.handed_on, report.failures.len()), (0, 1));
    /// // The event is still there.
    /// assert_eq!(orders.outbox().backlog(acme()).await?.events, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// When the search for partitions fails, what has begun ends, and the error is in [`DispatchReport::ended`]. What
    /// fails in one partition is in [`failures`](DispatchReport::failures). [`all`](DispatchReport::all) turns either
    /// into an error.
    pub fn dispatch<'a, H: Handler + 'a>(
        &self,
        scope: impl PartitionScope<E>,
        handler: H,
    ) -> Dispatch<'a, H> {
        let settings = Settings::default();
        let (client, scope) = (self.client.clone(), scope.scope());
        Dispatch { client, scope, handler, settings, lifetime: PhantomData }
    }
}

/// A dispatch of events: `.await` runs it, `.plan()` shows its first request.
#[must_use = "nothing is sent until this is awaited"]
pub struct Dispatch<'a, H> {
    client: TableClient,
    scope: Scope,
    handler: H,
    settings: Settings,
    lifetime: PhantomData<&'a ()>,
}

impl<H> fmt::Debug for Dispatch<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, settings, .. } = self;
        let mut out = f.debug_struct("Dispatch");
        out.field("scope", scope).field("settings", settings).finish_non_exhaustive()
    }
}

impl<H: Handler> Dispatch<'_, H> {
    /// Sets how long the lease on a partition is, instead of [`OUTBOX_LEASE`]; less than 0.1 s counts as 0.1 s. It is
    /// renewed when a third of it is over. After a crash, the partition waits that long.
    pub fn lease(mut self, time: Duration) -> Self {
        self.settings.lease = time.max(SHORTEST_LEASE);
        self
    }

    /// Sets how many partitions it works on at a time, instead of [`OUTBOX_PARALLELISM`]; 0 counts as 1.
    pub fn parallelism(mut self, partitions: usize) -> Self {
        self.settings.parallelism = partitions.max(1);
        self
    }

    /// Sets how many events of a partition it removes in one transaction, instead of [`REMOVED_AT_ONCE`]: 1 to
    /// 99, or to 98 where the store adds an operation of its own. With fewer it sends more requests, and fewer
    /// events come again after a crash.
    pub fn removed_at_once(mut self, events: usize) -> Self {
        self.settings.removed_at_once = events.max(1);
        self
    }

    /// Returns the query for the first events, or those of the register, or the scan for the partitions, without
    /// sending it.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        match &self.scope {
            Scope::Partition(partition) => {
                let most = super::partition::PAGE;
                Ok(Step::read(first_events(&self.client, partition.clone()?, most)).into())
            }
            Scope::Register(table) => {
                Ok(register::queries(table).map(|query| Step::read(query).into()).collect())
            }
            Scope::Table(permit) => scan(&self.client, permit).plan(),
        }
    }

    async fn run(self) -> DispatchReport {
        let Self { client, scope, handler, settings, .. } = self;
        let one = |partition_key| {
            PartitionDispatch::new(&client, &handler, settings, partition_key).run()
        };
        let table = client.table.as_str();
        match scope {
            Scope::Partition(Ok(Span::Exact(partition_key))) => {
                let report = one(partition_key).await;
                report.show(table);
                report
            }
            // The query of a whole partition has one PartitionKey.
            Scope::Partition(Ok(_)) => DispatchReport::default(),
            Scope::Partition(Err(error)) => DispatchReport::ended_by(error.into()),
            Scope::Register(register) => {
                let named = match Named::all(&client, &register).await {
                    Ok(named) => named,
                    Err(error) => {
                        let report = DispatchReport::ended_by(error);
                        report.show(table);
                        return report;
                    }
                };
                let reports = stream::iter(named).map(|named| {
                    let report = async {
                        let partition_key = named.partition_key.clone();
                        let mut report = one(partition_key.clone()).await;
                        let may_be_empty = report.progress.busy == 0 && report.failures.is_empty();
                        if let Err(error) = named.forget(&client, &register, may_be_empty).await {
                            report.failed(partition_key, error);
                        }
                        Ok(report)
                    };
                    report.boxed()
                });
                together(table, reports.buffer_unordered(settings.parallelism).boxed()).await
            }
            Scope::Table(permit) => {
                let partitions = scan(&client, &permit).partition_keys();
                let reports = partitions.map(|partition_key| {
                    let report = async {
                        match partition_key {
                            Ok(partition_key) => Ok(one(partition_key).await),
                            Err(error) => Err(error),
                        }
                    };
                    report.boxed()
                });
                together(table, reports.buffer_unordered(settings.parallelism).boxed()).await
            }
        }
    }
}

/// Adds up the reports of partitions. What has begun ends, also after an error of the scan, which hides nothing
/// of what was done.
async fn together(
    table: &str,
    mut reports: BoxStream<'_, Result<DispatchReport>>,
) -> DispatchReport {
    let mut report = DispatchReport::default();
    while let Some(partition) = reports.next().await {
        let partition = partition.unwrap_or_else(DispatchReport::ended_by);
        partition.show(table);
        report.add(partition);
    }
    report
}

impl<'a, H: Handler + 'a> IntoFuture for Dispatch<'a, H> {
    type Output = DispatchReport;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
