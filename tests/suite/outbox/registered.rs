//! Partitions with events, found by the register.

use super::{Line, LinePatch, Order, OrderPatch, Taken, line, order, orders_in, outbox_rows};
use std::sync::Arc;
use std::time::Duration;
use support::clock::{Clock, with_clock};
use support::recorder::{Record, recorded_around};
use table_orm::embedded::EmbeddedStore;
use table_orm::eventual::TableRegister;
use table_orm::outbox::{DispatchReport, Event, HandlerError};
use table_orm::{DynamicEntity, Error, Repo, ScanPermit, TableName, Tables};
use tokio::time::sleep;

fn pointers_table() -> TableName {
    TableName::new("ordersDue").unwrap()
}

struct Shop {
    tables: Tables,
    orders: Repo<Order>,
    register: TableRegister,
    record: Record,
    clock: Clock,
}

impl Shop {
    async fn open() -> Self {
        let (store, clock) = with_clock(Arc::new(EmbeddedStore::in_memory().unwrap()));
        let (tables, record) = recorded_around(store);
        let tables = tables.on_virtual_time(1);
        let orders = orders_in(&tables).await;
        let register = orders.register().await.unwrap();
        record.take();
        Self { tables, orders, register, record, clock }
    }

    fn forward(&self, seconds: i64) {
        self.clock.forward(seconds);
    }

    fn sent(&self) -> usize {
        let requests = self.record.take();
        requests.gets + requests.queries.len() + requests.writes.len()
    }

    async fn pointers(&self) -> Vec<DynamicEntity> {
        let permit = ScanPermit::because("test");
        self.tables.table(pointers_table()).scan(permit).collect().await.unwrap()
    }

    async fn dispatch(&self) -> (Vec<Event>, DispatchReport) {
        let taken = Taken::default();
        let dispatch = self.orders.outbox().dispatch(&self.register, |event| taken.handle(event));
        let report = dispatch.await;
        assert!(report.ended.is_none(), "{report:?}");
        (taken.take(), report)
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_partition_costs_one_request_a_minute_and_stays_named() {
    let shop = Shop::open().await;
    let lines = shop.tables.repo::<Line>();
    for second in 0..240 {
        lines.insert(&line(second, 1)).await.unwrap();
        // The read of the number, and the transaction.
        let of_pointer = usize::from(second % 60 == 0);
        assert_eq!(shop.sent(), 2 + of_pointer, "in second {second}");
        sleep(Duration::from_secs(1)).await;
    }
    sleep(Duration::from_secs(300)).await;
    assert_eq!(shop.sent(), 0, "the process deletes no pointer");
    assert_eq!(shop.pointers().await.len(), 1);
    let (events, report) = shop.dispatch().await;
    assert_eq!((events.len(), report.progress.handed_on, report.failures.len()), (240, 240, 0));
}

#[tokio::test(start_paused = true)]
async fn a_partition_stays_named_until_it_is_found_without_events() {
    let shop = Shop::open().await;
    shop.orders.insert(&order(1, "open", 1)).await.unwrap();
    shop.sent();
    let (events, _) = shop.dispatch().await;
    assert_eq!(events.len(), 1);
    // The register, the events, the lease, the removal.
    assert_eq!(shop.sent(), 16 + 1 + 2);
    assert_eq!(shop.pointers().await.len(), 1, "its process may write again");
    shop.sent();
    assert_eq!(shop.dispatch().await.1.progress.handed_on, 0);
    assert_eq!(shop.sent(), 16 + 1);
    shop.forward(121);
    shop.dispatch().await.1.all().unwrap();
    // The number and the events are read, the number is written, the pointer deleted.
    assert_eq!(shop.sent(), 16 + 1 + 3 + 1);
    assert_eq!(shop.pointers().await.len(), 0);
    shop.dispatch().await.1.all().unwrap();
    shop.sent();
    shop.dispatch().await.1.all().unwrap();
    assert_eq!(shop.sent(), 16);
    // Later writes name it again.
    sleep(Duration::from_secs(61)).await;
    shop.orders.insert(&order(2, "open", 1)).await.unwrap();
    assert_eq!(shop.dispatch().await.0[0].number, 2);
}

#[tokio::test(start_paused = true)]
async fn a_partition_whose_events_stay_keeps_one_pointer() {
    let shop = Shop::open().await;
    for number in 0..4 {
        shop.orders.insert(&order(number, "open", 1)).await.unwrap();
        sleep(Duration::from_secs(150)).await;
    }
    assert_eq!(shop.pointers().await.len(), 4);
    shop.forward(121);
    let broken = async |_: Event| Err::<(), HandlerError>("the printer is on fire".into());
    let report = shop.orders.outbox().dispatch(&shop.register, broken).await;
    assert_eq!(report.failures.len(), 1);
    assert_eq!(shop.pointers().await.len(), 1);
    let backlog = shop.orders.outbox().backlog(&shop.register).await.unwrap();
    assert_eq!((backlog.events, backlog.partitions), (4, 1));
    shop.forward(3600);
    assert_eq!(shop.dispatch().await.1.progress.handed_on, 4);
    assert_eq!(shop.pointers().await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn every_call_that_writes_an_entity_names_its_partition() {
    let shop = Shop::open().await;
    let (orders, lines) = (&shop.orders, shop.tables.repo::<Line>());
    let acme = Order::partition("acme");
    let key = acme.by_number().number(1);
    let line_key = Line::partition("acme").row().number(1);
    let named = async |call: &str| {
        let pointers = shop.pointers().await;
        let kind = pointers.first().map(|pointer| pointer.properties["Kind"].to_string());
        assert_eq!((pointers.len(), kind.as_deref()), (1, Some("'OUT:'")), "{call}");
        assert_ne!(shop.dispatch().await.0, [], "{call}");
        // Each call begins without a pointer.
        sleep(Duration::from_secs(121)).await;
        let row = &pointers[0];
        shop.tables.table(pointers_table()).delete(row).await.unwrap();
    };
    orders.insert(&order(1, "open", 1)).await.unwrap();
    named("insert").await;
    orders.upsert(&order(1, "paid", 1)).await.unwrap();
    named("upsert").await;
    orders.update(&key, |order| order.cents = 2).await.unwrap();
    named("update").await;
    orders.merge(&key, OrderPatch::default().cents(3)).await.unwrap();
    named("merge").await;
    let mut loaded = orders.load(&key).await.unwrap().one().unwrap();
    loaded.cents = 4;
    orders.save(&mut loaded).await.unwrap();
    named("save").await;
    orders.transaction(&acme).upsert(&line(1, 1)).commit().await.unwrap();
    named("transaction").await;
    lines.merge(&line_key, LinePatch::default().pieces(2)).await.unwrap();
    named("merge of one row").await;
    let etag = lines.load(&line_key).await.unwrap().one().unwrap().etag().clone();
    let etag = lines.replace(&line(1, 3), &etag).await.unwrap();
    named("replace").await;
    lines.delete_if(&line_key, &etag).await.unwrap();
    named("delete_if").await;
    lines.insert_or_merge(&line(1, 1)).await.unwrap();
    named("insert_or_merge").await;
    lines.force_delete(&line(1, 1)).await.unwrap();
    named("force_delete").await;
    lines.insert_many((0..3).map(|number| line(number, 1))).await.all().unwrap();
    named("insert_many").await;
    orders.delete(orders.load(&key).await.unwrap().one().unwrap()).await.unwrap();
    named("delete").await;
    orders.insert_loaded(&order(1, "open", 1)).await.unwrap();
    named("insert_loaded").await;
    lines.delete_partition(Line::partition("acme")).await.unwrap();
    named("delete_partition").await;
}

#[tokio::test]
async fn a_write_whose_partition_cannot_be_named_adds_no_event() {
    let shop = Shop::open().await;
    shop.orders.register().in_table(TableName::new("none").unwrap()).existing().await.unwrap();
    let insert = shop.orders.insert(&order(1, "open", 1)).await.unwrap_err();
    assert!(matches!(insert, Error::Unregistered(_)), "{insert}");
    assert_eq!(outbox_rows(&shop.tables, "acme").await, []);
}

#[tokio::test]
async fn plans_show_the_register() {
    let shop = Shop::open().await;
    let plan = shop.orders.insert(&order(1, "open", 1)).plan().unwrap().to_string();
    assert!(plan.starts_with("the partition named in the register `ordersDue`"), "{plan}");
    let key = Order::partition("acme").by_number().number(1);
    let update = shop.orders.update(&key, |_| {}).plan().unwrap().to_string();
    assert!(update.contains("register `ordersDue`"), "{update}");
    let lines = shop.tables.repo::<Line>();
    let line_key = Line::partition("acme").row().number(1);
    let merge = lines.merge(&line_key, LinePatch::default().pieces(2)).plan().unwrap().to_string();
    assert!(merge.contains("register `ordersDue`"), "{merge}");
    let nothing = async |_: Event| Ok::<_, HandlerError>(());
    let plan = shop.orders.outbox().dispatch(&shop.register, nothing).plan().unwrap();
    assert_eq!(plan.steps.len(), 16);
}
