//! Several writers change the same entities, each version over the one it read. From the last
//! version back to the first there must be one chain, with every acknowledged write and no rejected
//! one.

use super::bench::{Bench, Outcome, below, for_seeds, insert, merge, operation, replace, value};
use crate::layer::Faults;
use crate::model::ETag;
use crate::store::{Action, IfMatch, Operation};
use crate::sync::Random;
use std::sync::{Arc, Mutex};

const ENTITIES: u64 = 4;
const WRITERS: i64 = 4;
const STEPS: i64 = 8;

/// One write: the entity, the value it replaces, the value it writes, and the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    entity: i64,
    over: Option<i64>,
    value: i64,
    outcome: Outcome,
}

type Log = Arc<Mutex<Vec<Record>>>;

/// Odd entities have an index row that moves with the value.
const fn is_indexed(entity: i64) -> bool {
    entity % 2 == 1
}

fn canonical(entity: i64) -> String {
    format!("E{entity}")
}

fn index(entity: i64, value: i64) -> String {
    format!("I{entity}-{value:06}")
}

fn operations(
    entity: i64,
    value: i64,
    old: Option<(i64, ETag)>,
    random: &Random,
) -> Vec<Operation> {
    let key = canonical(entity);
    let mut operations = match &old {
        None => vec![insert(&key, value)],
        Some((_, etag)) if random.below(2) == 0 => vec![replace(&key, value, etag.clone())],
        Some((_, etag)) => vec![merge(&key, value, etag.clone())],
    };
    if is_indexed(entity) {
        if let Some((old, _)) = old {
            operations.push(operation(&index(entity, old), Action::Delete(IfMatch::Any)));
        }
        operations.push(insert(&index(entity, value), value));
    }
    operations
}

async fn writer(bench: Bench, random: Random, name: i64, log: Log) {
    let mut known: Option<(i64, i64, ETag)> = None;
    for step in 0..STEPS {
        // Sometimes it continues from the version that its last write returned, without a read.
        let (entity, old) = match known.take() {
            Some((entity, value, etag)) if random.below(2) == 0 => (entity, Some((value, etag))),
            _ => {
                let entity = below(&random, ENTITIES);
                match bench.get(&canonical(entity)).await {
                    Ok(row) => (entity, row.map(|row| (value(&row), row.etag().unwrap()))),
                    Err(_) => continue,
                }
            }
        };
        let value = name * 1000 + step;
        let over = old.as_ref().map(|(value, _)| *value);
        let outcome = bench.write(operations(entity, value, old, &random)).await;
        if let Outcome::Done(Some(etag)) = &outcome {
            known = Some((entity, value, etag.clone()));
        }
        log.lock().unwrap().push(Record { entity, over, value, outcome });
    }
}

async fn run(seed: u64) -> Vec<Record> {
    let bench = Bench::new(Faults::mixed(seed).late(0.05), seed).await;
    let log = Log::default();
    let writers: Vec<_> = (0..WRITERS)
        .map(|name| {
            let random = Random::seeded(seed ^ (name.unsigned_abs() << 32));
            tokio::spawn(writer(bench.clone(), random, name, Arc::clone(&log)))
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    bench.flaky.disable();
    // Late writes may still arrive.
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let log = log.lock().unwrap().clone();
    for entity in 0..i64::try_from(ENTITIES).unwrap() {
        check(&bench, entity, &log).await;
    }
    log
}

async fn check(bench: &Bench, entity: i64, log: &[Record]) {
    let last = bench.get(&canonical(entity)).await.unwrap().map(|row| value(&row));
    let index_rows = bench.rows(&format!("I{entity}-")).await.unwrap();
    let expected = last.filter(|_| is_indexed(entity));
    let expected: Vec<_> = expected.iter().map(|&value| (index(entity, value), value)).collect();
    assert_eq!(index_rows, expected, "index rows match the entity");

    let mut chain = Vec::new();
    let mut next = last;
    while let Some(value) = next {
        let write = log.iter().find(|write| write.value == value && write.entity == entity);
        let write = write.unwrap_or_else(|| panic!("nobody wrote {value}"));
        assert!(!chain.contains(&value));
        chain.push(value);
        next = write.over;
    }
    for write in log.iter().filter(|write| write.entity == entity) {
        let took_effect = chain.contains(&write.value);
        match &write.outcome {
            Outcome::Done(_) => assert!(took_effect, "acknowledged, and lost: {write:?} {chain:?}"),
            Outcome::Rejected(_) => {
                assert!(!took_effect, "rejected, and took effect: {write:?} {chain:?}");
            }
            Outcome::Ambiguous => {}
        }
    }
}

#[test]
fn acknowledged_writes_are_never_lost_and_rejected_ones_never_take_effect() {
    let counts = Mutex::new([0_u32; 3]);
    for_seeds(0..1500, |seed| {
        let counts = &counts;
        async move {
            for write in run(seed).await {
                let counts = &mut counts.lock().unwrap();
                counts[match write.outcome {
                    Outcome::Done(_) => 0,
                    Outcome::Rejected(_) => 1,
                    Outcome::Ambiguous => 2,
                }] += 1;
            }
        }
    });
    let [done, rejected, ambiguous] = *counts.lock().unwrap();
    println!("{done} acknowledged, {rejected} rejected, {ambiguous} ambiguous");
    if std::env::var_os("FAULT_SEED").is_none() {
        assert!(ambiguous * 5 < done + rejected, "most outcomes are known: {ambiguous}");
    }
}

#[test]
fn a_seed_replays() {
    let run = |seed| {
        super::bench::paused(async {
            let start = tokio::time::Instant::now();
            let outcomes = run(seed).await.into_iter().map(|write| {
                let Record { entity, over, value, outcome } = write;
                (entity, over, value, std::mem::discriminant(&outcome))
            });
            (outcomes.collect::<Vec<_>>(), start.elapsed())
        })
    };
    for seed in 0..crate::dose::dose(4, 20) {
        let (left, right) = (run(seed), run(seed));
        assert_eq!(left.0, right.0);
        // The timer's resolution.
        assert!(left.1.abs_diff(right.1).as_millis() <= 100, "{:?} {:?}", left.1, right.1);
    }
}
