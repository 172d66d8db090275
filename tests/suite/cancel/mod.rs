//! A call that is dropped at any await writes everything or nothing, and leaves no lock behind.

mod maintenance;
mod other_partitions;

use futures_util::future::{BoxFuture, FutureExt as _};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use support::polls::poll_times;
use table_orm::embedded::EmbeddedStore;
use table_orm::entity::EntityKey;
use table_orm::layer::{FaultStore, Faults, Retry};
use table_orm::repo::Table;
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use table_orm::{EntityKeys as _, Result, ScanPermit, TableEntity, Tables, shares_table};

/// Each write of it is of several rows.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "cards", partition = "{deck}", unique(slug))]
#[row(by_number, key = "CARD:{number:05}")]
#[row(by_title, key = "TITLE:{title}__{number:05}")]
struct Card {
    deck: String,
    number: u32,
    title: String,
    slug: Option<String>,
    stars: u32,
}

/// A patch can insert it, in two rows.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "cards", partition = "{deck}")]
#[row(by_player, key = "SCORE:{player:05}")]
#[row(last, key = "LAST:{newest}")]
#[component(newest = desc(player))]
struct Score {
    #[table(key_only)]
    deck: String,
    #[table(key_only)]
    player: u32,
    points: u32,
}

shares_table!(Card, Score);

fn card(number: u32) -> Card {
    let (title, slug) = (format!("T{number}"), Some(format!("s{number}")));
    Card { deck: "d".into(), number, title, slug, stars: 0 }
}

/// The same card, under other index keys.
fn moved(number: u32) -> Card {
    Card { title: format!("U{number}"), slug: Some(format!("v{number}")), stars: 1, ..card(number) }
}

fn key(number: u32) -> EntityKey<<Card as TableEntity>::Canonical> {
    card(number).key()
}

fn rename(card: &mut Card) {
    *card = moved(card.number);
}

/// A store in which each request yields before it takes effect and after.
#[derive(Debug)]
struct Yielding<S>(S);

impl<S: Store> Middleware for Yielding<S> {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = std::result::Result<T, StoreError>> + Send,
    ) -> std::result::Result<T, StoreError> {
        tokio::task::yield_now().await;
        let answer = next.await;
        tokio::task::yield_now().await;
        answer
    }
}

type Call = fn(Tables) -> BoxFuture<'static, Result<()>>;

macro_rules! calls {
    ($entity:ident: $($name:literal: $repo:ident => $call:expr,)+) => {
        &[$(($name, |tables| {
            async move {
                let $repo = tables.repo::<$entity>();
                $call
            }
            .boxed()
        })),+]
    };
}

/// Calls whose writes are one transaction, with the cards 1 and 2 stored.
const WHOLE: &[(&str, Call)] = calls! { Card:
    "insert": cards => cards.insert(&card(3)).await.map(drop),
    "insert_loaded": cards => cards.insert_loaded(&card(3)).await.map(drop),
    "upsert": cards => cards.upsert(&moved(1)).await.map(drop),
    "upsert of a new one": cards => cards.upsert(&card(3)).await.map(drop),
    "insert_or_merge": cards => cards.insert_or_merge(&moved(1)).await.map(drop),
    "force_replace": cards => cards.force_replace(&moved(1)).await.map(drop),
    "force_delete": cards => cards.force_delete(&card(1)).await,
    "merge": cards => {
        let patch = CardPatch::default().stars(1_u32);
        cards.merge(key(1), patch).await.map(drop)
    },
    "merge in one version": cards => {
        let loaded = cards.reload(&card(1)).await?;
        let merge = cards.merge(key(1), CardPatch::default().stars(1_u32));
        merge.if_match(loaded.etag()).await.map(drop)
    },
    "update": cards => cards.update(key(1), rename).await.map(drop),
    "update or insert, there": cards => {
        cards.update(key(1), rename).or_insert_with(|| card(1)).await.map(drop)
    },
    "update or insert, absent": cards => {
        cards.update(key(3), rename).or_insert_with(|| card(3)).await.map(drop)
    },
    "save": cards => {
        let mut loaded = cards.reload(&card(1)).await?;
        rename(&mut loaded);
        cards.save(&mut loaded).await.map(drop)
    },
    "replace": cards => {
        let etag = cards.reload(&card(1)).await?.etag().clone();
        cards.replace(&moved(1), &etag).await.map(drop)
    },
    "delete": cards => {
        let loaded = cards.reload(&card(1)).await?;
        cards.delete(loaded).await
    },
    "delete_if": cards => {
        let found = cards.load_many([key(1), key(3)]).await?.swap_remove(0);
        let etag = found.map(|loaded| loaded.etag().clone()).unwrap();
        cards.delete_if(key(1), &etag).await
    },
    "delete_by_key": cards => cards.delete_by_key(key(1)).await,
    "transaction": cards => {
        let mut first = cards.reload(&card(1)).await?;
        let second = cards.reload(&card(2)).await?;
        rename(&mut first);
        let write = cards.transaction(first.partition()).save(&mut first).insert(&card(3));
        write.delete(second).commit().await.map(drop)
    },
    "transaction_with": cards => {
        let write = cards.transaction_with(card(1).partition(), async |tx| {
            let Some(mut first) = tx.load(key(1)).await? else { return Ok(()) };
            tx.get(key(2)).await?;
            rename(&mut first);
            tx.save(first);
            tx.insert(&card(3));
            Ok(())
        });
        write.await
    },
};

/// Others, with the score 1 stored.
const MERGES: &[(&str, Call)] = calls! { Score:
    "merge or insert, there": scores => {
        let first = Score::partition("d").by_player().player(1);
        scores.merge(first, ScorePatch::default().points(9_u32)).or_insert().await.map(drop)
    },
    "merge or insert, absent": scores => {
        let second = Score::partition("d").by_player().player(2);
        scores.merge(second, ScorePatch::default().points(9_u32)).or_insert().await.map(drop)
    },
};

/// Calls that write each card on its own, or some of them together.
const EACH: &[(&str, Call)] = calls! { Card:
    "insert_many": cards => cards.insert_many((3..9).map(card)).await.all().map(drop),
    "upsert_many": cards => cards.upsert_many((1..5).map(moved)).await.all().map(drop),
    "delete_many": cards => {
        let loaded = cards.load(card(1).partition()).await?;
        cards.delete_many(loaded).await.all().map(drop)
    },
    "delete_partition": cards => cards.delete_partition(card(1).partition()).await.map(drop),
};

/// The rows, without their versions and the mark of the retries.
async fn snapshot(rows: &Table) -> BTreeMap<String, String> {
    let rows = rows.list("d", ..).collect().await.unwrap();
    let without_id = rows.into_iter().map(|mut row| {
        row.properties.remove("WriteId");
        (row.row_key, format!("{:?}", row.properties))
    });
    without_id.collect()
}

/// An embedded store with the cards 1 and 2 and the score 1, below any fault.
struct Subject {
    store: Arc<EmbeddedStore>,
    rows: Table,
}

impl Subject {
    async fn new() -> Self {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let tables = Tables::new(Arc::clone(&store));
        let cards = tables.repo::<Card>();
        cards.create_table().await.unwrap();
        for number in [1, 2] {
            cards.insert(&card(number)).await.unwrap();
        }
        let score = Score { deck: "d".into(), player: 1, points: 1 };
        tables.repo().insert(&score).await.unwrap();
        let rows = tables.table(cards.table().clone());
        Self { store, rows }
    }
}

/// A client whose requests fail at times, and its faults.
fn among_faults(store: Arc<EmbeddedStore>, seed: u64) -> (Tables, Option<FaultStore>) {
    let faults = Faults::seeded(seed).errors_before(0.1).errors_after(0.2);
    let faults = faults.lost_requests(0.1).lost_replies(0.2).throttled(0.1);
    let faults = faults.store(store).unwrap();
    let tables = Tables::new(Yielding(faults.clone()));
    let retry = Retry::interactive().write_id("WriteId");
    (tables.layer(retry).unwrap(), Some(faults))
}

/// Drops a call after a number of polls, and checks what it leaves. Returns whether it wrote, and its end.
async fn cancel(
    name: &str,
    call: Call,
    polls: usize,
    tables: impl FnOnce(Arc<EmbeddedStore>) -> (Tables, Option<FaultStore>),
    after: Option<&BTreeMap<String, String>>,
) -> (bool, Option<Result<()>>) {
    let subject = Subject::new().await;
    let before = snapshot(&subject.rows).await;
    let (tables, faults) = tables(Arc::clone(&subject.store));
    let ended = poll_times(call(tables.clone()), polls).await;
    let left = snapshot(&subject.rows).await;
    if let Some(after) = after {
        assert!(left == before || left == *after, "{name}, {polls} polls: {left:#?}");
    }
    if let Some(faults) = faults {
        faults.disable();
    }
    // Through the retries, which know the mark.
    let cards = tables.repo::<Card>();
    let report = cards.verify_table(ScanPermit::because("test")).await.unwrap();
    assert!(report.findings.is_empty(), "{name}, {polls} polls: {:?}", report.findings);
    let report = tables.repo::<Score>().verify_table(ScanPermit::because("test")).await.unwrap();
    assert!(report.findings.is_empty(), "{name}, {polls} polls: {:?}", report.findings);
    // No lock is left behind, for the card and for the partition.
    let next = async {
        cards.update(key(1), |card| card.stars += 1).or_insert_with(|| card(1)).await.unwrap();
        let write = cards.transaction_with(card(1).partition(), async |tx| {
            let mut first = tx.load(key(1)).await?.unwrap();
            first.stars += 1;
            tx.save(first);
            Ok(())
        });
        write.await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(4), next).await.unwrap();
    (left != before, ended)
}

async fn after(call: Call) -> BTreeMap<String, String> {
    let subject = Subject::new().await;
    call(Tables::new(Arc::clone(&subject.store))).await.unwrap();
    snapshot(&subject.rows).await
}

/// Every call, and whether its writes are one transaction.
fn every_call() -> impl Iterator<Item = (&'static (&'static str, Call), bool)> {
    let whole = WHOLE.iter().chain(MERGES).map(|call| (call, true));
    whole.chain(EACH.iter().map(|call| (call, false)))
}

#[tokio::test]
async fn a_call_that_is_dropped_anywhere_writes_everything_or_nothing() {
    for ((name, call), is_whole) in every_call() {
        let after = after(*call).await;
        let after = is_whole.then_some(&after);
        // Whether it was dropped with nothing written, and with its writes.
        let mut seen = (false, false);
        for polls in 0.. {
            let tables = |store| (Tables::new(Yielding(store)), None);
            let (wrote, ended) = cancel(name, *call, polls, tables, after).await;
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
async fn a_call_that_is_dropped_among_faults_writes_everything_or_nothing() {
    for ((name, call), is_whole) in every_call() {
        let after = after(*call).await;
        let after = is_whole.then_some(&after);
        let mut wrote = 0;
        for polls in 0..24 {
            let tables = |store| among_faults(store, polls as u64);
            wrote += usize::from(cancel(name, *call, polls, tables, after).await.0);
        }
        assert!((1..24).contains(&wrote), "{name}: {wrote}");
    }
}
