//! To another partition, in another table.

use super::types::{Clients, Order, OrderV1, clients, order, order_key, permit};
use table_orm::migrate::{MigrationError, StoredForm};
use table_orm::{Error, ErrorKind, TableName};

#[tokio::test]
async fn an_entity_is_found_and_written_in_either_form() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    orders.insert(&order(7, 1).into()).await.unwrap();
    // In place, by a client that inserts the old form.
    let mut held = orders_1.load(order_key!(7_u32)).await.unwrap().unwrap();
    assert_eq!(held.form(), StoredForm::Old);
    held.cents = 2;
    orders_1.save(&mut held).await.unwrap();
    held.cents = 3;
    orders_1.save(&mut held).await.unwrap();
    let key = OrderV1::partition("oslo").by_number().n(7_u32);
    assert_eq!(orders.get(&key).await.unwrap().unwrap().cents, 3);
    // Moved, by a client that inserts the new form; then written in place by either.
    let mut stale = orders.load(&key).await.unwrap().one().unwrap();
    stale.cents = 9;
    held.cents = 4;
    orders_2.save(&mut held).await.unwrap();
    assert_eq!(held.form(), StoredForm::New);
    held.cents = 5;
    held.state = "sent".into();
    orders_2.save(&mut held).await.unwrap();
    for client in [&orders_1, &orders_2] {
        assert_eq!(client.get(order_key!(7_u32)).await.unwrap(), Some(held.clone().into_inner()));
        let changed = client.update(order_key!(7_u32), |order| order.cents += 1).await.unwrap();
        held = client.load(order_key!(7_u32)).await.unwrap().unwrap();
        assert_eq!((held.form(), held.cents), (StoredForm::New, changed.cents));
    }
    // A client that does not know the new form.
    assert!(matches!(orders.get(&key).await, Err(Error::Moved(_))));
    assert!(matches!(orders.save(stale).await, Err(Error::Conflict(_))));
    let refused = orders.insert(&order(7, 9).into()).await;
    assert!(matches!(refused, Err(Error::AlreadyExists(_))));
    assert_eq!(orders.list(OrderV1::partition("oslo")).collect().await.unwrap(), []);
}

#[tokio::test]
async fn an_old_key_never_holds_an_entity_again() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    orders_2.insert(&order(7, 1)).await.unwrap();
    for client in [&orders_1, &orders_2] {
        let again = client.insert(&order(7, 2)).await;
        assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");
    }
    let held = orders_1.load(order_key!(7_u32)).await.unwrap().unwrap();
    orders_1.delete(held).await.unwrap();
    assert_eq!(orders_1.get(order_key!(7_u32)).await.unwrap(), None);
    assert!(matches!(orders.insert(&order(7, 3).into()).await, Err(Error::AlreadyExists(_))));
    // It comes back in its new form, whoever inserts it.
    orders_1.insert(&order(7, 4)).await.unwrap();
    let held = orders_2.load(order_key!(7_u32)).await.unwrap().unwrap();
    assert_eq!((held.form(), held.cents), (StoredForm::New, 4));
    // An old entity that is deleted in place leaves nothing.
    orders_1.insert(&order(8, 1)).await.unwrap();
    let held = orders_2.load(order_key!(8_u32)).await.unwrap().unwrap();
    orders_2.delete(held).await.unwrap();
    orders.insert(&order(8, 2).into()).await.unwrap();
}

#[tokio::test]
async fn an_upsert_writes_what_is_there_in_its_form() {
    let Clients { orders_1, orders_2, .. } = clients().await;
    for cents in 1..3 {
        orders_1.upsert(&order(7, cents)).await.unwrap();
    }
    let held = orders_1.load(order_key!(7_u32)).await.unwrap().unwrap();
    assert_eq!((held.form(), held.cents), (StoredForm::Old, 2));
    orders_2.upsert(&order(7, 3)).await.unwrap();
    orders_2.upsert(&order(8, 4)).await.unwrap();
    for (n, cents) in [(7_u32, 3), (8, 4)] {
        let held = orders_1.load(order_key!(n)).await.unwrap().unwrap();
        assert_eq!((held.form(), held.cents), (StoredForm::New, cents));
    }
}

#[tokio::test]
async fn a_list_has_each_entity_once_in_key_order() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    for n in [5, 2, 9, 2001] {
        orders.insert(&order(n, 1).into()).await.unwrap();
    }
    orders_2.insert(&order(3, 1)).await.unwrap();
    orders_2.update(order_key!(9_u32), |order| order.state = "sent".into()).await.unwrap();
    let numbers = |orders: Vec<Order>| orders.into_iter().map(|order| order.n).collect::<Vec<_>>();
    let year = Order::partition("oslo", 2000_u32);
    for client in [&orders_1, &orders_2] {
        assert_eq!(numbers(client.list(&year).await.unwrap()), [2, 3, 5, 9]);
        assert_eq!(numbers(client.list(year.by_number().n_in(3..6)).await.unwrap()), [3, 5]);
        assert_eq!(numbers(client.list(year.by_state().state("new")).await.unwrap()), [2, 3, 5]);
        assert_eq!(client.list(&year).count().await.unwrap(), 4);
        assert_eq!(numbers(client.scan(&permit()).await.unwrap()), [2, 3, 5, 9, 2001]);
    }
}

#[tokio::test]
async fn a_save_keeps_the_key_and_loses_to_a_move() {
    let Clients { orders_1, orders_2, .. } = clients().await;
    orders_1.insert(&order(7, 1)).await.unwrap();
    let mut held = orders_1.load(order_key!(7_u32)).await.unwrap().unwrap();
    held.year = 1999;
    let error = orders_1.save(&mut held).await.unwrap_err();
    assert!(matches!(error, Error::Migration(MigrationError::KeyChanged { .. })), "{error}");
    assert_eq!(error.kind(), ErrorKind::ClientError);
    (held.year, held.cents) = (2000, 2);
    assert_eq!(orders_2.migrate(&permit()).await.all().unwrap(), 1);
    let lost = orders_1.save(&mut held).await;
    assert!(matches!(lost, Err(Error::Conflict(_))), "{lost:?}");
    let lost = orders_2.save(&mut held.clone()).await;
    assert!(matches!(lost, Err(Error::Conflict(_))), "{lost:?}");
    assert!(matches!(orders_2.delete(held).await, Err(Error::Conflict(_))));
    // The parcel of the save that lost is gone.
    assert_eq!(orders_2.verify_migrated(&permit()).await.unwrap().left_over, []);
}

#[tokio::test]
async fn an_entity_of_another_new_key_is_not_taken_for_the_one_that_is_asked_for() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    // The new key tells more than the old one.
    let other = Order { year: 1980, ..order(7, 1) };
    orders_2.insert(&other).await.unwrap();
    let key = Order::partition("oslo", 1980_u32).by_number().n(7_u32);
    assert_eq!(orders_1.get(&key).await.unwrap(), Some(other));
    assert_eq!(orders_1.get(order_key!(7_u32)).await.unwrap(), None);
    orders.insert(&order(8, 1).into()).await.unwrap();
    let other = Order { year: 1980, ..order(8, 1) };
    let key = Order::partition("oslo", 1980_u32).by_number().n(8_u32);
    assert_eq!(orders_1.get(&key).await.unwrap(), None);
    let held = orders_2.insert(&other).await;
    assert!(matches!(held, Err(Error::AlreadyExists(_))), "{held:?}");
}

#[tokio::test]
async fn a_conversion_that_changes_the_key_is_refused() {
    use table_orm::{TableEntity, Tables};
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
    struct LotV1 {
        hall: String,
        n: u32,
    }
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "lots", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
    struct Lot {
        hall: String,
        n: u32,
    }
    impl From<LotV1> for Lot {
        fn from(LotV1 { hall, n }: LotV1) -> Self {
            Self { hall, n: n + 1 }
        }
    }
    impl From<Lot> for LotV1 {
        fn from(Lot { hall, n }: Lot) -> Self {
            Self { hall, n: n - 1 }
        }
    }
    let tables = Tables::in_memory().unwrap();
    tables.repo::<LotV1>().create_table().await.unwrap();
    let lots = tables.migrating::<Lot>().unwrap();
    let lot = Lot { hall: "a".into(), n: 5 };
    for client in [lots.clone().inserting(StoredForm::Old), lots.clone()] {
        let error = client.insert(&lot).await.unwrap_err();
        assert!(matches!(error, Error::Migration(MigrationError::KeyDiffers { .. })), "{error}");
    }
    // One that another version stored stays where it is.
    tables.repo::<LotV1>().insert(&lot.into()).await.unwrap();
    let plan = lots.migrate(&permit()).plan().await.unwrap();
    assert_eq!((plan.entities, plan.unmovable.len()), (0, 1));
    let report = lots.migrate(&permit()).await;
    assert_eq!((report.progress.moved, report.skipped.len()), (0, 1));
}

#[tokio::test]
async fn a_list_over_many_old_partitions_is_refused() {
    use table_orm::{TableEntity, Tables};
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "bids", partition = "{lot}", row = "{n:03}")]
    struct BidV1 {
        lot: String,
        n: u32,
    }
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "bids2", partition = "{n:08}", row = "{lot}", migrate_from = BidV1, allow_append_only)]
    struct Bid {
        lot: String,
        n: u32,
    }
    impl From<BidV1> for Bid {
        fn from(BidV1 { lot, n }: BidV1) -> Self {
            Self { lot, n }
        }
    }
    impl From<Bid> for BidV1 {
        fn from(Bid { lot, n }: Bid) -> Self {
            Self { lot, n }
        }
    }
    let tables = Tables::in_memory().unwrap();
    tables.repo::<BidV1>().create_table().await.unwrap();
    let bids = tables.migrating::<Bid>().unwrap();
    bids.create_table_if_not_exists().await.unwrap();
    tables.repo::<BidV1>().insert(&BidV1 { lot: "a".into(), n: 5 }).await.unwrap();
    let error = bids.list(Bid::partition(5_u32)).await.unwrap_err();
    assert!(matches!(error, Error::Migration(MigrationError::ManyPartitions { .. })), "{error}");
    assert_eq!(bids.scan(&permit()).await.unwrap().len(), 1);
    assert!(bids.get(Bid::partition(5_u32).row().lot("a")).await.unwrap().is_some());
}

#[tokio::test]
async fn a_list_of_a_partition_that_no_old_key_can_hold_reads_the_new_rows() {
    use table_orm::{TableEntity, Tables};
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "bins", partition = "{hall:03}", row = "{n:03}")]
    struct BinV1 {
        hall: u32,
        n: u32,
    }
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "bins2", partition = "{hall:08}", row = "{n:03}", migrate_from = BinV1)]
    struct Bin {
        hall: u32,
        n: u32,
    }
    impl From<BinV1> for Bin {
        fn from(BinV1 { hall, n }: BinV1) -> Self {
            Self { hall, n }
        }
    }
    impl From<Bin> for BinV1 {
        fn from(Bin { hall, n }: Bin) -> Self {
            Self { hall, n }
        }
    }
    let tables = Tables::in_memory().unwrap();
    tables.repo::<BinV1>().create_table().await.unwrap();
    let bins = tables.migrating::<Bin>().unwrap();
    bins.create_table_if_not_exists().await.unwrap();
    let bin = Bin { hall: 1000, n: 5 };
    bins.insert(&bin).await.unwrap();
    assert_eq!(bins.list(Bin::partition(1000_u32)).await.unwrap(), [bin]);
    assert_eq!(bins.list(Bin::partition(1001_u32)).await.unwrap(), []);
}

#[tokio::test]
async fn an_upsert_is_refused_at_once_while_another_entity_has_the_old_key() {
    let Clients { store, orders, orders_1, orders_2, .. } = clients().await;
    orders.insert(&order(7, 1).into()).await.unwrap();
    let other = Order { year: 2050, ..order(7, 2) };
    store.take();
    let refused = orders_2.upsert(&other).await;
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    // It looked for the entity, tried to insert it, and looked at the old key: once.
    assert!(store.take() <= 6);
    // The old form would make it the other entity.
    let refused = orders_1.upsert(&other).await;
    let lossy = matches!(refused, Err(Error::Migration(MigrationError::Lossy { .. })));
    assert!(lossy && store.take() <= 3, "{refused:?}");
    assert_eq!(orders_2.migrate(&permit()).await.all().unwrap(), 1);
    orders_2.upsert(&other).await.unwrap();
    assert_eq!(orders_2.get(order_key!(7_u32)).await.unwrap(), Some(order(7, 1)));
}

#[tokio::test]
async fn what_an_old_client_inserts_late_is_named_and_stays() {
    let Clients { orders, orders_2, .. } = clients().await;
    orders_2.insert(&order(1, 1)).await.unwrap();
    assert!(orders_2.verify_migrated(&permit()).await.unwrap().is_complete());
    orders.insert(&order(2, 1).into()).await.unwrap();
    // Not before the caller says that it may stay.
    let refused = orders_2.retire(&permit()).await.all().unwrap_err();
    assert!(matches!(refused, Error::Migration(MigrationError::NotMoved { left: 1, .. })));
    let report = orders_2.retire(&permit()).leave_unmoved().await.all().unwrap();
    assert_eq!((report.markers, report.left), (1, 1));
    assert_eq!(
        (&*report.strays[0].partition_key, &*report.strays[0].row_key),
        ("oslo", "ORD:00002")
    );
    assert_eq!(orders_2.migrate(&permit()).await.all().unwrap(), 1);
    assert_eq!(orders_2.retire(&permit()).await.all().unwrap().strays, []);
}

#[tokio::test]
async fn a_client_that_knows_the_old_form_alone_is_told_where_the_entity_is() {
    let Clients { orders, orders_2, .. } = clients().await;
    orders_2.insert(&order(7, 1)).await.unwrap();
    let moved = orders.get(OrderV1::partition("oslo").by_number().n(7_u32)).await.unwrap_err();
    let text = moved.to_string();
    assert!(text.ends_with("It is in partition \"oslo__2000\" of table `orders2` now"), "{text}");
    let there = orders.insert(&order(7, 1).into()).await.unwrap_err().to_string();
    assert!(there.contains("do not call it while the type migrates to other keys"), "{there}");
}

#[tokio::test]
async fn a_client_that_inserts_the_old_form_refuses_what_that_form_does_not_hold() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    // The old form knows no year: it follows from the number.
    let other = || Order { year: 1980, ..order(7, 1) };
    let lossy = |error: &Error| matches!(error, Error::Migration(MigrationError::Lossy { .. }));
    for written in [orders_1.insert(&other()).await, orders_1.upsert(&other()).await.map(drop)] {
        assert!(lossy(written.as_ref().unwrap_err()), "{written:?}");
    }
    let many = orders_1.insert_many([other()]).await;
    assert!(lossy(&many.failures[0].error), "{many:?}");
    let transaction =
        orders_1.transaction(Order::partition("oslo", 1980_u32)).insert(&other()).commit().await;
    assert!(lossy(transaction.as_ref().unwrap_err()), "{transaction:?}");
    assert_eq!(orders.list(OrderV1::partition("oslo")).count().await.unwrap(), 0);
    // The new form holds it.
    orders_2.insert(&other()).await.unwrap();
    let year = Order::partition("oslo", 1980_u32);
    assert_eq!(orders_1.get(year.by_number().n(7_u32)).await.unwrap(), Some(other()));
}

#[tokio::test]
async fn a_copy_of_the_tables_made_on_the_way_is_not_said_to_be_complete() {
    let Clients { orders_2, tables, .. } = clients().await;
    orders_2.insert(&order(7, 1)).await.unwrap();
    let name = |text: &str| text.parse::<TableName>().unwrap();
    for (from, to) in [("orders", "copiedOrders"), ("orders2", "copiedOrders2")] {
        tables.create(&name(to)).await.unwrap();
        let rows = tables.table(name(from)).scan(permit()).collect().await.unwrap();
        tables.table(name(to)).insert_or_replace_many(rows).await.all().unwrap();
    }
    let copy = tables.migrating_in::<Order>(name("copiedOrders"), name("copiedOrders2")).unwrap();
    let is_unknown =
        |error: Error| matches!(error, Error::Migration(MigrationError::UnknownMove { .. }));
    assert!(is_unknown(copy.verify_migrated(&permit()).await.unwrap_err()));
    assert!(is_unknown(copy.scan(&permit()).await.unwrap_err()));
    let year = Order::partition("oslo", 2000_u32);
    assert!(is_unknown(copy.list(&year).await.unwrap_err()));
    assert!(is_unknown(copy.list(&year).pages(10).next().await.unwrap_err()));
    assert!(is_unknown(copy.migrate(&permit()).plan().await.unwrap_err()));
    assert!(is_unknown(copy.migrate(&permit()).await.all().unwrap_err()));
    assert!(is_unknown(copy.retire(&permit()).await.all().unwrap_err()));
}
