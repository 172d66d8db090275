//! A scan by processes that share the tables and queues of one Azurite.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::azurite::Azurite;
use support::worker::{self, Worker};
use support::{is_long, leave_out};
use table_orm::azure::AzureQueues;
use table_orm::scan::distributed::DistributedScan;
use table_orm::{DynamicEntity, Error, ScanPermit, TableName, Tables};

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

/// Runs only in worker processes: copies pages, or stops in one once another is copied.
#[tokio::test]
async fn worker_copies_pages() {
    let Some(task) = worker::task() else { return };
    let (role, connection_string) = task.split_once(' ').unwrap();
    let Shared { tables, scan } = Shared::connect(connection_string);
    let copy = tables.table(table("Copy"));
    let stops = role == "stops";
    let copied = &AtomicBool::new(false);
    let report = scan
        .work(|page| {
            let copy = copy.clone();
            async move {
                if stops && copied.load(Ordering::SeqCst) {
                    worker::ready();
                    std::future::pending::<()>().await;
                }
                // Long enough that the other workers find pages left.
                tokio::time::sleep(Duration::from_millis(50)).await;
                copy.insert_or_replace_many(page.rows).await.all()?;
                copied.store(true, Ordering::SeqCst);
                Ok::<_, Error>(())
            }
        })
        .await
        .unwrap();
    assert!(report.complete, "{report:?}");
}

async fn copy(azurite: Azurite, killed: bool) {
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
    let start = |role| {
        let task = format!("{role} {connection_string}");
        Worker::start("distributed_scan::worker_copies_pages", &task)
    };
    let mut first = start(if killed { "stops" } else { "works" });
    if killed {
        first.wait_until_ready();
        first.kill();
        assert_ne!(shared.keys("Copy").await.len(), 0);
    }
    let mut others = [start("works"), start("works")];
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
    let Some(azurite) = Azurite::start_for("processes_share_a_scan") else { return };
    copy(azurite, false).await;
}

/// Waits for the lease of the worker that was killed to run out, which takes a minute.
#[tokio::test]
async fn processes_finish_the_scan_of_one_that_was_killed() {
    let name = "processes_finish_the_scan_of_one_that_was_killed";
    if !is_long() {
        leave_out(name, "it takes over a minute; set `TABLE_ORM_LONG=1`");
        return;
    }
    let Some(azurite) = Azurite::start_for(name) else { return };
    copy(azurite, true).await;
}
