//! When a writer sends, and in which order.

use super::{Sample, Slow, sample, stored};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;
use table_orm::repo::WriterError;
use table_orm::{Error, Tables};
use tokio::task::yield_now;
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn a_transaction_is_sent_with_100_rows_or_after_a_second() {
    let store = Slow::new(&[10]);
    let writer = store.repo().await.writer().await.unwrap();
    for second in 0..250 {
        writer.send(sample(1, second)).await.unwrap();
    }
    sleep(Duration::from_millis(900)).await;
    assert_eq!(store.sizes(), [(0, 100), (0, 100)]);
    // A later one does not put off the first.
    writer.send(sample(1, 250)).await.unwrap();
    sleep(Duration::from_millis(200)).await;
    assert_eq!(store.sizes(), [(0, 100), (0, 100), (1, 51)]);
    let written = writer.close().await.unwrap().all().unwrap();
    assert_eq!((written.entities, written.rows, written.requests), (251, 251, 3));
}

#[tokio::test(start_paused = true)]
async fn a_writer_may_wait_for_full_transactions_only() {
    let store = Slow::new(&[10]);
    let writer = store.repo().await.writer().every(Duration::MAX).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    for second in 0..250 {
        writer.send(sample(1, second)).await.unwrap();
    }
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.sizes().len(), 2);
    assert_eq!(writer.flush().await.unwrap().all().unwrap().entities, 250);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_is_sent_before_it_is_too_large() {
    let store = Slow::new(&[10]);
    let repo = store.repo().await;
    let writer = repo.writer().every(Duration::from_secs(60)).await.unwrap();
    let text = "x".repeat(32_000);
    // 64 KB of text each: 4 MiB hold 65 of them.
    for second in 0..140 {
        let sample = Sample { text: text.clone(), text2: text.clone(), ..sample(1, second) };
        writer.send(sample).await.unwrap();
    }
    sleep(Duration::from_secs(1)).await;
    let sizes: Vec<_> = store.sizes().into_iter().map(|(_, rows)| rows).collect();
    assert!(sizes.len() == 2 && sizes.iter().all(|rows| (60..70).contains(rows)), "{sizes:?}");
    writer.close().await.unwrap().all().unwrap();
    assert_eq!(stored(&repo, 1).await, (0..140).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_flush_sends_what_was_taken_before_it_and_returns_when_that_is_written() {
    let store = Slow::new(&[3000]);
    let repo = store.repo().await;
    let writer = repo.writer().await.unwrap();
    for device in 0..3 {
        writer.send(sample(device, 1)).await.unwrap();
    }
    let (report, ()) = tokio::join!(writer.flush(), async {
        yield_now().await;
        // Taken after the flush: it waits for its own time.
        writer.send(sample(9, 1)).await.unwrap();
    });
    assert_eq!(report.unwrap().all().unwrap().entities, 3);
    assert_eq!(store.began.elapsed().as_secs(), 3);
    assert_eq!(stored(&repo, 0).await, [1]);
    assert_eq!(stored(&repo, 9).await, [0; 0]);
    assert_eq!(writer.flush().await.unwrap().all().unwrap().entities, 1);
    // Nothing is left to do.
    let report = writer.flush().await.unwrap();
    assert_eq!((report.written.entities, report.written.requests), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_closed_writer_has_written_everything_and_takes_nothing() {
    let store = Slow::new(&[500, 20]);
    let repo = store.repo().await;
    let writer = repo.writer().every(Duration::from_secs(3600)).await.unwrap();
    let other = writer.clone();
    for second in 0..30 {
        writer.send(sample(second % 7, second)).await.unwrap();
    }
    assert_eq!(writer.close().await.unwrap().all().unwrap().entities, 30);
    let closed = other.send(sample(1, 99)).await.unwrap_err();
    assert!(matches!(closed, Error::Writer(WriterError::Closed)), "{closed}");
    assert!(matches!(other.flush().await, Err(Error::Writer(WriterError::Closed))));
    assert!(matches!(other.close().await, Err(Error::Writer(WriterError::Closed))));
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_dropped_writes_what_it_took_while_its_runtime_goes_on() {
    let store = Slow::new(&[500]);
    let repo = store.repo().await;
    let writer = repo.writer().every(Duration::from_secs(3600)).await.unwrap();
    for second in 0..30 {
        writer.send(sample(1, second)).await.unwrap();
    }
    drop(writer);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(stored(&repo, 1).await.len(), 30);
}

#[test]
fn without_a_runtime_a_writer_does_not_open() {
    let repo = Tables::in_memory().unwrap().repo::<Sample>();
    let open = futures_util::FutureExt::now_or_never(repo.writer().into_future());
    let error = open.unwrap().unwrap_err();
    assert!(matches!(error, Error::Writer(WriterError::NoRuntime)), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(support::dose(40, 2000)))]

    /// Each partition is written in the order of `send`, however answers are delayed.
    #[test]
    fn a_partition_is_written_in_order_by_one_transaction_at_a_time(
        devices in prop::collection::vec(0..6u32, 1..400),
        pauses in prop::collection::vec(0..40u64, 7),
        answers in prop::collection::vec(1..900u64, 5),
        parallelism in 1..5usize,
        buffer in 2_000..80_000usize,
    ) {
        support::on_virtual_time(async {
            let store = Slow::new(&answers);
            let repo = store.repo().await;
            let open = repo.writer().upserts().parallelism(parallelism).buffer(buffer);
            let writer = open.await.unwrap();
            for (number, &device) in devices.iter().enumerate() {
                writer.send(sample(device, number as u32)).await.unwrap();
                sleep(Duration::from_millis(pauses[number % 7])).await;
            }
            let report = writer.close().await.unwrap().all().unwrap();
            assert_eq!(report.entities, devices.len() as u64);
            assert_eq!(store.overlaps.load(Ordering::Relaxed), 0);
            let mut rows = HashMap::<String, Vec<String>>::new();
            for (_, partition, keys) in store.sent() {
                rows.entry(partition).or_default().extend(keys);
            }
            for (partition, keys) in rows {
                assert!(keys.is_sorted(), "{partition}: {keys:?}");
            }
        });
    }

    /// With a request free for each partition, an entity waits for its time alone, or for the transaction before it.
    #[test]
    fn nobody_waits_longer_than_the_set_time_while_a_request_is_free(
        devices in prop::collection::vec(0..6u32, 1..400),
        pauses in prop::collection::vec(0..40u64, 7),
        answers in prop::collection::vec(1..900u64, 5),
        every in 0..2_000u64,
    ) {
        support::on_virtual_time(async {
            let store = Slow::new(&answers);
            let repo = store.repo().await;
            let open = repo.writer().parallelism(6).every(Duration::from_millis(every));
            let writer = open.await.unwrap();
            let mut taken = Vec::new();
            for (number, &device) in devices.iter().enumerate() {
                writer.send(sample(device, number as u32)).await.unwrap();
                taken.push(store.began.elapsed());
                sleep(Duration::from_millis(pauses[number % 7])).await;
            }
            sleep(Duration::from_secs(60)).await;
            let longest = Duration::from_millis(every.max(*answers.iter().max().unwrap()));
            let sent = store.sent();
            assert_eq!(sent.iter().map(|(.., keys)| keys.len()).sum::<usize>(), devices.len());
            for (at, partition, keys) in sent {
                for key in keys {
                    let waited = at.saturating_sub(taken[key.parse::<usize>().unwrap()]);
                    // A timer ends with the next millisecond.
                    let most = longest + Duration::from_millis(2);
                    assert!(waited <= most, "{partition}, {key}: {waited:?} of {longest:?}");
                }
            }
        });
    }
}
