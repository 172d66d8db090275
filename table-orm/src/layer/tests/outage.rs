//! What the service sees of an outage.

use super::script::{Answer, Script, failed, lost, status};
use super::table;
use crate::layer::{Layer, Retry, RetryStrategy};
use crate::model::Metadata;
use crate::store::{ErrorCode, Store, StoreError};
use std::sync::Arc;
use std::time::Duration;

/// A thousand reads, one after the other, of a store with these answers, then `Done`.
async fn reads(retry: Retry, answers: impl Iterator<Item = Answer>) -> (usize, Vec<StoreError>) {
    let script = Script::new(answers);
    let store = retry.around(Arc::clone(&script) as Arc<dyn Store>).unwrap();
    let mut errors = Vec::new();
    for _ in 0..1000 {
        errors.extend(store.get(&table(), "p", "r", None, Metadata::None).await.err());
    }
    (script.asked().len(), errors)
}

fn retry() -> Retry {
    Retry::new(RetryStrategy::Fixed { retries: 5, wait: Duration::from_millis(100) })
}

#[tokio::test(start_paused = true)]
async fn an_outage_sees_the_retries_of_the_budget_and_then_each_call_once() {
    let (requests, errors) = reads(retry(), (0..9000).map(|_| status(500))).await;
    assert_eq!((requests, errors.len()), (1000 + 100, 1000));
    let is_not_retried = |error: &&StoreError| error.message.contains("not retried");
    assert_eq!(errors.iter().filter(is_not_retried).count(), 1000 - 100 / 5, "{}", errors[999]);
    // A timeout is dearer.
    let (requests, _) = reads(retry(), (0..9000).map(|_| lost())).await;
    assert_eq!(requests, 1000 + 50);
    // Without a budget, each call is sent six times.
    let (requests, errors) = reads(retry().budget(None), (0..9000).map(|_| status(500))).await;
    assert_eq!((requests, errors.len()), (6000, 1000));
    assert!(!errors.iter().any(|error| is_not_retried(&error)));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_fails_for_a_fifth_of_the_requests_is_retried_without_end() {
    let weather = (0..9000).map(|n| if n % 5 == 0 { status(500) } else { Answer::Done });
    let (_, errors) = reads(retry().budget(50), weather).await;
    assert_eq!(errors.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_rejects_what_it_is_asked_is_retried_without_end() {
    let weather = (0..9000).map(|n| status(if n % 6 == 0 { 500 } else { 409 }));
    let (_, errors) = reads(retry().budget(50), weather).await;
    assert_eq!(errors.len(), 1000);
    assert!(errors.iter().all(|error| error.status == 409), "{:?}", errors.last());
}

#[tokio::test(start_paused = true)]
async fn throttling_takes_nothing_from_the_budget() {
    let busy = || failed(ErrorCode::SERVER_BUSY);
    let weather = (0..9000).map(|n| if n % 6 == 5 { Answer::Done } else { busy() });
    let (requests, errors) = reads(retry().budget(0), weather).await;
    assert_eq!((requests, errors.len()), (6000, 0));
}
