//! Tables are created by the first write that needs them, and are empty before.

use super::{Reading, ReadingPatch, in_memory, instant, noting, reading};
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults, Retry};
use table_orm::store::ErrorCode;
use table_orm::{Error, ScanPermit, Tables};

#[tokio::test]
async fn a_table_is_created_by_its_first_write_and_by_no_later_one() {
    let (readings, sent) = in_memory();
    readings.insert(&reading("2026-11-23", 1)).await.unwrap();
    let first = ["commit readings202611", "create_table readings202611", "commit readings202611"];
    assert_eq!(sent.take(), first);
    readings.insert(&reading("2026-11-24", 2)).await.unwrap();
    assert_eq!(sent.take(), ["commit readings202611"]);
    // The next process knows of no table, and asks for none.
    let again = readings.clone();
    again.upsert(&reading("2026-11-25", 3)).await.unwrap();
    assert!(!sent.take().iter().any(|request| request.starts_with("create_table")));
}

#[tokio::test]
async fn writers_that_meet_an_absent_table_together_create_it_once() {
    let (readings, sent) = in_memory();
    let all: Vec<_> = (1..=20).map(|day| reading(&format!("2026-11-{day:02}"), day)).collect();
    let writes = join_all(all.iter().map(|reading| readings.insert(reading).into_future())).await;
    assert!(writes.into_iter().all(|write| write.is_ok()));
    let sent = sent.take();
    let creations = sent.iter().filter(|request| request.starts_with("create_table"));
    assert_eq!((creations.count(), sent.len()), (1, 41));
    let stored = readings.at(instant("2026-11-01")).list(Reading::partition("roof"));
    assert_eq!(stored.collect().await.unwrap(), all);
}

#[tokio::test]
async fn two_processes_may_both_create_the_table() {
    let store = EmbeddedStore::in_memory().unwrap();
    let ((one, _), (other, _)) = (noting(store.clone()), noting(store));
    let (one, other) = (one.periods::<Reading>(), other.periods::<Reading>());
    let (first, second) = (reading("2026-11-23", 1), reading("2026-11-24", 2));
    let writes = join_all([one.insert(&first).into_future(), other.insert(&second).into_future()]);
    assert!(writes.await.into_iter().all(|write| write.is_ok()));
    assert_eq!(one.at(first.at).list(Reading::partition("roof")).count().await.unwrap(), 2);
}

#[tokio::test]
async fn a_table_that_does_not_exist_is_empty_and_reading_creates_none() {
    let (readings, sent) = in_memory();
    let november = readings.at(instant("2026-11-23"));
    let roof = Reading::partition("roof");
    assert_eq!(november.get(roof.by_id().id(1)).await.unwrap(), None);
    assert_eq!(november.list(&roof).collect().await.unwrap(), []);
    assert_eq!(november.scan(ScanPermit::because("test")).collect().await.unwrap(), []);
    let by_id = november.update(roof.by_time().at(instant("2026-11-23")), |reading| reading.id = 2);
    assert!(by_id.await.unwrap_err().is_not_found());
    assert!(november.force_delete(&reading("2026-11-23", 1)).await.unwrap_err().is_not_found());
    let patch = november
        .merge(roof.by_time().at(instant("2026-11-23")), ReadingPatch::default().celsius(1.0));
    assert!(patch.await.unwrap_err().is_not_found());
    assert!(!sent.take().iter().any(|request| request.starts_with("create_table")));
    assert_eq!(readings.existing().await.unwrap(), []);
}

#[tokio::test]
async fn a_table_that_was_dropped_meanwhile_is_created_again() {
    let (readings, sent) = in_memory();
    let november = readings.at(instant("2026-11-23"));
    for id in 1..=3 {
        readings.insert(&reading("2026-11-23", id)).await.unwrap();
        sent.take();
        november.delete_table().await.unwrap();
    }
    readings.insert(&reading("2026-11-23", 4)).await.unwrap();
    assert_eq!(sent.take().len(), 4);
    let stored = november.list(Reading::partition("roof")).one().await.unwrap();
    assert_eq!(stored.id, 4);
}

#[tokio::test(start_paused = true)]
async fn a_table_that_is_being_deleted_is_empty_and_takes_no_writes() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let faults = Faults::seeded(1).deletion_time(Duration::from_secs(40)).store(store).unwrap();
    let readings = Tables::new(faults).periods::<Reading>();
    let one = reading("2026-11-23", 1);
    readings.insert(&one).await.unwrap();
    readings.of(&one).delete_table().await.unwrap();
    let error = readings.insert(&one).await.unwrap_err();
    assert!(matches!(error, Error::TableBeingDeleted(_)), "{error}");
    // A dropped table is empty at once, as one that was never written.
    assert_eq!(readings.of(&one).list(Reading::partition("roof")).collect().await.unwrap(), []);
    assert_eq!(
        readings.of(&one).get(Reading::partition("roof").by_id().id(1)).await.unwrap(),
        None
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    readings.insert(&one).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_the_creation_does_not_fail_the_write() {
    for fault in [Fault::LostReply, Fault::LostRequest, Fault::ErrorAfter] {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let faults = Faults::seeded(1).on("create_table", 1, fault).store(store).unwrap();
        let tables = Tables::new(faults).layer(Retry::interactive()).unwrap();
        let readings = tables.on_virtual_time(1).periods::<Reading>();
        readings.insert(&reading("2026-11-23", 1)).await.unwrap();
        assert_eq!(readings.existing().await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_table_that_cannot_be_created_fails_the_write_which_may_be_repeated() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let refused = Fault::Rejected(ErrorCode::new("AuthorizationFailure"));
    let faults = Faults::seeded(1).on("create_table", 1, refused).store(store).unwrap();
    let readings = Tables::new(faults).periods::<Reading>();
    let error = readings.insert(&reading("2026-11-23", 1)).await.unwrap_err();
    assert!(error.to_string().contains("its table was not created"), "{error}");
    assert_eq!(readings.existing().await.unwrap(), []);
    readings.insert(&reading("2026-11-23", 1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn under_faults_each_write_that_succeeded_is_in_the_table_of_its_period() {
    for seed in 0..8 {
        let store = EmbeddedStore::in_memory().unwrap();
        let faults = Faults::seeded(seed).throttled(0.1).lost_requests(0.1).lost_replies(0.1);
        let faulty = faults.errors_after(0.05).store(Arc::new(store.clone())).unwrap();
        let tables = Tables::new(faulty).layer(Retry::interactive()).unwrap();
        let readings = tables.on_virtual_time(seed).periods::<Reading>();
        let all: Vec<_> =
            (0..24).map(|id| reading(&format!("2026-{:02}-15", id / 8 + 1), id)).collect();
        // All are at one instant of their month, so their keys differ in the sensor.
        let all = all.into_iter().map(|one| Reading { sensor: format!("s{}", one.id), ..one });
        let all: Vec<_> = all.collect();
        let writes = all.iter().map(|reading| readings.insert(reading).into_future());
        let answers = join_all(writes).await;
        let healthy = Tables::new(store).periods::<Reading>();
        for (reading, answer) in all.iter().zip(answers) {
            let key = Reading::partition(&reading.sensor).by_time().at(reading.at);
            let stored = healthy.of(reading).get(key).await.unwrap();
            match answer {
                Ok(_) => assert_eq!(stored.as_ref(), Some(reading)),
                Err(error) => {
                    assert!(error.is_unavailable() || matches!(error, Error::Ambiguous(_)))
                }
            }
        }
    }
}
