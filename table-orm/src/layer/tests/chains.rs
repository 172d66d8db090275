//! Several writers change the same entities, each version over the one it read. From the last
//! version back to the first there must be one chain; every write that was acknowledged stands in
//! it, and none that was refused.

use super::bench::{Bench, Told, below, for_seeds, insert, merge, operation, replace, value};
use crate::layer::Faults;
use crate::model::ETag;
use crate::store::{Action, IfMatch, Operation};
use crate::sync::Random;
use std::sync::{Arc, Mutex};

const ENTITIES: u64 = 4;
const WRITERS: i64 = 4;
const STEPS: i64 = 8;

/// One write: the value it was to give an entity, over which one, and what the writer was told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    entity: i64,
    over: Option<i64>,
    value: i64,
    told: Told,
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
        // Now and then it goes on from the version its last write was told, without a look.
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
        let told = bench.write(operations(entity, value, old, &random)).await;
        if let Told::Done(Some(etag)) = &told {
            known = Some((entity, value, etag.clone()));
        }
        log.lock().unwrap().push(Record { entity, over, value, told });
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
    // What was given up may still arrive.
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
    assert_eq!(index_rows, expected, "index rows are in step");

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
        match &write.told {
            Told::Done(_) => assert!(took_effect, "acknowledged, and lost: {write:?} {chain:?}"),
            Told::Refused(_) => {
                assert!(!took_effect, "refused, and took effect: {write:?} {chain:?}");
            }
            Told::Ambiguous => {}
        }
    }
}

#[test]
fn acknowledged_writes_are_never_lost_and_refused_ones_never_take_effect() {
    let told = Mutex::new([0_u32; 3]);
    for_seeds(0..1500, |seed| {
        let told = &told;
        async move {
            for write in run(seed).await {
                let told = &mut told.lock().unwrap();
                told[match write.told {
                    Told::Done(_) => 0,
                    Told::Refused(_) => 1,
                    Told::Ambiguous => 2,
                }] += 1;
            }
        }
    });
    let [done, refused, ambiguous] = *told.lock().unwrap();
    println!("{done} acknowledged, {refused} refused, {ambiguous} ambiguous");
    if std::env::var_os("FAULT_SEED").is_none() {
        assert!(ambiguous * 5 < done + refused, "most outcomes are known: {ambiguous}");
    }
}

#[test]
fn a_seed_replays() {
    let run = |seed| {
        super::bench::paused(async {
            let start = tokio::time::Instant::now();
            let told = run(seed).await.into_iter().map(|write| {
                let Record { entity, over, value, told } = write;
                (entity, over, value, std::mem::discriminant(&told))
            });
            (told.collect::<Vec<_>>(), start.elapsed())
        })
    };
    for seed in 0..20 {
        let (left, right) = (run(seed), run(seed));
        assert_eq!(left.0, right.0);
        // The timer's grain.
        assert!(left.1.abs_diff(right.1).as_millis() <= 100, "{:?} {:?}", left.1, right.1);
    }
}
