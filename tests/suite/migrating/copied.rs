//! A type that cannot migrate, copied into another table: the recipe of the guide's page.

use futures_util::TryStreamExt as _;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, Layer as _, Retry};
use table_orm::store::Store;
use table_orm::{Error, Repo, ScanPermit, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "tasks", partition = "{team}", row = "T:{n:04}")]
#[row(by_day, partition = "{day}", key = "DAY:{n:04}__{team}", eventual)]
struct TaskV1 {
    team: String,
    n: u32,
    day: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "tasks2", partition = "{team}__{year}", row = "TASK:{n:08}")]
#[row(by_day, partition = "{day}", key = "DAY:{n:08}__{team}__{year}", eventual)]
struct Task {
    team: String,
    year: u32,
    n: u32,
    day: String,
}

impl From<TaskV1> for Task {
    fn from(TaskV1 { team, n, day }: TaskV1) -> Self {
        Self { team, year: 2000 + n % 3, n, day }
    }
}

/// Makes the new table like the old one. Returns how many entities it changed.
async fn copy(old: &Repo<TaskV1>, new: &Repo<Task>) -> Result<u64, Error> {
    let permit = || ScanPermit::because("test");
    let mut changed = 0;
    let mut all = old.scan(permit()).stream();
    while let Some(task) = all.next().await? {
        let task = Task::from(task);
        let key = Task::partition(&task.team, task.year).row().n(task.n);
        if new.get(key).await?.as_ref() != Some(&task) {
            new.upsert(&task).await?;
            changed += 1;
        }
    }
    let mut all = new.scan(permit()).stream();
    while let Some(task) = all.next().await? {
        let is_there = old.get(TaskV1::partition(&task.team).row().n(task.n)).await?.is_some();
        let key = Task::partition(&task.team, task.year).row().n(task.n);
        if !is_there && let Some(gone) = new.load(key).await?.optional()? {
            new.delete(gone).await?;
            changed += 1;
        }
    }
    Ok(changed)
}

/// What the app does with a task.
#[derive(Debug, Clone)]
enum Call {
    Write { n: u32, day: u8 },
    Delete { n: u32 },
}

fn call() -> impl Strategy<Value = Call> {
    let number = 0_u32..12;
    prop_oneof![
        3 => (number.clone(), 0_u8..4).prop_map(|(n, day)| Call::Write { n, day }),
        1 => number.prop_map(|n| Call::Delete { n }),
    ]
}

fn day(day: u8) -> String {
    format!("2026-11-{:02}", day + 1)
}

async fn play(old: &Repo<TaskV1>, calls: &[Call]) {
    for one in calls {
        match one {
            Call::Write { n, day: at } => {
                let task = TaskV1 { team: format!("team{}", n % 2), n: *n, day: day(*at) };
                old.upsert(&task).await.unwrap();
            }
            Call::Delete { n } => {
                let key = TaskV1::partition(format!("team{}", n % 2)).row().n(*n);
                if let Some(task) = old.load(key).await.unwrap().optional().unwrap() {
                    old.delete(task).await.unwrap();
                }
            }
        }
    }
}

/// The entities by their team and number.
fn by_number(tasks: Vec<Task>) -> BTreeMap<(String, u32), Task> {
    tasks.into_iter().map(|task| ((task.team.clone(), task.n), task)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the app writes before and between the copies, and whatever requests are lost: once a copy finds nothing
    /// to do, the new table and its rows in other partitions are what the old ones are.
    #[test]
    fn a_copy_that_changes_nothing_proves_that_both_tables_are_alike(
        before in prop::collection::vec(call(), 0..20),
        between in prop::collection::vec(call(), 0..20),
        seed in any::<u64>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
            let tables = Tables::new(store.clone());
            let (old, new) = (tables.repo::<TaskV1>(), tables.repo::<Task>());
            old.create_table().await.unwrap();
            new.create_table().await.unwrap();
            let faults = Faults::seeded(seed).throttled(0.03).errors_after(0.05).lost_requests(0.03);
            let network = Retry::interactive().seed(seed).around(Arc::new(faults.store(store).unwrap())).unwrap();
            let job = Tables::new(network);
            let (from, to) = (job.repo::<TaskV1>(), job.repo::<Task>());
            play(&old, &before).await;
            let _first = copy(&from, &to).await;
            play(&old, &between).await;
            // A run that an error ends is begun again.
            let mut runs = 0;
            while !matches!(copy(&from, &to).await, Ok(0)) {
                runs += 1;
                assert!(runs < 50, "the copies do not end");
            }
            // Without faults: a lost answer of the sweep itself would only end it early.
            new.settle(ScanPermit::because("test")).grace(Duration::ZERO).await.all().unwrap();
            let permit = || ScanPermit::because("test");
            let expected: Vec<TaskV1> = old.scan(permit()).stream().try_collect().await.unwrap();
            let expected: Vec<Task> = expected.into_iter().map(Into::into).collect();
            let copied: Vec<Task> = new.scan(permit()).stream().try_collect().await.unwrap();
            assert_eq!(by_number(copied), by_number(expected.clone()));
            for at in 0..4 {
                let listed = new.list(Task::by_day(day(at))).collect().await.unwrap();
                let of_day = expected.iter().filter(|task| task.day == day(at)).cloned().collect();
                assert_eq!(by_number(listed), by_number(of_day));
            }
            let left = new.verify_eventual_table::<TaskByDay>(permit()).await.unwrap();
            assert!(left.findings.is_empty(), "{left:?}");
        });
    }
}
