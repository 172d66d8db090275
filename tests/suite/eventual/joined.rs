//! A verify that reads the other side by a scan finds what one with point queries finds.

use super::{Order, OrderByCourier, OrderByDate, Shop, order};
use proptest::prelude::*;
use table_orm::repo::Finding;
use table_orm::{ScanPermit, TableName};

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

/// What happened to an order, as by programs that know nothing of rows in other partitions.
#[derive(Debug, Clone, Copy)]
enum Happened {
    /// Nothing.
    Written,
    /// Its rows in other partitions are not there.
    Lost,
    /// They have other values.
    Changed,
    /// They are in another partition.
    Moved,
    /// The order is gone.
    Deleted,
    /// Its canonical row cannot be read.
    Unreadable,
}

fn any_happened() -> impl Strategy<Value = Happened> {
    use Happened::{Changed, Deleted, Lost, Moved, Unreadable, Written};
    prop_oneof![
        3 => Just(Written),
        1 => prop::sample::select(vec![Lost, Changed, Moved, Deleted, Unreadable]),
    ]
}

async fn shop_after(happened: &[Happened]) -> Shop {
    let shop = Shop::empty().await;
    for (number, happened) in (1..).zip(happened) {
        let order = Order {
            cents: 99_990 + number,
            ..order(["acme", "init"][number as usize % 2], number)
        };
        if !matches!(happened, Happened::Deleted) {
            shop.canonical(&order).await;
        }
        match happened {
            Happened::Lost => continue,
            Happened::Changed => shop.elsewhere(&Order { cents: 5, ..order.clone() }).await,
            Happened::Moved => {
                shop.elsewhere(&Order { day: "2027-01-01".into(), ..order.clone() }).await;
            }
            _ => shop.elsewhere(&order).await,
        }
        if matches!(happened, Happened::Unreadable) {
            let rows = shop.tables.table(TableName::new("orders").unwrap());
            let key = format!("NUM:{number:08}");
            let row = rows.get(&order.customer, &key).await.unwrap().unwrap();
            rows.replace(&row.with("Cents", "many")).await.unwrap();
        }
    }
    shop
}

fn sorted(mut findings: Vec<Finding>) -> Vec<String> {
    findings.sort_by(|one, other| one.row_key.cmp(&other.row_key));
    findings.iter().map(|finding| format!("{finding:?}")).collect()
}

async fn find_the_same(happened: &[Happened]) {
    let shop = shop_after(happened).await;
    let orders = &shop.orders;
    let alone = orders.verify_table(permit()).await.unwrap();
    let joined = orders.verify_table(permit()).join(permit()).await.unwrap();
    assert_eq!((alone.entities, alone.rows), (joined.entities, joined.rows));
    assert_eq!(sorted(alone.findings), sorted(joined.findings));
    let alone = orders.verify_eventual_table::<OrderByDate>(permit()).await.unwrap();
    let joined =
        orders.verify_eventual_table::<OrderByDate>(permit()).join(permit()).await.unwrap();
    assert_eq!(
        (alone.entities, alone.rows, alone.undecided),
        (joined.entities, joined.rows, joined.undecided)
    );
    assert_eq!(sorted(alone.findings), sorted(joined.findings));
    let alone = orders.verify_eventual_table::<OrderByCourier>(permit()).await.unwrap();
    let joined =
        orders.verify_eventual_table::<OrderByCourier>(permit()).join(permit()).await.unwrap();
    assert_eq!(sorted(alone.findings), sorted(joined.findings));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_joined_verify_finds_what_one_by_point_queries_finds(
        happened in prop::collection::vec(any_happened(), 0..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(find_the_same(&happened));
    }
}

#[tokio::test]
async fn a_joined_verify_reads_each_side_once() {
    let shop = shop_after(&[Happened::Written; 20]).await;
    let sent = || {
        let requests = shop.record.take();
        assert_eq!(requests.writes.len(), 0);
        (requests.gets, requests.queries.len())
    };
    sent();
    let verify = || shop.orders.verify_table(permit());
    let report = verify().await.unwrap();
    // Eleven orders are large. The index rows are not there: the orders were written without them.
    assert_eq!((report.entities, sent().0), (20, 20 + 20 + 11));
    assert_eq!(verify().join(permit()).await.unwrap().entities, 20);
    // The three kinds of rows in other partitions, and the entities.
    assert_eq!(sent(), (0, 3 + 1));
    assert_eq!(verify().join(permit()).plan().unwrap().steps.len(), 4);

    let by_date = || shop.orders.verify_eventual_table::<OrderByDate>(permit());
    assert_eq!(by_date().await.unwrap().entities, 20);
    assert_eq!(sent(), (20, 1));
    let report = by_date().join(permit()).await.unwrap();
    assert_eq!((report.entities, report.findings.len()), (20, 0));
    assert_eq!(sent(), (0, 2));
}
