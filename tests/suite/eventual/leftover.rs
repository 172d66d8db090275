//! Tickets that an ended process or a late request left: found, and deleted when they are old.

use super::{Order, OrderByCourier, OrderByDate, Shop, order};
use std::sync::Arc;
use support::clock::{Clock, with_clock};
use table_orm::embedded::EmbeddedStore;
use table_orm::repo::{Finding, Problem, RowLocation, SkipReason};
use table_orm::store::Store;
use table_orm::{DynamicEntity, EntityKeys as _, ScanPermit, TableName};

const DAY: i64 = 24 * 3600;
const ACME_1: &str = r#"["orders","acme","NUM:00000001"]"#;
/// The name that the tickets of that order have.
const TICKET: &str = "TKT:c8bd9e8b050974a726d5aff7128ab0c3";

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

/// An order, and a ticket of it in each other partition: their inserts were sent twice.
async fn shop_with_tickets() -> (Shop, Clock) {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let (front, clock) = with_clock(Arc::clone(&store) as Arc<dyn Store>);
    let shop = Shop::behind(store, front).await;
    shop.orders.insert(&order("acme", 1)).await.unwrap();
    shop.ticket("orders", "2026-11-23", TICKET, ACME_1).await;
    shop.ticket("couriers", "C:Ann", TICKET, ACME_1).await;
    shop.record.take();
    (shop, clock)
}

impl Shop {
    async fn ticket(&self, table: &str, partition_key: &str, row_key: &str, whose: &str) {
        let ticket = DynamicEntity::new(partition_key, row_key).with("For", whose);
        self.tables.table(TableName::new(table).unwrap()).insert(&ticket).await.unwrap();
    }

    /// The tickets in the tables of rows in other partitions.
    async fn tickets(&self) -> usize {
        let mut found = 0;
        for table in ["orders", "couriers"] {
            let rows = self.tables.table(TableName::new(table).unwrap());
            let rows = rows.scan(permit()).collect().await.unwrap();
            found += rows.iter().filter(|row| row.row_key.starts_with("TKT:")).count();
        }
        found
    }

    async fn day(&self) -> Vec<Finding> {
        let day = self.orders.verify_eventual(Order::by_date("2026-11-23"));
        day.await.unwrap().findings
    }

    /// Why a repair leaves the finding.
    async fn skips(&self, finding: Finding) -> Option<SkipReason> {
        let report = self.orders.repair([finding]).await;
        assert_eq!((report.repaired.len(), report.failures.len()), (0, 0));
        report.skipped.first().map(|skipped| skipped.reason)
    }
}

#[tokio::test]
async fn a_ticket_is_found_with_its_entity_and_its_age_and_deleted_after_a_day() {
    let (shop, clock) = shop_with_tickets().await;
    assert_eq!(shop.day().await, [], "a young ticket may be in use");
    clock.forward(200);
    shop.record.take();
    let found = shop.day().await.remove(0);
    let requests = shop.record.take();
    assert_eq!((requests.queries.len(), requests.gets), (1, 1), "no further request");
    let Problem::Leftover { seconds: 200..=260 } = found.problem else { panic!("{found}") };
    assert_eq!((&*found.row, &*found.row_key), ("ticket", TICKET));
    assert_eq!(found.location, Some(RowLocation::new("orders", "acme")));
    assert_eq!(found.canonical.as_deref(), Some("NUM:00000001"));
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), found);

    assert_eq!(shop.skips(found.clone()).await, Some(SkipReason::Young));
    assert!(shop.orders.repair([found.clone()]).plan().await.unwrap().steps.is_empty());
    clock.forward(DAY);
    let plan = shop.orders.repair([found.clone()]).plan().await.unwrap();
    assert_eq!((plan.steps.len(), plan.operations().count()), (1, 1));
    assert_eq!(shop.tickets().await, 2, "a plan deletes nothing");
    assert_eq!(shop.orders.repair([found.clone()]).await.all().unwrap(), 1);
    assert_eq!((shop.day().await, shop.tickets().await), (vec![], 1));
    assert_eq!(shop.skips(found).await, Some(SkipReason::NoLongerHolds));
}

#[tokio::test]
async fn tickets_in_other_tables_are_found_by_the_rows_of_that_table() {
    let (shop, clock) = shop_with_tickets().await;
    clock.forward(2 * DAY);
    let by_date = shop.orders.verify_eventual_table::<OrderByDate>(permit()).await.unwrap();
    let by_courier = shop.orders.verify_eventual_table::<OrderByCourier>(permit());
    let by_courier = by_courier.join(permit()).await.unwrap();
    let places: Vec<_> = by_date
        .findings
        .iter()
        .chain(&by_courier.findings)
        .map(|found| (&*found.location.as_ref().unwrap().table, &*found.partition_key))
        .collect();
    assert_eq!(places, [("orders", "2026-11-23"), ("couriers", "C:Ann")]);
    assert_eq!((by_date.entities, by_courier.entities), (1, 1));
    let all = by_date.findings.into_iter().chain(by_courier.findings);
    let plan = shop.orders.repair(all.clone().collect::<Vec<_>>()).plan().await.unwrap();
    assert_eq!(plan.to_string().matches("couriers").count(), 1, "{plan}");
    assert_eq!(shop.orders.repair(all.collect::<Vec<_>>()).await.all().unwrap(), 2);
    assert_eq!(shop.tickets().await, 0);
}

#[tokio::test]
async fn the_next_write_of_the_entity_uses_the_ticket() {
    let (shop, clock) = shop_with_tickets().await;
    clock.forward(2 * DAY);
    let found = shop.day().await.remove(0);
    shop.orders.update(order("acme", 1).key(), |order| order.cents = 5).await.unwrap();
    assert_eq!((shop.day().await, shop.tickets().await), (vec![], 0));
    // A settler has made it anew since: it is young, by the clock of the store that wrote it.
    shop.ticket("orders", "2026-11-23", TICKET, ACME_1).await;
    clock.forward(-2 * DAY);
    assert_eq!(shop.skips(found).await, Some(SkipReason::Young));
    assert_eq!(shop.tickets().await, 1);
}

#[tokio::test]
async fn a_row_that_is_no_ticket_of_the_type_is_neither_found_nor_deleted() {
    let (shop, clock) = shop_with_tickets().await;
    let others = [
        ("TKT:1", r#"["lines","acme","NUM:00000001"]"#),
        ("TKT:2", r#"["orders","acme","ORD:00000001__acme"]"#),
        ("TKT:3", "acme"),
        ("TKU:4", ACME_1),
    ];
    for (row_key, whose) in others {
        shop.ticket("orders", "2026-11-23", row_key, whose).await;
    }
    // Of a reservation, in the partition of its entity.
    let reserved = DynamicEntity::new("2026-11-23", "TKT:01ARYZ6S410000000000000042");
    let rows = shop.tables.table(shop.orders.table().clone());
    rows.insert(&reserved.with("Entity", "Order").with("Due", "[]")).await.unwrap();
    clock.forward(2 * DAY);
    let findings = shop.day().await;
    assert_eq!(findings.len(), 1);
    let right = &findings[0];
    let keys =
        others.map(|(row_key, _)| row_key).into_iter().chain(["TKT:01ARYZ6S410000000000000042"]);
    for row_key in keys {
        let wrong = Finding { row_key: row_key.into(), ..right.clone() };
        assert_eq!(shop.skips(wrong).await, Some(SkipReason::NotOurs), "{row_key}");
    }
    let wrong = Finding { row_key: "ORD:00000001__acme".into(), ..right.clone() };
    assert_eq!(shop.skips(wrong).await, Some(SkipReason::NotOurs));
    let location = Some(RowLocation::new("lines", "acme"));
    let wrong = Finding { location, ..right.clone() };
    assert_eq!(shop.skips(wrong).await, Some(SkipReason::NotOurs));
    // A query of one row reads that row.
    let one = Order::by_date("2026-11-23").number(1).customer("acme");
    assert_eq!(shop.orders.verify_eventual(one).await.unwrap().findings, []);
}
