//! Compares the guard rows of values that are unique over all partitions with the entities they name: it finds
//! guards of values that nobody has.

use super::finding::Problem;
use super::guard_findings::guard_finding;
use super::report::VerifyReport;
use crate::entity::{DynamicEntity, GuardTemplate, TableEntity, read_row, split_page};
use crate::error::Result;
use crate::eventual::{GUARD_ROW, Guard, UniqueValue};
use crate::model::Metadata;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{KeyRange, RowQuery, ScanPermit, Span};
use crate::repo::Repo;
use crate::repo::maintenance::MaintainedType;
use crate::repo::maintenance::guards::guards_of;
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

/// A verify of guard rows: `.await` returns all findings, `.plan()` shows the first requests. It writes
/// nothing.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct VerifyGuards<E> {
    client: TableClient,
    reason: String,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> Repo<E> {
    /// Finds the guard rows of every `unique(.., across)` whose entity does not have the value. They block
    /// nobody, but cost storage. [`settle`](Self::settle) removes those that ended processes left. Requests
    /// that take effect late, and other programs, leave others. [`repair`](Self::repair) deletes them.
    /// [`verify`](Self::verify) finds the guards that an entity lacks.
    ///
    /// Reads every guard row, and the entity and the ticket that it names.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "users", partition = "{id}", row = "USER", unique(name, across))]
    /// # struct User { id: String, name: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let users = Tables::in_memory()?.repo::<User>();
    /// users.create_table().await?;
    /// users.insert(&User { id: "1".into(), name: "ann".into() }).await?;
    /// let permit = ScanPermit::because("a yearly check");
    /// let report = users.verify_guards(permit).await?;
    /// assert_eq!((report.entities, report.findings.len()), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_guards(&self, permit: ScanPermit) -> VerifyGuards<E> {
        let (client, reason) = (self.client.clone(), permit.reason().to_owned());
        VerifyGuards { client, reason, entity: PhantomData }
    }
}

impl<E: TableEntity> VerifyGuards<E> {
    /// Returns the first request for each `unique(.., across)`, and that it reads canonical rows. Sends nothing.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let reason = Some(self.reason.clone());
        let reads = self.queries().map(|(_, query)| Step::Read {
            query,
            limit: None,
            reason: reason.clone(),
        });
        let canonical = Step::ReadCanonical { table: self.client.table.clone() };
        reads.chain([canonical]).map(Plan::from).collect()
    }

    /// The query for the guards of each `unique(.., across)`.
    fn queries(&self) -> impl Iterator<Item = (&'static GuardTemplate, RowQuery)> {
        let guards = E::GUARDS.iter().filter(|guard| guard.across);
        guards.map(|guard| {
            let row = Span::Exact(GUARD_ROW.to_owned());
            let keys = KeyRange { partition: Span::prefix(guard.start), row };
            let query = RowQuery::new(guard.table_of(&self.client.table), keys);
            (guard, RowQuery { metadata: Metadata::Minimal, ..query })
        })
    }

    async fn run(self) -> Result<VerifyReport> {
        let mut report = VerifyReport::default();
        for (template, query) in self.queries() {
            let mut pages = self.client.pages(query);
            while let Some(page) = pages.next().await? {
                for row in split_page(&page)? {
                    self.guard(template, read_row(0, row.get().as_bytes())?, &mut report).await?;
                }
            }
        }
        Ok(report)
    }

    async fn guard(
        &self,
        template: &GuardTemplate,
        row: DynamicEntity,
        report: &mut VerifyReport,
    ) -> Result<()> {
        report.rows += 1;
        let value = UniqueValue::of_key(template, &row.partition_key);
        let guards = guards_of(MaintainedType::of::<E>(), &self.client);
        let Some(guard) = Guard::read(row) else {
            report.undecided += 1;
            return Ok(());
        };
        let own = guards.entity(&guard.home.key.partition_key, &guard.home.key.row_key);
        if !guard.names(&own) && guards.left(&guard.home).await?.is_none() {
            // Of an entity in another table.
            report.undecided += 1;
        } else if guards.has(&guard.home, &value).await? {
            report.entities += 1;
        } else if guards.has_ticket(&guard).await? {
            report.undecided += 1;
        } else {
            // A repair looks for the entity where it is.
            let left = guards.left(&guard.home).await?;
            let key = left.map_or_else(|| guard.home.key.clone(), |home| home.key);
            let found = guard_finding(
                MaintainedType::of::<E>(),
                &self.client,
                &key,
                &value,
                Some(&guard),
                Problem::Orphan,
            );
            report.findings.push(found);
        }
        Ok(())
    }
}

impl<E: TableEntity + 'static> IntoFuture for VerifyGuards<E> {
    type Output = Result<VerifyReport>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
