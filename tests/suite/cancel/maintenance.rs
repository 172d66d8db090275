//! Maintenance that is dropped: no entity is changed, nothing new is out of step, and the same call goes on.

use super::{Call, Card, Subject, Yielding, among_faults, card, key, poll_times, snapshot};
use futures_util::future::FutureExt as _;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::FaultStore;
use table_orm::{EntityKeys as _, Result, ScanPermit, TableEntity, Tables};

/// The cards as a later version of the type has them.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "cards", partition = "{deck}", unique(slug))]
#[row(by_number, key = "CARD:{number:05}")]
#[row(by_title, key = "TITLE:{title}__{number:05}")]
struct LaterCard {
    deck: String,
    number: u32,
    title: String,
    slug: Option<String>,
    stars: u32,
    #[table(default)]
    likes: u32,
}

const CALLS: &[(&str, Call)] = &[
    ("repair", |tables| {
        async move {
            let cards = tables.repo::<Card>();
            let found = cards.verify(card(1).partition()).await?;
            cards.repair(found.findings).await.all().map(drop)
        }
        .boxed()
    }),
    ("backfill", |tables| {
        async move {
            let cards = tables.repo::<Card>();
            cards.backfill(card(1).partition()).await.all().map(drop)
        }
        .boxed()
    }),
    ("rewrite", |tables| {
        async move { tables.repo::<LaterCard>().rewrite(permit()).await.all().map(drop) }.boxed()
    }),
];

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

/// Two cards that a backfill and a repair have rows to write for.
async fn damaged(name: &str) -> Subject {
    let subject = Subject::new().await;
    if name == "rewrite" {
        return subject;
    }
    for number in [1, 2] {
        let row_key = format!("TITLE:T{number}__{number:05}");
        let mut row = subject.rows.get("d", &row_key).await.unwrap().unwrap();
        subject.rows.delete(&row).await.unwrap();
        if name == "repair" {
            // The row of an older title was left behind.
            row.row_key = format!("TITLE:S{number}__{number:05}");
            row = row.with("Title", format!("S{number}"));
            subject.rows.insert(&row).await.unwrap();
        }
    }
    subject
}

async fn findings(tables: &Tables) -> BTreeSet<String> {
    let report = tables.repo::<LaterCard>().verify_table(permit()).await.unwrap();
    report.findings.iter().map(ToString::to_string).collect()
}

/// Drops a call after a number of polls, and checks what it leaves. Returns whether it wrote, and its end.
async fn cancel(
    name: &str,
    call: Call,
    polls: usize,
    client: impl FnOnce(Arc<EmbeddedStore>) -> (Tables, Option<FaultStore>),
    after: &BTreeMap<String, String>,
) -> (bool, Option<Result<()>>) {
    let subject = damaged(name).await;
    let before = snapshot(&subject.rows).await;
    let (tables, faults) = client(Arc::clone(&subject.store));
    let out_of_step = findings(&Tables::new(Arc::clone(&subject.store))).await;
    let ended = poll_times(call(tables.clone()), polls).await;
    let left = snapshot(&subject.rows).await;
    if let Some(faults) = faults {
        faults.disable();
    }
    let found = findings(&tables).await;
    assert!(found.is_subset(&out_of_step), "{name}, {polls} polls: {found:#?}");
    let cards = tables.repo::<Card>();
    let entities = cards.list(card(1).partition()).collect().await.unwrap();
    assert_eq!(entities, [card(1), card(2)], "{name}, {polls} polls");
    // The same call goes on.
    call(tables.clone()).await.unwrap();
    assert_eq!(snapshot(&subject.rows).await, *after, "{name}, {polls} polls");
    // No lock is left behind.
    let next = cards.update(key(1), |card| card.stars += 1);
    tokio::time::timeout(Duration::from_secs(4), async { next.await.unwrap() }).await.unwrap();
    (left != before, ended)
}

async fn after(name: &str, call: Call) -> BTreeMap<String, String> {
    let subject = damaged(name).await;
    let tables = Tables::new(Arc::clone(&subject.store));
    let before = snapshot(&subject.rows).await;
    call(tables.clone()).await.unwrap();
    let after = snapshot(&subject.rows).await;
    assert_ne!(after, before, "{name}");
    assert_eq!(findings(&tables).await, BTreeSet::new(), "{name}");
    after
}

#[tokio::test]
async fn maintenance_that_is_dropped_anywhere_breaks_nothing_and_goes_on() {
    for (name, call) in CALLS {
        let after = after(name, *call).await;
        // Whether it was dropped with nothing written, and with some rows.
        let mut seen = (false, false);
        for polls in 0.. {
            let client = |store| (Tables::new(Yielding(store)), None);
            let (wrote, ended) = cancel(name, *call, polls, client, &after).await;
            seen = (seen.0 || !wrote, seen.1 || wrote && ended.is_none());
            if let Some(ended) = ended {
                ended.unwrap();
                break;
            }
        }
        assert_eq!(seen, (true, true), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn maintenance_that_is_dropped_among_faults_breaks_nothing_and_goes_on() {
    for (name, call) in CALLS {
        let after = after(name, *call).await;
        let mut wrote = 0;
        for seed in 0..24 {
            let client = |store| among_faults(store, seed as u64);
            wrote += usize::from(cancel(name, *call, 4 * seed, client, &after).await.0);
        }
        assert!((1..24).contains(&wrote), "{name}: {wrote}");
    }
}
