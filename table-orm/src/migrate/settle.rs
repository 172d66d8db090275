//! Settles what ended processes left, of entities in either form.
//!
//! Invariant: an intent is settled in the form whose keys it names. Before the old type was renamed, its intents had the
//! name that the new type has now.

use super::compare_types::same_table;
use super::follow::has_followers;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::passes::is_in_partition_of;
use super::stored_form::StoredForm;
use super::verify::head;
use crate::entity::{
    DynamicEntity, OwnRows, ReadRow as _, RowHead, has_across, read_row, split_page,
};
use crate::error::Result;
use crate::eventual::{EventualType, Pending, SETTLE_GRACE, SettleReport, Sweep};
use crate::plan::{CanonicalKey, TableClient};
use crate::query::{ScanPermit, Span};
use crate::repo::CanonicalPages;
use futures_core::future::BoxFuture;
use std::fmt;
use std::time::Duration;

/// A settling of what ended processes left, in either form: `.await` runs it. [`Migrating::settle`] returns it.
#[must_use = "nothing is sent until this is awaited"]
pub struct MigratingSettle<E: Migrates> {
    client: Migrating<E>,
    permit: ScanPermit,
    grace: Duration,
}

impl<E: Migrates> fmt::Debug for MigratingSettle<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigratingSettle").field("grace", &self.grace).finish_non_exhaustive()
    }
}

impl<E: Migrates> Migrating<E> {
    /// Settles what ended processes left in the whole table, or in both tables: brings the rows in other partitions in
    /// step with their entities, and releases values of `unique(.., across)`, in either form. Run it as a job, instead
    /// of [`Repo::settle`](crate::Repo::settle), which leaves what has moved.
    ///
    /// It leaves what is younger than two minutes to its writer, or the time set by
    /// [`grace`](MigratingSettle::grace). It costs a scan of each table, as `Repo::settle` does, and for each intent that
    /// is found as many requests as there; with `unique(.., across)` another scan, for tickets. An intent of an entity
    /// that has moved costs a query more, and one more for a parcel; it first ends the move, if that has not ended.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
    /// # #[row(by_day, partition = "{day}", key = "DAY:{hall}__{n:03}", eventual)]
    /// # struct LotV1 { hall: String, n: u32, day: String }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "lots2", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
    /// # #[row(by_day, partition = "{day}", key = "DAY:{hall}__{n:08}", eventual)]
    /// # struct Lot { hall: String, n: u32, day: String }
    /// # impl From<LotV1> for Lot { fn from(LotV1 { hall, n, day }: LotV1) -> Self { Self { hall, n, day } } }
    /// # impl From<Lot> for LotV1 { fn from(Lot { hall, n, day }: Lot) -> Self { Self { hall, n, day } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<LotV1>();
    /// # old.create_table().await?;
    /// # old.insert(&LotV1 { hall: "a".into(), n: 1, day: "2026-11-28".into() }).await?;
    /// # let lots = tables.migrating::<Lot>()?;
    /// # lots.create_table_if_not_exists().await?;
    /// let permit = ScanPermit::because("what ended processes left");
    /// lots.migrate(&permit).await.all()?;
    /// assert_eq!(lots.list(Lot::by_day("2026-11-28")).await?.len(), 1);
    /// // The mover has settled what it moved.
    /// assert_eq!(lots.settle(&permit).await.all()?.settled, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn settle(&self, permit: &ScanPermit) -> MigratingSettle<E> {
        MigratingSettle { client: self.clone(), permit: permit.clone(), grace: SETTLE_GRACE }
    }

    /// The intents of the old form and the tickets of its reservations, and the number of requests that read them.
    pub(super) async fn unsettled(&self) -> Result<(Vec<RowHead>, u64)> {
        let (mut found, mut requests) = (Vec::new(), 0);
        let client = &self.old.client;
        let sweep = Sweep { home: client.clone(), kind: kind_of_old::<E>(), grace: SETTLE_GRACE };
        for rows in left_rows::<E>(&sweep) {
            let mut pages = client.pages(sweep.query(Span::All, rows));
            while let Some(page) = pages.next().await? {
                requests += 1;
                for row in split_page(&page)? {
                    let row: DynamicEntity = read_row(0, row.get().as_bytes())?;
                    if form_of::<E>(&row, StoredForm::Old) == Some(StoredForm::Old) {
                        let DynamicEntity { partition_key, row_key, .. } = row;
                        found.push(head(CanonicalKey { partition_key, row_key }));
                    }
                }
            }
        }
        Ok((found, requests))
    }
}

impl<E: Migrates> MigratingSettle<E> {
    /// Sets the age below which an intent is left to its writer, as [`Settle::grace`](crate::scan::Settle::grace) does.
    pub const fn grace(mut self, age: Duration) -> Self {
        self.grace = age;
        self
    }

    async fn run(self) -> SettleReport {
        let mut report = SettleReport::default();
        if let Err(error) = self.settle(&mut report).await {
            report.ended = Some(error.repeatable());
        }
        report
    }

    async fn settle(&self, report: &mut SettleReport) -> Result<()> {
        self.table(StoredForm::Old, &self.client.old.client, report).await?;
        if same_table::<E>() {
            return Ok(());
        }
        self.table(StoredForm::New, &self.client.new.client, report).await
    }

    /// Settles the intents and the tickets of one table, which has this form; or both forms, where there is one table.
    async fn table(
        &self,
        form: StoredForm,
        client: &TableClient,
        report: &mut SettleReport,
    ) -> Result<()> {
        let sweep =
            |home: &TableClient, kind| Sweep { home: home.clone(), kind, grace: self.grace };
        let old = sweep(&self.client.old.client, kind_of_old::<E>());
        let new = sweep(&self.client.new.client, EventualType::of::<E>());
        for rows in left_rows::<E>(&old) {
            let mut pages = CanonicalPages::of_rows(client, rows, &self.permit);
            loop {
                let (page, next) = pages.read().await?;
                for row in split_page(&page.body)? {
                    let row: DynamicEntity = read_row(0, row.get().as_bytes())?;
                    match form_of::<E>(&row, form) {
                        Some(StoredForm::Old) => old.intent(row, report).await,
                        Some(StoredForm::New) => new.intent(row, report).await,
                        None => {}
                    }
                }
                match next {
                    Some(next) => pages.token = Some(next),
                    None => break,
                }
            }
        }
        Ok(())
    }
}

/// What settling needs to know of the old type, whose intents may have the name of the new one.
fn kind_of_old<E: Migrates>() -> EventualType {
    EventualType { former: Some(E::NAME), ..EventualType::of::<E::Old>() }
}

/// The RowKeys of what ended processes leave, where entities have rows or values in other partitions.
fn left_rows<E: Migrates>(sweep: &Sweep) -> impl Iterator<Item = Span> + use<E> {
    let has_any = has_followers::<E::Old>() || has_across::<E::Old>();
    sweep.left_rows().filter(move |_| has_any)
}

/// The form of an intent, or of the ticket of a reservation, in the table of a form; `None` for one of other types.
fn form_of<E: Migrates>(intent: &DynamicEntity, form: StoredForm) -> Option<StoredForm> {
    let (entity, canonical) = Pending::subject(intent)?;
    if entity != E::NAME && entity != E::Old::NAME {
        return None;
    }
    if !same_table::<E>() {
        return Some(form);
    }
    let key = CanonicalKey { partition_key: intent.partition_key.clone(), row_key: canonical };
    let is_old = is_in_partition_of::<E::Old>(&key)
        && OwnRows::canonical::<E::Old>().takes_key(&key.row_key);
    Some(if is_old { StoredForm::Old } else { StoredForm::New })
}

impl<E: Migrates> IntoFuture for MigratingSettle<E> {
    type Output = SettleReport;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
