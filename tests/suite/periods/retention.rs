//! Tables of old periods are dropped whole.

use super::{Reading, in_memory, instant, noting, reading};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults};
use table_orm::periods::{Bucket, Period};
use table_orm::{TableName, Tables};

/// A reading in each of these months, counted from 2026-01.
fn in_months(months: impl IntoIterator<Item = u32>) -> Vec<Reading> {
    let day = |month: u32| format!("{}-{:02}-10", 2026 + month / 12, month % 12 + 1);
    months.into_iter().map(|month| reading(&day(month), month)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn exactly_the_tables_before_the_last_periods_are_dropped(
        months in prop::collection::btree_set(0_u32..48, 0..12),
        keep in 0_usize..50,
        now in 0_u32..48,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (left, plan, report) = runtime.block_on(async {
            let tables = Tables::in_memory().unwrap();
            // Neither is a table of the type.
            for other in ["readings", "readings2026", "readings20260101", "otherreadings202601"] {
                tables.create(&TableName::new(other).unwrap()).await.unwrap();
            }
            let readings = tables.periods::<Reading>();
            readings.insert_many(in_months(months.clone())).await.all().unwrap();
            let old = readings.retain(keep, in_months([now])[0].at);
            let plan = old.plan().await.unwrap();
            let report = old.await.all().unwrap();
            assert_eq!(tables.list().await.unwrap().len(), 4 + report.keeps.len());
            (readings.existing().await.unwrap(), plan, report)
        });
        let stays = |month: &u32| i64::from(*month) > i64::from(now) - keep as i64;
        let expected: BTreeSet<_> = months.iter().copied().filter(stays).collect();
        let expected: Vec<_> = in_months(expected);
        let expected: Vec<_> = expected.iter().map(|one| Period::of(Bucket::Month, one.at)).collect();
        prop_assert_eq!(left, expected);
        prop_assert_eq!(report.drops.len(), months.len() - report.keeps.len());
        prop_assert_eq!(plan, report);
    }
}

#[tokio::test]
async fn a_plan_lists_the_tables_and_drops_none() {
    let (readings, sent) = in_memory();
    readings.insert_many(in_months(0..4)).await.all().unwrap();
    sent.take();
    let plan = readings.retain(3, instant("2026-04-01")).plan().await.unwrap();
    assert_eq!(plan.to_string(), "keeps 3 tables, drops 1: readings202601");
    assert_eq!(sent.take(), ["list_tables"]);
    assert_eq!(readings.existing().await.unwrap().len(), 4);
    let none = readings.retain(4, instant("2026-04-01")).plan().await.unwrap();
    assert_eq!(none.to_string(), "keeps 4 tables, drops 0");
}

#[tokio::test]
async fn a_drop_that_failed_in_the_middle_is_completed_by_the_same_call() {
    let store = EmbeddedStore::in_memory().unwrap();
    let faults = Faults::seeded(1).on("delete_table", 2, Fault::LostRequest);
    let faulty = Tables::new(faults.store(Arc::new(store)).unwrap()).periods::<Reading>();
    faulty.insert_many(in_months(0..5)).await.all().unwrap();
    let old = faulty.retain(1, instant("2026-05-01"));
    let stopped = old.clone().await;
    // The report has what was done by then.
    assert_eq!(stopped.retention.drops.len(), 1);
    assert!(stopped.all().unwrap_err().is_unavailable());
    // The oldest is gone, so what is left has no gap.
    assert_eq!(faulty.existing().await.unwrap().len(), 4);
    assert_eq!(old.await.all().unwrap().drops.len(), 3);
    assert_eq!(faulty.existing().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_table_that_another_process_drops_meanwhile_is_dropped() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let gone = Fault::Rejected(table_orm::store::ErrorCode::RESOURCE_NOT_FOUND);
    let faults = Faults::seeded(1).on("delete_table", 1, gone).store(store).unwrap();
    let readings = Tables::new(faults).periods::<Reading>();
    readings.insert_many(in_months(0..3)).await.all().unwrap();
    assert_eq!(readings.retain(1, instant("2026-03-01")).await.all().unwrap().drops.len(), 2);
}

/// The figures of the guide's page.
#[tokio::test]
async fn dropping_a_table_costs_one_request_and_deleting_its_rows_one_for_each_hundred_and_more() {
    let (tables, sent) = noting(EmbeddedStore::in_memory().unwrap());
    let readings = tables.periods::<Reading>();
    let sensors = || (0..20).map(|sensor| format!("sensor{sensor}"));
    // Twenty sensors with a reading every third hour of November: 4,800 entities of two rows.
    let hour = 36_000_000_000;
    let start = instant("2026-11-01").ticks() - 12 * hour;
    let all = sensors().flat_map(|sensor| {
        (0..240).map(move |id| {
            let at =
                table_orm::model::DateTime::from_ticks(start + i64::from(id) * 3 * hour).unwrap();
            Reading { sensor: sensor.clone(), at, id, serial: None, celsius: 20.5 }
        })
    });
    let all: Vec<_> = all.collect();
    let november = readings.at(instant("2026-11-23"));
    november.insert_many(all.clone()).await.all().unwrap();
    sent.take();
    for sensor in sensors() {
        november.delete_partition(Reading::partition(sensor)).await.unwrap();
    }
    let by_rows = sent.take().len();
    november.insert_many(all).await.all().unwrap();
    sent.take();
    let dropped = readings.retain(1, instant("2026-12-23")).await.all().unwrap();
    assert_eq!((dropped.drops.len(), sent.take().len()), (1, 2));
    assert_eq!(by_rows, 120);
}
