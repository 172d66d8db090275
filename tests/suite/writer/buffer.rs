//! What a writer holds, and what it does when that is full.

use super::{Slow, sample, stored};
use futures_util::FutureExt as _;
use std::sync::Arc;
use std::time::Duration;
use table_orm::Error;
use table_orm::layer::{Fault, Faults};
use table_orm::repo::WriterError;
use table_orm::store::ErrorCode;
use table_orm::{TableEntity as _, Tables};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_send_waits_while_the_buffer_is_full() {
    let store = Slow { open: Arc::new(Semaphore::new(0)), ..Slow::new(&[10]) };
    let repo = store.repo().await;
    let writer = repo.writer().buffer(64_000).parallelism(2).await.unwrap();
    let mut taken = 0;
    while timeout(HOUR, writer.send(sample(taken % 5, taken))).await.is_ok() {
        taken += 1;
    }
    // A small row counts with 500 to 1000 bytes.
    assert!((60..=130).contains(&taken), "{taken}");
    store.open.add_permits(1000);
    writer.send(sample(taken % 5, taken)).await.unwrap();
    let report = writer.close().await.unwrap();
    // The call that was dropped while it waited was not taken.
    assert_eq!(report.all().unwrap().entities, u64::from(taken) + 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_buffer_is_sent_before_its_time() {
    let store = Slow::new(&[10]);
    let repo = store.repo().await;
    let writer = repo.writer().buffer(64_000).every(HOUR).await.unwrap();
    for number in 0..5_000 {
        writer.send(sample(number % 50, number)).await.unwrap();
    }
    writer.close().await.unwrap().all().unwrap();
    assert!(store.began.elapsed() < Duration::from_secs(60), "{:?}", store.began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_entity_larger_than_the_buffer_goes_alone() {
    let store = Slow::new(&[10]);
    let repo = store.repo().await;
    let writer = repo.writer().buffer(100).every(HOUR).await.unwrap();
    for second in 0..5 {
        writer.send(sample(1, second)).await.unwrap();
    }
    assert_eq!(writer.close().await.unwrap().all().unwrap().entities, 5);
    assert!(store.began.elapsed() < HOUR, "nothing waited for its time");
}

#[tokio::test(start_paused = true)]
async fn an_entity_that_is_rejected_takes_no_other_with_it() {
    let repo = Slow::new(&[10]).repo().await;
    for second in [3, 50, 51, 99] {
        repo.insert(&sample(1, second)).await.unwrap();
    }
    let writer = repo.writer().await.unwrap();
    for second in 0..200 {
        writer.send(sample(1, second)).await.unwrap();
    }
    // A key that cannot be stored is the sender's.
    assert!(matches!(writer.send(sample(1, 1_000_000)).await, Err(Error::Key(_))));
    let report = writer.close().await.unwrap();
    assert_eq!(report.written.entities, 196);
    let failed: Vec<_> = report.failures.iter().flat_map(|failure| &failure.entities).collect();
    assert_eq!(failed.iter().map(|sample| sample.second).collect::<Vec<_>>(), [3, 50, 51, 99]);
    let exists = |error: &Error| matches!(error, Error::AlreadyExists(_));
    assert!(report.failures.iter().all(|failure| exists(&failure.error)));
    assert_eq!(stored(&repo, 1).await, (0..200).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_fails_hands_back_its_entities_and_others_go_on() {
    let inner: Arc<dyn table_orm::store::Store> =
        Arc::new(table_orm::embedded::EmbeddedStore::in_memory().unwrap());
    let busy = Fault::Rejected(ErrorCode::SERVER_BUSY);
    let store = Faults::seeded(1).on("commit", 2, busy).store(Arc::clone(&inner)).unwrap();
    let repo = Tables::new(store).on_virtual_time(1).repo();
    repo.create_table().await.unwrap();
    let writer = repo.writer().await.unwrap();
    for second in 0..300 {
        writer.send(sample(1, second)).await.unwrap();
    }
    let report = writer.flush().await.unwrap();
    assert_eq!(report.written.entities, 200);
    let [failure] = &report.failures[..] else { panic!("{report:?}") };
    assert!(matches!(failure.error, Error::Throttled(_)), "{failure:?}");
    let seconds: Vec<_> = failure.entities.iter().map(|sample| sample.second).collect();
    assert_eq!(seconds, (100..200).collect::<Vec<_>>());
    // They can be sent again.
    for sample in report.failures.into_iter().flat_map(|failure| failure.entities) {
        writer.send(sample).await.unwrap();
    }
    assert_eq!(writer.close().await.unwrap().all().unwrap().entities, 100);
    assert_eq!(super::Sample::TABLE, repo.table().as_str());
}

#[tokio::test(start_paused = true)]
async fn failures_that_nobody_takes_end_in_an_error_and_not_in_a_wait() {
    // No table: every request fails.
    let repo = Tables::in_memory().unwrap().on_virtual_time(1).repo();
    let writer = repo.writer().buffer(64_000).every(Duration::from_millis(10)).await.unwrap();
    let mut taken = 0;
    let refused = loop {
        match timeout(HOUR, writer.send(sample(taken % 3, taken))).await.expect("no wait") {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        sleep(Duration::from_millis(1)).await;
    };
    assert!(matches!(refused, Error::Writer(WriterError::Unclaimed)), "{refused}");
    // A call that is dropped takes nothing with it.
    drop(writer.flush().now_or_never());
    let report = writer.flush().await.unwrap();
    let failed: usize = report.failures.iter().map(|failure| failure.entities.len()).sum();
    assert_eq!(failed, taken as usize);
    writer.send(sample(1, 1)).await.unwrap();
    assert_eq!(writer.close().await.unwrap().failures.len(), 1);
}
