//! Concurrent histories of single rows under faults are linearizable.

use super::bench::{Bench, Told, below, for_seeds, insert, replace, value};
use super::linear::{Did, Operation, is_linearizable};
use crate::layer::Faults;
use crate::layer::random::Random;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const ROWS: usize = 2;
const CLIENTS: i64 = 4;
const STEPS: i64 = 7;

/// The operations on each row, in the order of their returns, and a clock of events.
#[derive(Debug, Default)]
struct Recorder {
    clock: AtomicU64,
    histories: Mutex<[Vec<Operation>; ROWS]>,
}

impl Recorder {
    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    fn record(&self, row: usize, called: u64, did: Did) {
        let returned = match did {
            Did::Set { done: None, .. } => u64::MAX,
            _ => self.now(),
        };
        self.histories.lock().unwrap()[row].push(Operation { called, returned, did });
    }
}

async fn client(bench: Bench, random: Random, name: i64, recorder: Arc<Recorder>) {
    for step in 0..STEPS {
        let row = usize::try_from(below(&random, ROWS as u64)).unwrap();
        let row_key = format!("L{row}");
        let called = recorder.now();
        let Ok(stored) = bench.get(&row_key).await else { continue };
        let from = stored.as_ref().map(value);
        recorder.record(row, called, Did::Read(from));
        if random.below(3) == 0 {
            continue;
        }
        let to = name * 1000 + step;
        let operation = match stored {
            None => insert(&row_key, to),
            Some(stored) => replace(&row_key, to, stored.etag().unwrap()),
        };
        let called = recorder.now();
        let done = match bench.write(vec![operation]).await {
            Told::Done(_) => Some(true),
            Told::Ambiguous => None,
            // Turned away at the door is no answer about the register.
            Told::Refused(code) if code.status() == Some(503) => continue,
            Told::Refused(_) => Some(false),
        };
        recorder.record(row, called, Did::Set { from, to, done });
    }
}

#[test]
fn compare_and_set_is_linearizable_under_faults() {
    for_seeds(0..1500, |seed| async move {
        let bench = Bench::new(Faults::storm(seed).late(0.05), seed).await;
        let recorder = Arc::new(Recorder::default());
        let clients: Vec<_> = (0..CLIENTS)
            .map(|name| {
                let random = Random::seeded(seed ^ (name.unsigned_abs() << 32));
                tokio::spawn(client(bench.clone(), random, name, Arc::clone(&recorder)))
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        for history in &*recorder.histories.lock().unwrap() {
            assert!(is_linearizable(history), "{history:#?}");
        }
    });
}
