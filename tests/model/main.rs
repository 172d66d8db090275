//! Random calls in random order by several tasks: index rows and guards match the canonical rows,
//! and no acknowledged update is lost.
//!
//! An independent reader checks the rows by the README's rules.

mod calls;
mod corrupt;
mod entities;
mod histories;
mod reader;
mod readme;
mod typed_faults;

use calls::Ledger;
use corrupt::{CorruptingStore, Mutation};
use entities::{EVENTS, Lap, Runner};
use fastrand::Rng;
use std::sync::Arc;
use support::dose;
use table_orm::{TableName, Tables};

const TASKS: usize = 4;

/// Calls from several tasks at a time, in rounds with a check after each.
async fn run(tables: &Tables, seed: u64, rounds: usize, calls: usize) -> Result<u64, String> {
    let (runners, laps) = (tables.repo::<Runner>(), tables.repo::<Lap>());
    runners.create_table().await.unwrap();
    let table = tables.table(TableName::new("runners").unwrap());
    let ledger = Arc::new(Ledger::default());
    let mut seeds = Rng::with_seed(seed);
    calls::start(&runners).await;
    let mut made = 0;
    for round in 0..rounds {
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let mut random = Rng::with_seed(seeds.u64(..));
                let (runners, laps, ledger) = (runners.clone(), laps.clone(), Arc::clone(&ledger));
                let tables = tables.clone();
                tokio::spawn(async move {
                    for _ in 0..calls {
                        match random.u8(0..10) {
                            0..=2 => calls::counted(&runners, &ledger, &mut random).await,
                            3..=7 => calls::any(&tables, &runners, &mut random).await,
                            _ => calls::blind(&laps, &mut random).await,
                        }
                    }
                    calls as u64
                })
            })
            .collect();
        for task in tasks {
            made += task.await.map_err(|panic| format!("seed {seed}, round {round}: {panic}"))?;
        }
        let stored = reader::read(&table).await;
        let wrong = |wrong| format!("seed {seed}, round {round}: {wrong}");
        reader::check(&stored, &ledger).map_err(wrong)?;
        // `verify` agrees.
        for event in EVENTS {
            let runners = runners.verify(Runner::partition(event)).await.unwrap().findings;
            let laps = laps.verify(Lap::partition(event)).await.unwrap().findings;
            if !(runners.is_empty() && laps.is_empty()) {
                return Err(wrong(format!("verify finds {runners:?} {laps:?}")));
            }
        }
    }
    Ok(made)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn random_calls_leave_every_row_in_step() {
    let seed =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    let rounds = dose(5, 50);
    let tables = Tables::in_memory().unwrap();
    let made = run(&tables, seed, rounds, 500).await.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(made >= dose(10_000, 100_000), "{made}");
}

/// The checks above detect a broken write engine.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_broken_diff_is_caught() {
    for mutation in Mutation::ALL {
        let tables = Tables::new(CorruptingStore::store(mutation));
        let caught = run(&tables, 7, 5, 300).await;
        assert!(caught.is_err(), "{mutation:?} went unnoticed");
    }
}
