//! What a row in another partition costs: an insert of its entity against two writes by hand, which a
//! crash in between leaves apart; and how long the row is behind, with 1, 16 and 64 clients.
//!
//! `cargo bench -p benches --bench eventual [-- SECONDS]`: how long each number of clients writes; 5 unless
//! given.

#![allow(missing_docs, clippy::unwrap_used)]

mod distant;
mod insert;
mod order;
mod staleness;

use std::time::Duration;

fn main() {
    let seconds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(5);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        insert::run().await;
        staleness::run(Duration::from_secs(seconds)).await;
    });
}

/// A share of sorted figures: the median for 0.5.
fn share(figures: &mut [Duration], share: f64) -> Duration {
    figures.sort();
    figures[((figures.len() - 1) as f64 * share) as usize]
}

fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    let digits = if milliseconds < 1.0 { 3 } else { 1 };
    format!("{milliseconds:.digits$} ms")
}
