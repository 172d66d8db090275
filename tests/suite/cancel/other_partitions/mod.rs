//! Calls that write more than one transaction: rows in other partitions, values
//! unique over all partitions, sums, events.
//!
//! A call that is dropped at any await, and a process that ends at any request or answer, leaves nothing that one
//! sweep does not put right.

// Several rows are `eventual`; clippy takes the repeated word for a repeated attribute (rust-clippy issue
// 13238).
#![allow(clippy::duplicated_attributes)]

mod ending;
mod parcels;

use super::{Yielding, poll_times};
use ending::Ending;
use futures_util::future::{BoxFuture, FutureExt as _};
use parcels::{Client, Depot, Parcel, ParcelPatch, key, moved, parcel};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use table_orm::{EntityKeys as _, Result, Tables};
use tokio::time::sleep;

type Call = fn(Client) -> BoxFuture<'static, Result<()>>;

macro_rules! calls {
    ($($name:literal: $client:ident => $call:expr,)+) => {
        &[$(($name, |$client| async move { $call }.boxed())),+]
    };
}

fn rename(parcel: &mut Parcel) {
    *parcel = moved(parcel.number);
}

/// Writes, with the parcels 1 and 2 stored.
const WRITES: &[(&str, Call)] = calls! {
    "insert": it => it.parcels.insert(&parcel(3)).await.map(drop),
    "insert, settled later": it => it.parcels.insert(&parcel(3)).settle_later().await.map(drop),
    "insert_loaded": it => it.parcels.insert_loaded(&parcel(3)).await.map(drop),
    "upsert": it => it.parcels.upsert(&moved(1)).await.map(drop),
    "upsert of a new one": it => it.parcels.upsert(&parcel(3)).await.map(drop),
    "insert_or_merge": it => it.parcels.insert_or_merge(&moved(1)).await.map(drop),
    "force_replace": it => it.parcels.force_replace(&moved(1)).await.map(drop),
    "force_delete": it => it.parcels.force_delete(&parcel(1)).await,
    "merge": it => {
        let patch = ParcelPatch::default().grams(2000_u32);
        it.parcels.merge(key(1), patch).await.map(drop)
    },
    "update": it => it.parcels.update(key(1), rename).await.map(drop),
    "update or insert": it => {
        it.parcels.update(key(3), rename).or_insert_with(|| parcel(3)).await.map(drop)
    },
    "save": it => {
        let mut loaded = it.parcels.reload(&parcel(1)).await?;
        rename(&mut loaded);
        it.parcels.save(&mut loaded).await.map(drop)
    },
    "save under another key": it => {
        let mut loaded = it.parcels.reload(&parcel(1)).await?;
        loaded.label = None;
        it.parcels.save(&mut loaded).await?;
        loaded.number = 3;
        it.parcels.save(&mut loaded).await.map(drop)
    },
    "replace": it => {
        let etag = it.parcels.reload(&parcel(1)).await?.etag().clone();
        it.parcels.replace(&moved(1), &etag).await.map(drop)
    },
    "delete": it => {
        let loaded = it.parcels.reload(&parcel(1)).await?;
        it.parcels.delete(loaded).await
    },
    "delete_if": it => {
        let etag = it.parcels.reload(&parcel(1)).await?.etag().clone();
        it.parcels.delete_if(key(1), &etag).await
    },
    "delete_by_key": it => it.parcels.delete_by_key(key(1)).await,
    "transaction": it => {
        let mut first = it.parcels.reload(&parcel(1)).await?;
        let second = it.parcels.reload(&parcel(2)).await?;
        rename(&mut first);
        let write = it.parcels.transaction(first.partition()).save(&mut first).insert(&parcel(3));
        write.delete(second).commit().await.map(drop)
    },
    "transaction_with": it => {
        let write = it.tables.transaction_with(parcel(1).partition(), async |tx| {
            let Some(mut first) = tx.load(key(1)).await? else { return Ok(()) };
            rename(&mut first);
            tx.save(first);
            tx.insert(&parcel(3));
            Ok(())
        });
        write.await
    },
    "insert_many": it => {
        let other = Parcel { depot: "e".into(), ..parcel(4) };
        it.parcels.insert_many([parcel(3), other, parcel(5)]).await.all().map(drop)
    },
    "upsert_many": it => {
        it.parcels.upsert_many([moved(1), moved(2), parcel(3)]).await.all().map(drop)
    },
    "delete_many": it => {
        let loaded = it.parcels.load(parcel(1).partition()).await?;
        it.parcels.delete_many(loaded).await.all().map(drop)
    },
    "delete_partition": it => it.parcels.delete_partition(parcel(1).partition()).await.map(drop),
};

/// Calls that write again what a process before them left.
const UPKEEP: &[(&str, Call)] = calls! {
    "settle": it => it.settle().await,
    "settle one partition": it => {
        it.parcels.settle(parcel(1).partition()).grace(Duration::ZERO).await.all().map(drop)
    },
    "dispatch": it => it.dispatch().await,
    "repair": it => {
        let found = it.parcels.verify(parcel(1).partition()).await?.findings;
        it.parcels.repair(found).await.all()?;
        let found = it.parcels.verify_eventual(Parcel::by_day(1)).await?.findings;
        it.parcels.repair(found).await.all().map(drop)
    },
    "backfill": it => it.parcels.backfill(parcel(1).partition()).await.all().map(drop),
};

/// Two parcels whose rows are damaged, after processes that ended in the midst of their writes.
async fn left_behind() -> Depot {
    let depot = Depot::open().await;
    depot.damage().await;
    const LEFT: [(usize, Call); 4] = [
        (14, |it| async move { it.parcels.upsert(&moved(1)).await.map(drop) }.boxed()),
        (5, |it| async move { it.parcels.insert(&parcel(3)).await.map(drop) }.boxed()),
        (24, |it| async move { it.parcels.insert(&parcel(4)).await.map(drop) }.boxed()),
        (17, |it| async move { it.parcels.force_delete(&parcel(1)).await }.boxed()),
    ];
    for (points, call) in LEFT {
        let ending = Ending::after(points, depot.store());
        let client = depot.client(Tables::new(Arc::clone(&ending)));
        assert!(ending.run(call(client)).await.is_none());
    }
    depot
}

/// Runs a call in a process that ends after that many points. Returns whether it ended before it was through.
async fn ends(depot: &Depot, call: Call, points: usize) -> bool {
    let ending = Ending::after(points, depot.store());
    let returned = ending.run(call(depot.client(Tables::new(Arc::clone(&ending))))).await;
    // Until nothing goes on in the background.
    sleep(Duration::from_secs(600)).await;
    if !ending.has_ended() {
        returned.unwrap().unwrap();
    }
    ending.has_ended()
}

/// Drops a call after that many polls. Returns whether that was before it was through.
async fn is_dropped(depot: &Depot, call: Call, polls: usize) -> bool {
    let client = depot.client(Tables::new(Yielding(depot.store())));
    let returned = poll_times(call(client), polls).await;
    sleep(Duration::from_secs(600)).await;
    returned.map(Result::unwrap).is_none()
}

/// Cuts each call short at every point until it is through, and checks what is left: once where several points leave
/// the same. Returns at how many points an intent or a ticket was left.
async fn at_every_point(
    calls: &[(&str, Call)],
    depot: impl AsyncFn() -> Depot,
    cut_short: impl AsyncFn(&Depot, Call, usize) -> bool,
    go_on: impl AsyncFn(&Depot),
) -> usize {
    let (mut checked, mut unsettled) = (BTreeSet::new(), 0);
    for (name, call) in calls {
        let mut is_through = false;
        for point in 0.. {
            if is_through {
                assert!(point > 5, "{name} is through at point {point}");
                break;
            }
            let depot = depot().await;
            is_through = !cut_short(&depot, *call, point).await;
            let left = depot.left().await;
            unsettled += usize::from(left.is_unsettled());
            if checked.insert(left) {
                go_on(&depot).await;
                depot.check(&format!("{name}, point {point}")).await;
            }
        }
    }
    unsettled
}

/// Makes all calls of the upkeep, to their ends.
async fn keep_up(depot: &Depot) {
    for (_, call) in UPKEEP {
        call(depot.later()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_anywhere_in_a_write_leaves_what_one_sweep_puts_right() {
    let unsettled = at_every_point(WRITES, Depot::open, ends, async |_| {}).await;
    assert!(unsettled > 300, "there is something to sweep");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_dropped_anywhere_leaves_what_one_sweep_puts_right() {
    at_every_point(WRITES, Depot::open, is_dropped, async |_| {}).await;
}

#[tokio::test(start_paused = true)]
async fn upkeep_in_a_process_that_ends_anywhere_goes_on_with_the_next_call() {
    at_every_point(UPKEEP, left_behind, ends, keep_up).await;
}

#[tokio::test(start_paused = true)]
async fn upkeep_that_is_dropped_anywhere_goes_on_with_the_next_call() {
    at_every_point(UPKEEP, left_behind, is_dropped, keep_up).await;
}
