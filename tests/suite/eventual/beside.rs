//! Rows in other partitions beside sums, and beside rows that other programs wrote.

use super::{Order, Shop, order};
use std::sync::Arc;
use std::time::Duration;
use table_orm::entity::EntityRows;
use table_orm::eventual::SettleError;
use table_orm::layer::Faults;
use table_orm::store::{Action, Operation, Store as _};
use table_orm::{DynamicEntity, ScanPermit, Sum, TableEntity, TableName, Tables};

/// A visit, whose row in the other table has the RowKey of the visit itself.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "visits", partition = "{guest}", row = "V:{number:05}", sums = Visit::SUMS)]
#[row(by_room, table = "rooms", partition = "{room}__{guest}", key = "V:{number:05}", eventual)]
struct Visit {
    guest: String,
    number: u32,
    room: String,
}

mod without_rooms {
    use table_orm::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "visits", partition = "{guest}", row = "V:{number:05}")]
    pub struct Visit {
        guest: String,
        number: u32,
    }
}

impl Visit {
    const COUNT: Sum<Self> = Sum::count("visits");
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT];
}

fn visit(number: u32, room: &str) -> Visit {
    Visit { guest: "ann".into(), number, room: room.into() }
}

#[tokio::test]
async fn eventual_rows_are_not_added_up() {
    let tables = Tables::in_memory().unwrap();
    let visits = tables.repo::<Visit>();
    visits.create_table().await.unwrap();
    let rooms = TableName::new("rooms").unwrap();
    tables.create(&rooms).await.unwrap();
    for number in 0..3 {
        visits.insert(&visit(number, "hall")).await.unwrap();
    }
    let key = Visit::partition("ann").row().number(0);
    let moved = visits.update(key, |visit| visit.room = "attic".into()).report_settled();
    assert!(moved.await.unwrap().settled.get());
    let drop_rows = visits.drop_eventual_row::<VisitByRoom>(ScanPermit::because("test")).await;
    assert_eq!((drop_rows.rows, drop_rows.kept), (0, 3), "the type has this row");
    let without = tables.repo::<without_rooms::Visit>();
    let drop_rows = without.drop_eventual_row::<VisitByRoom>(ScanPermit::because("test"));
    assert_eq!(drop_rows.await.all().unwrap(), 3);
    let left = tables.table(rooms);
    for partition in ["hall__ann", "attic__ann"] {
        let rows = left.list(partition, ..).collect().await.unwrap();
        assert_eq!(rows, [], "a partition of other rows has no totals");
    }
    assert_eq!(visits.sum(Visit::partition("ann"), &Visit::COUNT).await.unwrap(), 3);
}

#[tokio::test]
async fn deleting_a_row_under_a_wrong_key_keeps_the_rows_of_the_entity_it_was_copied_from() {
    let shop = Shop::open().await;
    let number = 9;
    let copied = order("acme", number);
    shop.orders.insert(&copied).await.unwrap();
    let row = shop.tables.table(shop.orders.table().clone());
    let stored = row.get("acme", "NUM:00000009").await.unwrap().unwrap();
    let copy = DynamicEntity { partition_key: "copies".into(), etag: None, ..stored };
    row.insert(&copy).await.unwrap();
    let deleted = shop.orders.delete_partition(Order::partition("copies")).await.unwrap();
    assert_eq!(deleted.entities, 1);
    let day = shop.orders.list(Order::by_date("2026-11-23").number(number));
    assert_eq!(day.collect().await.unwrap(), [copied]);
    let findings = shop.orders.verify(Order::partition("acme")).await.unwrap().findings;
    assert!(findings.iter().all(|finding| finding.row != "by_date"), "{findings:?}");
}

/// Inserts an intent of order 1 of `acme` that names a table.
async fn intent(tables: &Tables, home: &str, elsewhere: &str) {
    let keys = format!(
        r#"[["NUM:00000001",[["by_date","{elsewhere}","2026-11-23","ORD:00000001__acme"]]]]"#
    );
    let intent = DynamicEntity::new("acme", "DUE:01ARYZ6S410000000000000042");
    let intent = intent.with("Entity", "Order").with("Due", keys);
    tables.table(TableName::new(home).unwrap()).insert(&intent).await.unwrap();
}

#[tokio::test]
async fn an_intent_in_a_restored_copy_of_a_table_leaves_the_rows_of_the_original() {
    let shop = Shop::open().await;
    let copy = TableName::new("restored").unwrap();
    shop.tables.create(&copy).await.unwrap();
    intent(&shop.tables, "restored", "orders").await;
    let restored = shop.tables.repo_in::<Order>(copy);
    let settle = restored.settle(Order::partition("acme")).grace(Duration::ZERO);
    let report = settle.await;
    assert!(report.progress.settled == 0 && report.ended.is_none(), "{report:?}");
    let error = &report.failures[0].error;
    assert!(matches!(error, SettleError::Unknown { .. }), "{error}");
    assert!(error.to_string().contains("`orders`"), "{error}");
    let day = shop.orders.list(Order::by_date("2026-11-23").number(1));
    assert_eq!(day.count().await.unwrap(), 1);
}

#[tokio::test]
async fn an_intent_may_spell_a_table_in_another_case() {
    let shop = Shop::open().await;
    intent(&shop.tables, "orders", "Orders").await;
    let settle = shop.orders.settle(Order::partition("acme")).grace(Duration::ZERO);
    assert_eq!(settle.await.all().unwrap().settled, 1);
    let day = shop.orders.list(Order::by_date("2026-11-23").number(1));
    assert_eq!(day.count().await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_while_eventual_rows_follow_leaves_the_saved_entity_with_its_new_version() {
    let shop = Shop::open().await;
    let network = Arc::new(Faults::seeded(1).store(shop.store.clone()).unwrap());
    let orders = Tables::new(network.clone()).repo::<Order>();
    network.take_offline(orders.table(), "2026-11-23", Duration::from_secs(3_600));
    let acme = Order::partition("acme");
    let mut loaded = orders.load(acme.by_number().number(1)).await.unwrap().one().unwrap();
    loaded.cents = 7;
    let commit = orders.transaction(&acme).save(&mut loaded).commit();
    let late = tokio::time::timeout(Duration::from_millis(10), commit).await;
    assert!(late.is_err(), "the rows in other partitions cannot be written");
    let stored = shop.orders.load(acme.by_number().number(1)).await.unwrap().one().unwrap();
    assert_eq!((stored.cents, stored.etag()), (7, loaded.etag()));
}

#[tokio::test]
async fn the_room_of_a_transaction_counts_what_lists_its_eventual_rows() {
    let shop = Shop::empty().await;
    let order = order("acme", 1);
    let rows = EntityRows::of(&order).unwrap().rows.into_iter();
    let rows: Vec<_> = rows
        .map(|row| Operation { row_key: row.row_key, action: Action::Insert(row.body) })
        .collect();
    let bytes = |rows| shop.store.commit_bytes(shop.orders.table(), "acme", rows);
    let own = bytes(&rows) - bytes(&[]);
    let transaction = shop.orders.transaction(Order::partition("acme"));
    let before = transaction.room().bytes;
    let after = transaction.insert(&order).room().bytes;
    assert!(before - after > own + 200, "{} of {own}", before - after);
}
