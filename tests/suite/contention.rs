//! Calls of several processes on one entity: they wait for each other, and none fails.
//!
//! Time is virtual: each `Tables` waits on the paused clock of its runtime, and so does the store.

use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use support::distant::Distant;
use support::{dose, draw};
use table_orm::embedded::EmbeddedStore;
use table_orm::store::Store;
use table_orm::{Error, TableEntity, Tables};
use tokio::time::Instant;

const PROCESSES: u64 = 16;
const CALLS: u32 = 20;

#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "counters", partition = "{space}", row = "{id:05}")]
struct Counter {
    space: String,
    id: u32,
    count: u32,
}

/// Runs the updates of all processes at once. Returns the errors, and the number of requests.
async fn contend(seed: u64, latency: Duration, processes: u64) -> (Vec<Error>, usize) {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
    // Some milliseconds each way.
    let distant = Distant::new(Arc::clone(&store), move |request, way| {
        latency * draw((seed, request, way), 70..130) as u32 / 200
    });
    let below = Tables::new(store).repo::<Counter>();
    below.create_table().await.unwrap();
    below.insert(&Counter { space: "a".into(), id: 1, count: 0 }).await.unwrap();
    let key = Counter::partition("a").row().id(1);
    let connections =
        (0..processes).map(|process| Tables::new(distant.clone()).on_virtual_time(seed + process));
    let repos: Vec<_> = connections.map(|tables| tables.repo::<Counter>()).collect();
    let calls = repos.iter().flat_map(|repo| {
        (0..CALLS).map(|_| repo.update(&key, |counter| counter.count += 1).into_future())
    });
    let ended = join_all(calls.map(tokio::spawn)).await;
    let calls = ended.len();
    let errors: Vec<_> = ended.into_iter().filter_map(|ended| ended.unwrap().err()).collect();
    let stored = below.get(&key).await.unwrap().unwrap();
    assert_eq!(stored.count as usize, calls - errors.len());
    (errors, distant.requests())
}

#[tokio::test(start_paused = true)]
async fn updates_of_sixteen_processes_all_succeed_in_at_most_twice_the_least_requests() {
    let least = (PROCESSES * u64::from(CALLS) * 2) as usize;
    for latency in [1, 5, 20, 50] {
        for seed in 0..dose(3, 30) {
            let (errors, requests) = contend(seed, Duration::from_millis(latency), PROCESSES).await;
            println!("{latency} ms, seed {seed}: {} errors, {requests} requests", errors.len());
            assert_eq!(errors.len(), 0, "{latency} ms, seed {seed}: {}", errors[0]);
            assert!(requests <= 2 * least, "{latency} ms, seed {seed}: {requests} requests");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_with_one_other_process_costs_little() {
    let began = Instant::now();
    let (errors, requests) = contend(1, Duration::from_millis(10), 2).await;
    assert_eq!(errors.len(), 0);
    assert!(requests <= 2 * CALLS as usize * 2 * 14 / 10, "{requests}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "hot", partition = "{space}", unique(code))]
#[row(by_id, key = "ID:{id:04}")]
#[row(by_size, key = "SIZE:{size:04}__{id:04}")]
struct Hot {
    space: String,
    id: u32,
    code: u32,
    size: u32,
}

#[tokio::test(start_paused = true)]
async fn a_write_that_inserts_or_replaces_fails_with_a_conflict_when_others_insert_and_delete() {
    let (mut conflicts, mut kinds) = (0, [0; 4]);
    for seed in 0..dose(4, 30) {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
        let distant = Distant::new(store, move |request, way| {
            Duration::from_millis(5) * draw((seed, request, way), 50..150) as u32 / 100
        });
        let tables = |process: u64| Tables::new(distant.clone()).on_virtual_time(seed + process);
        tables(0).repo::<Hot>().create_table().await.unwrap();
        let processes = (0..8).map(|process| {
            let repo = tables(process).repo::<Hot>();
            tokio::spawn(async move {
                let mut ended = Vec::new();
                for call in 0..50 {
                    let kind = draw((seed, process, call), 0..4) as usize;
                    let of = draw((seed, process, call, "size"), 0..50) as u32;
                    let hot = Hot { space: "a".to_owned(), id: 1, code: of, size: of };
                    let key = Hot::partition("a").by_id().id(1);
                    let once = Duration::ZERO;
                    ended.push((
                        kind,
                        match kind {
                            0 => repo.upsert(&hot).retry_for(once).await.map(drop),
                            1 => repo.insert_or_merge(&hot).retry_for(once).await.map(drop),
                            2 => {
                                let update = repo.update(&key, |hot| hot.size += 1);
                                update
                                    .or_insert_with(|| hot.clone())
                                    .retry_for(once)
                                    .await
                                    .map(drop)
                            }
                            _ => match repo.delete_by_key(&key).retry_for(once).await {
                                Err(Error::NotFound(_)) => Ok(()),
                                deleted => deleted,
                            },
                        },
                    ));
                }
                ended
            })
        });
        for ended in join_all(processes).await {
            for (kind, ended) in ended.unwrap() {
                match ended {
                    Ok(()) => kinds[kind] += 1,
                    Err(Error::Conflict(_)) => conflicts += 1,
                    Err(error) => panic!("seed {seed}, call {kind}: {error}"),
                }
            }
        }
    }
    assert!(conflicts > 0 && kinds.iter().all(|ended| *ended > 0), "{conflicts}, {kinds:?}");
}
