//! What a writer with a journal keeps over the end of its process, and over outages.

use super::{Sample, sample, stored};
use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{FaultStore, Faults};
use table_orm::repo::{OpenWriter, WriterError};
use table_orm::store::Store;
use table_orm::{DynamicEntity, Error, Repo, TableEntity, Tables};
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

#[test]
fn what_was_written_before_a_crash_takes_one_transaction_to_find() {
    let place = process(place(Faults::seeded(1)));
    let samples = || (0..90).map(|second| sample(1, second));
    process(async {
        let open = place.repo().writer().every(HOUR).journal(place.journal.clone());
        let writer = open.await.unwrap();
        for sample in samples() {
            writer.send(sample).await.unwrap();
        }
        assert_eq!(place.left().await, 90);
        // Its transaction takes effect, and the process ends before the answer.
        place.below.insert_many(samples()).await.all().unwrap();
    });
    process(async {
        let open = place.repo().writer().every(HOUR).journal(place.journal.clone());
        let written = open.await.unwrap().close().await.unwrap().all().unwrap();
        assert_eq!((written.entities, written.present, written.requests), (0, 90, 1));
        assert_eq!(place.left().await, 0);
    });
    // One of many is not there.
    process(async {
        let open = place.repo().writer().every(HOUR).journal(place.journal.clone());
        let writer = open.await.unwrap();
        for sample in samples() {
            writer.send(sample).await.unwrap();
        }
        let loaded = place.below.load(Sample::partition(1).row().second(7)).await.unwrap();
        place.below.delete(loaded.one().unwrap()).await.unwrap();
    });
    process(async {
        let open = place.repo().writer().every(HOUR).journal(place.journal.clone());
        let written = open.await.unwrap().close().await.unwrap().all().unwrap();
        assert_eq!((written.entities, written.present, written.requests), (1, 89, 2));
        assert_eq!(stored(&place.below, 1).await, (0..90).collect::<Vec<_>>());
        assert_eq!(place.left().await, 0);
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
    for seed in 0..support::dose(3, 200) {
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

/// An entity of nearly 1 MiB, which is larger as text.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "telemetry", partition = "{device:05}", row = "LARGE:{second:06}")]
struct Large {
    device: u32,
    second: u32,
    a: Vec<u8>,
    b: Vec<u8>,
    c: Vec<u8>,
    d: Vec<u8>,
    e: Vec<u8>,
    f: Vec<u8>,
    g: Vec<u8>,
    h: Vec<u8>,
    i: Vec<u8>,
    j: Vec<u8>,
    k: Vec<u8>,
    l: Vec<u8>,
    m: Vec<u8>,
    n: Vec<u8>,
    o: Vec<u8>,
}

fn large(second: u32) -> Large {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] =
        std::array::from_fn(|part| vec![(second as usize + part) as u8; 65_536]);
    Large { device: 1, second, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o }
}

impl Place {
    fn open<E: TableEntity + 'static>(&self) -> OpenWriter<E> {
        let repo = Tables::new(self.flaky.clone()).on_virtual_time(1).repo::<E>();
        repo.writer().every(HOUR).journal(self.journal.clone())
    }

    async fn entries(&self, partition: &str) -> Vec<DynamicEntity> {
        let rows = Tables::new(self.journal.clone()).table("journal".parse().unwrap());
        rows.list(partition, ..).collect().await.unwrap()
    }
}

#[test]
fn an_entity_as_large_as_a_row_may_be_outlives_its_process() {
    let place = process(place(Faults::seeded(1)));
    process(async {
        let writer = place.open::<Large>().await.unwrap();
        for second in 0..3 {
            writer.send(large(second)).await.unwrap();
        }
    });
    process(async {
        let rows = place.entries("telemetry__Large").await;
        assert_eq!(rows.len(), 6, "two rows each");
        let written = place.open::<Large>().await.unwrap().close().await.unwrap().all().unwrap();
        assert_eq!(written.entities, 3);
        let stored = Tables::new(place.flaky.clone()).repo::<Large>();
        for second in 0..3 {
            let found = stored.get(Large::partition(1).row().second(second)).await.unwrap();
            assert!(found == Some(large(second)));
        }
        assert!(place.entries("telemetry__Large").await.is_empty());
    });
}

#[test]
fn an_entry_without_all_its_rows_is_of_no_entity_that_was_taken() {
    for missing in ["00000000000000000001", "00000000000000000001+01"] {
        let place = process(place(Faults::seeded(1)));
        process(async {
            let writer = place.open::<Large>().await.unwrap();
            for second in 0..3 {
                writer.send(large(second)).await.unwrap();
            }
            let rows = Tables::new(place.journal.clone()).table("journal".parse().unwrap());
            rows.delete(&DynamicEntity::new("telemetry__Large", missing)).await.unwrap();
        });
        process(async {
            let writer = place.open::<Large>().await.unwrap();
            assert_eq!(place.entries("telemetry__Large").await.len(), 4, "the rest of it is gone");
            assert_eq!(writer.close().await.unwrap().all().unwrap().entities, 2);
        });
    }
}

#[test]
fn a_send_that_is_dropped_anywhere_leaves_a_whole_entry_or_none() {
    for polls in 0..12 {
        let place = process(place(Faults::seeded(1)));
        process(async {
            let writer = place.open::<Large>().await.unwrap();
            writer.send(large(0)).await.unwrap();
            let mut send = Box::pin(writer.send(large(1)));
            for _ in 0..polls {
                if futures_util::poll!(&mut send).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        });
        process(async {
            let written =
                place.open::<Large>().await.unwrap().close().await.unwrap().all().unwrap();
            let repo = Tables::new(place.flaky.clone()).repo::<Large>();
            let stored = repo.list(Large::partition(1)).collect().await.unwrap();
            assert_eq!(written.entities + written.present, stored.len() as u64, "{polls}");
            assert!((1..=2).contains(&stored.len()) && stored[0] == large(0), "{polls}");
            assert!(stored.get(1).is_none_or(|second| *second == large(1)), "{polls}");
        });
    }
}

#[tokio::test(start_paused = true)]
async fn two_writers_with_one_journal_are_an_error_that_says_so() {
    let place = place(Faults::seeded(1)).await;
    let (first, second) = (place.open().await.unwrap(), place.open().await.unwrap());
    first.send(sample(1, 0)).await.unwrap();
    let error = second.send(sample(1, 1)).await.unwrap_err();
    assert!(matches!(error, Error::Writer(WriterError::JournalInUse)), "{error}");
    drop(second);
    assert_eq!(first.close().await.unwrap().all().unwrap().entities, 1);
    assert_eq!(stored(&place.below, 1).await, [0]);
}

#[test]
fn an_entry_that_cannot_be_read_is_named_and_kept_and_the_writer_opens_without_it() {
    let place = process(place(Faults::seeded(1)));
    process(async {
        place.open().await.unwrap().send(sample(1, 7)).await.unwrap();
    });
    process(async {
        let journal = Tables::new(place.journal.clone()).table("journal".parse().unwrap());
        let entry = DynamicEntity::new("telemetry__Sample", "00000000000000000003");
        journal.insert(&entry.with("Row00", b"{}".to_vec())).await.unwrap();
        let error = place.open::<Sample>().await.unwrap_err();
        let Error::Writer(WriterError::Journal { partition_key, row_key, .. }) = &error else {
            panic!("{error}");
        };
        assert_eq!(place.left().await, 2);
        journal.delete(&DynamicEntity::new(partition_key, row_key)).await.unwrap();
        let writer = place.open::<Sample>().await.unwrap();
        assert_eq!(writer.close().await.unwrap().all().unwrap().entities, 1);
        assert_eq!(stored(&place.below, 1).await, [7]);
    });
}
