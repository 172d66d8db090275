//! The end of a migration: markers go only when every entity is in its new form.

use super::types::{Clients, Loses, Order, clients, clients_over, order, order_key, permit};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults, Layer as _, Retry};
use table_orm::migrate::{Migrating, MigrationError};
use table_orm::{DynamicEntity, Error, Tables};

/// The entities that a call says are left, and the key of the first one.
fn left(error: &Error) -> Option<(u64, &str)> {
    match error {
        Error::Migration(MigrationError::NotMoved { left, row_key, .. }) => Some((*left, row_key)),
        _ => None,
    }
}

async fn markers(orders: &Migrating<Order>) -> u64 {
    orders.verify_migrated(&permit()).await.unwrap().markers
}

#[tokio::test]
async fn no_marker_goes_while_entities_are_in_their_old_form() {
    let Clients { orders, orders_2, store, .. } = clients().await;
    for n in 0..1500 {
        orders.insert(&order(n, 1).into()).await.unwrap();
    }
    // Markers of the first page; what is left is on the second one.
    for n in 0..1200 {
        orders_2.update(order_key!(n), |order| order.cents = 2).await.unwrap();
    }
    let plan = orders_2.retire(&permit()).plan().await.unwrap();
    assert_eq!((plan.markers, plan.left), (1200, 300));
    store.take();
    let refused = orders_2.retire(&permit()).await;
    // Two pages of old rows, and one of parcels.
    assert_eq!((refused.progress.markers, store.take()), (0, 3));
    let error = refused.all().unwrap_err();
    assert_eq!(left(&error), Some((300, "ORD:01200")));
    assert!(error.to_string().contains("run `migrate`"), "{error}");
    assert_eq!(markers(&orders_2).await, 1200);
    // A client that knows the old form alone still meets each marker.
    let again = orders.insert(&order(7, 9).into()).await;
    assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");
    assert_eq!(orders_2.migrate(&permit()).await.all().unwrap(), 300);
    let plan = orders_2.retire(&permit()).plan().await.unwrap();
    store.take();
    let retired = orders_2.retire(&permit()).await.all().unwrap();
    assert_eq!((retired.markers, retired.left), (1500, 0));
    assert_eq!((plan.markers, plan.requests), (1500, store.take()));
}

#[tokio::test(start_paused = true)]
async fn no_marker_goes_while_an_entity_is_on_its_way() {
    let (inner, landings) = (EmbeddedStore::in_memory().unwrap(), AtomicBool::new(true));
    let store = Arc::new(Loses { inner, landings });
    let Clients { orders, orders_2, .. } = clients_over(store.clone()).await;
    for n in [1, 2] {
        orders.insert(&order(n, 1).into()).await.unwrap();
    }
    orders_2.update(order_key!(1_u32), |order| order.cents = 2).await.unwrap();
    store.landings.store(false, Relaxed);
    orders_2.update(order_key!(2_u32), |order| order.cents = 2).await.unwrap();
    let plan = orders_2.retire(&permit()).plan().await.unwrap();
    assert_eq!((plan.markers, plan.left), (1, 1));
    let error = orders_2.retire(&permit()).await.all().unwrap_err();
    assert_eq!(left(&error), Some((1, "ORD:00001")));
    // With the caller's word the other marker goes, and that of the parcel stays.
    let report = orders_2.retire(&permit()).leave_unmoved().await.all().unwrap();
    assert_eq!((report.markers, report.left, report.strays.len()), (1, 1, 0));
    assert_eq!(orders_2.get(order_key!(1_u32)).await.unwrap().unwrap().cents, 2);
    assert_eq!(orders_2.migrate(&permit()).await.all().unwrap(), 0);
    assert_eq!(orders_2.retire(&permit()).await.all().unwrap().markers, 1);
}

#[tokio::test]
async fn a_row_that_cannot_be_read_keeps_the_markers_unless_the_caller_leaves_it() {
    let Clients { orders_2, tables, .. } = clients().await;
    orders_2.insert(&order(1, 1)).await.unwrap();
    let broken = DynamicEntity::new("oslo", "ORD:00003");
    tables.table("orders".parse().unwrap()).insert(&broken).await.unwrap();
    let error = orders_2.retire(&permit()).await.all().unwrap_err();
    assert_eq!(left(&error), Some((1, "ORD:00003")));
    let report = orders_2.retire(&permit()).leave_unmoved().await.all().unwrap();
    assert_eq!((report.markers, report.strays.len()), (1, 1));
}

#[tokio::test]
async fn an_insert_that_comes_during_the_call_ends_it() {
    let Clients { orders, orders_2, .. } = clients().await;
    for n in 0..1500 {
        orders_2.insert(&order(n, 1)).await.unwrap();
    }
    // After the markers of the first page.
    let late = std::sync::Mutex::new(Vec::new());
    let retire = orders_2.retire(&permit()).on_progress(|report| {
        let insert = orders.insert(&order(2000, 1).into());
        if report.markers == 1000 {
            late.lock().unwrap().push(futures_util::FutureExt::now_or_never(insert.into_future()));
        }
    });
    let report = retire.await;
    assert!(matches!(late.lock().unwrap().as_slice(), [Some(Ok(_))]));
    assert_eq!((report.progress.markers, report.progress.strays.len()), (1000, 1));
    assert_eq!(left(&report.ended.unwrap()), Some((1, "ORD:02000")));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_lost_an_answer_keeps_its_report_and_says_that_it_can_run_again() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let Clients { orders, orders_2, .. } = clients_over(store.clone()).await;
    for n in 0..1100 {
        orders.insert(&order(n, 1).into()).await.unwrap();
    }
    assert_eq!(orders_2.migrate(&permit()).await.all().unwrap(), 1100);
    // The first page takes ten transactions. Of the second one, no answer comes.
    let faults =
        (11..40).fold(Faults::seeded(1), |faults, at| faults.on("commit", at, Fault::LostReply));
    let faults = faults.store(store.clone()).unwrap();
    let retry = Retry::interactive().around(Arc::new(faults)).unwrap();
    let stopped = Tables::new(retry).migrating::<Order>().unwrap().retire(&permit()).await;
    assert_eq!(stopped.progress.markers, 1000);
    let error = stopped.all().unwrap_err();
    assert!(matches!(error, Error::Ambiguous(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.ends_with("make the call again, it is safe") && !text.contains("read the rows"),
        "{text}"
    );
    let rest = orders_2.retire(&permit()).await.all().unwrap();
    assert_eq!(rest.left, 0);
    assert_eq!(markers(&orders_2).await, 0);
}

/// What became of an entity before the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Old,
    OnItsWay,
    Moved,
    Inserted,
    /// It moved, and was deleted.
    Deleted,
}

/// All rows of both tables.
async fn rows(tables: &Tables) -> Vec<DynamicEntity> {
    let mut all = Vec::new();
    for table in ["orders", "orders2"] {
        let table = tables.table(table.parse().unwrap());
        all.extend(table.scan(permit()).collect().await.unwrap());
    }
    all
}

async fn meet(fate: Fate, n: u32, clients: &Clients, store: &Loses) {
    let Clients { orders, orders_2, .. } = clients;
    if fate == Fate::Inserted {
        return orders_2.insert(&order(n, 1)).await.unwrap();
    }
    orders.insert(&order(n, 1).into()).await.unwrap();
    store.landings.store(fate == Fate::OnItsWay, Relaxed);
    if fate != Fate::Old {
        orders_2.update(order_key!(n), |order| order.cents = 2).await.unwrap();
    }
    store.landings.store(false, Relaxed);
    if fate == Fate::Deleted {
        orders_2.delete(orders_2.load(order_key!(n)).await.unwrap().unwrap()).await.unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever became of each entity: the call refuses and changes no row as long as one is in its old form or on its
    /// way, and else it leaves the new rows alone, for as many requests as its plan says.
    #[test]
    fn the_call_deletes_nothing_or_all_that_is_left_of_the_old_form(
        fates in prop::collection::vec(
            prop_oneof![
                1 => Just(Fate::Old),
                1 => Just(Fate::OnItsWay),
                6 => Just(Fate::Moved),
                2 => Just(Fate::Inserted),
                2 => Just(Fate::Deleted),
            ],
            0..12,
        )
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (inner, landings) = (EmbeddedStore::in_memory().unwrap(), AtomicBool::new(false));
            let loses = Arc::new(Loses { inner, landings });
            let clients = clients_over(loses.clone()).await;
            for (fate, n) in fates.iter().zip(0..) {
                meet(*fate, n, &clients, &loses).await;
            }
            let Clients { store, orders_2, tables, .. } = &clients;
            let left = fates.iter().filter(|fate| matches!(fate, Fate::Old | Fate::OnItsWay)).count();
            let plan = orders_2.retire(&permit()).plan().await.unwrap();
            assert_eq!(plan.left, left as u64);
            let before = rows(tables).await;
            store.take();
            let report = orders_2.retire(&permit()).await;
            let sent = store.take();
            let new: Vec<_> = orders_2.scan(&permit()).await.unwrap();
            if left > 0 {
                assert!(sent < plan.requests, "{sent} of {plan:?}");
                assert_eq!(report.ended.as_ref().and_then(self::left).map(|(left, _)| left), Some(plan.left));
                assert_eq!(rows(tables).await, before);
                orders_2.migrate(&permit()).await.all().unwrap();
            } else {
                assert_eq!((report.progress.markers, sent), (plan.markers, plan.requests));
            }
            orders_2.retire(&permit()).await.all().unwrap();
            assert!(rows(tables).await.iter().all(|row| row.partition_key.starts_with("oslo__")));
            assert_eq!(orders_2.scan(&permit()).await.unwrap(), new);
        });
    }
}
