//! Whole tables from one store to another, interrupted on the way: the core of `table-orm copy`.

use crate::Run;
use crate::cases::types::extremes;
use crate::content_hash::Content;
use crate::copying::{Copying, Ended};
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use support::azurite::Azurite;
use table_orm::repo::Table;
use table_orm::scan::Checkpoint;
use table_orm::{DynamicEntity, Error, ScanPermit, TableName, Tables};
use tokio::sync::Notify;

type OnAzurite = fn(&Azurite) -> Run;

pub fn all() -> [(&'static str, OnAzurite); 2] {
    [
        ("a_table_goes_there_and_back_and_is_the_same", |azurite| {
            Box::pin(there_and_back(azurite.connection_string()))
        }),
        ("a_scan_goes_on_from_a_row", |azurite| Box::pin(resumed(azurite.connection_string()))),
    ]
}

async fn table(tables: &Tables) -> Table {
    let name = TableName::new(&format!("copy{:016x}", fastrand::u64(..))).unwrap();
    tables.create(&name).await.unwrap();
    tables.table(name)
}

fn rows() -> impl Iterator<Item = DynamicEntity> {
    let big = (0..2500).map(|row| DynamicEntity::new("big", format!("{row:05}")).with("N", row));
    let small = (0..300).map(|row| DynamicEntity::new(format!("s{row}"), "r").with("N", row));
    big.chain(small)
}

/// Copies, and is interrupted after every second page.
async fn copy(source: &Table, target: &Table) {
    let directory = tempfile::tempdir().unwrap();
    let checkpoint = directory.path().join("copy.json");
    let (source, target) = (source.clone(), target.clone());
    let copying = Copying { source, target, checkpoint, readers: 3, pages: 2, writers: 4 };
    for run in 0.. {
        let (stop, pages) = (Notify::new(), AtomicU32::new(0));
        let ended = copying.run(stop.notified(), |_| {
            if pages.fetch_add(1, Ordering::Relaxed) == 1 {
                stop.notify_one();
            }
        });
        if ended.await.unwrap() == Ended::Whole {
            break;
        }
        assert!(run < 20);
    }
    copying.run(pending(), |_| panic!("nothing is left")).await.unwrap();
}

async fn there_and_back(azurite: String) {
    let here = Tables::in_memory().unwrap();
    let there = Tables::from_connection_string(&azurite).unwrap();
    let source = table(&here).await;
    source.insert_or_replace_many(rows()).await.all().unwrap();
    let mut row = extremes();
    // Azurite takes values of 64 KiB from an insert, not from an insert-or-replace.
    row.properties.retain(|name, _| !name.ends_with("Long"));
    source.insert(&row).await.unwrap();
    let (away, back) = (table(&there).await, table(&here).await);
    copy(&source, &away).await;
    copy(&away, &back).await;
    let content = async |table| Content::of(table, 4, |_| ()).await.unwrap();
    let whole = content(&source).await;
    assert!(whole.rows > 2800);
    assert_eq!(content(&away).await, whole);
    assert_eq!(content(&back).await, whole);
}

async fn resumed(azurite: String) {
    let tables = Tables::from_connection_string(&azurite).unwrap();
    let (source, jobs) = (table(&tables).await, table(&tables).await);
    source.insert_or_replace_many(rows()).await.all().unwrap();
    let checkpoint = Checkpoint::row(&jobs, "it's", "a % row");
    let scan = || {
        let scan = source.scan(ScanPermit::because("test"));
        scan.page_size(100).concurrency(3).checkpoint(checkpoint.clone())
    };
    let (mut found, mut pages) = (Vec::new(), 0);
    let ended = scan().on_page(|page| {
        pages += 1;
        if pages < 8 {
            found.extend(page.rows);
        }
        std::future::ready(if pages < 8 { Ok(()) } else { Err(Error::PageSize(0)) })
    });
    assert!(ended.await.is_err());
    found.extend(scan().collect().await.unwrap());
    let mut keys: Vec<_> = found.iter().map(|row| (&row.partition_key, &row.row_key)).collect();
    assert_eq!(keys.len(), 2800);
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 2800);
}
