//! Finding and repairing rows in other partitions that are out of step.

use super::{Order, OrderByDate, Shop, numbers, order};
use table_orm::repo::{Finding, Problem, RowLocation, SkipReason};
use table_orm::{DynamicEntity, ScanPermit};

mod without_days {
    use table_orm::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "orders", partition = "{customer}", row = "NUM:{number:08}")]
    pub struct Order {
        customer: String,
        number: u32,
    }
}

/// The row and the problem of each finding.
fn found(findings: &[Finding]) -> Vec<(&str, &str, &Problem)> {
    findings.iter().map(|found| (&*found.row, &*found.row_key, &found.problem)).collect()
}

#[tokio::test]
async fn verify_finds_eventual_rows_that_are_missing_or_stale() {
    let shop = Shop::open().await;
    let acme = || shop.orders.verify(Order::partition("acme"));
    let report = acme().await.unwrap();
    assert_eq!((report.entities, report.findings.len()), (2, 0));
    // Written as by a client that knows nothing of rows in other partitions.
    shop.canonical(&order("acme", 9)).await;
    shop.canonical(&Order { cents: 7_000, ..order("acme", 1) }).await;
    let findings = acme().await.unwrap().findings;
    let findings: Vec<_> = findings.into_iter().filter(|one| one.location.is_some()).collect();
    let stale = || Problem::Stale { properties: vec!["Cents".into()] };
    assert_eq!(
        found(&findings),
        [
            ("by_date", "ORD:00000001__acme", &stale()),
            ("by_courier", "ORD:4294967294__acme", &stale()),
            ("by_date", "ORD:00000009__acme", &Problem::Missing),
            ("by_courier", "ORD:4294967286__acme", &Problem::Missing),
        ]
    );
    assert_eq!(findings[1].location, Some(RowLocation::new("couriers", "acme")));
    assert_eq!(findings[1].canonical.as_deref(), Some("NUM:00000001"));
    let text = serde_json::to_string(&findings).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Finding>>(&text).unwrap(), findings);

    assert_eq!(shop.orders.repair(findings).await.all().unwrap(), 4);
    let left = acme().await.unwrap().findings;
    assert!(left.iter().all(|one| one.location.is_none()), "{left:?}");
    let day = shop.orders.list(Order::by_date("2026-11-23").number_in(..=9));
    assert_eq!(numbers(&day.collect().await.unwrap()), [1, 2, 3, 9]);
}

#[tokio::test]
async fn verify_of_eventual_rows_finds_those_whose_entity_is_gone_or_differs() {
    let shop = Shop::open().await;
    shop.canonical(&Order { day: "2026-11-24".into(), ..order("acme", 9) }).await;
    shop.elsewhere(&order("acme", 9)).await;
    shop.elsewhere(&order("gone", 10)).await;
    shop.canonical(&Order { cents: 5, ..order("acme", 2) }).await;
    let day = || shop.orders.verify_eventual(Order::by_date("2026-11-23"));
    assert_eq!(day().plan().unwrap().steps.len(), 2);
    let report = day().await.unwrap();
    assert_eq!((report.rows, report.entities, report.undecided), (5, 2, 0));
    let stale = Problem::Stale { properties: vec!["Cents".into()] };
    assert_eq!(
        found(&report.findings),
        [
            ("by_date", "ORD:00000002__acme", &stale),
            ("by_date", "ORD:00000009__acme", &Problem::Orphan),
            ("by_date", "ORD:00000010__gone", &Problem::Orphan),
        ]
    );
    let permit = ScanPermit::because("test");
    let all = shop.orders.verify_eventual_table::<OrderByDate>(permit).await.unwrap();
    assert_eq!(found(&all.findings), found(&report.findings));
    assert_eq!(shop.orders.repair(report.findings).await.all().unwrap(), 3);
    let report = day().await.unwrap();
    assert_eq!((report.entities, report.findings), (3, vec![]));
    let day = shop.orders.list(Order::by_date("2026-11-23")).collect().await.unwrap();
    assert_eq!(day.iter().map(|order| order.cents).collect::<Vec<_>>(), [1_000, 5, 103_000]);
}

#[tokio::test]
async fn a_wrong_finding_about_a_eventual_row_does_no_harm() {
    let shop = Shop::open().await;
    shop.elsewhere(&order("gone", 10)).await;
    let report = shop.orders.verify_eventual(Order::by_date("2026-11-23")).await.unwrap();
    let right = &report.findings[0];
    let of = |row_key: &str| Finding { row_key: row_key.into(), ..right.clone() };
    // The row of another entity, which has it; its keys say whose it is.
    let harmless = of("ORD:00000001__acme");
    let others = [
        of("ORD:1__acme"),
        of("TKT:0123"),
        Finding { row: "by_number".into(), ..right.clone() },
        Finding { entity: "Customer".into(), ..right.clone() },
    ];
    let report = shop.orders.repair([harmless]).await;
    assert_eq!((report.repaired.len(), report.skipped.len()), (1, 0));
    let report = shop.orders.repair(others).await;
    assert_eq!(report.skipped.iter().filter(|one| one.reason == SkipReason::NotOurs).count(), 4);
    let day = shop.orders.list(Order::by_date("2026-11-23"));
    assert_eq!(numbers(&day.collect().await.unwrap()), [1, 2, 3, 10]);
}

#[tokio::test]
async fn what_an_intent_lists_is_pending_and_not_wrong() {
    let shop = Shop::open().await;
    shop.canonical(&order("acme", 9)).await;
    let keys = r#"[["NUM:00000009",[["by_date","orders","2026-11-23","ORD:00000009__acme"]]]]"#;
    let intent = DynamicEntity::new("acme", "DUE:01ARYZ6S410000000000000042");
    let intent = intent.with("Entity", "Order").with("Due", keys);
    shop.tables.table(shop.orders.table().clone()).insert(&intent).await.unwrap();
    let report = shop.orders.verify(Order::partition("acme")).await.unwrap();
    let findings: Vec<_> =
        report.findings.into_iter().filter(|one| one.location.is_some()).collect();
    assert_eq!(
        found(&findings),
        [
            ("by_date", "ORD:00000009__acme", &Problem::Pending),
            ("by_courier", "ORD:4294967286__acme", &Problem::Missing),
        ]
    );
    assert_eq!(shop.orders.repair(findings).await.all().unwrap(), 2);
    assert_eq!(shop.orders.list(Order::by_date("2026-11-23").number(9)).count().await.unwrap(), 1);
}

#[tokio::test]
async fn a_checked_query_settles_what_it_leaves_out() {
    let shop = Shop::open().await;
    shop.elsewhere(&order("gone", 10)).await;
    let day = || shop.orders.list(Order::by_date("2026-11-23"));
    assert_eq!(day().count().await.unwrap(), 4);
    assert_eq!(day().checked().count().await.unwrap(), 3);
    assert_eq!(day().count().await.unwrap(), 3);
    let left = shop.tables.table(shop.orders.table().clone()).list("2026-11-23", ..).collect();
    assert_eq!(left.await.unwrap().len(), 3, "no ticket is left");
}

#[tokio::test]
async fn a_backfill_writes_the_eventual_rows_that_entities_lack() {
    let shop = Shop::empty().await;
    for number in 1..=9 {
        shop.canonical(&order("acme", number)).await;
    }
    shop.elsewhere(&Order { cents: 1, ..order("acme", 3) }).await;
    let acme = || Order::partition("acme");
    let done = shop.orders.backfill(acme()).only::<OrderByDate>().await.all().unwrap();
    assert_eq!((done.entities, done.rows), (9, 9));
    assert_eq!(shop.orders.list(Order::by_courier("Ann")).count().await.unwrap(), 1);
    let done = shop.orders.backfill_table(ScanPermit::because("test")).await.all().unwrap();
    assert_eq!((done.entities, done.rows), (9, 18));
    assert_eq!(shop.orders.verify(acme()).await.unwrap().findings, []);
    let day = shop.orders.list(Order::by_date("2026-11-23")).collect().await.unwrap();
    assert!(day.len() == 9 && day.iter().all(|order| order.cents == 1_999));
}

#[tokio::test]
async fn a_kind_of_row_that_is_retired_is_gone_and_no_other_row_is() {
    let shop = Shop::open().await;
    for number in 10..260 {
        shop.elsewhere(&Order { courier: None, ..order("acme", number) }).await;
    }
    let foreign = DynamicEntity::new("2026-11-23", "ORD:7__acme");
    shop.tables.table(shop.orders.table().clone()).insert(&foreign).await.unwrap();
    let orders = shop.tables.repo_in::<without_days::Order>(shop.orders.table().clone());
    let drop_rows = || orders.drop_eventual_row::<OrderByDate>(ScanPermit::because("test"));
    assert_eq!(drop_rows().plan().steps.len(), 2);
    assert_eq!(drop_rows().await.all().unwrap(), 253);
    assert_eq!(drop_rows().await.all().unwrap(), 0);
    assert_eq!(shop.orders.list(Order::by_date("2026-11-23")).count().await.unwrap(), 0);
    assert_eq!(shop.orders.list(Order::by_courier("Ann")).count().await.unwrap(), 2);
    assert_eq!(shop.orders.list(Order::partition("acme")).count().await.unwrap(), 2);
    let rows = shop.tables.table(shop.orders.table().clone());
    assert!(rows.get("2026-11-23", "ORD:7__acme").await.unwrap().is_some());
}
