//! Old periods are dropped with their large values, among faults, late writes and clients that end anywhere, while others
//! write the periods that stay.

use bytes::Bytes;
use futures_util::future::{join, join_all};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::blobs::BlobsAround;
use support::{dose, draw, on_virtual_time};
use table_orm::blobs::MemoryBlobs;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Faults, Retry};
use table_orm::model::DateTime;
use table_orm::periods::{Periods, Retain};
use table_orm::property::Large;
use table_orm::{Result, TableEntity, Tables};
use tokio::time::{sleep, timeout};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "shots", partition = "{camera}", row = "{at}", bucket(month, at))]
struct Shot {
    camera: String,
    at: DateTime,
    /// Of the write that stored it, as are both values.
    stamp: i64,
    #[table(chunked)]
    preview: Vec<u8>,
    #[table(overflow)]
    picture: Large,
}

const INLINE: usize = 64 * 1024;
const LATEST: Duration = Duration::from_secs(20);
const OLD: [u32; 3] = [7, 8, 9];
const KEPT: [u32; 2] = [10, 11];

fn at(month: u32, second: u64) -> DateTime {
    format!("2026-{month:02}-03T00:00:0{second}Z").parse().unwrap()
}

/// The bytes of both values of that write.
fn bytes(stamp: i64) -> Bytes {
    let length = INLINE + (stamp % 3) as usize;
    let mut bytes = stamp.to_le_bytes().repeat(length / 8 + 1);
    bytes.truncate(length);
    bytes.into()
}

async fn shot(shots: &Periods<Shot>, at: DateTime, stamp: i64) -> Result<Shot> {
    let mut upload = shots.at(at).upload(Shot::partition("c").row().at(at))?;
    upload.add(bytes(stamp)).await?;
    let (preview, picture) = (bytes(stamp).to_vec(), upload.finish().await?);
    Ok(Shot { camera: "c".into(), at, stamp, preview, picture })
}

async fn write(shots: &Periods<Shot>, at: DateTime, stamp: i64) -> Result<()> {
    let new = shot(shots, at, stamp).await?;
    let key = Shot::partition("c").row().at(at);
    shots.at(at).update(key, |shot| *shot = new.clone()).await.map(drop)
}

fn drops(shots: &Periods<Shot>, in_blobs: bool) -> Retain<Shot> {
    let drops = shots.retain(KEPT.len(), at(11, 0));
    if in_blobs { drops.delete_blobs() } else { drops }
}

async fn run(seed: u64) -> [usize; 2] {
    let (store, blobs) = (Arc::new(EmbeddedStore::in_memory().unwrap()), MemoryBlobs::new());
    // In the other runs, rows hold the values.
    let in_blobs = seed % 2 == 1;
    let network = Faults::seeded(seed)
        .late(0.05)
        .latest(LATEST)
        .errors_before(0.05)
        .errors_after(0.05)
        .lost_replies(0.05)
        .cut_pages(0.2)
        .store(store.clone())
        .unwrap();
    network.disable();
    let connect = |number: u64| {
        let blobs = BlobsAround::with_faults(blobs.clone(), seed * 100 + number);
        let builder = Tables::builder(network.clone()).bare();
        let builder = if in_blobs { builder.blobs(blobs) } else { builder };
        let tables = builder.build().unwrap();
        let tables = tables.layer(Retry::interactive().write_id("WriteId")).unwrap();
        tables.on_virtual_time(seed * 100 + number).periods::<Shot>()
    };
    let quiet = || {
        let builder = Tables::builder(store.clone()).bare();
        let builder = if in_blobs { builder.blobs(blobs.clone()) } else { builder };
        builder.build().unwrap().periods::<Shot>()
    };
    for (number, month) in OLD.into_iter().chain(KEPT).enumerate() {
        for second in 0..2 {
            let shot = shot(&quiet(), at(month, second), 1 + number as i64).await.unwrap();
            quiet().insert(&shot).await.unwrap();
        }
    }
    network.enable();
    let told = Mutex::new(BTreeMap::<DateTime, i64>::new());
    let writers = (0..2).map(|number| {
        let (shots, told) = (connect(number), &told);
        async move {
            for step in 0..12 {
                let dice = |name, most| draw((seed, number, step, name), 0..most);
                sleep(Duration::from_millis(dice("pause", 3_000))).await;
                // Each writer has shots of its own.
                let at = at(KEPT[dice("month", 2) as usize], number);
                let stamp = (100 + 20 * number + step) as i64;
                let life = if dice("dies", 4) == 0 { dice("life", 2_000) } else { 600_000 };
                let written = timeout(Duration::from_millis(life), write(&shots, at, stamp)).await;
                if let Ok(Ok(())) = written {
                    told.lock().unwrap().insert(at, stamp);
                }
            }
        }
    });
    let droppers = (10..12).map(|number| {
        let shots = connect(number);
        async move {
            for step in 0..6 {
                let dice = |name, most| draw((seed, number, step, name), 0..most);
                sleep(Duration::from_millis(dice("pause", 5_000))).await;
                let drops = drops(&shots, in_blobs);
                let life = Duration::from_millis(dice("life", 4_000));
                let _ended = timeout(life, drops.into_future()).await;
            }
        }
    });
    join(join_all(writers), join_all(droppers)).await;
    network.disable();
    // What is late arrives.
    sleep(LATEST + Duration::from_secs(1)).await;
    let shots = quiet();
    drops(&shots, in_blobs).await.all().unwrap();
    assert_eq!(shots.existing().await.unwrap().len(), KEPT.len(), "seed {seed}");
    let mut named = 0;
    for month in KEPT {
        let of_month = shots.at(at(month, 0));
        for shot in of_month.list(Shot::partition("c")).collect().await.unwrap() {
            let picture = of_month.read_large(&shot, |shot| &shot.picture).await.unwrap().unwrap();
            assert!(picture == bytes(shot.stamp) && shot.preview == picture, "seed {seed}");
            if let Some(stamp) = told.lock().unwrap().get(&shot.at) {
                assert!(shot.stamp >= *stamp, "seed {seed}: {stamp} is lost: {}", shot.stamp);
            }
            named += usize::from(picture.len() > INLINE);
        }
    }
    let of_old =
        |name: &String| OLD.iter().any(|old| name.starts_with(&format!("shots2026{old:02}.")));
    let left: Vec<_> = blobs.names().into_iter().filter(of_old).collect();
    assert!(left.is_empty(), "seed {seed}: {left:?}");
    [named, told.lock().unwrap().len()]
}

#[test]
fn periods_that_stay_lose_no_value_and_dropped_ones_leave_none_whatever_is_late_or_ends() {
    let mut sum = [0; 2];
    for seed in 0..dose(10, 300) {
        let ran = on_virtual_time(run(seed));
        sum = [0, 1].map(|at| sum[at] + ran[at]);
    }
    assert!(sum.iter().all(|count| *count > 10), "{sum:?}");
}
