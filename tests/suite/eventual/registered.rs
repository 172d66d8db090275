//! Writes that a register names, and the tables that a type's rows are in.

use super::{Order, Shop, order};
use std::sync::Arc;
use std::time::Duration;
use support::ending::Ending;
use table_orm::layer::{Fault, Faults};
use table_orm::query::{RowQuery, Span};
use table_orm::store::{ErrorCode, Middleware, Page, Store, StoreError};
use table_orm::{Error, ErrorKind, Repo, ScanPermit, TableName, Tables};

fn name(table: &str) -> TableName {
    TableName::new(table).unwrap()
}

macro_rules! key {
    ($number:expr) => {
        Order::partition("acme").by_number().number($number)
    };
}

impl Shop {
    fn sent(&self) -> usize {
        let requests = self.record.take();
        requests.gets + requests.queries.len() + requests.writes.len()
    }

    async fn pointers(&self) -> Vec<String> {
        let rows = self.tables.table(name("ordersDue")).scan(ScanPermit::because("test"));
        let rows = rows.collect().await.unwrap();
        rows.iter().map(|row| row.properties["Partition"].to_string()).collect()
    }

    /// A process that makes no ticket, so it leaves what it writes to be settled.
    fn ending(&self) -> Repo<Order> {
        let rejected = Fault::Rejected(ErrorCode::OUT_OF_RANGE_INPUT);
        let faults = Faults::seeded(1).on("insert", 1, rejected);
        Tables::new(faults.store(self.store.clone()).unwrap()).repo()
    }
}

#[tokio::test(start_paused = true)]
async fn a_register_costs_2_requests_a_minute_whatever_writes() {
    let shop = Shop::empty().await;
    let tables = shop.tables.clone().on_virtual_time(1);
    let orders = tables.repo::<Order>();
    orders.register().await.unwrap();
    let insert = async |number: u32| {
        shop.sent();
        let order = Order { courier: None, ..order("acme", number) };
        orders.insert(&order).await.unwrap();
        shop.sent()
    };
    // A row in another partition takes 5 requests, and the pointer one.
    assert_eq!((insert(1).await, insert(2).await, insert(3).await), (6, 5, 5));
    let acme = tables.transaction(Order::partition("acme")).insert(&order("acme", 4));
    acme.commit().await.unwrap();
    orders.insert_many((5..9).map(|number| order("acme", number))).await.all().unwrap();
    orders.update(key!(5), |order| order.day = "2027-01-01".into()).await.unwrap();
    assert_eq!(shop.pointers().await.len(), 1);
    shop.sent();
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert_eq!(shop.sent(), 1);
    assert_eq!(shop.pointers().await.len(), 0);
    // What changes no row in another partition registers nothing.
    orders.update(key!(5), |_| {}).await.unwrap();
    assert_eq!(shop.pointers().await.len(), 0);
}

#[tokio::test]
async fn what_an_ended_process_left_is_found_by_the_register() {
    let shop = Shop::empty().await;
    let ending = shop.ending();
    let register = ending.register().await.unwrap();
    ending.insert(&order("acme", 1)).await.unwrap();
    assert_eq!(shop.pointers().await, ["'acme'"]);

    let plan = shop.orders.settle(&register).plan().unwrap();
    assert_eq!(plan.steps.len(), 16);
    shop.sent();
    let young = shop.orders.settle(&register).await.all().unwrap();
    assert_eq!((young.settled, young.young_partitions, shop.sent()), (0, 1, 16));
    let report = shop.orders.settle(&register).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!((report.settled, report.young_partitions), (1, 0));
    // 16 for the register, one for the partition, and those of the intent with two partitions.
    assert_eq!(shop.sent(), 16 + 1 + 6);
    assert_eq!(shop.orders.list(Order::by_date("2026-11-23")).count().await.unwrap(), 1);
    // A pointer of less than two minutes may be of a process that lives.
    assert_eq!(shop.pointers().await, ["'acme'"]);
}

/// A store in which one partition cannot be queried.
#[derive(Debug)]
struct Unreadable {
    inner: Arc<dyn Store>,
    partition_key: &'static str,
}

impl Middleware for Unreadable {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        match &query.keys.partition {
            Span::Exact(partition) if partition == self.partition_key => {
                Err(StoreError::new(ErrorCode::OUT_OF_RANGE_INPUT, "not readable"))
            }
            _ => self.inner.query(query).await,
        }
    }
}

#[tokio::test]
async fn a_partition_that_cannot_be_read_holds_up_no_other_of_the_register() {
    let shop = Shop::empty().await;
    for customer in ["acme", "globex", "init"] {
        let ending = shop.ending();
        ending.register().await.unwrap();
        ending.insert(&order(customer, 1)).await.unwrap();
    }
    let store = Unreadable { inner: shop.store.clone(), partition_key: "globex" };
    let orders = Tables::new(store).repo::<Order>();
    let register = orders.register().await.unwrap();
    let report = orders.settle(&register).grace(Duration::ZERO).await;
    assert!(report.progress.settled == 2 && report.ended.is_none(), "{report:?}");
    let [failure] = &report.failures[..] else { panic!("{report:?}") };
    assert_eq!((&*failure.partition_key, &*failure.row_key), ("globex", ""));
    assert!(failure.to_string().contains("partition \"globex\": "), "{failure}");
    let report = shop.orders.settle(&register).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(report.settled, 1);
}

#[tokio::test]
async fn a_scan_that_fails_midway_hides_nothing_of_what_was_settled() {
    let shop = Shop::empty().await;
    for customer in ["acme", "globex", "init"] {
        shop.ending().insert(&order(customer, 1)).await.unwrap();
    }
    let permit = || ScanPermit::because("nightly");
    let ending = |pages| Tables::new(Ending::after(pages, shop.store.clone())).repo::<Order>();
    let report = ending(2).settle(permit()).grace(Duration::ZERO).await;
    let settled = report.progress.settled;
    assert!((1..3).contains(&settled) && report.failures.is_empty(), "{report:?}");
    let ended = report.all().unwrap_err().to_string();
    assert!(ended.contains("no more pages"), "{ended}");
    let left = shop.orders.settle(permit()).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(left.settled, 3 - settled);
}

#[tokio::test]
async fn an_intent_that_stays_is_an_error_of_the_report_with_its_partition() {
    let shop = Shop::empty().await;
    shop.ending().insert(&order("acme", 1)).await.unwrap();
    let report = shop.ending().settle(Order::partition("acme")).grace(Duration::ZERO).await;
    assert!(report.failures.len() == 1 && report.ended.is_none(), "{report:?}");
    let error = report.all().unwrap_err();
    let Error::Settle(failure) = &error else { panic!("{error}") };
    assert_eq!(failure.partition_key, "acme");
    assert_eq!((error.kind(), error.to_string()), (ErrorKind::ServerError, failure.to_string()));
}

#[tokio::test]
async fn a_write_whose_partition_cannot_be_named_writes_nothing() {
    let shop = Shop::empty().await;
    shop.orders.register().await.unwrap();
    shop.store.delete_table(&name("ordersDue")).await.unwrap();
    let insert = shop.orders.insert(&order("acme", 1)).await.unwrap_err();
    assert!(matches!(insert, Error::Unregistered(_)), "{insert}");
    assert!(insert.to_string().contains("ordersDue"), "{insert}");
    assert_eq!(shop.orders.get(key!(1)).await.unwrap(), None);
}

#[tokio::test]
async fn writes_that_the_service_refuses_as_it_is_busy_share_a_pointer() {
    let shop = Shop::empty().await;
    let busy = || Fault::Rejected(ErrorCode::SERVER_BUSY);
    let faults = (1..4).fold(Faults::seeded(1), |faults, one| faults.on("commit", one, busy()));
    let orders = Tables::new(faults.store(shop.store.clone()).unwrap()).repo::<Order>();
    orders.register().await.unwrap();
    for _ in 0..3 {
        let refused = orders.insert(&order("acme", 1)).await;
        assert!(matches!(refused, Err(Error::Throttled(_))), "{refused:?}");
    }
    orders.insert(&order("acme", 1)).await.unwrap();
    assert_eq!(shop.pointers().await, ["'acme'"]);
}

#[tokio::test]
async fn a_plan_says_what_the_register_adds() {
    let shop = Shop::empty().await;
    let before = shop.orders.insert(&order("acme", 1)).plan().unwrap().to_string();
    shop.orders.register().in_table(name("pointers")).await.unwrap();
    let plan = shop.orders.insert(&order("acme", 1)).plan().unwrap().to_string();
    assert!(plan.starts_with("the partition named in the register `pointers`"), "{plan}");
    assert_eq!(plan.lines().count(), before.lines().count() + 1);
    let update = shop.orders.update(key!(1), |_| {}).plan().unwrap().to_string();
    assert!(update.contains("register `pointers`"), "{update}");
}

#[tokio::test]
async fn a_table_whose_entities_have_rows_in_others_is_deleted_only_where_these_may_stay() {
    let shop = Shop::open().await;
    let refused = shop.orders.delete_table().await.unwrap_err();
    assert!(
        matches!(&refused, Error::RowsInOtherTables { tables, .. } if tables.len() == 2),
        "{refused}"
    );
    assert!(refused.to_string().contains("in `archive` and `couriers` may be left"), "{refused}");
    assert_eq!(shop.orders.list(Order::partition("acme").by_number()).count().await.unwrap(), 2);
    shop.orders.delete_table().leave_rows_in_other_tables().await.unwrap();
    assert_eq!(shop.orders.list(Order::by_courier("C:Ann")).count().await.unwrap(), 0);
    assert_eq!(shop.orders.list(Order::by_courier("Ann")).count().await.unwrap(), 2);
    // In the table of the first, no row is elsewhere.
    let archive = shop.tables.repo_in::<Order>(name("Archive"));
    let refused = archive.delete_table().await.unwrap_err();
    assert!(refused.to_string().contains("in `couriers` may be left"), "{refused}");
}

#[tokio::test]
async fn a_register_in_a_table_that_exists_sends_no_request() {
    let shop = Shop::empty().await;
    shop.orders.register().await.unwrap();
    // A second process.
    let tables =
        Tables::new(Faults::seeded(1).lost_requests(1.0).store(shop.store.clone()).unwrap());
    let orders = tables.repo::<Order>();
    assert!(orders.register().await.is_err());
    assert_eq!(orders.register().existing().await.unwrap().table().as_str(), "ordersDue");
}
