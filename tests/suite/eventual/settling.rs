//! Rows in other partitions follow each kind of write.

use super::{Order, Shop, order};
use futures_util::TryStreamExt as _;
use std::collections::BTreeMap;
use std::time::Duration;
use table_orm::DynamicEntity;
use table_orm::entity::eventual_rows;
use table_orm::layer::{Fault, Faults, Retry};
use table_orm::model::Edm;
use table_orm::plan::Step;
use table_orm::store::ErrorCode;
use table_orm::{Error, ScanPermit, TableEntity, TableName, Tables};

type Key = (String, String, String);

/// A fault that is not retried.
fn refused() -> Fault {
    Fault::Rejected(ErrorCode::OUT_OF_RANGE_INPUT)
}

impl Shop {
    /// The rows in other partitions, and how many helper rows there are.
    async fn stored(&self) -> (BTreeMap<Key, DynamicEntity>, usize) {
        let (mut rows, mut helpers) = (BTreeMap::new(), 0);
        for table in ["orders", "couriers", "archive"] {
            let scan = self.tables.table(TableName::new(table).unwrap());
            let all = scan.scan(ScanPermit::because("test")).stream();
            for row in all.try_collect::<Vec<_>>().await.unwrap() {
                let key = (table.to_owned(), row.partition_key.clone(), row.row_key.clone());
                if row.row_key.starts_with("DUE:") || row.row_key.starts_with("TKT:") {
                    helpers += 1;
                } else if !(row.row_key.starts_with("NUM:") || row.row_key.starts_with("CTS:")) {
                    rows.insert(key, row);
                }
            }
        }
        (rows, helpers)
    }

    /// Checks that the rows in other partitions are exactly those of the orders, and that nothing is left to settle.
    #[track_caller]
    fn assert_settled(&self, orders: &[Order]) -> impl Future<Output = ()> {
        let expected: Vec<Key> = orders
            .iter()
            .flat_map(|order| eventual_rows(order).unwrap())
            .map(|row| (row.table.unwrap_or("orders").to_owned(), row.partition_key, row.row_key))
            .collect();
        let cents: Vec<_> = orders.iter().map(|order| i64::from(order.cents)).collect();
        async move {
            let (rows, helpers) = self.stored().await;
            let mut expected = expected;
            expected.sort();
            assert_eq!(rows.keys().cloned().collect::<Vec<_>>(), expected);
            assert_eq!(helpers, 0);
            // What a courier's list shows is a partial copy of the newest content.
            for row in rows.values().filter(|row| row.row_key.starts_with("ORD:")) {
                let Edm::Int64(shown) = row.properties["Cents"] else { panic!("{row:?}") };
                assert!(cents.contains(&shown), "{row:?}");
            }
        }
    }

    fn requests(&self) -> usize {
        let requests = self.record.take();
        requests.gets + requests.queries.len() + requests.writes.len()
    }
}

macro_rules! key {
    ($number:expr) => {
        Order::partition("acme").by_number().number($number)
    };
}

#[tokio::test]
async fn each_write_of_an_entity_takes_its_eventual_rows_along() {
    let shop = Shop::empty().await;
    let first = order("acme", 1);
    shop.orders.insert(&first).await.unwrap();
    shop.assert_settled(std::slice::from_ref(&first)).await;

    // A save that moves both rows, one to another partition, and adds one.
    let mut loaded = shop.orders.load(key!(1)).await.unwrap().one().unwrap();
    loaded.day = "2026-11-24".into();
    loaded.courier = Some("Bob".into());
    loaded.cents = 200_000;
    shop.orders.save(&mut loaded).await.unwrap();
    shop.assert_settled(&[(*loaded).clone()]).await;

    let updated = shop.orders.update(key!(1), |order| order.courier = None).await.unwrap();
    shop.assert_settled(&[(*updated).clone()]).await;

    let upserted = Order { cents: 5, ..(*updated).clone() };
    shop.orders.upsert(&upserted).await.unwrap();
    shop.assert_settled(std::slice::from_ref(&upserted)).await;
    let other = order("acme", 2);
    shop.orders.upsert(&other).await.unwrap();
    shop.assert_settled(&[upserted.clone(), other.clone()]).await;

    let replaced = Order { day: "2026-11-25".into(), ..other };
    shop.orders.force_replace(&replaced).await.unwrap();
    shop.assert_settled(&[upserted.clone(), replaced.clone()]).await;
    shop.orders.force_delete(&upserted).await.unwrap();
    shop.assert_settled(std::slice::from_ref(&replaced)).await;

    let third = shop.orders.insert_loaded(&order("acme", 3)).await.unwrap();
    shop.assert_settled(&[replaced.clone(), order("acme", 3)]).await;
    shop.orders.delete_if(key!(3), third.etag()).await.unwrap();
    let second = shop.orders.load(key!(2)).await.unwrap().one().unwrap();
    shop.orders.delete(second).await.unwrap();
    shop.assert_settled(&[]).await;
}

/// One row at home, one elsewhere.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
struct Member {
    user: String,
    room: String,
    admin: bool,
}

#[tokio::test]
async fn a_patch_of_an_entity_with_one_row_at_home_takes_its_eventual_row_along() {
    let members = Tables::in_memory().unwrap().repo::<Member>();
    members.create_table().await.unwrap();
    let ann = Member { user: "ann".into(), room: "kitchen".into(), admin: false };
    let key = Member::partition("ann").row().room("kitchen");
    let patch = |admin| MemberPatch::default().admin(admin);
    members.insert(&ann).await.unwrap();
    members.merge(&key, patch(true)).await.unwrap();
    let kitchen = || members.list(Member::by_room("kitchen")).collect();
    let promoted = Member { admin: true, ..ann };
    assert_eq!(kitchen().await.unwrap(), std::slice::from_ref(&promoted));
    members.insert_or_merge(&promoted).await.unwrap();
    let etag = members.load(&key).await.unwrap().one().unwrap().etag().clone();
    members.replace(&Member { admin: false, ..promoted }, &etag).await.unwrap();
    assert!(!kitchen().await.unwrap()[0].admin);
    let etag = members.load(&key).await.unwrap().one().unwrap().etag().clone();
    members.delete_if(&key, &etag).await.unwrap();
    assert_eq!(kitchen().await.unwrap(), []);
}

#[tokio::test]
async fn an_entity_whose_canonical_key_changes_moves_its_eventual_rows() {
    let shop = Shop::empty().await;
    shop.orders.insert(&order("acme", 1)).await.unwrap();
    let mut loaded = shop.orders.load(key!(1)).await.unwrap().one().unwrap();
    loaded.number = 9;
    shop.orders.save(&mut loaded).await.unwrap();
    shop.assert_settled(&[order("acme", 9)]).await;
}

#[tokio::test]
async fn a_transaction_settles_all_of_its_entities() {
    let shop = Shop::empty().await;
    shop.orders.insert(&order("acme", 1)).await.unwrap();
    let mut first = shop.orders.load(key!(1)).await.unwrap().one().unwrap();
    first.cents = 7;
    let acme = shop.orders.transaction(Order::partition("acme"));
    let acme = acme.save(&mut first).insert(&order("acme", 2)).insert(&order("acme", 3));
    // Two rows each, but the index row that moved, and the intent.
    assert_eq!(acme.len(), 3 + 2 + 2 + 1);
    let written = acme.report_settled().commit().await.unwrap();
    assert_eq!((written.answer.len(), written.settled.get()), (3, true));
    let orders = [Order { cents: 7, ..order("acme", 1) }, order("acme", 2), order("acme", 3)];
    shop.assert_settled(&orders).await;

    let with = shop.orders.transaction_with(Order::partition("acme"), async |tx| {
        let mut order = tx.load(key!(2)).await?.expect("stored");
        order.day = "2026-12-01".into();
        tx.save(order);
        Ok::<_, Error>(())
    });
    assert!(with.report_settled().await.unwrap().settled.get());
    let [first, second, third] = orders;
    shop.assert_settled(&[first, Order { day: "2026-12-01".into(), ..second }, third]).await;
    // Deleted and inserted again under its key.
    let first = shop.orders.load(key!(1)).await.unwrap().one().unwrap();
    let again = Order { courier: Some("Bob".into()), ..(*first).clone() };
    let acme = shop.orders.transaction(Order::partition("acme")).delete(first).insert(&again);
    acme.commit().await.unwrap();
    let third = Order { day: "2026-12-01".into(), ..order("acme", 2) };
    shop.assert_settled(&[again, third, order("acme", 3)]).await;
}

#[tokio::test]
async fn bulk_writes_settle_what_they_write() {
    let shop = Shop::empty().await;
    let orders: Vec<_> = (1..=120).map(|number| order("acme", number)).collect();
    let written = shop.orders.insert_many(orders.clone()).await.all().unwrap();
    // Of 100 operations, the intent is one: 49 orders of two rows.
    assert_eq!((written.entities, written.requests), (120, 3));
    shop.assert_settled(&orders).await;
    let moved = orders.iter().map(|order| Order { day: "2027-01-01".into(), ..order.clone() });
    let moved: Vec<_> = moved.take(10).collect();
    shop.orders.upsert_many(moved.clone()).await.all().unwrap();
    let loaded = shop
        .orders
        .load(Order::partition("acme").by_number().number_in(11..))
        .await
        .unwrap()
        .into_iter();
    shop.orders.delete_many(loaded).await.all().unwrap();
    shop.assert_settled(&moved).await;
    shop.orders.delete_partition(Order::partition("acme")).await.unwrap();
    shop.assert_settled(&[]).await;
}

#[tokio::test]
async fn an_update_that_no_eventual_row_stores_is_as_cheap_as_without_them() {
    let shop = Shop::empty().await;
    let bare = order("acme", 1);
    shop.requests();
    // A ticket, a transaction for two partitions each; the write, the reading and the clear.
    let inserted = shop.orders.insert(&bare).report_settled().await.unwrap();
    assert_eq!((shop.requests(), inserted.settled.get()), (7, true));
    let mut loaded = shop.orders.load(key!(1)).await.unwrap().one().unwrap();
    shop.requests();
    let saved = shop.orders.save(&mut loaded).report_settled().await.unwrap();
    assert_eq!((shop.requests(), saved.settled.get()), (0, true));
}

#[tokio::test]
async fn a_plan_shows_the_intent_and_what_settles_it() {
    let shop = Shop::empty().await;
    let insert = order("acme", 1);
    let plan = shop.orders.insert(&insert).plan().unwrap();
    let last = plan.operations().last().unwrap();
    assert!(last.row_key.starts_with("DUE:") && last.row_key.len() == 30);
    let Some(Step::Settle { partitions, .. }) = plan.steps.last() else { panic!("{plan}") };
    assert_eq!(partitions.len(), 2);
    let text = plan.to_string();
    assert!(text.contains("6 requests that write the rows in other partitions"), "{text}");
    assert!(text.contains("on `couriers`  \"C:Ann\""), "{text}");
    let plan = shop.orders.update(key!(1), |_| {}).plan().unwrap();
    assert!(plan.to_string().contains("if rows in other partitions change"), "{plan}");
}

#[tokio::test]
async fn what_an_ended_process_left_is_settled_by_partition_or_by_scan() {
    for by_scan in [false, true] {
        let shop = Shop::empty().await;
        // The network fails as the first ticket is made; the process has no runtime any more.
        let lost = Faults::seeded(1).on("insert", 1, refused());
        let broken = Tables::new(lost.store(shop.store.clone()).unwrap()).repo::<Order>();
        let order = order("acme", 1);
        assert!(!broken.insert(&order).report_settled().await.unwrap().settled.get());
        assert_eq!(shop.orders.get(key!(1)).await.unwrap(), Some(order.clone()));
        assert!(shop.stored().await.1 > 0);
        let settle = || match by_scan {
            true => shop.orders.settle(ScanPermit::because("test")),
            false => shop.orders.settle(Order::partition("acme")),
        };
        let young = settle().await.all().unwrap();
        assert_eq!((young.settled, young.young), (0, 1));
        let report = settle().grace(Duration::ZERO).await.all().unwrap();
        assert_eq!((report.settled, report.young), (1, 0));
        // The ticket that was made and not used is consumed too.
        shop.assert_settled(&[order]).await;
    }
}

#[tokio::test]
async fn a_call_that_settles_later_returns_before_its_rows_follow() {
    let shop = Shop::empty().await;
    let order = order("acme", 1);
    let written = shop.orders.insert(&order).settle_later().report_settled().await.unwrap();
    assert!(!written.settled.get());
    while !written.settled.get() {
        tokio::task::yield_now().await;
    }
    shop.assert_settled(&[order]).await;
}

#[tokio::test]
async fn a_bulk_write_tells_how_many_eventual_rows_have_still_to_follow() {
    let shop = Shop::empty().await;
    let many = |first: u32| (first..first + 200).map(|number| order("acme", number));
    let mut most = 0;
    let insert = shop.orders.insert_many(many(0)).on_progress(|now| most = most.max(now.unsettled));
    let written = insert.await.all().unwrap();
    assert!(most >= 90, "{most} rows wait for the end");
    assert_eq!((written.entities, written.unsettled), (200, 0));
    let later = shop.orders.insert_many(many(200)).settle_later().await.all().unwrap();
    assert_eq!((later.entities, later.unsettled), (200, 400));

    let shop = Shop::empty().await;
    // The transaction with the entity, then the ticket.
    let lost = Faults::seeded(1).on("insert", 1, refused()).store(shop.store.clone()).unwrap();
    let broken = Tables::new(lost).repo::<Order>();
    let failed = broken.insert_many([order("acme", 1)]).await.all().unwrap();
    assert_eq!((failed.entities, failed.unsettled), (1, 2));
    let settle = shop.orders.settle(Order::partition("acme")).grace(Duration::ZERO);
    assert_eq!(settle.await.all().unwrap().settled, 1);
    shop.assert_settled(&[order("acme", 1)]).await;
    let deleted = shop.orders.delete_partition(Order::partition("acme")).await.unwrap();
    assert_eq!((deleted.entities, deleted.unsettled), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_eventual_rows_follow_settles_in_the_background() {
    let shop = Shop::empty().await;
    let slow = Faults::seeded(1).slow(1.0).slowest(Duration::from_millis(100));
    let orders = Tables::new(slow.store(shop.store.clone()).unwrap()).repo::<Order>();
    let (mut stored, mut dropped) = (Vec::new(), 0);
    // The first request is answered within 200 ms.
    for number in 20..=60 {
        let order = order("acme", number);
        let most = Duration::from_millis(10) * number;
        dropped += u32::from(tokio::time::timeout(most, orders.insert(&order)).await.is_err());
        tokio::time::sleep(Duration::from_secs(60)).await;
        stored.push(order);
    }
    assert!(dropped > 5, "{dropped} calls were dropped");
    shop.assert_settled(&stored).await;
}

#[tokio::test(start_paused = true)]
async fn an_insert_whose_answer_was_lost_settles_when_its_rows_are_found() {
    let shop = Shop::empty().await;
    let lost = Faults::seeded(1).on("commit", 1, Fault::LostReply);
    let network = Tables::new(lost.store(shop.store.clone()).unwrap());
    let orders = network.layer(Retry::interactive()).unwrap().repo::<Order>();
    let order = order("acme", 1);
    assert!(orders.insert(&order).await.unwrap_err().is_stored_as_sent());
    tokio::time::sleep(Duration::from_secs(60)).await;
    shop.assert_settled(&[order]).await;
}

#[tokio::test]
async fn an_entity_that_cannot_be_read_holds_up_no_other_of_its_transaction() {
    let shop = Shop::empty().await;
    let (first, second) = (order("acme", 1), order("acme", 2));
    // No ticket is made: for both entities in one request, and then for each.
    let broken = Faults::seeded(1).on("commit", 2, refused()).on("commit", 3, refused());
    let broken = (1..=4).fold(broken, |broken, number| broken.on("insert", number, refused()));
    let broken = Tables::new(broken.store(shop.store.clone()).unwrap()).repo::<Order>();
    let acme = Order::partition("acme");
    broken.transaction(&acme).insert(&first).insert(&second).commit().await.unwrap();
    let table = shop.tables.table(shop.orders.table().clone());
    let stored = table.get("acme", "NUM:00000001").await.unwrap().unwrap();
    table.replace(&stored.with("Cents", "many")).await.unwrap();
    let report = shop.orders.settle(&acme).grace(Duration::ZERO).await;
    assert_eq!((report.progress.settled, report.failures.len()), (0, 1), "{report:?}");
    assert!(report.ended.is_none(), "{report:?}");
    let (rows, _) = shop.stored().await;
    let numbers: Vec<_> = rows.keys().filter(|(table, ..)| table == "orders").collect();
    assert_eq!(numbers.len(), 1, "{numbers:?}");
    assert!(numbers[0].2.contains("00000002"));
}

mod red {
    use table_orm::TableEntity;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "orders", partition = "{customer}", row = "RED:{number:05}")]
    #[row(by_day, partition = "{day}", key = "DAY:{number:05}__{customer}", eventual)]
    pub struct Ticket {
        pub customer: String,
        pub number: u32,
        pub day: String,
    }
}

mod blue {
    use table_orm::TableEntity;

    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "orders", partition = "{customer}", row = "BLUE:{number:05}")]
    #[row(by_day, partition = "{day}", key = "DAY:{number:05}__{customer}", eventual)]
    pub struct Ticket {
        pub customer: String,
        pub number: u32,
        pub day: String,
    }
}

#[tokio::test]
async fn what_another_type_of_the_same_name_left_is_reported_and_not_touched() {
    let shop = Shop::empty().await;
    let broken = Faults::seeded(1).on("insert", 1, refused());
    let broken = Tables::new(broken.store(shop.store.clone()).unwrap()).repo::<red::Ticket>();
    let ticket = red::Ticket { customer: "acme".into(), number: 1, day: "monday".into() };
    broken.insert(&ticket).await.unwrap();

    let (reds, blues) = (shop.tables.repo::<red::Ticket>(), shop.tables.repo::<blue::Ticket>());
    let acme = blue::Ticket::partition("acme");
    let report = blues.settle(&acme).grace(Duration::ZERO).await;
    assert_eq!((report.progress.settled, report.failures.len()), (0, 1), "{report:?}");
    assert!(report.ended.is_none(), "{report:?}");
    let failure = report.failures[0].to_string();
    assert!(failure.contains("the canonical row \"RED:00001\" of a type `Ticket`"), "{failure}");
    let acme = red::Ticket::partition("acme");
    let report = reds.settle(&acme).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(report.settled, 1, "{report:?}");
    assert_eq!(reds.list(red::Ticket::by_day("monday")).collect().await.unwrap(), [ticket]);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "members", partition = "U:{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "R:{room}", key = "USER:{user}", eventual)]
struct Visitor {
    user: String,
    room: String,
}

#[tokio::test(start_paused = true)]
async fn a_sweep_that_loses_the_answer_to_its_last_delete_has_settled() {
    for fault in [Fault::LostReply, Fault::ErrorAfter] {
        let store = std::sync::Arc::new(table_orm::embedded::EmbeddedStore::in_memory().unwrap());
        Tables::new(store.clone()).repo::<Visitor>().create_table().await.unwrap();
        // A process that ended after its entity was written.
        let lost = Faults::seeded(1).on("delete", 1, Fault::LostRequest);
        let lost = lost.on("delete", 2, Fault::LostRequest).store(store.clone()).unwrap();
        let dead = Tables::new(lost).on_virtual_time(2).repo::<Visitor>();
        let visitor = Visitor { user: "ann".to_owned(), room: "blue".to_owned() };
        dead.insert(&visitor).settle_later().await.unwrap();
        drop(dead);
        let flaky = Faults::seeded(3).on("delete", 1, fault.clone()).store(store.clone()).unwrap();
        let sweeper = Tables::new(flaky).layer(Retry::interactive().write_id("WriteId")).unwrap();
        let visitors = sweeper.on_virtual_time(4).repo::<Visitor>();
        let swept = visitors.settle(ScanPermit::because("test")).grace(Duration::ZERO).await;
        assert!(swept.failures.is_empty(), "{fault:?}: {:?}", swept.failures);
        let rows = Tables::new(store).table(TableName::new("members").unwrap());
        let all: Vec<_> =
            rows.scan(ScanPermit::because("test")).stream().try_collect().await.unwrap();
        let mut keys: Vec<_> = all.iter().map(|row| &*row.row_key).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["ROOM:blue", "USER:ann"], "{fault:?}");
    }
}
