//! The search against services whose rates are known.

use super::{
    Ending, Mix, SimulatedService, StepOutcome, Stress, StressError, StressReport, TargetScope,
    UnknownVerdict,
};
use crate::embedded::EmbeddedStore;
use crate::eventual::tests::chaos::on_virtual_time;
use crate::layer::{Faults, Retry};
use crate::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use crate::{DynamicEntity, Error, TableName, Tables};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::sleep;

fn service(rate: u32) -> Arc<dyn Store> {
    SimulatedService::default().per_partition(rate).per_account(3 * rate).store().unwrap()
}

/// A short test of a service of that rate.
fn short(rate: u32) -> Stress {
    let stress = Stress::new(service(rate)).most_in_partition(3 * rate).most_in_all(6 * rate);
    stress.rows(100).step_time(Duration::from_secs(5)).hold_time(Duration::from_secs(20))
}

fn sustained(report: &StressReport) -> f64 {
    report.sustained_in_partition().unwrap().entities_per_second
}

#[track_caller]
fn assert_near(found: f64, rate: f64) {
    assert!((found - rate).abs() <= 0.03 * rate, "{found}, not {rate}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::dose::dose(3, 50)))]

    #[test]
    fn the_rate_of_a_service_is_found_whatever_the_calls_are(
        rate in 100_u32..200,
        reads in 0_u8..10,
        (range, range_rows) in (0_u8..3, 1_u16..10),
        inserts in 0_u8..10,
        upserts in 1_u8..10,
        (transactions, rows) in (0_u8..3, 1_u16..10),
        entity_bytes in 256_usize..3000,
    ) {
        let mix = Mix::empty()
            .point_reads(reads.into())
            .range_reads(range.into(), range_rows)
            .inserts(inserts.into())
            .upserts(upserts.into())
            .transactions(transactions.into(), rows);
        let report = on_virtual_time(
            short(rate).mix(mix).entity_bytes(entity_bytes).partitions(1).run()
        ).unwrap();
        let found = sustained(&report);
        let rate = f64::from(rate);
        prop_assert!((found - rate).abs() <= 0.05 * rate, "{} of {}:\n{}", found, rate, report);
    }
}

#[test]
fn entities_of_several_kib_count_each_kib() {
    let report = on_virtual_time(short(400).entity_bytes(4096).partitions(1).run()).unwrap();
    assert_near(sustained(&report), 400.0);
    assert!((report.entities_per_call - 4.0).abs() < 1e-9);
    let requests = report.sustained_in_partition().unwrap().requests_per_second;
    assert_near(requests, 100.0);
}

#[test]
fn many_partitions_reach_the_rate_of_the_account() {
    let report = on_virtual_time(short(100).partitions(4).run()).unwrap();
    assert_near(sustained(&report), 100.0);
    assert_near(report.sustained_in_all().unwrap().entities_per_second, 300.0);
    assert!(report.phases.iter().all(|phase| phase.first_throttled.is_some()), "{report}");
    // The targets of the service are far above.
    assert!(report.verdicts.iter().all(|verdict| verdict.is_met == Some(false)), "{report}");
}

#[test]
fn a_target_is_met_from_95_percent_and_shards_are_rounded_up() {
    let stress = short(100).partitions(1).expected_load(450);
    let stress = stress.target("ours", 100, TargetScope::Partition);
    let report = on_virtual_time(stress.target("more", 106, TargetScope::Partition).run()).unwrap();
    let met: Vec<_> = report.verdicts.iter().map(|verdict| verdict.is_met).collect();
    // Those of one partition, and that of all, which was not tested.
    assert_eq!(met, [Some(false), Some(false), None, Some(true), Some(false)], "{report}");
    let shards = report.shards.unwrap();
    assert_eq!((shards.least, shards.with_head_room), (5, 6));
}

#[test]
fn shards_say_where_an_account_limits_the_load() {
    let shards = |load| {
        let service = SimulatedService::default().per_partition(100).per_account(150);
        let stress = Stress::new(service.store().unwrap()).expected_load(load);
        let stress = stress.most_in_partition(300).most_in_all(600).rows(100).partitions(4);
        let stress = stress.step_time(Duration::from_secs(5)).hold_time(Duration::from_secs(20));
        on_virtual_time(stress.run()).unwrap().shards.unwrap()
    };
    let (little, much) = (shards(140), shards(1000));
    assert_eq!((little.least, little.together), (2, None), "{little}");
    assert!(much.together.is_some_and(|rate| (140.0..=160.0).contains(&rate)), "{much}");
    assert!(much.to_string().contains("spread the load over several accounts"), "{much}");
}

#[test]
fn enough_calls_find_the_same_rates_sooner() {
    let seconds = Duration::from_secs;
    let stress = |rate| short(rate).partitions(4).step_time(seconds(5)).hold_time(seconds(15));
    // Calls of one entity, and a few calls of many entities.
    let large = |stress: Stress| stress.rows(10).mix(Mix::empty().range_reads(1.0, 10));
    for (rate, sooner) in [(400, true), (20, false)] {
        let stress = || if sooner { stress(rate) } else { large(stress(rate)) };
        let whole = on_virtual_time(stress().run()).unwrap();
        let early = on_virtual_time(stress().enough_calls(1000).run()).unwrap();
        for (one, other) in whole.phases.iter().zip(&early.phases) {
            let of = |phase: &super::Phase| phase.sustained.unwrap().entities_per_second;
            assert_near(of(other), of(one));
        }
        assert_eq!(2 * early.requests < whole.requests, sooner, "{early}");
        assert!(early.seconds <= whole.seconds);
    }
}

#[test]
fn hours_of_load_take_seconds() {
    let hours = Duration::from_secs(crate::dose::dose(1, 24) * 3600);
    // 8 KiB count 8 entities each.
    let stress = short(16).entity_bytes(8192).rows(8).partitions(1);
    let report = on_virtual_time(stress.hold_time(hours).most_time(7 * hours).run()).unwrap();
    assert_near(sustained(&report), 16.0);
    assert!(report.seconds > hours.as_secs_f64());
}

#[test]
fn typed_calls_find_the_same_rate() {
    let stress = short(200).partitions(1).calls(|tables, table| {
        let readings = tables.table(table);
        move |call| {
            let readings = readings.clone();
            async move {
                let sensor = format!("sensor-{}", call.partition);
                let rows = (0..5).map(|row| {
                    DynamicEntity::new(sensor.clone(), format!("{}-{row}", call.number))
                });
                readings.insert_many(rows).await.all().map(drop)
            }
        }
    });
    let report = on_virtual_time(stress.run()).unwrap();
    assert_near(sustained(&report), 200.0);
    assert!((report.entities_per_call - 5.0).abs() < 1e-9, "{report}");
}

#[test]
fn calls_of_an_app_read_what_it_has_loaded() {
    let stress = short(200).partitions(1).load(async |tables, table| {
        tables.table(table).insert(&DynamicEntity::new("sensor-0", "1")).await.map(drop)
    });
    let stress = stress.calls(|tables, table| {
        let readings = tables.table(table);
        move |call| {
            let readings = readings.clone();
            async move {
                let found = readings.get(&format!("sensor-{}", call.partition), "1").await?;
                assert!(found.is_some());
                Ok(())
            }
        }
    });
    assert_near(sustained(&on_virtual_time(stress.run()).unwrap()), 200.0);
}

#[test]
fn typed_calls_read_what_the_app_has_loaded() {
    #[derive(Debug, crate::TableEntity)]
    #[table(crate = crate, name = "readings", partition = "sensor-{sensor}", row = "{day:05}")]
    struct Reading {
        sensor: u32,
        day: u32,
    }
    let stress = short(200).partitions(1).load(async |tables, table| {
        let readings = tables.repo_in::<Reading>(table);
        readings.insert(&Reading { sensor: 0, day: 1 }).await.map(drop)
    });
    let stress = stress.calls(|tables, table| {
        let readings = tables.repo_in::<Reading>(table);
        move |call| {
            let readings = readings.clone();
            async move {
                let sensor = Reading::partition(call.partition);
                let found = readings.list(&sensor).collect().await?;
                assert_eq!(found.len(), 1);
                assert!(readings.get(sensor.row().day(1_u32)).await?.is_some());
                Ok(())
            }
        }
    });
    // Two requests of one row each.
    assert_near(sustained(&on_virtual_time(stress.run()).unwrap()), 200.0);
}

#[test]
fn a_report_says_with_what_the_calls_failed() {
    let stress = short(200).partitions(1).calls(|tables, table| {
        let readings = tables.table(table);
        move |call| {
            let readings = readings.clone();
            async move {
                // The first calls are answered.
                let row_key = if call.number < 50 { "1" } else { "<b>/" };
                readings.get("sensor-0", row_key).await.map(drop)
            }
        }
    });
    let report = on_virtual_time(stress.run()).unwrap();
    let error = report.phases[0].first_error.clone().unwrap();
    assert!(report.to_string().contains(&format!("at first with: {error}.")), "{report}");
    assert!(!report.html().contains("<b>/"), "{error}");
}

/// A store that answers ten requests at a time, each after 100 ms on average.
fn slow_store() -> Arc<dyn Store> {
    use crate::layer::{ConcurrencyLimit, Layer as _};
    let rows = Arc::new(EmbeddedStore::in_memory().unwrap());
    let slow = Faults::seeded(1).slow(1.0).slowest(Duration::from_millis(100)).around(rows);
    ConcurrencyLimit::in_flight(10).around(slow.unwrap()).unwrap()
}

#[test]
fn a_slow_store_shows_as_latency_and_ends_the_ramp() {
    let stress = Stress::new(slow_store()).partitions(1).most_in_partition(1000).rows(100);
    let report = on_virtual_time(stress.in_flight(500).run()).unwrap();
    let phase = &report.phases[0];
    assert!(phase.first_throttled.is_none() && phase.ending == Ending::Found, "{report}");
    // Ten at a time, each 100 ms on average.
    let found = sustained(&report);
    assert!((90.0..115.0).contains(&found), "{report}");
    let behind = phase.steps.iter().find(|step| step.outcome == StepOutcome::Behind).unwrap();
    assert!(
        behind.latency_us.p99 > 1_000_000 && phase.steps[0].latency_us.p99 < 250_000,
        "{report}"
    );
}

/// A store that answers a request in 10 ms, one after the other, and in 100 ms while more than 50 wait.
#[derive(Debug)]
struct Congested {
    rows: EmbeddedStore,
    turn: Semaphore,
    waiting: AtomicU64,
}

impl Middleware for Congested {
    fn inner(&self) -> &dyn Store {
        &self.rows
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let turn = self.turn.acquire().await;
        let is_congested = self.waiting.load(Ordering::Relaxed) > 50;
        sleep(Duration::from_millis(if is_congested { 100 } else { 10 })).await;
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        drop(turn);
        next.await
    }
}

#[test]
fn a_store_that_takes_less_the_more_it_is_asked_for_is_found_by_what_it_kept() {
    let rows = EmbeddedStore::in_memory().unwrap();
    let store = Congested { rows, turn: Semaphore::new(1), waiting: AtomicU64::new(0) };
    let stress = Stress::new(store).partitions(1).rows(20).most_in_partition(500).in_flight(400);
    let report = on_virtual_time(stress.first_rate(20.0).run()).unwrap();
    let overloaded = report.phases[0].steps.iter().any(|step| step.entities_per_second < 30.0);
    assert!(overloaded && report.phases[0].ending == Ending::Found, "{report}");
    let found = sustained(&report);
    assert!((60.0..101.0).contains(&found), "{report}");
}

#[test]
fn calls_that_could_not_be_sent_count_with_the_time_they_waited() {
    let stress = Stress::new(slow_store()).partitions(1).first_rate(500.0).most_in_partition(500);
    let report = on_virtual_time(stress.rows(100).in_flight(20).run()).unwrap();
    let step = &report.phases[0].steps[0];
    assert!(step.unsent > 3000 && step.outcome == StepOutcome::Behind, "{report}");
    assert!(step.latency_us.p90 > 5_000_000, "{report}");
}

#[test]
fn a_store_that_is_fast_enough_ends_at_the_highest_rate() {
    let store = EmbeddedStore::in_memory().unwrap();
    let stress = Stress::new(store).partitions(1).rows(10).most_in_partition(50);
    let report = on_virtual_time(stress.run()).unwrap();
    assert_eq!(report.phases[0].ending, Ending::MostRate);
    assert!(report.sustained_in_partition().unwrap().is_at_least);
    assert_eq!(report.verdicts[0].is_met, None, "{report}");
}

#[test]
fn errors_that_no_rate_avoids_end_without_a_rate() {
    let rows = Arc::new(EmbeddedStore::in_memory().unwrap());
    let store = Faults::seeded(1).errors_before(0.1).store(rows).unwrap();
    let stress = Stress::new(store).partitions(1).rows(10).most_in_partition(50);
    let report = on_virtual_time(stress.run()).unwrap();
    let phase = &report.phases[0];
    assert_eq!((phase.sustained, phase.ending), (None, Ending::NoRate), "{report}");
    assert!(phase.steps[0].errors.values().sum::<u64>() > 0);
    assert_eq!(phase.steps[0].outcome, StepOutcome::Failed);
}

#[test]
fn retries_of_a_layer_are_counted() {
    let stress = short(100).partitions(1).layer(Retry::interactive());
    let report = on_virtual_time(stress.run()).unwrap();
    let retries: u64 = report.phases[0].steps.iter().map(|step| step.retries).sum();
    assert!(retries > 0, "{report}");
}

#[test]
fn a_test_ends_before_it_sends_more_or_takes_longer_than_it_may() {
    let stress = short(100).most_requests(2000);
    let bounds = stress.bounds().unwrap();
    let report = on_virtual_time(stress.run()).unwrap();
    assert_eq!(report.phases.last().unwrap().ending, Ending::MostRequests, "{report}");
    assert!(report.requests <= 2000 && bounds.requests < 2100, "{bounds}");
    assert!(report.sustained_in_partition().unwrap().is_at_least);

    let report = on_virtual_time(short(100).most_time(Duration::from_secs(20)).run()).unwrap();
    assert_eq!(report.phases[0].ending, Ending::MostTime, "{report}");
    assert!(report.seconds <= 21.0);
}

#[test]
fn bounds_are_never_exceeded_by_a_whole_test() {
    let stress = short(60).mix(Mix::empty().inserts(1.0).transactions(1.0, 7)).partitions(3);
    let bounds = stress.bounds().unwrap();
    let report = on_virtual_time(stress.run()).unwrap();
    let steps = || report.phases.iter().flat_map(|phase| &phase.steps);
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    assert!(report.requests <= bounds.requests, "{bounds}");
    assert!(report.seconds <= bounds.seconds, "{bounds}");
    // The last answers of a step take milliseconds.
    assert!(report.seconds <= bounds.seconds_if_prompt + steps().count() as f64, "{bounds}");
    assert!(bounds.seconds_if_prompt < bounds.seconds / 3.0, "{bounds}");
    assert!(gib(steps().map(|step| step.bytes_up + step.bytes_down).sum()) <= bounds.gib_moved);
}

#[test]
fn the_table_is_new_and_is_deleted_however_the_test_ends() {
    on_virtual_time(async {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let tables = Tables::new(Arc::clone(&store));
        let stress = || {
            let stress = Stress::new(Arc::clone(&store)).rows(10).partitions(1);
            stress.most_in_partition(20)
        };
        let named = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&named);
        let watched = tables.clone();
        let report = stress().on_step(move |_, _| {
            let names = futures_util::FutureExt::now_or_never(watched.list()).unwrap().unwrap();
            let is_ours = names.len() == 1 && names[0].as_str().len() == 6 + 16;
            seen.fetch_add(u64::from(is_ours), Ordering::Relaxed);
        });
        assert_eq!(report.run().await.unwrap().table_left, None);
        assert!(named.load(Ordering::Relaxed) > 3);
        assert!(tables.list().await.unwrap().is_empty());

        let report = stress().until(sleep(Duration::from_secs(30))).run().await.unwrap();
        assert!(report.is_stopped && report.seconds < 31.0, "{report}");
        assert_eq!(report.phases[0].ending, Ending::Stopped);
        assert!(report.phases[0].sustained.unwrap().is_at_least, "{report}");
        assert!(tables.list().await.unwrap().is_empty());

        let failing = stress().calls(|_, _| async |_| Err(Error::PageSize(0)));
        assert!(matches!(failing.run().await, Err(StressError::Call(_))));
        assert!(tables.list().await.unwrap().is_empty());

        let kept = stress().keep_table().run().await.unwrap();
        assert!(kept.table_left.is_some() && kept.to_string().contains(&kept.table));
        assert_eq!(tables.list().await.unwrap()[0].as_str(), kept.table);
    });
}

#[test]
fn a_test_that_ended_before_it_kept_a_rate_says_nothing_of_a_target() {
    let met = |report: &StressReport| -> Vec<_> {
        report.verdicts.iter().map(|verdict| verdict.is_met).collect()
    };
    // In the first step, and after a step that the service did not keep.
    let stress = || short(100).partitions(1).first_rate(200.0);
    for seconds in [8, 11] {
        let stopped = async || stress().until(sleep(Duration::from_secs(seconds))).run().await;
        let report = on_virtual_time(stopped()).unwrap();
        assert!(report.is_stopped && report.phases[0].sustained.is_none(), "{report}");
        assert_eq!(met(&report), [None; 3], "{report}");
    }
    let report = on_virtual_time(stress().most_time(Duration::from_secs(12)).run()).unwrap();
    assert_eq!((report.phases[0].ending, met(&report)), (Ending::MostTime, vec![None; 3]));
}

#[test]
fn bounds_count_that_each_rate_ends_after_enough_calls() {
    let stress = || short(400).partitions(1).hold_time(Duration::from_secs(60));
    let (whole, early) =
        (stress().bounds().unwrap(), stress().enough_calls(1000).bounds().unwrap());
    assert!(2 * early.requests < whole.requests, "{early}\n{whole}");
    assert!(early.seconds_if_prompt < whole.seconds_if_prompt, "{early}\n{whole}");
    let report = on_virtual_time(stress().enough_calls(1000).run()).unwrap();
    assert!(report.requests <= early.requests, "{report}");
    assert!(report.seconds <= early.seconds, "{report}");
    // What a call of the app counts is not known yet.
    let typed = |stress: Stress| stress.calls(|_, _| |_| async { Ok(()) }).bounds().unwrap();
    let (whole, early) = (typed(stress()), typed(stress().enough_calls(1000)));
    assert!((early.seconds - whole.seconds).abs() < 1e-9, "{early}\n{whole}");
}

#[derive(Debug, crate::TableEntity)]
#[table(crate = crate, name = "readings", partition = "{sensor}", row = "{number:012}")]
struct Reading {
    sensor: u64,
    #[table(max = 999_999_999_999)]
    number: u64,
}

#[test]
fn entities_of_other_partitions_than_the_test_has_are_refused_before_anything_is_sent() {
    let found = |sensor: fn(super::Call) -> u64| {
        let stress = short(100).partitions(4);
        let stress =
            stress.entities(move |call| Reading { sensor: sensor(call), number: call.number });
        match stress.bounds() {
            Err(StressError::Partitions { asked, found }) => Some((asked, found)),
            other => other.map(|_| None).unwrap(),
        }
    };
    assert_eq!(found(|call| call.partition.into()), None);
    assert_eq!(found(|_| 7), Some((4, 1)));
    assert_eq!(found(|call| u64::from(call.partition) / 2), Some((4, 2)));
    assert_eq!(found(|call| call.number), Some((1, 10)));
    // As many keys as partitions, but not one for each.
    let stress = short(100).partitions(2).entities(|call| Reading {
        sensor: u64::from(call.partition) ^ u64::from(call.number > 4),
        number: call.number,
    });
    assert!(matches!(stress.bounds(), Err(StressError::Partitions { asked: 1 | 2, found: 2 })));
}

#[test]
fn settings_outside_their_limits_are_refused_before_anything_is_sent() {
    let stress = || Stress::new(EmbeddedStore::in_memory().unwrap());
    let refused: [(&str, Stress); 12] = [
        (
            "calls that are enough",
            stress()
                .enough_calls(0)
                .entities(|call| Reading { sensor: call.partition.into(), number: call.number }),
        ),
        ("size", stress().entity_bytes(10)),
        ("size", stress().entity_bytes(usize::MAX).mix(Mix::empty().transactions(1.0, 2))),
        ("seconds of a hold", stress().hold_time(Duration::MAX)),
        ("partitions", stress().partitions(0)),
        ("in flight", stress().in_flight(0)),
        ("factor", stress().growth(1.0)),
        ("highest rate", stress().most_in_partition(0)),
        ("first rate", stress().most_in_partition(100).first_rate(101.0)),
        ("first rate", stress().most_in_all(100).first_rate(101.0)),
        ("no share", stress().mix(Mix::empty())),
        ("4 MiB", stress().entity_bytes(65_536).mix(Mix::empty().transactions(1.0, 100))),
    ];
    for (text, stress) in refused {
        assert!(stress.bounds().is_err(), "{text}");
        let error = on_virtual_time(stress.run()).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn the_page_is_whole_and_hostile_names_stay_text() {
    let report = on_virtual_time(short(100).partitions(2).run()).unwrap();
    let hostile = "<script>alert(1)</script>".to_owned();
    let page = StressReport { store: hostile, ..report }.html();
    assert!(page.matches("<svg").count() == 4 && page.ends_with("</html>\n"));
    assert!(!page.contains("<script") && page.contains("&lt;script"));
    for name in ["http://", "https://", "src=", "@import"] {
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains(name), "{name}");
    }
}

#[test]
fn the_report_is_json_that_programs_can_read() {
    let report = on_virtual_time(short(100).partitions(1).run()).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_near(json["phases"][0]["sustained"]["entities_per_second"].as_f64().unwrap(), 100.0);
    assert_eq!(json["phases"][0]["ending"], "found");
    assert_eq!(json["phases"][0]["steps"][0]["kind"], "ramp");
}

#[test]
fn errors_of_the_calls_themselves_are_no_verdict_on_the_store() {
    let stress = short(100).partitions(1).calls(|tables, table| {
        let rows = tables.table(table);
        move |call: super::Call| {
            let rows = rows.clone();
            async move {
                rows.insert_or_replace(&DynamicEntity::new("0", "0")).await?;
                // A bug of the app, once the test has begun: what it sends is rejected, or it fails by itself.
                match call.number {
                    ..30 => Ok(()),
                    number if number % 2 == 0 => rows.get("0", "a/b").await.map(drop),
                    _ => TableName::new("no name").map(drop).map_err(Error::from),
                }
            }
        }
    });
    let report = on_virtual_time(stress.run()).unwrap();
    let phase = &report.phases[0];
    assert_eq!(phase.ending, Ending::OwnErrors, "{report}");
    assert_eq!(phase.steps.last().unwrap().outcome, StepOutcome::OwnErrors);
    assert!(phase.first_error.is_some());
    let verdict = &report.verdicts[0];
    assert_eq!((verdict.is_met, verdict.unknown), (None, Some(UnknownVerdict::OwnErrors)));
    assert!(
        report.to_string().contains("unknown: calls failed by an error of the app"),
        "{report}"
    );
    assert_eq!(report.shards, None);
}

#[test]
fn calls_that_send_nothing_are_an_error() {
    let stress = short(100).partitions(1).calls(|_, _| |_| async { Ok(()) });
    let error = on_virtual_time(stress.run()).unwrap_err();
    assert!(matches!(error, StressError::NoRequests { calls: 10 }), "{error}");
}

#[test]
fn a_target_above_the_highest_rate_of_the_test_is_unknown_for_that_reason() {
    let stress = short(1000).most_in_partition(300).partitions(1);
    let report = on_virtual_time(stress.run()).unwrap();
    assert_eq!(report.phases[0].ending, Ending::MostRate);
    assert_eq!(report.verdicts[0].unknown, Some(UnknownVerdict::MostRate));
    let text = report.to_string();
    assert!(text.contains("unknown: the highest rate of this test is lower"), "{text}");
    assert!(!text.contains("ended early"), "{text}");
    assert!(text.starts_with("Stress test of simulated\n"), "{text}");
}

#[test]
fn a_test_that_may_send_too_little_says_what_it_needs() {
    for (most, rows) in [(0, 100), (1, 1000)] {
        let stress = short(100).partitions(1).rows(rows).most_requests(most);
        let error = on_virtual_time(stress.run()).unwrap_err();
        let StressError::TooFewRequests { most: found, least } = error else { panic!("{error}") };
        assert_eq!((found, least), (most, u64::from(rows) / 100 + 1));
    }
}
