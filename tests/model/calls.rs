//! Random calls. Calls of counted runners are entered in a ledger.

use crate::entities::{COUNTED, EVENTS, Lap, LapPatch, Runner, RunnerPatch};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::sync::Mutex;
use table_orm::repo::TransactionError;
use table_orm::{EntityKeys as _, Error, Repo, Tables};

/// How many increments of each counted runner were acknowledged.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<BTreeMap<(String, u32), u32>>);

impl Ledger {
    fn acknowledge(&self, event: &str, bib: u32) {
        *self.0.lock().unwrap().entry((event.to_owned(), bib)).or_default() += 1;
    }

    pub fn of(&self, event: &str, bib: u32) -> u32 {
        self.0.lock().unwrap().get(&(event.to_owned(), bib)).copied().unwrap_or_default()
    }
}

/// The counted runners, at 0.
pub async fn start(runners: &Repo<Runner>) {
    for event in EVENTS {
        for bib in COUNTED {
            let runner = Runner {
                event: event.to_owned(),
                bib,
                name: "Ann".to_owned(),
                email: None,
                age: 20,
                city: None,
                note: None,
                count: 0,
            };
            runners.insert(&runner).await.unwrap();
        }
    }
}

/// The errors that another caller's write may cause. Any other error is a bug.
fn expected<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(
            Error::AlreadyExists(_)
            | Error::UniqueViolation { .. }
            | Error::Conflict(_)
            | Error::NotFound(_)
            | Error::RowCount(_)
            | Error::Transaction(
                TransactionError::SameRow { .. } | TransactionError::OtherPartition { .. },
            ),
        ) => None,
        Err(error) => panic!("{error:?}"),
    }
}

/// A write of a counted runner that keeps its count, or raises it by one.
pub async fn counted(runners: &Repo<Runner>, ledger: &Ledger, random: &mut Rng) {
    let event = *random.choice(&EVENTS).unwrap();
    let bib = *random.choice(&COUNTED).unwrap();
    let by_bib = Runner::partition(event).by_bib().bib(bib);
    let name = if random.bool() { "Ann" } else { "Bob" };
    match random.u8(0..6) {
        0 => {
            // A move: the canonical key changes with the name.
            let loaded = expected(runners.load(by_bib).await.unwrap().one());
            let Some(mut runner) = loaded else { return };
            runner.change(random);
            runner.name = name.to_owned();
            runner.count += 1;
            if expected(runners.save(runner).await).is_some() {
                ledger.acknowledge(event, bib);
            }
        }
        1 => {
            let age = *random.choice(&[20, 40, 60, 80]).unwrap();
            let update = runners.update(by_bib.name(name), move |runner| {
                runner.count += 1;
                runner.age = age;
            });
            if expected(update.await).is_some() {
                ledger.acknowledge(event, bib);
            }
        }
        4 => {
            let age = *random.choice(&[20, 40, 60, 80]).unwrap();
            let key = by_bib.name(name);
            let counted = runners.transaction_with(Runner::partition(event), async |tx| {
                let Some(mut runner) = tx.load(&key).await? else { return Ok(false) };
                runner.count += 1;
                runner.age = age;
                tx.save(runner);
                Ok(true)
            });
            if expected(counted.await) == Some(true) {
                ledger.acknowledge(event, bib);
            }
        }
        5 => {
            let key = by_bib.name(name);
            let Some(loaded) =
                expected(runners.load_many([&key]).await).and_then(|mut all| all.remove(0))
            else {
                return;
            };
            let patch = RunnerPatch::default().note("seen");
            expected(runners.merge(&key, patch).if_match(loaded.etag()).await);
        }
        2 => {
            let patch = RunnerPatch::default().note(format!("n{}", random.u32(0..100)));
            expected(runners.merge(by_bib.name(name), patch).await);
        }
        _ => {
            let by_age = Runner::partition(event).by_age();
            let loaded = runners.load(by_age.age_in(60..)).await.unwrap();
            for mut runner in loaded.into_iter().filter(|runner| runner.bib == bib) {
                runner.city = Some("w0".to_owned());
                runner.count += 1;
                if expected(runners.save(&mut runner).await).is_some() {
                    ledger.acknowledge(event, bib);
                }
            }
        }
    }
}

/// Any write of a runner that nobody counts.
pub async fn any(tables: &Tables, runners: &Repo<Runner>, random: &mut Rng) {
    let runner = Runner::random(random);
    let partition = Runner::partition(&runner.event);
    let key = partition.by_bib().bib(runner.bib).name(&runner.name);
    match random.u8(0..17) {
        0 | 1 => drop(expected(runners.insert(&runner).await)),
        2 => drop(expected(runners.upsert(&runner).await)),
        3 => drop(expected(runners.insert_or_merge(&runner).await)),
        4 => drop(expected(runners.force_replace(&runner).await)),
        5 => drop(expected(runners.force_delete(&runner).await)),
        6 => {
            let patch = RunnerPatch::default().note("patched").count(random.u32(0..9));
            expected(runners.merge(key, patch).await);
        }
        7 => {
            let mut random = random.fork();
            let update = runners.update(key, move |runner| runner.change(&mut random));
            expected(update.await);
        }
        8 | 9 => {
            let Some(loaded) = expected(runners.load(key).await.unwrap().one()) else { return };
            let mut loaded = loaded;
            loaded.change(random);
            loaded.bib = random.u32(0..6);
            expected(runners.save(loaded).await);
        }
        10 => {
            let Some(loaded) = expected(runners.load(key).await.unwrap().one()) else { return };
            expected(runners.delete(loaded).await);
        }
        13 => {
            let change = {
                let mut random = random.fork();
                move |runner: &mut Runner| runner.change(&mut random)
            };
            let update = runners.update(key, change).or_insert_with(|| runner.clone());
            expected(update.await);
        }
        14 => {
            let Some(loaded) = expected(runners.reload(&runner).await) else { return };
            if random.bool() {
                expected(runners.delete_if(loaded.key(), loaded.etag()).await);
            } else {
                expected(runners.delete_by_key(loaded.key()).await);
            }
        }
        15 => {
            let Some(mut inserted) = expected(runners.insert_loaded(&runner).await) else { return };
            inserted.change(random);
            expected(runners.save(inserted).await);
        }
        16 => {
            // Two runners exchange what is unique, and a third is required.
            let loaded = runners.load(&partition).await.unwrap();
            let mut free = loaded.into_iter().filter(|runner| runner.bib < 6);
            let (Some(mut one), Some(mut two)) = (free.next(), free.next()) else { return };
            let (first, second) = (&mut *one, &mut *two);
            std::mem::swap(&mut first.email, &mut second.email);
            if random.bool() {
                std::mem::swap(&mut first.bib, &mut second.bib);
                std::mem::swap(&mut first.name, &mut second.name);
            }
            let third = free.next();
            let transaction = tables.transaction(&partition).save(one).save(two);
            let transaction = match &third {
                Some(third) => transaction.require(third),
                None => transaction,
            };
            expected(transaction.commit().await);
        }
        11 => {
            let many: Vec<_> = (0..4).map(|_| Runner::random(random)).collect();
            let report = if random.bool() {
                runners.insert_many(many).await
            } else {
                runners.upsert_many(many).await
            };
            report.failures.into_iter().for_each(|failure| {
                expected::<()>(Err(failure.error));
            });
        }
        _ => {
            let loaded = runners.load(&partition).await.unwrap();
            let mut free = loaded.into_iter().filter(|runner| runner.bib < 6);
            let mut transaction = tables.transaction(&partition).insert(&runner);
            if let Some(mut saved) = free.next() {
                saved.change(random);
                transaction = transaction.save(saved);
            }
            if let Some(deleted) = free.next() {
                transaction = transaction.delete(deleted);
            }
            expected(transaction.commit().await);
        }
    }
}

/// Any write of a lap.
pub async fn blind(laps: &Repo<Lap>, random: &mut Rng) {
    let lap = Lap::random(random);
    let key = Lap::partition(&lap.event).by_number().number(lap.number);
    match random.u8(0..7) {
        0 => drop(expected(laps.insert(&lap).await)),
        1 => drop(expected(laps.upsert(&lap).await)),
        2 => drop(expected(laps.insert_or_merge(&lap).await)),
        3 => drop(expected(laps.force_replace(&lap).await)),
        4 => drop(expected(laps.force_delete(&lap).await)),
        5 => drop(expected(laps.merge(key, LapPatch::default().label("patched")).await)),
        _ => drop(expected(laps.update(key, |lap| lap.metres += 1).await)),
    }
}
