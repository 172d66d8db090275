//! Transactions of several entities, in either form.

use super::types::{Clients, Item, Order, clients, item, item_key, order, order_key, permit};
use table_orm::Error;
use table_orm::migrate::{Migrating, MigrationError, StoredForm};
use table_orm::repo::TransactionError;

async fn cents(client: &Migrating<Order>) -> Vec<(u32, i64)> {
    let all = client.list(Order::partition("oslo", 2000_u32)).await.unwrap();
    all.iter().map(|order| (order.n, order.cents)).collect()
}

#[tokio::test]
async fn a_transaction_writes_entities_of_both_forms_as_a_whole() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    for n in 0..4 {
        orders.insert(&order(n, 10).into()).await.unwrap();
    }
    orders_2.update(order_key!(0_u32), |_| ()).await.unwrap();
    let year = Order::partition("oslo", 2000_u32);
    for (client, cents_now) in [(&orders_2, 20), (&orders_1, 30)] {
        let mut zero = client.load(order_key!(0_u32)).await.unwrap().unwrap();
        let mut one = client.load(order_key!(1_u32)).await.unwrap().unwrap();
        (zero.cents, one.cents) = (cents_now, cents_now);
        client.transaction(&year).save(&mut zero).save(&mut one).commit().await.unwrap();
        // They can be saved again.
        assert_eq!((zero.form(), one.form()), (StoredForm::New, StoredForm::New));
        client.save(&mut one).await.unwrap();
        assert_eq!(cents(client).await[..2], [(0, cents_now), (1, cents_now)]);
    }
    let two = orders_2.load(order_key!(2_u32)).await.unwrap().unwrap();
    let mut three = orders_2.load(order_key!(3_u32)).await.unwrap().unwrap();
    let four = order(4, 40);
    let transaction = orders_2.transaction(&year).delete(two).require(&mut three).insert(&four);
    transaction.commit().await.unwrap();
    assert_eq!(cents(&orders_1).await, [(0, 30), (1, 30), (3, 10), (4, 40)]);
    assert_eq!(three.form(), StoredForm::New);
    orders_2.delete(three).await.unwrap();
    assert!(orders.insert(&order(4, 1).into()).await.is_err());
    assert!(orders_2.verify_migrated(&permit()).await.unwrap().is_complete());
}

#[tokio::test]
async fn a_transaction_that_is_refused_writes_nothing() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    for n in 0..3 {
        orders.insert(&order(n, 10).into()).await.unwrap();
    }
    let year = Order::partition("oslo", 2000_u32);
    for client in [&orders_1, &orders_2] {
        let mut zero = client.load(order_key!(0_u32)).await.unwrap().unwrap();
        let mut one = client.load(order_key!(1_u32)).await.unwrap().unwrap();
        orders_1.update(order_key!(1_u32), |order| order.cents += 1).await.unwrap();
        (zero.cents, one.cents) = (99, 99);
        let saved = client.transaction(&year).save(&mut zero).save(&mut one).commit().await;
        assert!(matches!(saved, Err(Error::Conflict(_))), "{saved:?}");
        // The entity of 2 is there.
        let mut zero = client.load(order_key!(0_u32)).await.unwrap().unwrap();
        zero.cents = 99;
        let inserted =
            client.transaction(&year).save(&mut zero).insert(&order(2, 99)).commit().await;
        assert!(matches!(inserted, Err(Error::AlreadyExists(_))), "{inserted:?}");
        assert!(cents(client).await.iter().all(|(_, cents)| *cents < 20));
    }
}

#[tokio::test]
async fn a_transaction_that_breaks_a_rule_moves_nothing() {
    let Clients { store, orders, orders_1, orders_2, .. } = clients().await;
    for n in [1, 1001] {
        orders.insert(&order(n, 10).into()).await.unwrap();
    }
    let year = Order::partition("oslo", 2000_u32);
    for client in [&orders_1, &orders_2] {
        let mut one = client.load(order_key!(1_u32)).await.unwrap().unwrap();
        let mut other = client.load(order_key!(1001_u32)).await.unwrap().unwrap();
        store.take();
        let several = client.transaction(&year).save(&mut one).save(&mut other).commit().await;
        let of_rule = TransactionError::OtherPartition {
            entity: "Order",
            expected: "oslo__2000".into(),
            found: "oslo__2001".into(),
        };
        assert!(matches!(several, Err(Error::Transaction(error)) if error == of_rule));
        one.cents = 77;
        let same = order(1, 78);
        let twice = client.transaction(&year).save(&mut one).insert(&same).commit().await;
        assert!(matches!(twice, Err(Error::Transaction(TransactionError::SameRow { .. }))));
        one.n = 2;
        let moved = client.transaction(&year).save(&mut one).commit().await;
        assert!(matches!(moved, Err(Error::Migration(MigrationError::KeyChanged { .. }))));
        let many = (100..200).fold(client.transaction(&year), |all, n| all.insert(&order(n, 1)));
        let many = many.commit().await;
        assert!(matches!(
            many,
            Err(Error::Transaction(TransactionError::TooManyOperations { .. }))
        ));
        assert_eq!(store.take(), 0);
        assert_eq!(client.load(order_key!(1_u32)).await.unwrap().unwrap().form(), StoredForm::Old);
    }
}

#[tokio::test]
async fn a_client_of_the_old_form_writes_it_in_place_until_it_meets_the_new_one() {
    let Clients { store, orders, orders_1, orders_2, .. } = clients().await;
    orders.insert(&order(1, 10).into()).await.unwrap();
    let year = Order::partition("oslo", 2000_u32);
    let mut one = orders_1.load(order_key!(1_u32)).await.unwrap().unwrap();
    one.cents = 11;
    store.take();
    orders_1.transaction(&year).save(&mut one).insert(&order(2, 20)).commit().await.unwrap();
    assert_eq!((store.take(), one.form()), (1, StoredForm::Old));
    // Version 0 reads both.
    for n in [1, 2] {
        let key = super::types::OrderV1::partition("oslo").by_number().n(n);
        assert!(orders.get(key).await.unwrap().is_some());
    }
    // An entity that was there in its new form: its marker is under the old key.
    orders_2.insert(&order(3, 30)).await.unwrap();
    let three = orders_2.load(order_key!(3_u32)).await.unwrap().unwrap();
    orders_2.delete(three).await.unwrap();
    one.cents = 12;
    orders_1.transaction(&year).save(&mut one).insert(&order(3, 31)).commit().await.unwrap();
    assert_eq!(one.form(), StoredForm::New);
    assert_eq!(cents(&orders_2).await, [(1, 12), (2, 20), (3, 31)]);
}

#[tokio::test]
async fn a_transaction_keeps_unique_values_and_exchanges_them() {
    let Clients { items, items_1, items_2, .. } = clients().await;
    for (n, code) in [(1, "a"), (2, "b"), (3, "c")] {
        items.insert(&item(n, code).into()).await.unwrap();
    }
    let shop = Item::partition("oslo");
    for client in [&items_1, &items_2] {
        let mut one = client.load(item_key!(1_u32)).await.unwrap().unwrap();
        let mut two = client.load(item_key!(2_u32)).await.unwrap().unwrap();
        std::mem::swap(&mut one.code, &mut two.code);
        client.transaction(&shop).save(&mut one).save(&mut two).commit().await.unwrap();
        one.code = "c".into();
        let taken = client.transaction(&shop).save(&mut one).commit().await;
        assert!(matches!(taken, Err(Error::UniqueViolation { .. })), "{taken:?}");
    }
    let all = items_2.list(&shop).await.unwrap();
    let codes: Vec<_> = all.iter().map(|item| (item.n, &*item.code)).collect();
    assert_eq!(codes, [(1, "a"), (2, "b"), (3, "c")]);
    assert_eq!(
        items_2.insert(&item(9, "a")).await.unwrap_err().kind(),
        table_orm::ErrorKind::Conflict
    );
}

#[tokio::test]
async fn a_transaction_that_reads_starts_again_when_another_client_wrote_what_it_read() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    for n in 0..3 {
        orders.insert(&order(n, 10).into()).await.unwrap();
    }
    let year = Order::partition("oslo", 2000_u32);
    for (client, other) in [(&orders_1, &orders_2), (&orders_2, &orders_1)] {
        let before = client.get(order_key!(2_u32)).await.unwrap().unwrap().cents;
        let attempts = std::sync::atomic::AtomicU32::new(0);
        let sum = client.transaction_with(&year, async |tx| {
            let read = tx.get(order_key!(0_u32)).await?.unwrap();
            if attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
                other.update(order_key!(0_u32), |order| order.cents += 5).await?;
            }
            let mut to = tx.load(order_key!(2_u32)).await?.unwrap();
            to.cents += read.cents;
            let sum = to.cents;
            tx.save(to);
            Ok(sum)
        });
        let sum = sum.await.unwrap();
        assert_eq!(attempts.into_inner(), 2);
        let zero = client.get(order_key!(0_u32)).await.unwrap().unwrap().cents;
        assert_eq!(sum, before + zero);
        assert_eq!(client.get(order_key!(2_u32)).await.unwrap().unwrap().cents, sum);
    }
    // What it inserts was absent; an entity of another partition is refused.
    let inserted = orders_2.transaction_with(&year, async |tx| {
        assert_eq!(tx.get(order_key!(7_u32)).await?, None);
        tx.insert(&order(7, 1));
        assert_eq!(tx.len(), 1);
        Ok(())
    });
    inserted.await.unwrap();
    let refused = orders_2.transaction_with(&year, async |tx| tx.get(order_key!(1007_u32)).await);
    assert!(matches!(refused.await, Err(Error::Transaction(_))));
    // A function that writes what it has not read through the transaction is not called again.
    let mut stale = orders_2.load(order_key!(7_u32)).await.unwrap().unwrap();
    orders_2.update(order_key!(7_u32), |order| order.cents = 2).await.unwrap();
    stale.cents = 3;
    let lost = orders_2.transaction_with(&year, async |tx| {
        tx.save(stale.clone());
        Ok(())
    });
    assert!(matches!(lost.await, Err(Error::Conflict(_))));
}

#[tokio::test]
async fn transactions_cost_what_the_guide_says() {
    let Clients { store, orders, orders_1, orders_2, items, items_2, .. } = clients().await;
    for n in 0..4 {
        orders.insert(&order(n, 10).into()).await.unwrap();
        items.insert(&item(n, &format!("{n}")).into()).await.unwrap();
    }
    let year = Order::partition("oslo", 2000_u32);
    macro_rules! saved {
        ($client:expr, $partition:expr, $key:ident, $numbers:expr) => {{
            let mut held = Vec::new();
            for n in $numbers {
                held.push($client.load($key!(n)).await.unwrap().unwrap());
            }
            store.take();
            let all = $client.transaction($partition);
            held.iter_mut().fold(all, |all, held| all.require(held)).commit().await.unwrap();
            store.take()
        }};
    }
    // In place; moved, three for each; moved before.
    assert_eq!(saved!(orders_1, &year, order_key, [0_u32, 1]), 1);
    assert_eq!(saved!(orders_2, &year, order_key, [0_u32, 1]), 2 * 3 + 1);
    assert_eq!(saved!(orders_2, &year, order_key, [0_u32, 1]), 1);
    assert_eq!(saved!(orders_1, &year, order_key, [1_u32, 2]), 3 + 1);
    let shop = Item::partition("oslo");
    assert_eq!(saved!(items_2, &shop, item_key, [0_u32, 1]), 2 + 1);
    store.take();
    let all = orders_2.transaction(&year).insert(&order(10, 1)).insert(&order(11, 1));
    all.commit().await.unwrap();
    assert_eq!(store.take(), 2 + 1);
}
