//! Transactions whose writes depend on what they read, in either form.

use super::types::{Clients, Order, clients, order, order_key};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use table_orm::Error;
use table_orm::migrate::{Migrating, MigrationError, StoredForm};

async fn cents(client: &Migrating<Order>, n: u32) -> i64 {
    client.get(order_key!(n)).await.unwrap().unwrap().cents
}

#[tokio::test]
async fn what_is_read_and_saved_as_it_was_is_still_so() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    for n in 0..3 {
        orders.insert(&order(n, 10).into()).await.unwrap();
    }
    let year = Order::partition("oslo", 2000_u32);
    // In its old form, then in its new one.
    for (client, other) in [(&orders_1, &orders_1), (&orders_2, &orders_1), (&orders_2, &orders_2)]
    {
        let before = cents(client, 1).await;
        let attempts = AtomicU32::new(0);
        let transaction = client.transaction_with(&year, async |tx| {
            let read = tx.load(order_key!(0_u32)).await?.unwrap();
            if attempts.fetch_add(1, Relaxed) == 0 {
                other.update(order_key!(0_u32), |order| order.cents += 5).await?;
            }
            let mut to = tx.load(order_key!(1_u32)).await?.unwrap();
            to.cents = before + read.cents;
            tx.save(read);
            tx.save(to);
            Ok(())
        });
        transaction.await.unwrap();
        assert_eq!(attempts.into_inner(), 2);
        assert_eq!(cents(client, 1).await, before + cents(client, 0).await);
    }
}

#[tokio::test]
async fn an_entity_is_required_and_written_by_one_transaction() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    let year = Order::partition("oslo", 2000_u32);
    for (n, client) in [(0_u32, &orders_1), (1, &orders_2)] {
        orders.insert(&order(n, 10).into()).await.unwrap();
        // In its old form, and as it is stored then.
        for added in [1, 2] {
            let mut held = client.load(order_key!(n)).await.unwrap().unwrap();
            let mut same = held.clone();
            held.cents += added;
            let transaction = client.transaction(&year).require(&mut same).save(&mut held);
            transaction.commit().await.unwrap();
        }
        assert_eq!(cents(client, n).await, 13);
        let mut held = client.load(order_key!(n)).await.unwrap().unwrap();
        let mut same = held.clone();
        let transaction = client.transaction(&year).require(&mut same).delete(held.clone());
        transaction.commit().await.unwrap();
        assert_eq!(client.get(order_key!(n)).await.unwrap(), None);
        held.cents = 99;
        let late = client.transaction(&year).require(&mut same).save(&mut held);
        assert!(matches!(late.commit().await, Err(Error::NotFound(_) | Error::Conflict(_))));
    }
}

#[tokio::test]
async fn a_function_that_cannot_succeed_is_not_called_again() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    for n in 0..3 {
        orders.insert(&order(n, 10).into()).await.unwrap();
    }
    orders_2.update(order_key!(2_u32), |_| ()).await.unwrap();
    let year = Order::partition("oslo", 2000_u32);
    for (client, is_old) in [(&orders_1, true), (&orders_2, false)] {
        // It inserts what it has read, in either form.
        for n in [1_u32, 2] {
            let calls = AtomicU32::new(0);
            let again = client.transaction_with(&year, async |tx| {
                calls.fetch_add(1, Relaxed);
                assert!(tx.get(order_key!(n)).await?.is_some());
                tx.insert(&order(n, 11));
                Ok(())
            });
            assert!(matches!(again.await, Err(Error::AlreadyExists(_))));
            assert_eq!((calls.into_inner(), cents(client, n).await), (1, 10));
        }
        // Another entity has its old key.
        let calls = AtomicU32::new(0);
        let later = Order { year: 2007, ..order(0, 11) };
        let key = Order::partition("oslo", 2007_u32).by_number().n(0_u32);
        let taken = client.transaction_with(Order::partition("oslo", 2007_u32), async |tx| {
            calls.fetch_add(1, Relaxed);
            assert_eq!(tx.get(&key).await?, None);
            tx.insert(&later);
            Ok(())
        });
        let taken = taken.await.unwrap_err();
        let is_lossy = matches!(taken, Error::Migration(MigrationError::Lossy { .. }));
        // The old form does not hold it.
        let is_right = if is_old { is_lossy } else { matches!(taken, Error::AlreadyExists(_)) };
        assert!(is_right, "{taken}");
        assert_eq!(calls.into_inner(), 1);
    }
}

#[tokio::test]
async fn a_version_that_was_not_read_through_the_transaction_is_no_answer_to_what_was() {
    let Clients { orders, orders_2, .. } = clients().await;
    orders.insert(&order(1, 10).into()).await.unwrap();
    let year = Order::partition("oslo", 2000_u32);
    for form in [StoredForm::Old, StoredForm::New] {
        let attempts = AtomicU32::new(0);
        let client = orders_2.clone().inserting(form);
        let transaction = client.transaction_with(&year, async |tx| {
            let read = tx.get(order_key!(1_u32)).await?.unwrap().cents;
            if attempts.fetch_add(1, Relaxed) == 0 {
                client.update(order_key!(1_u32), |order| order.cents += 5).await?;
            }
            let mut other = client.load(order_key!(1_u32)).await?.unwrap();
            other.cents = read * 2;
            tx.save(other);
            Ok(read)
        });
        let read = transaction.await.unwrap();
        assert_eq!((attempts.into_inner(), cents(&client, 1).await), (2, read * 2));
    }
}
