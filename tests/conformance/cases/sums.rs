//! Totals that writes keep exact.

use crate::subject::Subject;
use futures_util::future::join_all;
use std::time::Duration;
use table_orm::{Sum, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
struct Order {
    customer: String,
    number: u32,
    cents: i64,
}

impl Order {
    const COUNT: Sum<Self> = Sum::count("orders");
    const CENTS: Sum<Self> = Sum::of("cents", |order: &Self| order.cents).shards(8);
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT, Self::CENTS];
}

pub async fn stay_exact_beside_other_writers(subject: Subject) {
    let writers = (0..4).map(|writer| {
        // A connection of its own, as in another process.
        let orders = subject.tables().repo_in::<Order>(subject.table.clone());
        async move {
            for step in 0..6 {
                let number = 10 * writer + step;
                let new = Order { customer: "acme".into(), number, cents: 7 };
                orders.insert(&new).await.unwrap();
                let key = Order::partition("acme").row().number(number);
                orders.update(&key, |order| order.cents += i64::from(step)).await.unwrap();
                if step % 3 == 0 {
                    orders.force_delete(&new).await.unwrap();
                }
            }
        }
    });
    join_all(writers).await;
    let orders = subject.tables().repo_in::<Order>(subject.table.clone());
    let acme = Order::partition("acme");
    assert_eq!(orders.verify_sums(&acme).await.unwrap(), []);
    assert_eq!(orders.sum(&acme, &Order::COUNT).await.unwrap(), 16);
    // Each writer kept the steps 1, 2, 4 and 5.
    assert_eq!(orders.sum(&acme, &Order::CENTS).await.unwrap(), 4 * (4 * 7 + 1 + 2 + 4 + 5));
}

/// An entity whose totals have copies.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "payments", partition = "{customer}", row = "{number:05}", sums = Payment::SUMS)]
struct Payment {
    customer: String,
    number: u32,
    cents: i64,
}

impl Payment {
    const CENTS: Sum<Self> =
        Sum::of("cents", |payment: &Self| payment.cents).shards(2).over_partitions();
    const BY_SIZE: Sum<Self> = Sum::by_group("size", |payment: &Self| {
        (if payment.cents < 10 { "small: <10" } else { "large" }.to_owned(), 1)
    })
    .over_partitions();
    const SUMS: &'static [Sum<Self>] = &[Self::CENTS, Self::BY_SIZE];
}

pub async fn are_copied_into_one_partition(subject: Subject) {
    let customers = ["acme", "SUM:cents"];
    let writers = (0..4).map(|writer: u32| {
        let payments = subject.tables().repo_in::<Payment>(subject.table.clone());
        async move {
            let customer = customers[writer as usize % 2].to_owned();
            for step in 0..4 {
                let number = 10 * writer + step;
                let new = Payment { customer: customer.clone(), number, cents: 7 };
                payments.upsert(&new).await.unwrap();
                let key = Payment::partition(&customer).row().number(number);
                payments.update(&key, |payment| payment.cents += i64::from(step)).await.unwrap();
                if step == 0 {
                    payments.force_delete(&new).await.unwrap();
                }
            }
        }
    });
    join_all(writers).await;
    let payments = subject.tables().repo_in::<Payment>(subject.table.clone());
    for customer in customers {
        let partition = Payment::partition(customer);
        // What lost to other writers too often is still to be settled.
        payments.settle(&partition).grace(Duration::ZERO).await.all().unwrap();
        assert_eq!(payments.verify_sums(&partition).await.unwrap(), []);
    }
    // Each writer kept the steps 1, 2 and 3.
    let cents = 4 * (3 * 7 + 1 + 2 + 3);
    assert_eq!(payments.sum_over_partitions(&Payment::CENTS).await.unwrap(), cents);
    let sizes = payments.sum_over_partitions_by_group(&Payment::BY_SIZE).await.unwrap();
    assert_eq!((sizes["small: <10"], sizes["large"]), (8, 4));
}
