//! How long a row by day is behind its order: from the answer to the order's transaction, to the answer to the
//! transaction that writes the row.

use super::distant::Distant;
use super::order::{Order, order};
use super::{milliseconds, share};
use std::sync::Arc;
use std::time::{Duration, Instant};
use table_orm::Tables;
use table_orm::embedded::EmbeddedStore;

const LATENCY: Duration = Duration::from_millis(10);
const CLIENTS: [usize; 3] = [1, 16, 64];

#[derive(Default)]
struct Figures {
    behind: Vec<Duration>,
    requests: Vec<Duration>,
}

/// Inserts orders, one after the other.
async fn client(store: Arc<EmbeddedStore>, number: usize, time: Duration) -> Figures {
    // Shares nothing but the store, as another process.
    let distant = Distant::new(store, LATENCY);
    let orders = Tables::new(distant.clone()).repo::<Order>();
    let (mut figures, started) = (Figures::default(), Instant::now());
    for order_number in 0.. {
        if started.elapsed() >= time {
            break;
        }
        orders.insert(&order(number, order_number)).await.unwrap();
        let notes = distant.take();
        figures.behind.push(notes.followed.unwrap() - notes.written.unwrap());
        figures.requests.extend(notes.times);
    }
    figures
}

pub async fn run(time: Duration) {
    println!(
        "\n| clients | inserts/s | a request | behind, median | over a request | behind, 99 % |"
    );
    println!("|---|---|---|---|---|---|");
    for clients in CLIENTS {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        Tables::new(Arc::clone(&store)).repo::<Order>().create_table().await.unwrap();
        let clients: Vec<_> = (0..clients)
            .map(|number| tokio::spawn(client(Arc::clone(&store), number, time)))
            .collect();
        let (count, mut all) = (clients.len(), Figures::default());
        for client in clients {
            let figures = client.await.unwrap();
            all.behind.extend(figures.behind);
            all.requests.extend(figures.requests);
        }
        let rate = all.behind.len() as f64 / time.as_secs_f64();
        let (request, behind) = (share(&mut all.requests, 0.5), share(&mut all.behind, 0.5));
        println!(
            "| {count} | {rate:.0} | {} | {} | {:.2} | {} |",
            milliseconds(request),
            milliseconds(behind),
            behind.as_secs_f64() / request.as_secs_f64(),
            milliseconds(share(&mut all.behind, 0.99)),
        );
    }
}
