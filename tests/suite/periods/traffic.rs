//! Random calls of two clients around the borders of months, while old months are dropped, against a model.

use super::{Reading, reading};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use support::{dose, draw};
use table_orm::embedded::EmbeddedStore;
use table_orm::model::{Bucket, DateTime, Period};
use table_orm::periods::Periods;
use table_orm::{Error, ScanPermit, Tables};

/// Instants before, on and after the borders of six months, over that of a year.
fn instants() -> Vec<DateTime> {
    let months = ["202611", "202612", "202701", "202702", "202703", "202704"];
    let starts = months.map(|digits| Period::parse(Bucket::Month, digits).unwrap().start());
    let around = [-1, 0, 1, 86_400 * 10_000_000];
    let at = |start: &DateTime, ticks| DateTime::from_ticks(start.ticks() + ticks).unwrap();
    starts.iter().flat_map(|start| around.map(|ticks| at(start, ticks))).collect()
}

fn month(at: DateTime) -> Period {
    Period::of(Bucket::Month, at)
}

/// What must be stored: the number of each reading with its temperature, and the tables that there are.
#[derive(Default)]
struct Model {
    readings: BTreeMap<usize, f64>,
    tables: BTreeSet<Period>,
}

/// One call. Says what it must answer.
async fn call(
    readings: &Periods<Reading>,
    model: &mut Model,
    instants: &[DateTime],
    dice: impl Fn(&str, u64) -> u64,
) {
    let number = dice("number", instants.len() as u64) as usize;
    let (at, celsius) = (instants[number], dice("celsius", 40) as f64);
    let id = u32::try_from(number).unwrap();
    let one = Reading { at, celsius, ..reading("2026-11-01", id) };
    let is_there = model.readings.contains_key(&number);
    let load = async || {
        let key = Reading::partition("roof").by_time().at(at);
        readings.at(at).load(key).await.unwrap().optional().unwrap()
    };
    match dice("call", 8) {
        0 | 1 => {
            let inserted = readings.insert(&one).await;
            assert_eq!(inserted.is_ok(), !is_there, "{inserted:?}");
            assert!(inserted.is_ok() || matches!(inserted, Err(Error::AlreadyExists(_))));
            model.readings.entry(number).or_insert(celsius);
            model.tables.insert(month(at));
        }
        2 => {
            readings.upsert(&one).await.unwrap();
            model.readings.insert(number, celsius);
            model.tables.insert(month(at));
        }
        3 => {
            let loaded = load().await;
            assert_eq!(loaded.is_some(), is_there);
            if let Some(mut loaded) = loaded {
                loaded.celsius = celsius;
                readings.save(loaded).await.unwrap();
                model.readings.insert(number, celsius);
            }
        }
        4 => {
            if let Some(loaded) = load().await {
                readings.delete(loaded).await.unwrap();
                model.readings.remove(&number);
            }
        }
        5 => {
            let some = (0..instants.len()).filter(|other| other % 5 == number % 5);
            let some = some.filter(|other| !model.readings.contains_key(other));
            let new: Vec<_> = some.collect();
            let many = new.iter().map(|&other| {
                let id = u32::try_from(other).unwrap();
                Reading { at: instants[other], celsius, ..reading("2026-11-01", id) }
            });
            let many: Vec<_> = many.collect();
            assert_eq!(readings.insert_many(many).await.all().unwrap().entities, new.len() as u64);
            for other in new {
                model.readings.insert(other, celsius);
                model.tables.insert(month(instants[other]));
            }
        }
        6 => {
            let keep = 1 + dice("keep", 4) as usize;
            let oldest = month(at).back(keep - 1);
            let dropped = readings.retain(keep, at).await.all().unwrap();
            let old = model.tables.iter().filter(|period| **period < oldest).count();
            assert_eq!(dropped.drops.len(), old);
            model.tables.retain(|period| *period >= oldest);
            model.readings.retain(|number, _| month(instants[*number]) >= oldest);
        }
        _ => {
            // A range chooses tables: those of the months that it touches.
            let end = instants[dice("end", instants.len() as u64) as usize].max(at);
            let is_in = |number: &usize| {
                let period = month(instants[*number]);
                period >= month(at) && period.start() < end && at < end
            };
            let expected: Vec<_> =
                model.readings.iter().filter(|(number, _)| is_in(number)).collect();
            let range = readings.during(at..end);
            let rows = range.list(Reading::partition("roof").by_time()).collect().await.unwrap();
            let rows: Vec<_> = rows.iter().map(|row| (row.id as usize, row.celsius)).collect();
            let stored: Vec<_> =
                expected.into_iter().map(|(at, celsius)| (*at, *celsius)).collect();
            assert_eq!(rows, stored);
            let scan = range.scan(ScanPermit::because("test")).count().await.unwrap();
            assert_eq!(scan.rows, stored.len() as u64);
            let newest = range.newest_first().list(Reading::partition("roof").by_time());
            let months: Vec<_> =
                newest.collect().await.unwrap().iter().map(|row| month(row.at)).collect();
            assert!(months.is_sorted_by(|one, next| one >= next));
        }
    }
}

#[tokio::test]
async fn each_call_finds_what_the_calls_before_left_in_the_months_that_are_kept() {
    let instants = instants();
    for seed in 0..dose(20, 200) {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let clients = [0, 1].map(|_| Tables::new(store.clone()).periods::<Reading>());
        let mut model = Model::default();
        for step in 0..60 {
            let dice = |what: &str, sides: u64| draw((seed, step, what), 0..sides);
            let client = &clients[dice("client", 2) as usize];
            call(client, &mut model, &instants, dice).await;
            let tables = client.existing().await.unwrap();
            assert_eq!(tables, model.tables.iter().copied().collect::<Vec<_>>(), "seed {seed}");
        }
    }
}
