use crate::subject::{Subject, page_rows, row};
use std::sync::Arc;
use std::time::Duration;
use support::{draw, history};
use table_orm::layer::{Faults, Layer as _, Retry, RetryStrategy};
use table_orm::query::{RowQuery, Span};
use table_orm::store::{Action, ErrorCode, Operation, Store};

/// The operations of each client: few enough that the checker can explain the whole history.
const STEPS: i64 = 12;
const WRITERS: u64 = 4;
const TRANSACTIONS: u64 = 25;

pub async fn of_single_rows_are_linearizable(subject: Subject) {
    for seed in 0..10 {
        let Subject { store, table } = subject.clone();
        assert!(history::check(store, table, seed, STEPS).await > 0);
    }
}

/// The store under faults of every kind, under retries. The waits are short and nothing is
/// throttled, because those waits are seconds and time is real here.
fn behind_faults(subject: &Subject, seed: u64) -> Arc<dyn Store> {
    let faults = Faults::seeded(seed)
        .errors_before(0.05)
        .errors_after(0.05)
        .lost_requests(0.05)
        .lost_replies(0.1)
        .slow(0.2)
        .slowest(Duration::from_millis(20))
        .empty_pages(0.2)
        .short_pages(0.5);
    let flaky = faults.late(0.05).store(Arc::clone(&subject.store)).unwrap();
    let retry = Retry::new(RetryStrategy::Fixed { retries: 4, wait: Duration::from_millis(10) });
    retry.write_id("WriteId").around(Arc::new(flaky)).unwrap()
}

pub async fn under_faults_are_linearizable(subject: Subject) {
    for seed in 0..10 {
        let store = behind_faults(&subject, seed);
        history::check(store, subject.table.clone(), seed, STEPS).await;
    }
}

/// What a writer knows about a transaction.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Rejected,
    Ambiguous,
}

/// Inserts transactions of rows that nobody else writes.
async fn insert_all(subject: Subject, writer: u64) -> Vec<(String, u64, Outcome)> {
    let mut outcomes = Vec::new();
    for number in 0..TRANSACTIONS {
        let (name, count) = (format!("{writer}-{number:02}"), draw((writer, number), 1..6));
        let operations = (0..count).map(|index| {
            let row_key = format!("{name}-{index}");
            let action = Action::Insert(row("p", &row_key, r#""A":1"#));
            Operation { row_key, action }
        });
        let outcome = match subject.commit("p", operations.collect()).await {
            Ok(etags) => {
                assert_eq!(etags.iter().flatten().count() as u64, count);
                Outcome::Done
            }
            Err(error) if error.code == ErrorCode::AMBIGUOUS_WRITE => Outcome::Ambiguous,
            Err(error) => {
                assert_ne!(error.code, ErrorCode::ENTITY_ALREADY_EXISTS, "a conflict with itself");
                Outcome::Rejected
            }
        };
        outcomes.push((name, count, outcome));
    }
    outcomes
}

pub async fn under_faults_lose_no_acknowledged_transaction(subject: Subject) {
    let flaky = Subject { store: behind_faults(&subject, 7), table: subject.table.clone() };
    let writers = (0..WRITERS).map(|writer| tokio::spawn(insert_all(flaky.clone(), writer)));
    let mut outcomes = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        outcomes.extend(writer.await.unwrap());
    }
    // Abandoned writes may still arrive.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let stored = subject.keys(subject.query(Span::Exact("p".into()), Span::All)).await;
    for (name, count, outcome) in &outcomes {
        let of_this =
            |(_, row_key): &&(String, String)| row_key.rsplit_once('-').unwrap().0 == name;
        let found = stored.iter().filter(of_this).count() as u64;
        match outcome {
            Outcome::Done => assert_eq!(found, *count, "{name} was acknowledged"),
            Outcome::Rejected => assert_eq!(found, 0, "{name} was rejected"),
            Outcome::Ambiguous => assert!(found == 0 || found == *count, "{name} is there in part"),
        }
    }
    let done = outcomes.iter().filter(|(_, _, outcome)| *outcome == Outcome::Done).count();
    assert!(done * 2 > outcomes.len(), "most are acknowledged: {done}");
    // The faults' short and empty pages lose no row either.
    for _ in 0..20 {
        let query = flaky.query(Span::Exact("p".into()), Span::All);
        if let Some(keys) = all_keys(&flaky, query).await {
            assert_eq!(keys, stored.len());
        }
    }
}

/// How many rows a query finds; `None` when a page fails for good.
async fn all_keys(subject: &Subject, mut query: RowQuery) -> Option<usize> {
    let mut found = 0;
    loop {
        let page = subject.store.query(&query).await.ok()?;
        found += page_rows(&page).len();
        query.continuation = page.continuation;
        if query.continuation.is_none() {
            return Some(found);
        }
    }
}
