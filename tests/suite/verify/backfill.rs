//! Index rows for entities that were stored before they had them.

use super::{Runner, RunnerByAge, Subject, described, permit, runner};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults, Layer as _, Retry};
use table_orm::query::QueryClass;
use table_orm::repo::SkipReason;
use table_orm::store::Middleware;
use table_orm::store::{Batch, ErrorCode, Store, StoreError};
use table_orm::{DynamicEntity, ETag, Error, TableName, Tables};

/// Entities with only their canonical rows.
async fn bare(runners: &[Runner]) -> Subject {
    let subject = Subject::with(runners).await;
    for ((race, row_key), _) in subject.stored().await {
        if !row_key.starts_with("BIB:") {
            subject.lose(&race, &row_key).await;
        }
    }
    subject
}

fn runners(count: u32) -> Vec<Runner> {
    (0..count).map(|bib| runner(if bib < 50 { "A" } else { "B" }, bib, 60)).collect()
}

#[tokio::test]
async fn every_index_row_is_written_and_the_canonical_rows_stay() {
    let runners = runners(120);
    let subject = bare(&runners).await;
    let done = subject.repo.backfill_table(permit()).await.all().unwrap();
    assert_eq!((done.entities, done.rows, done.token), (120, 300, None));
    assert_eq!(subject.stored().await, Subject::with(&runners).await.stored().await);
    assert_eq!(subject.problems().await, [""; 0]);
    // Once more: nothing is left to write.
    let again = subject.repo.backfill_table(permit()).await;
    assert_eq!((again.skipped.len(), again.failures.len()), (0, 0));
    let again = again.all().unwrap();
    assert_eq!((again.entities, again.rows), (120, 0));
}

#[tokio::test]
async fn one_partition_and_one_kind_of_row_are_enough() {
    let subject = bare(&runners(60)).await;
    let backfill = subject.repo.backfill(Runner::partition("B")).only::<RunnerByAge>();
    assert_eq!(backfill.plan().unwrap().class(), Some(QueryClass::RowRange));
    let done = backfill.await.all().unwrap();
    assert_eq!((done.entities, done.rows), (10, 10));
    let written = subject.stored().await.into_keys().filter(|(_, key)| key.starts_with("AGE:"));
    assert!(written.map(|(race, _)| race).eq(std::iter::repeat_n("B".to_owned(), 10)));
}

#[tokio::test]
async fn it_goes_on_where_it_stopped() {
    let tables = Tables::in_memory().unwrap().layer(super::between::SmallPages(25)).unwrap();
    let subject = Subject::of(tables).await;
    for runner in runners(60) {
        subject.repo.insert(&runner).await.unwrap();
        subject.lose(&runner.race, &format!("AGE:060__{:05}", runner.bib)).await;
    }
    let mut pages = Vec::new();
    let progress = |progress: &table_orm::repo::BackfillProgress| pages.push(progress.clone());
    let backfill = subject.repo.backfill_table(permit()).on_progress(progress);
    assert_eq!(backfill.await.all().unwrap().rows, 60);
    let counts: Vec<_> = pages.iter().map(|page| page.entities).collect();
    assert_eq!(counts, [25, 50, 60]);
    let token = pages[1].token.clone().unwrap();
    // The token survives a restart as text.
    let token = token.to_string().parse().unwrap();
    let rest = subject.repo.backfill_table(permit()).resume(token).await.all().unwrap();
    assert_eq!((rest.entities, rest.rows), (10, 0));
    let foreign = pages[0].token.clone().unwrap();
    let rejected = subject.repo.backfill(Runner::partition("A")).resume(foreign).await;
    assert!(matches!(rejected.all(), Err(Error::Token(_))));
}

#[tokio::test]
async fn rows_that_are_there_with_other_content_are_reported_and_kept() {
    let subject = bare(&runners(4)).await;
    let taken = DynamicEntity::new("A", "AGE:060__00002").with("Name", "Somebody");
    subject.rows.insert(&taken).await.unwrap();
    subject.unset("A", "BIB:00003", "Name").await;
    let report = subject.repo.backfill(Runner::partition("A")).await;
    let mut skipped: Vec<_> =
        report.skipped.iter().map(|skip| (described(&skip.finding), skip.reason)).collect();
    skipped.sort_by_key(|(text, _)| text.clone());
    assert_eq!(skipped.len(), 2);
    assert_eq!(skipped[0], ("A AGE:060__00002: missing".to_owned(), SkipReason::Taken));
    assert!(skipped[1].0.starts_with("A BIB:00003: unreadable: property `Name`"));
    assert_eq!(report.progress.entities, 3);
    assert_eq!(subject.row("A", "AGE:060__00002").await.properties, taken.properties);
    // The other rows of the same entity are there.
    assert!(subject.rows.get("A", "CITY:Oslo__00002").await.unwrap().is_some());
}

#[tokio::test]
async fn two_entities_with_one_index_key_are_reported() {
    let tables = Tables::in_memory().unwrap();
    let rows = tables.repo::<Shirt>();
    rows.create_table().await.unwrap();
    let untyped = tables.table(rows.table().clone());
    for id in 1..=3 {
        let shirt = DynamicEntity::new("A", format!("ID:{id:05}"))
            .with("Team", "A")
            .with("Id", i64::from(id))
            .with("Size", "M");
        untyped.insert(&shirt).await.unwrap();
    }
    let report = rows.backfill(Shirt::partition("A")).await;
    assert_eq!(report.progress.rows, 1);
    let reasons: Vec<_> = report.skipped.iter().map(|skip| skip.reason).collect();
    assert_eq!(reasons, [SkipReason::Taken; 2]);
}

#[derive(Debug, table_orm::TableEntity)]
#[table(name = "shirts", partition = "{team}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_size, key = "SIZE:{size}", allow_key_conflict)]
struct Shirt {
    team: String,
    id: u32,
    size: String,
}

/// A store that is throttling from its second transaction on.
#[derive(Debug)]
struct SoonBusy {
    inner: EmbeddedStore,
    commits: AtomicUsize,
    busy: Arc<AtomicBool>,
}

impl Middleware for SoonBusy {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        if self.busy.load(Ordering::Relaxed) && self.commits.fetch_add(1, Ordering::Relaxed) > 0 {
            return Err(StoreError::new(ErrorCode::SERVER_BUSY, "busy"));
        }
        self.inner.commit(table, transaction).await
    }
}

#[tokio::test]
async fn a_page_that_was_not_written_whole_counts_once_and_ends_it() {
    let busy = Arc::new(AtomicBool::new(false));
    let inner = EmbeddedStore::in_memory().unwrap();
    let store = SoonBusy { inner, commits: AtomicUsize::new(0), busy: Arc::clone(&busy) };
    let store = Arc::new(store);
    let subject = Subject::of(Tables::new(Arc::clone(&store))).await;
    for bib in 0..60 {
        let runner = runner(&format!("R{bib:02}"), bib, 60);
        subject.repo.insert(&runner).await.unwrap();
        subject.lose(&runner.race, &format!("AGE:060__{bib:05}")).await;
    }
    busy.store(true, Ordering::Relaxed);
    let backfill = || subject.repo.backfill_table(permit()).only::<RunnerByAge>();
    let stopped = backfill().parallelism(2).await;
    assert!(matches!(stopped.ended, Some(Error::Throttled(_))), "{stopped:?}");
    assert_eq!((stopped.progress.entities, stopped.progress.rows), (0, 0));
    assert_eq!(stopped.progress.token, None);
    assert!(store.commits.load(Ordering::Relaxed) <= 3, "nothing is begun in vain");
    busy.store(false, Ordering::Relaxed);
    let rest = backfill().await.all().unwrap();
    assert_eq!((rest.entities, rest.rows), (60, 59));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_no_reason_to_stop_whether_the_rows_are_there_or_not() {
    for bare_first in [true, false] {
        let runners = runners(60);
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let subject = Subject::of(Tables::new(store.clone())).await;
        for runner in &runners {
            subject.repo.insert(runner).await.unwrap();
            if bare_first {
                subject.lose(&runner.race, &format!("AGE:060__{:05}", runner.bib)).await;
            }
        }
        let faults = Faults::seeded(1).on("commit", 1, Fault::LostReply).store(store).unwrap();
        let store = Retry::interactive().write_id("WriteId").around(Arc::new(faults)).unwrap();
        let repo = Tables::new(store).repo::<Runner>();
        let report = repo.backfill_table(permit()).await;
        assert!(report.failures.is_empty() && report.ended.is_none(), "{report:?}");
        assert_eq!(report.progress.entities, 60);
        assert_eq!(repo.verify_table(permit()).await.unwrap().findings, []);
    }
}
