//! Rolling series: a value is shown for its period only, in whatever order values arrive.

use proptest::prelude::*;
use std::collections::BTreeMap;
use table_orm::entity::Schema;
use table_orm::model::{DateTime, Edm};
use table_orm::property::{Days, Every, Hours, Interval, Minutes, Numbered, Ring, SlotPlace};
use table_orm::{DynamicEntity, Error, Projection, Repo, ScanPermit, TableEntity, Tables};

/// The last eight numbers, in one row.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "rolls", partition = "{host}", row = "ROLL")]
struct Roll {
    #[table(key_only)]
    host: String,
    #[table(series)]
    load: Ring<i64, 8, Numbered>,
    note: Option<String>,
}

/// The same row, from before the ring grew.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "rolls", partition = "{host}", row = "ROLL")]
struct Small {
    #[table(key_only)]
    host: String,
    #[table(series)]
    load: Ring<i64, 3, Numbered>,
}

async fn rolls() -> (Tables, Repo<Roll>) {
    let tables = Tables::in_memory().unwrap();
    let rolls = tables.repo::<Roll>();
    rolls.create_table().await.unwrap();
    (tables, rolls)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn at(text: &str) -> DateTime {
    text.parse().unwrap()
}

/// What a ring of `N` shows of the last periods up to `now`.
fn window<const N: usize>(ring: &Ring<i64, N, Numbered>, now: i64) -> Vec<(i64, Option<i64>)> {
    let count = u32::try_from(N).unwrap();
    ring.last(now, count).map(|(at, value)| (at, value.copied())).collect()
}

/// Numbers that move on by steps, gaps and laps, some of them late.
fn arrivals() -> impl Strategy<Value = Vec<i64>> {
    let step = prop_oneof![4 => 1_i64..3, 1 => 3_i64..30];
    let late = prop_oneof![3 => Just(0_i64), 1 => 0_i64..8, 1 => 8_i64..20];
    let arrival = (step, late);
    (-20_i64..1000, proptest::collection::vec(arrival, 0..40)).prop_map(|(mut now, steps)| {
        let mut arrivals = Vec::new();
        for (step, late) in steps {
            now += step;
            arrivals.push(now - late);
        }
        arrivals
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A merge shows each value for its period only: until one of another lap comes to its slot. Where none is late
    /// by a lap, the whole window is shown.
    #[test]
    fn merges_in_any_order_show_no_value_for_another_period(numbers in arrivals()) {
        block_on(async {
            let (_, rolls) = rolls().await;
            let key = Roll::partition("a").row();
            let mut slots: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
            let (mut newest, mut on_time) = (i64::MIN, BTreeMap::new());
            for (value, number) in (0..).zip(&numbers) {
                let patch = RollPatch::default().load_at(*number, value);
                rolls.merge(&key, patch).or_insert().await.unwrap();
                slots.insert(number.rem_euclid(8), (*number, value));
                newest = newest.max(*number);
                if Ring::<i64, 8, Numbered>::is_late(*number, newest) {
                    on_time.clear();
                }
                on_time.insert(*number, value);
            }
            let Some(stored) = rolls.get(&key).await.unwrap() else { return };
            for now in newest - 3..newest + 20 {
                let shown = window(&stored.load, now);
                assert!(shown.iter().map(|(at, _)| *at).eq(now - 7..=now));
                for (at, value) in shown {
                    let slot = slots.get(&at.rem_euclid(8)).filter(|(number, _)| *number == at);
                    assert_eq!(value, slot.map(|(_, value)| *value));
                }
            }
            for (at, value) in window(&stored.load, newest) {
                // After the last value that was late by a lap, nothing in the window is lost.
                if let Some(expected) = on_time.get(&at) {
                    assert_eq!(value, Some(*expected), "{at} of {numbers:?}");
                }
            }
        });
    }

    /// `put` never lets an older value replace a newer one: the order of arrival does not matter, but within a
    /// period.
    #[test]
    fn puts_in_any_order_keep_the_newest_of_each_slot(numbers in arrivals(), turn in 0_usize..40) {
        let mut latest: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for number in &numbers {
            let slot = latest.entry(number.rem_euclid(8)).or_insert((*number, *number));
            *slot = (*slot).max((*number, *number));
        }
        let mut turned = numbers.clone();
        turned.rotate_left(turn.min(numbers.len()));
        let mut ring = Ring::<i64, 8, Numbered>::default();
        for number in turned {
            let newer = ring.get(number + 8).is_some();
            let put = ring.put(number, number);
            prop_assert!(!(put && newer));
        }
        let newest = numbers.iter().max().copied().unwrap_or_default();
        prop_assert_eq!(ring.newest().map(|(at, _)| at), numbers.iter().max().copied());
        for (at, value) in window(&ring, newest) {
            let stored = latest.get(&at.rem_euclid(8)).filter(|(number, _)| *number == at);
            prop_assert_eq!(value, stored.map(|(_, value)| *value));
        }
    }

    /// What is stored is read back, also when the ring has grown or shrunk since.
    #[test]
    fn a_ring_is_read_back_and_keeps_its_periods_when_its_size_changes(numbers in arrivals()) {
        block_on(async {
            let (tables, rolls) = rolls().await;
            let small = tables.repo::<Small>();
            let mut ring = Ring::<i64, 3, Numbered>::default();
            for number in &numbers {
                ring.put(*number, *number);
            }
            small.insert(&Small { host: "a".into(), load: ring.clone() }).await.unwrap();
            assert_eq!(small.get(Small::partition("a").row()).await.unwrap().unwrap().load, ring);
            let key = Roll::partition("a").row();
            let grown = rolls.get(&key).await.unwrap().unwrap();
            let newest = numbers.iter().max().copied().unwrap_or_default();
            for (at, value) in window(&ring, newest) {
                assert_eq!(grown.load.get(at).copied(), value);
            }
            // A value in its new slot counts, beside the old one in another slot.
            rolls.merge(&key, RollPatch::default().load_at(newest, -1)).await.unwrap();
            let merged = rolls.get(&key).await.unwrap().unwrap();
            assert_eq!(merged.load.get(newest), Some(&-1));
            // No value of another period after it has shrunk again.
            let shrunk = small.get(Small::partition("a").row()).await.unwrap().unwrap();
            for (at, value) in window(&shrunk.load, newest) {
                assert!(value.is_none_or(|value| value == at || (at, value) == (newest, -1)));
            }
        });
    }
}

#[tokio::test]
async fn a_value_and_its_stamp_are_one_request_that_reads_nothing() {
    let (tables, rolls) = rolls().await;
    let key = Roll::partition("a").row();
    let merge = rolls.merge(&key, RollPatch::default().load_at(13, 41).note("x".to_owned()));
    let merge = merge.or_insert();
    let plan = merge.plan().unwrap();
    assert_eq!((plan.class(), plan.operations().count()), (None, 1));
    merge.await.unwrap();
    let row = tables.table(rolls.table().clone()).get("a", "ROLL").await.unwrap().unwrap();
    let expected = [
        ("Load05", Edm::from(41_i64)),
        ("Load05At", Edm::from(13_i64)),
        ("Note", Edm::from("x".to_owned())),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    assert!(row.properties.into_iter().eq(expected));
}

/// Periods that no day, month or year begins with, and longer ones.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "odd", partition = "{host}", row = "ODD")]
struct Odd {
    #[table(key_only)]
    host: String,
    #[table(series)]
    seconds: Ring<i64, 7, Every<1>>,
    #[table(series)]
    sevens: Ring<i64, 5, Every<7>>,
    #[table(series)]
    days: Ring<i64, 9, Days>,
    #[table(series)]
    weeks: Ring<i64, 6, Every<604_800>>,
    #[table(series)]
    longest: Ring<i64, 3, Every<{ u32::MAX }>>,
}

/// Instants near the ends of what can be stored, and near borders of minutes, days and years.
fn instants() -> impl Strategy<Value = DateTime> {
    let near = |text: &str| {
        let ticks = at(text).ticks();
        (-30_000_000_i64..30_000_000).prop_map(move |off| ticks + off)
    };
    let (first, last) = (DateTime::MIN.ticks(), DateTime::MAX.ticks());
    let ticks = prop_oneof![
        first..first + 30_000_000,
        last - 30_000_000..last + 1,
        near("1970-01-01T00:00:00Z"),
        near("2024-02-29T00:00:00Z"),
        near("2025-12-31T23:59:59Z"),
        first..last,
    ];
    ticks.prop_map(|ticks| DateTime::from_ticks(ticks).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever instants are put, the ring is read back equal, and its newest value is that of the latest instant.
    #[test]
    fn a_value_of_any_instant_is_read_back_in_its_period(
        instants in proptest::collection::vec(instants(), 1..12),
    ) {
        block_on(async {
            let odds = Tables::in_memory().unwrap().repo::<Odd>();
            odds.create_table().await.unwrap();
            let host = "a".to_owned();
            let mut odd = Odd {
                host,
                seconds: Ring::default(),
                sevens: Ring::default(),
                days: Ring::default(),
                weeks: Ring::default(),
                longest: Ring::default(),
            };
            for (value, at) in (0..).zip(&instants) {
                odd.seconds.put(*at, value);
                odd.sevens.put(*at, value);
                odd.days.put(*at, value);
                odd.weeks.put(*at, value);
                odd.longest.put(*at, value);
            }
            odds.insert(&odd).await.unwrap();
            let stored = odds.get(Odd::partition("a").row()).await.unwrap().unwrap();
            assert_eq!(stored, odd);
            let latest = instants.iter().max().unwrap();
            fn check<const N: usize, const S: u32>(ring: &Ring<i64, N, Every<S>>, latest: DateTime) {
                let (start, value) = ring.newest().unwrap();
                assert!(start <= latest && Every::<S>::number(start) == Every::<S>::number(latest));
                assert_eq!(ring.get(latest), Some(value));
                for count in [0, 1, N as u32 - 1, N as u32, N as u32 + 1, u32::MAX] {
                    let last: Vec<_> = ring.last(latest, count).collect();
                    assert!(last.len() <= N && last.len() as u32 <= count);
                    assert!(last.is_sorted_by(|one, next| one.0 < next.0));
                    let newest = last.last().map(|(start, _)| *start);
                    assert_eq!(newest, (count > 0).then_some(start));
                    for (at, value) in last {
                        assert_eq!(ring.get(at), value);
                    }
                }
            }
            check(&stored.seconds, *latest);
            check(&stored.sevens, *latest);
            check(&stored.days, *latest);
            check(&stored.weeks, *latest);
            check(&stored.longest, *latest);
        });
    }

    /// A coarse value is the fold of what the finer ring has of its period, however often and in whatever order it is
    /// made: no value counts twice. Once a later value may have a slot of the period, it stays as it is.
    #[test]
    fn a_coarse_value_counts_each_fine_one_once(
        puts in proptest::collection::vec((0_i64..400, 0_usize..3), 0..60),
    ) {
        let start = at("2025-12-31T22:00:00Z");
        let minute = |number: i64| DateTime::from_ticks(start.ticks() + number * 600_000_000).unwrap();
        let (mut minutes, mut hours) = (Ring::<i64, 90, Minutes>::default(), Ring::<i64, 3, Hours>::default());
        let (mut fine, mut coarse) = (BTreeMap::new(), BTreeMap::new());
        let mut newest = i64::MIN;
        for (value, (number, repeats)) in (1..).zip(puts) {
            let put = minutes.put(minute(number), value);
            let has_room = fine.keys().all(|other| other % 90 != number % 90 || *other <= number);
            prop_assert_eq!(put, has_room);
            if has_room {
                fine.retain(|other, _| *other == number || other % 90 != number % 90);
                fine.insert(number, value);
                newest = newest.max(number);
            }
            let hour = number.div_euclid(60);
            for _ in 0..=repeats {
                minutes.downsample(minute(number), &mut hours, |values| values.iter().copied().sum());
            }
            let of_hour: Vec<_> = fine.range(hour * 60..hour * 60 + 60).map(|(_, value)| *value).collect();
            let is_newest = coarse.keys().all(|other| other % 3 != hour % 3 || *other <= hour);
            if newest < hour * 60 + 90 && !of_hour.is_empty() && is_newest {
                coarse.retain(|other, _| *other == hour || other % 3 != hour % 3);
                coarse.insert(hour, of_hour.iter().sum::<i64>());
            }
            for hour in 0..7 {
                prop_assert_eq!(hours.get(minute(hour * 60)), coarse.get(&hour));
            }
        }
    }
}

#[tokio::test]
async fn over_the_border_of_a_day_nothing_of_yesterday_is_shown_as_todays() {
    let mut load = Ring::<f64, 24, Hours>::default();
    for hour in 0..24 {
        assert!(load.put(at(&format!("2026-11-22T{hour:02}:30:00Z")), f64::from(hour)));
    }
    load.put(at("2026-11-23T00:10:00Z"), 100.0);
    let now = at("2026-11-23T02:05:00Z");
    let last: Vec<_> =
        load.last(now, 24).map(|(start, value)| (start.to_string(), value)).collect();
    assert_eq!(last.len(), 24);
    assert_eq!(last[0], ("2026-11-22T03:00:00.0000000Z".to_owned(), Some(&3.0)));
    assert_eq!(last[20].1, Some(&23.0));
    assert_eq!(last[21], ("2026-11-23T00:00:00.0000000Z".to_owned(), Some(&100.0)));
    assert_eq!((last[22].1, last[23].1), (None, None));
    // More than the ring holds is not there.
    assert_eq!(load.last(now, 100).count(), 24);
    // A value of yesterday comes late.
    assert!(!load.put(at("2026-11-22T00:59:00Z"), -1.0));
    assert_eq!(load.get(at("2026-11-23T00:00:00Z")), Some(&100.0));
}

#[tokio::test]
async fn what_a_clock_ahead_has_written_is_removed_and_the_slots_are_free_again() {
    let (_, rolls) = rolls().await;
    let key = || Roll::partition("a").row();
    rolls.merge(key(), RollPatch::default().load_at(6, 60)).or_insert().await.unwrap();
    for ahead in [1_000_000, 1_000_001] {
        rolls.merge(key(), RollPatch::default().load_at(ahead, 9)).await.unwrap();
    }
    let taken = rolls.get(key()).await.unwrap().unwrap().load;
    let (mut first, mut second) = (taken.clone(), taken);
    assert!(!first.put(8, 1));
    assert_eq!(first.remove_after(1_000_000), 1);
    assert_eq!(second.remove_after(6), 2);
    assert_eq!(second.remove_after(6), 0);
    let mend = rolls.update(key(), |roll| {
        roll.load.remove_after(7);
        roll.load.put(7, 70);
    });
    mend.await.unwrap();
    let last = rolls.get(key()).await.unwrap().unwrap().load;
    assert_eq!(
        (last.newest(), last.get(6), last.get(1_000_000)),
        (Some((7, &70)), Some(&60), None)
    );
}

#[tokio::test]
async fn a_slot_without_a_stamp_is_an_error_and_a_stamp_without_a_value_is_an_empty_slot() {
    let (tables, rolls) = rolls().await;
    let rows = tables.table(rolls.table().clone());
    rows.insert(&DynamicEntity::new("a", "ROLL").with("Load05At", 13_i64)).await.unwrap();
    let key = Roll::partition("a").row();
    assert_eq!(rolls.get(&key).await.unwrap().unwrap().load, Ring::default());
    rows.insert_or_replace(&DynamicEntity::new("a", "ROLL").with("Load05", 1_i64)).await.unwrap();
    let Err(Error::Property(error)) = rolls.get(&key).await else { panic!() };
    assert_eq!(error.property, "Load05At");
}

#[derive(Debug, TableEntity)]
#[table(name = "maybe", partition = "{host}", row = "ROLL")]
struct Maybe {
    #[table(key_only)]
    host: String,
    #[table(series)]
    load: Ring<Option<i32>, 4, Numbered>,
}

#[tokio::test]
async fn a_value_that_stores_nothing_is_refused_since_it_would_leave_an_older_one() {
    let maybe = Tables::in_memory().unwrap().repo::<Maybe>();
    maybe.create_table().await.unwrap();
    let nothing = MaybePatch::default().load_at(1, None);
    let refused = maybe.merge(Maybe::partition("a").row(), nothing).await;
    assert!(matches!(refused, Err(Error::Property(error)) if error.property == "Load01"));
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Roll)]
struct Loads {
    #[projection(series)]
    load: Ring<i64, 8, Numbered>,
}

#[tokio::test]
async fn schema_projection_and_profile_know_slots_and_stamps() {
    let schema = Schema::of::<Roll>();
    let load = schema.properties.iter().find(|property| property.name == "Load").unwrap();
    assert_eq!((load.slots, load.stamps), (Some(8), true));
    assert!(schema.to_string().contains("Load, numbered, at most 8, each with a stamp"));
    let (_, rolls) = rolls().await;
    let key = Roll::partition("a").row();
    rolls.merge(&key, RollPatch::default().load_at(3, 7)).or_insert().await.unwrap();
    let read = rolls.list(Roll::partition("a")).project::<Loads>();
    let plan = read.plan().unwrap().to_string();
    assert!(plan.contains("Load03At") && plan.contains("Load07"), "{plan}");
    assert_eq!(read.one().await.unwrap().load.get(3), Some(&7));
    let report = rolls.profile(ScanPermit::because("test")).await.unwrap();
    assert!(report.to_string().contains("Load03At"), "{report}");
    assert!(rolls.verify_table(ScanPermit::because("test")).await.unwrap().findings.is_empty());
}

#[tokio::test]
async fn minutes_go_into_hours_in_the_transaction_that_writes_them() {
    #[derive(Debug, TableEntity)]
    #[table(name = "fine", partition = "{host}", row = "LOAD")]
    struct Load {
        #[table(key_only)]
        host: String,
        #[table(series)]
        minutes: Ring<i64, 60, Minutes>,
        #[table(series)]
        hours: Ring<i64, 24, Hours>,
    }
    let loads = Tables::in_memory().unwrap().repo::<Load>();
    loads.create_table().await.unwrap();
    let load = Load { host: "a".into(), minutes: Ring::default(), hours: Ring::default() };
    loads.insert(&load).await.unwrap();
    let key = Load::partition("a").row();
    let put = async |time: &str, value| {
        let at = at(&format!("2026-11-23T{time}:07Z"));
        let write = loads.update(&key, |load| {
            load.minutes.put(at, value);
            let sum = |values: &[&i64]| values.iter().copied().sum();
            load.minutes.downsample(at, &mut load.hours, sum);
        });
        let hours = write.await.unwrap().hours.clone();
        hours.last(at, 2).map(|(_, value)| value.copied()).collect::<Vec<_>>()
    };
    assert_eq!(put("18:00", 1).await, [None, Some(1)]);
    assert_eq!(put("18:59", 10).await, [None, Some(11)]);
    assert_eq!(put("18:30", 100).await, [None, Some(111)]);
    assert_eq!(put("18:30", 200).await, [None, Some(211)]);
    assert_eq!(put("19:00", 5).await, [Some(211), Some(5)]);
    // The minute 18:00 has lost its slot, so the hour is not summed up again.
    assert_eq!(put("18:31", 1000).await, [None, Some(211)]);
    assert_eq!(put("20:59", 7).await, [Some(5), Some(7)]);
}

#[tokio::test]
async fn rings_of_two_entities_are_written_in_one_transaction_without_a_read() {
    #[derive(Debug, TableEntity)]
    #[table(name = "rolls", partition = "{host}", row = "HOURS")]
    struct Daily {
        #[table(key_only)]
        host: String,
        #[table(series)]
        load: Ring<f64, 24, Hours>,
    }
    let (tables, rolls) = rolls().await;
    let host = Roll::partition("a");
    let roll = Roll { host: "a".into(), load: Ring::default(), note: None };
    let daily = Daily { host: "a".into(), load: Ring::default() };
    tables.transaction(&host).insert(&roll).insert(&daily).commit().await.unwrap();
    let now = at("2026-11-23T18:00:00Z");
    let both = tables
        .transaction(&host)
        .merge(host.row(), RollPatch::default().load_at(7, 1))
        .merge(Daily::partition("a").row(), DailyPatch::default().load_at(now, 0.5));
    let plan = both.plan().unwrap();
    assert_eq!((plan.class(), plan.operations().count()), (None, 2));
    both.commit().await.unwrap();
    let daily = tables.repo::<Daily>().get(Daily::partition("a").row()).await.unwrap().unwrap();
    assert_eq!(daily.load.get(now), Some(&0.5));
    assert_eq!(rolls.get(host.row()).await.unwrap().unwrap().load.newest(), Some((7, &1)));
}

#[test]
fn a_series_over_rows_goes_on_in_the_next_row() {
    let place = |text: &str| Hours::place::<24>(at(text));
    assert_eq!(place("1970-01-01T00:59:59Z"), Some(SlotPlace { row: 0, slot: 0 }));
    assert_eq!(place("1970-01-02T23:00:00Z"), Some(SlotPlace { row: 1, slot: 23 }));
    assert_eq!(place("1969-12-31T23:59:59Z"), None);
    let last = Hours::last_places::<24>(at("1970-01-02T01:00:00Z"), 24);
    assert_eq!(last.len(), 24);
    assert_eq!((last[0], last[23]), (SlotPlace { row: 0, slot: 2 }, SlotPlace { row: 1, slot: 1 }));
    assert_eq!(Hours::last_places::<24>(at("1970-01-01T01:00:00Z"), 24).len(), 2);
    assert_eq!(Numbered::place::<252>(i64::MAX), None);
}
