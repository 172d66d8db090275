//! The table of some rows in other partitions does not exist.

use super::{Order, Shop, order};
use std::time::Duration;
use table_orm::eventual::SettleError;
use table_orm::repo::{Problem, VerifyReport};
use table_orm::{Error, ScanPermit, TableEntity, Tables};

impl Shop {
    /// A shop without the table of the couriers.
    async fn without_couriers() -> Self {
        let shop = Self::empty().await;
        shop.tables.delete(&"couriers".parse().unwrap()).await.unwrap();
        shop
    }

    async fn create_couriers(&self) {
        self.tables.create(&"couriers".parse().unwrap()).await.unwrap();
    }

    async fn of_ann(&self) -> usize {
        self.orders.list(Order::by_courier("Ann")).count().await.unwrap()
    }
}

#[tokio::test]
async fn an_absent_table_holds_up_no_row_of_another_table() {
    let shop = Shop::without_couriers().await;
    let first = order("acme", 1);
    let written = shop.orders.insert(&first).report_settled().await.unwrap();
    assert!(!written.settled.get());
    let day = || shop.orders.list(Order::by_date("2026-11-23")).collect();
    assert_eq!(day().await.unwrap(), std::slice::from_ref(&first));

    // An entity that moves leaves its old partition, too.
    let moved = Order { day: "2026-11-24".into(), cents: 200_000, ..first };
    shop.orders.force_replace(&moved).await.unwrap();
    assert_eq!(day().await.unwrap(), []);
    let next = shop.orders.list(Order::by_date("2026-11-24")).collect().await.unwrap();
    assert_eq!(next, std::slice::from_ref(&moved));
    assert_eq!(shop.orders.list(Order::large("acme")).count().await.unwrap(), 1);

    // Many orders in one transaction, whose rows share requests.
    let many = (2..=5).map(|number| order("acme", number));
    shop.orders.insert_many(many).await.all().unwrap();
    assert_eq!(day().await.unwrap().len(), 4);

    let acme = Order::partition("acme");
    let report = shop.orders.settle(&acme).grace(Duration::ZERO).await;
    assert!(report.progress.settled == 0 && report.ended.is_none(), "{report:?}");
    let SettleError::Row { entity: "Order", row, table, partition_key, source } =
        &report.failures[0].error
    else {
        panic!("{report:?}")
    };
    let place = (&**row, table.as_str(), &**partition_key);
    assert_eq!(place, ("by_courier", "couriers", "C:Ann"));
    assert!(matches!(**source, Error::TableNotFound(_)));
    let failure = report.failures[0].to_string();
    for said in ["row `by_courier` of `Order` in table `couriers`", "`create_all_tables`"] {
        assert!(failure.contains(said), "{failure}");
    }

    shop.create_couriers().await;
    let report = shop.orders.settle(&acme).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(report.settled, 3);
    assert_eq!(shop.of_ann().await, 5);
}

#[tokio::test(start_paused = true)]
async fn a_live_process_writes_the_rows_when_their_table_is_created() {
    let shop = Shop::without_couriers().await;
    let orders = shop.tables.clone().on_virtual_time(1).repo::<Order>();
    let written = orders.insert(&order("acme", 1)).report_settled().await.unwrap();
    assert!(!written.settled.get());
    tokio::time::sleep(Duration::from_secs(20)).await;
    shop.create_couriers().await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(written.settled.get());
    assert_eq!(shop.of_ann().await, 1);
}

#[tokio::test]
async fn verify_finds_what_an_absent_table_lacks_and_repair_writes_it_when_it_is_there() {
    let shop = Shop::without_couriers().await;
    shop.canonical(&order("acme", 1)).await;
    shop.elsewhere_in("orders", &order("acme", 1)).await;
    let permit = || ScanPermit::because("test");
    let only = |report: VerifyReport| {
        let [finding] = &report.findings[..] else { panic!("{report:?}") };
        assert_eq!((&*finding.row, &finding.problem), ("by_courier", &Problem::TableMissing));
        finding.clone()
    };
    only(shop.orders.verify(Order::partition("acme")).await.unwrap());
    let joined = shop.orders.verify_table(permit()).join(permit());
    let finding = only(joined.await.unwrap());
    let report = shop.orders.repair([finding.clone()]).await;
    let failed = &report.failures[0].error;
    assert!(failed.to_string().contains("`create_all_tables`"), "{failed}");

    shop.orders.create_all_tables().await.unwrap();
    assert_eq!(shop.orders.repair([finding]).await.all().unwrap(), 1);
    assert_eq!(shop.of_ann().await, 1);
    let report = shop.orders.verify(Order::partition("acme")).await.unwrap();
    assert_eq!(report.findings, []);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "users", partition = "{id}", row = "USER", unique(login, across, table = "logins"))]
struct User {
    id: String,
    login: String,
}

#[tokio::test]
async fn verify_finds_the_guards_that_an_absent_table_lacks() {
    let tables = Tables::in_memory().unwrap();
    let users = tables.repo::<User>();
    users.create_all_tables().await.unwrap();
    users.insert(&User { id: "1".into(), login: "ann".into() }).await.unwrap();
    tables.delete(&"logins".parse().unwrap()).await.unwrap();
    let report = users.verify(User::partition("1")).await.unwrap();
    assert_eq!(report.findings[0].problem, Problem::TableMissing);
    let second = users.insert(&User { id: "2".into(), login: "bob".into() }).await.unwrap_err();
    assert!(second.to_string().contains("`create_all_tables`"), "{second}");
    users.create_all_tables().await.unwrap();
    assert_eq!(users.repair(report.findings).await.all().unwrap(), 1);
    assert_eq!(users.verify(User::partition("1")).await.unwrap().findings, []);
}

#[tokio::test]
async fn all_tables_of_a_type_are_created_once() {
    let tables = Tables::in_memory().unwrap();
    let orders = tables.repo::<Order>();
    for _ in 0..2 {
        orders.create_all_tables().await.unwrap();
    }
    let names = tables.list().await.unwrap();
    let names: Vec<_> = names.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["archive", "couriers", "orders"]);
}

#[tokio::test]
async fn a_refused_write_leaves_no_ticket_where_another_one_could_not_be_had() {
    let shop = Shop::without_couriers().await;
    shop.orders.insert(&order("acme", 1)).await.unwrap();
    let tickets = async || {
        let rows = shop.tables.table(shop.orders.table().clone());
        let rows = rows.scan(ScanPermit::because("test")).collect().await.unwrap();
        let tickets = rows.into_iter().filter(|row| row.row_key.starts_with("TKT:"));
        tickets.map(|row| (row.partition_key, row.row_key)).collect::<Vec<_>>()
    };
    let before = tickets().await;
    let changed = Order { day: "2026-12-24".into(), ..order("acme", 1) };
    let refused = shop.orders.insert(&changed).tickets_first().await;
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(tickets().await, before);
}
