//! A call that has returned holds its store no more: a database file can be opened again at once.

use std::future::ready;
use std::sync::Arc;
use support::reference::{Registration, john};
use table_orm::embedded::EmbeddedStore;
use table_orm::{Repo, Result, ScanPermit, Tables};

const RACES: u32 = 30;

/// Runs a call often, on threads of its own and on one thread. After each, nothing but the test holds the store.
fn releases(call: impl AsyncFn(Repo<Registration>) -> Result<()>) {
    let threads = [
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build(),
        tokio::runtime::Builder::new_current_thread().enable_all().build(),
    ];
    for runtime in threads.map(Result::unwrap) {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        runtime.block_on(async {
            let runners = Tables::new(Arc::clone(&store)).repo::<Registration>();
            runners.create_table().await.unwrap();
            let of = |race| Registration { event: format!("race {race:02}"), ..john() };
            runners.insert_many((0..RACES).map(of)).await.all().unwrap();
        });
        for round in 0..40 {
            let runners = Tables::new(Arc::clone(&store)).repo::<Registration>();
            runtime.block_on(call(runners)).unwrap();
            assert_eq!(Arc::strong_count(&store), 1, "round {round}");
        }
    }
}

fn because() -> ScanPermit {
    ScanPermit::because("test")
}

#[test]
fn a_scan_that_has_ended_holds_no_store() {
    releases(async |runners| {
        let scan = || runners.scan(because()).concurrency(16).page_size(1);
        assert_eq!(scan().collect().await?.len(), RACES as usize);
        Ok(())
    });
    releases(async |runners| {
        let scan = runners.scan(because()).concurrency(16).page_size(2);
        scan.on_page(|_| ready(Ok::<_, table_orm::Error>(()))).await.map(drop)
    });
    releases(async |runners| {
        let mut rows = runners.scan(because()).concurrency(16).page_size(1).stream();
        while rows.next().await?.is_some() {}
        Ok(())
    });
    releases(async |runners| {
        assert!(runners.scan(because()).concurrency(16).page_size(1).exists().await?);
        Ok(())
    });
}

#[test]
fn a_scan_that_fails_holds_no_store() {
    releases(async |runners| {
        let scan = runners.scan(because()).concurrency(16).page_size(1);
        let failed = scan.on_page(|_| ready(Err(table_orm::Error::PageSize(0)))).await;
        assert!(matches!(failed, Err(table_orm::Error::PageSize(0))));
        Ok(())
    });
}

#[test]
fn a_list_by_workers_holds_no_store() {
    releases(async |runners| {
        let race = runners.list(Registration::partition("race 07", john().distance)).workers(8);
        assert_eq!(race.collect().await?.len(), 1);
        Ok(())
    });
}

#[test]
fn a_writer_that_is_closed_holds_no_store() {
    releases(async |runners| {
        let writer = runners.writer().upserts().await?;
        writer.send(Registration { event: "race 99".to_owned(), ..john() }).await?;
        let report = writer.close().await?;
        assert!(report.failures.is_empty());
        Ok(())
    });
}

#[test]
fn a_journal_can_be_opened_again_as_soon_as_its_writer_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.redb");
    releases(async |runners| {
        let journal = EmbeddedStore::open(&path)?;
        let writer = runners.writer().upserts().journal(journal).await?;
        writer.send(Registration { event: "race 99".to_owned(), ..john() }).await?;
        writer.close().await.map(drop)
    });
}
