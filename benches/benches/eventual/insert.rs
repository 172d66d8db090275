//! The insert of an entity with one row in another partition, against two writes by hand.

use super::distant::Distant;
use super::order::{ByCustomer, ByDay, Order, by_hand, order};
use super::{milliseconds, share};
use std::sync::Arc;
use std::time::{Duration, Instant};
use table_orm::embedded::EmbeddedStore;
use table_orm::{Repo, Tables};
use tokio::time::sleep;

/// How long a request takes of a store that is not in the process.
const LATENCY: Duration = Duration::from_millis(10);
/// Inserts of a measurement, without and with that latency.
const INSERTS: [u32; 2] = [1_000, 50];
const ROUNDS: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Together,
    InTurn,
    Insert,
    SettleLater,
}

impl How {
    const ALL: [Self; 4] = [Self::InTurn, Self::Together, Self::Insert, Self::SettleLater];

    const fn name(self) -> &'static str {
        match self {
            Self::InTurn => "by hand, one after the other",
            Self::Together => "by hand, both at once",
            Self::Insert => "`insert`",
            Self::SettleLater => "`insert(..).settle_later()`, to its return",
        }
    }
}

struct Client {
    distant: Distant,
    orders: Repo<Order>,
    by_customer: Repo<ByCustomer>,
    by_day: Repo<ByDay>,
}

impl Client {
    async fn new(latency: Duration) -> Self {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let distant = Distant::new(store, latency);
        let tables = Tables::new(distant.clone());
        tables.repo::<Order>().create_table().await.unwrap();
        Self { distant, orders: tables.repo(), by_customer: tables.repo(), by_day: tables.repo() }
    }

    /// Inserts an order, and returns the time until the caller may go on.
    async fn insert(&self, how: How, number: u32) -> Duration {
        let order = order(number as usize % 100, number);
        let (by_customer, by_day) = by_hand(order.clone());
        let mut settled = None;
        let started = Instant::now();
        match how {
            How::InTurn => {
                self.by_customer.insert(&by_customer).await.unwrap();
                self.by_day.insert(&by_day).await.unwrap();
            }
            How::Together => {
                let (home, elsewhere) = tokio::join!(
                    self.by_customer.insert(&by_customer).into_future(),
                    self.by_day.insert(&by_day).into_future(),
                );
                home.unwrap();
                elsewhere.unwrap();
            }
            How::Insert => {
                let written = self.orders.insert(&order).report_settled().await.unwrap();
                assert!(written.settled.get());
            }
            How::SettleLater => {
                let insert = self.orders.insert(&order).settle_later().report_settled();
                settled = Some(insert.await.unwrap().settled);
            }
        }
        let elapsed = started.elapsed();
        while settled.as_ref().is_some_and(|settled| !settled.get()) {
            // Not a loop that only yields: it would take the processor from what it waits for.
            sleep(Duration::from_millis(1)).await;
        }
        elapsed
    }
}

pub async fn run() {
    println!(
        "\n| insert of an order, with its row by day | requests | in memory | {LATENCY:?} a request |"
    );
    println!("|---|---|---|---|");
    let (mut rows, mut requests) = ([const { Vec::new() }; 4], [0; 4]);
    for (latency, inserts) in [Duration::ZERO, LATENCY].into_iter().zip(INSERTS) {
        let client = Client::new(latency).await;
        let (mut number, mut medians) = (0, [const { Vec::new() }; 4]);
        for _ in 0..ROUNDS {
            for (index, how) in How::ALL.into_iter().enumerate() {
                client.distant.take();
                let mut times = Vec::new();
                for _ in 0..inserts {
                    number += 1;
                    times.push(client.insert(how, number).await);
                }
                requests[index] = client.distant.take().requests / u64::from(inserts);
                medians[index].push(share(&mut times, 0.5));
            }
        }
        let medians = medians.map(|mut medians| share(&mut medians, 0.5));
        for (row, median) in rows.iter_mut().zip(medians) {
            let ratio = median.as_secs_f64() / medians[0].as_secs_f64();
            row.push(format!("{}; {ratio:.2}", milliseconds(median)));
        }
    }
    for ((how, requests), row) in How::ALL.into_iter().zip(requests).zip(rows) {
        println!("| {} | {requests} | {} |", how.name(), row.join(" | "));
    }
}
