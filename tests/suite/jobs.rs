//! The reports of jobs: each is used in the same way.

// A statement that leaves a result unused does not compile.
#![deny(unused_must_use)]

use table_orm::outbox::Event;
use table_orm::{Error, Result, ScanPermit, TableEntity, Tables};
use time::OffsetDateTime;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "jobs", partition = "{user}", row = "ID:{id:05}", expires = until, purge_index, outbox)]
#[row(by_mail, key = "MAIL:{mail}", allow_key_conflict)]
struct Account {
    user: String,
    id: u32,
    mail: String,
    until: Option<OffsetDateTime>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
struct LotV1 {
    hall: String,
    n: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "lots2", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
struct Lot {
    hall: String,
    n: u32,
}

impl From<LotV1> for Lot {
    fn from(LotV1 { hall, n }: LotV1) -> Self {
        Self { hall, n }
    }
}

impl From<Lot> for LotV1 {
    fn from(Lot { hall, n }: Lot) -> Self {
        Self { hall, n }
    }
}

#[tokio::test]
async fn the_report_of_each_job_is_an_error_or_done_in_one_statement() -> Result<()> {
    let tables = Tables::in_memory()?;
    let accounts = tables.repo::<Account>();
    accounts.create_table().await?;
    let account = Account { user: "ann".into(), id: 1, mail: "a@x".into(), until: None };
    accounts.insert_many([account]).await.all()?;
    let permit = || ScanPermit::because("test");
    accounts.purge().await.all()?;
    accounts.settle(permit()).await.all()?;
    let handler = async |_: Event| Ok::<_, Error>(());
    accounts.outbox().dispatch(permit(), handler).await.all()?;
    accounts.backfill_table(permit()).await.all()?;
    accounts.rewrite(permit()).await.all()?;
    let found = accounts.verify_table(permit()).await?.findings;
    accounts.repair(found).await.all()?;

    let old = tables.repo::<LotV1>();
    old.create_table().await?;
    old.insert(&LotV1 { hall: "a".into(), n: 1 }).await?;
    let lots = tables.migrating::<Lot>()?;
    lots.create_table_if_not_exists().await?;
    lots.migrate(&permit()).await.all()?;
    lots.retire(&permit()).await.all()?;
    Ok(())
}
