//! Each writer has rows that nobody else touches, so its writes must never fail with a conflict.

use super::bench::{Bench, Outcome, for_seeds, insert, operation, replace, value};
use crate::layer::Faults;
use crate::model::ETag;
use crate::store::{Action, ErrorCode, IfMatch, Operation};
use crate::sync::Random;

const STEPS: i64 = 12;

/// Reads until an answer comes.
async fn read(bench: &Bench, row_key: &str) -> Option<(i64, ETag)> {
    loop {
        if let Ok(row) = bench.get(row_key).await {
            return row.map(|row| (value(&row), row.etag().unwrap()));
        }
    }
}

fn upsert(row_key: &str, value: i64) -> Operation {
    operation(row_key, Action::InsertOrReplace(format!("{{\"V\":{value}}}").into()))
}

async fn writer(bench: Bench, random: Random, name: i64) {
    let (row_key, side) = (format!("W{name}"), format!("X{name}"));
    let mut state: Option<(i64, ETag)> = None;
    for step in 1..STEPS {
        let (mut operations, next) = match &state {
            None => (vec![insert(&row_key, step)], Some(step)),
            Some((_, etag)) => match random.below(3) {
                0 => {
                    let delete = Action::Delete(IfMatch::ETag(etag.clone()));
                    (vec![operation(&row_key, delete)], None)
                }
                1 => (vec![upsert(&row_key, step)], Some(step)),
                _ => (vec![replace(&row_key, step, etag.clone())], Some(step)),
            },
        };
        if random.below(2) == 0 {
            operations.push(upsert(&side, step));
        }
        match bench.write(operations).await {
            Outcome::Done(etag) => {
                assert_eq!(etag.is_some(), next.is_some());
                let stored = read(&bench, &row_key).await;
                assert_eq!(stored, next.zip(etag), "as it was acknowledged");
                state = stored;
            }
            Outcome::Rejected(code) => {
                let conflicts = [
                    ErrorCode::ENTITY_ALREADY_EXISTS,
                    ErrorCode::UPDATE_CONDITION_NOT_SATISFIED,
                    ErrorCode::RESOURCE_NOT_FOUND,
                ];
                assert!(!conflicts.contains(&code), "a conflict with itself: {code}");
                assert_eq!(read(&bench, &row_key).await, state, "a rejected write changed it");
            }
            Outcome::Ambiguous => {
                let stored = read(&bench, &row_key).await;
                let is_new = stored.as_ref().map(|(value, _)| *value) == next;
                assert!(is_new || stored == state, "neither old nor new: {stored:?}");
                state = stored;
            }
        }
    }
}

#[test]
fn no_write_is_reported_as_a_conflict_with_itself() {
    for_seeds(0..1000, |seed| async move {
        // No late writes: what times out at the client never arrives.
        let bench = Bench::new(Faults::mixed(seed), seed).await;
        let writers: Vec<_> = (0..3_i64)
            .map(|name| {
                let random = Random::seeded(seed ^ (name.unsigned_abs() << 32));
                tokio::spawn(writer(bench.clone(), random, name))
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}
