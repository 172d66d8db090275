//! A scan by processes that share the tables and queues of one Azurite.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::time::Duration;
use table_orm::azure::AzureQueues;
use table_orm::scan::distributed::DistributedScan;
use table_orm::{DynamicEntity, Error, ScanPermit, TableName, Tables};
use tests::azurite::Azurite;
use tests::worker::{self, Worker};

const ROWS: usize = 2000;

fn table(name: &str) -> TableName {
    TableName::new(name).unwrap()
}

struct Shared {
    tables: Tables,
    scan: DistributedScan<DynamicEntity, table_orm::scan::Untyped>,
}

impl Shared {
    fn connect(connection_string: &str) -> Self {
        let tables = Tables::from_connection_string(connection_string).unwrap();
        let queues = AzureQueues::from_connection_string(connection_string).unwrap();
        let control = tables.table(table("Scans"));
        let scan = tables.scan(table("Source"), ScanPermit::because("test")).page_size(50);
        let scan = scan.concurrency(2).distributed("copy-1", &control, queues, "copies");
        Self { tables, scan }
    }

    async fn keys(&self, name: &str) -> BTreeSet<(String, String)> {
        let rows = self.tables.scan(table(name), ScanPermit::because("test")).collect().await;
        rows.unwrap().into_iter().map(|row| (row.partition_key, row.row_key)).collect()
    }
}

/// Runs in worker processes only.
#[tokio::test]
async fn worker_copies_pages() {
    let Some(connection_string) = worker::given() else { return };
    let Shared { tables, scan } = Shared::connect(&connection_string);
    let copy = tables.table(table("Copy"));
    let report = scan
        .work(|page| {
            let copy = copy.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(300)).await;
                copy.insert_or_replace_many(page.rows).await.all()?;
                Ok::<_, Error>(())
            }
        })
        .await
        .unwrap();
    assert!(report.complete, "{report:?}");
}

async fn copy(killed: bool) {
    let Some(azurite) = Azurite::start_if_installed() else { return };
    let connection_string = azurite.connection_string();
    let shared = Shared::connect(&connection_string);
    for name in ["Source", "Copy", "Scans"] {
        shared.tables.create(&table(name)).await.unwrap();
    }
    let rows =
        (0..ROWS).map(|row| DynamicEntity::new(format!("{:02}", row % 40), format!("{row:05}")));
    shared.tables.table(table("Source")).insert_or_replace_many(rows).await.all().unwrap();
    shared.scan.start().await.unwrap();
    shared.scan.start().await.unwrap();
    let start = || Worker::start("worker_copies_pages", &connection_string);
    let mut first = start();
    if killed {
        while shared.scan.status().await.unwrap().rows == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        first.kill();
    }
    let mut others = [start(), start()];
    assert!(killed || first.passed());
    assert!(others.iter_mut().all(Worker::passed));
    let status = shared.scan.status().await.unwrap();
    assert!(status.is_complete() && status.poisoned == 0, "{status:?}");
    assert_eq!((status.rows, status.leased), (ROWS as u64, 0), "{status:?}");
    assert_eq!(shared.keys("Copy").await, shared.keys("Source").await);
    shared.scan.remove().await.unwrap();
    assert!(shared.keys("Scans").await.is_empty());
    azurite.stop();
}

#[tokio::test]
async fn processes_share_a_scan() {
    copy(false).await;
}

#[tokio::test]
async fn processes_finish_the_scan_of_one_that_was_killed() {
    copy(true).await;
}
