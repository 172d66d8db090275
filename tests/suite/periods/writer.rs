//! A writer into the tables of periods.

use super::{Reading, in_memory, instant, reading};
use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::model::DateTime;
use table_orm::periods::{OPEN_PERIODS, PeriodsWriter};
use table_orm::repo::WriterError;
use table_orm::{Error, Tables};

/// A reading at a second of a day in that month.
fn in_month(month: u32, id: u32) -> Reading {
    let noon = reading(&format!("2026-{month:02}-10"), id);
    Reading {
        at: DateTime::from_ticks(noon.at.ticks() + i64::from(id) * 10_000_000).unwrap(),
        ..noon
    }
}

#[tokio::test]
async fn a_writer_puts_each_entity_into_the_table_of_its_period() {
    let (readings, sent) = in_memory();
    let writer = readings.writer();
    for id in 0..40 {
        writer.send(in_month(1 + id % 2, id)).await.unwrap();
    }
    let written = writer.close().await.unwrap().all().unwrap();
    assert_eq!(written.entities, 40);
    for month in ["2026-01-01", "2026-02-01"] {
        let rows = readings.at(instant(month)).list(Reading::partition("roof")).count().await;
        assert_eq!(rows.unwrap(), 20);
    }
    // Each table is created by its first transaction.
    let creations = sent.take().iter().filter(|request| request.starts_with("create")).count();
    assert_eq!(creations, 2);
}

#[tokio::test]
async fn a_writer_of_many_periods_holds_the_last_ones_and_loses_nothing() {
    let (readings, _) = in_memory();
    let writer = readings.writer();
    let months = 2 * u32::try_from(OPEN_PERIODS).unwrap();
    readings.insert(&in_month(1, 0)).await.unwrap();
    for month in 1..=months {
        for id in 0..3 {
            writer.send(in_month(month, id)).await.unwrap();
        }
    }
    let report = writer.flush().await.unwrap();
    // One of January exists: it is handed back, also after the writer of January was let go.
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].entities, [in_month(1, 0)]);
    assert!(matches!(report.failures[0].error, Error::AlreadyExists(_)));
    assert_eq!(report.written.entities, u64::from(months) * 3 - 1);
    assert_eq!(readings.existing().await.unwrap().len(), months as usize);
    let all = readings.during(instant("2026-01-01")..=instant("2026-12-31"));
    let rows = all.list(Reading::partition("roof").by_id()).count().await.unwrap();
    assert_eq!(rows, months as usize * 3);
}

#[tokio::test]
async fn settings_count_for_each_period_and_a_closed_writer_takes_nothing() {
    let readings = Tables::in_memory().unwrap().periods::<Reading>();
    let writer = readings.writer_with(|writer| writer.upserts().every(Duration::from_secs(60)));
    let other = writer.clone();
    for celsius in [20.5, 21.5] {
        writer.send(Reading { celsius, ..in_month(3, 1) }).await.unwrap();
    }
    assert_eq!(writer.close().await.unwrap().all().unwrap().entities, 2);
    let stored = readings
        .at(instant("2026-03-01"))
        .get(Reading::partition("roof").by_time().at(in_month(3, 1).at));
    assert_eq!(stored.await.unwrap().map(|reading| reading.celsius), Some(21.5));
    let late = other.send(in_month(3, 2)).await.unwrap_err();
    assert!(matches!(late, Error::Writer(WriterError::Closed)), "{late}");
    assert!(matches!(other.close().await, Err(Error::Writer(WriterError::Closed))));
}

fn with_journal(store: &Arc<EmbeddedStore>, journal: &EmbeddedStore) -> PeriodsWriter<Reading> {
    let (readings, journal) = (Tables::new(store.clone()).periods(), journal.clone());
    readings
        .writer_with(move |writer| writer.every(Duration::from_secs(3600)).journal(journal.clone()))
}

/// Ends the tasks of a writer, as the end of its process does.
fn in_a_process_that_ends(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work);
}

#[test]
fn what_an_ended_process_left_of_any_period_is_written_by_the_next_one() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let journal = EmbeddedStore::in_memory().unwrap();
    let months = 2 * u32::try_from(OPEN_PERIODS).unwrap();
    in_a_process_that_ends(async {
        let readings = Tables::new(store.clone()).periods::<Reading>();
        readings.insert(&Reading { celsius: 1.0, ..in_month(1, 0) }).await.unwrap();
        let writer = with_journal(&store, &journal);
        for month in 1..=months {
            for id in 0..3 {
                writer.send(in_month(month, id)).await.unwrap();
            }
        }
    });
    in_a_process_that_ends(async {
        let readings = Tables::new(store.clone()).periods::<Reading>();
        let all = readings.during(instant("2026-01-01")..=instant("2026-12-31"));
        let stored = all.list(Reading::partition("roof").by_id()).count().await.unwrap();
        // The first months had to make room for the last ones.
        assert_eq!(stored, (months as usize - OPEN_PERIODS) * 3);
        let writer = with_journal(&store, &journal);
        let report = writer.recover().await.unwrap();
        // The one of January that exists was not handed back before the process ended.
        assert_eq!(report.failures.len(), 1);
        assert_eq!(report.failures[0].entities, [in_month(1, 0)]);
        assert_eq!(all.list(Reading::partition("roof").by_id()).count().await.unwrap(), 3 * 8);
        assert_eq!(writer.recover().await.unwrap().failures.len(), 0);
        writer.close().await.unwrap().all().unwrap();
    });
    in_a_process_that_ends(async {
        let report = with_journal(&store, &journal).recover().await.unwrap();
        assert_eq!((report.written.entities, report.failures.len()), (0, 0));
    });
}
