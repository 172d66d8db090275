//! The job that a shop runs now and then: settles what ended processes left, and checks everything.

use crate::customer::CustomerByEmail;
use crate::order::OrderByDay;
use crate::shop::Shop;
use std::time::Duration;
use table_orm::eventual::TableRegister;
use table_orm::repo::Finding;
use table_orm::{Repo, Result, ScanPermit, TableEntity};

fn permit() -> ScanPermit {
    ScanPermit::because("the shop's job after each start")
}

/// Settles what ended processes left. Returns how many writes that were.
pub async fn settle(shop: &Shop) -> Result<u64> {
    let customers = settled(&shop.customers, &shop.customers_due).await?;
    Ok(customers + settled(&shop.orders, &shop.orders_due).await?)
}

async fn settled<E: TableEntity + 'static>(
    repo: &Repo<E>,
    register: &TableRegister,
) -> Result<u64> {
    // No other process of this shop writes. Otherwise leave their writes to them for a while, by the grace
    // that is set without this.
    let report = repo.settle(register).grace(Duration::ZERO).await;
    for failure in &report.failures {
        eprintln!("shop: {failure}");
    }
    report.ended.map_or(Ok(report.progress.settled), Err)
}

/// The rows that are not in step with their entities.
pub async fn out_of_step(shop: &Shop) -> Result<Vec<Finding>> {
    let (customers, orders) = (&shop.customers, &shop.orders);
    let mut findings = customers.verify_table(permit()).await?.findings;
    findings.extend(customers.verify_guards(permit()).await?.findings);
    findings.extend(customers.verify_eventual_table::<CustomerByEmail>(permit()).await?.findings);
    findings.extend(orders.verify_table(permit()).await?.findings);
    findings.extend(orders.verify_eventual_table::<OrderByDay>(permit()).await?.findings);
    findings.extend(shop.invoices.verify_table(permit()).await?.findings);
    Ok(findings)
}
