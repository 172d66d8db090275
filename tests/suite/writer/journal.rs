//! What a writer with a journal keeps over the end of its process, and over outages.

use super::{Sample, sample, stored};
use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{FaultStore, Faults};
use table_orm::store::Store;
use table_orm::{Error, Repo, Tables};
use tokio::time::{Instant, sleep};

const HOUR: Duration = Duration::from_secs(3600);

/// A table, what the writer sees of it, and a file.
struct Place {
    below: Repo<Sample>,
    flaky: FaultStore,
    journal: EmbeddedStore,
}

async fn place(faults: Faults) -> Place {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
    let below = Tables::new(Arc::clone(&store)).repo::<Sample>();
    below.create_table().await.unwrap();
    let flaky = faults.store(store).unwrap();
    Place { below, flaky, journal: EmbeddedStore::in_memory().unwrap() }
}

impl Place {
    fn repo(&self) -> Repo<Sample> {
        Tables::new(self.flaky.clone()).on_virtual_time(1).repo()
    }

    async fn left(&self) -> usize {
        let rows = Tables::new(self.journal.clone()).table("journal".parse().unwrap());
        rows.list("telemetry__Sample", ..).collect().await.unwrap().len()
    }
}

/// Runs a process that ends as if it were killed.
fn process<T>(work: impl Future<Output = T>) -> T {
    support::on_virtual_time(work)
}

#[test]
fn what_an_ended_process_left_is_written_by_the_next_in_order() {
    let place = process(place(Faults::seeded(1)));
    process(async {
        let open = place.repo().writer().every(HOUR).journal(place.journal.clone());
        let writer = open.await.unwrap();
        for second in 0..150 {
            writer.send(sample(1, second)).await.unwrap();
        }
        // A large one is in several pieces.
        let text = "ü".repeat(30_000);
        let large = Sample { text: text.clone(), text2: text, ..sample(1, 150) };
        writer.send(large).await.unwrap();
    });
    process(async {
        let left = place.left().await;
        assert!(left >= 51, "a full transaction may have been written");
        let open = place.repo().writer().every(HOUR).journal(place.journal.clone());
        let writer = open.await.unwrap();
        writer.send(sample(1, 151)).await.unwrap();
        let written = writer.close().await.unwrap().all().unwrap();
        assert_eq!((written.entities + written.present) as usize, left + 1, "{written:?}");
    });
    process(async {
        assert_eq!(stored(&place.below, 1).await, (0..152).collect::<Vec<_>>());
        assert_eq!(place.left().await, 0);
        let one = place.below.get(Sample::partition(1).row().second(150)).await.unwrap().unwrap();
        assert_eq!(one.text2.chars().count(), 30_000);
    });
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_waited_out() {
    let place = place(Faults::seeded(1)).await;
    let table = place.below.table().clone();
    place.flaky.take_offline(&table, "00001", 20 * Duration::from_secs(60));
    let began = Instant::now();
    let writer = place.repo().writer().journal(place.journal.clone()).await.unwrap();
    for second in 0..10 {
        writer.send(sample(1, second)).await.unwrap();
        writer.send(sample(2, second)).await.unwrap();
    }
    sleep(Duration::from_secs(5)).await;
    assert_eq!(stored(&place.below, 2).await.len(), 10, "other partitions go on");
    assert_eq!(place.left().await, 10);
    writer.close().await.unwrap().all().unwrap();
    assert!((19..23).contains(&(began.elapsed().as_secs() / 60)), "{:?}", began.elapsed());
    assert_eq!(stored(&place.below, 1).await.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn an_insert_whose_answer_was_lost_is_found_and_counts_as_present() {
    for seed in 0..support::dose(10, 200) {
        let place = place(Faults::seeded(seed).lost_replies(0.4).errors_after(0.1)).await;
        let writer = place.repo().writer().journal(place.journal.clone()).await.unwrap();
        for number in 0..300 {
            writer.send(sample(number % 3, number)).await.unwrap();
        }
        let written = writer.close().await.unwrap().all().unwrap();
        assert_eq!(written.entities + written.present, 300, "seed {seed}");
        let mut rows = 0;
        for device in 0..3 {
            rows += stored(&place.below, device).await.len();
        }
        assert_eq!((rows, place.left().await), (300, 0), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_entity_that_is_rejected_is_handed_back_once() {
    let place = place(Faults::seeded(1)).await;
    place.below.insert(&Sample { text: "other".into(), ..sample(1, 5) }).await.unwrap();
    let open = || place.repo().writer().journal(place.journal.clone()).into_future();
    let writer = open().await.unwrap();
    for second in 0..10 {
        writer.send(sample(1, second)).await.unwrap();
    }
    let report = writer.close().await.unwrap();
    assert_eq!((report.written.entities, report.failures.len()), (9, 1));
    assert!(matches!(report.failures[0].error, Error::AlreadyExists(_)));
    assert_eq!(report.failures[0].entities, [sample(1, 5)]);
    assert_eq!(place.left().await, 0);
    let again = open().await.unwrap().close().await.unwrap();
    assert_eq!((again.written.requests, again.failures.len()), (0, 0));
}
