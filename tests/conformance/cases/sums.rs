//! Totals that writes keep exact.

use crate::subject::Subject;
use futures_util::future::join_all;
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
