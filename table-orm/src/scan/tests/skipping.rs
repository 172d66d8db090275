//! Scans that leave out unreadable rows: no other row is lost, and each is reported.

use super::*;
use crate::codec::Members;
use crate::entity::ReadRow;
use crate::error::Error;
use crate::property::{PropertyFault, RowFault};
use std::sync::{Arc, Mutex};

/// The key of a readable row.
#[derive(Debug, PartialEq)]
struct Picky(Key);

/// A few single rows, and whole pages of them.
fn is_unreadable((partition_key, row_key): &Key) -> bool {
    row_key.ends_with('3') || partition_key == "bad"
}

impl ReadRow for Picky {
    const NAME: &'static str = "Picky";

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        members.skip()?;
        let key = (members.partition_key().into_owned(), members.row_key().into_owned());
        if is_unreadable(&key) {
            return Err(RowFault::new("Bib", PropertyFault::Missing));
        }
        Ok(Self(key))
    }
}

/// The keys of rows that were left out.
#[derive(Clone, Default)]
struct SkippedKeys(Arc<Mutex<Vec<Key>>>);

impl SkippedKeys {
    fn by<R>(&self, scan: Scan<Picky, R>) -> Scan<Picky, R> {
        let skipped = Arc::clone(&self.0);
        scan.skip_unreadable(move |error| {
            let key = (error.partition_key.clone(), error.row_key.clone());
            skipped.lock().unwrap().push(key);
        })
    }

    fn keys(&self) -> Vec<Key> {
        sorted(std::mem::take(&mut self.0.lock().unwrap()))
    }
}

fn table() -> FakeService {
    service([grid("a", 7, 5), grid("bad", 1, 1), mixed(), grid("z", 3, 9)].concat(), 4)
}

fn mixed() -> Vec<Key> {
    let row = |partition: &'static str| move |row| (partition.to_owned(), format!("bib{row:02}"));
    (0..40).map(row("bad")).chain((0..40).map(row("m"))).collect()
}

fn split(service: &FakeService) -> (Vec<Key>, Vec<Key>) {
    all(service).into_iter().partition(|key| !is_unreadable(key))
}

fn found(rows: Vec<Picky>) -> Vec<Key> {
    rows.into_iter().map(|Picky(key)| key).collect()
}

#[test]
fn every_readable_row_comes_once_and_each_other_is_reported_once() {
    for splitter in splitters() {
        for (ordered, workers) in [(false, 1), (false, 5), (true, 5)] {
            let (service, skipped) = (table(), SkippedKeys::default());
            let scan = scan(&service).cast::<Picky>().split(splitter.clone());
            let scan = skipped.by(scan.ordered(ordered).concurrency(workers));
            let (readable, unreadable) = split(&service);
            let rows = found(run(scan.clone().collect()).unwrap());
            assert!(!ordered || rows == readable, "{splitter:?}");
            assert_eq!((sorted(rows), skipped.keys()), (readable, unreadable), "{splitter:?}");
            // A scan that reads no properties leaves out no row.
            let report = run(scan.count()).unwrap();
            assert_eq!(report.rows, service.keys().len() as u64);
            assert!(skipped.keys().is_empty());
        }
    }
}

#[test]
fn a_limit_counts_readable_rows() {
    for splitter in splitters() {
        for (ordered, workers) in [(false, 1), (false, 5), (true, 5)] {
            for limit in [1, 2, 7, 40, 1000] {
                let (service, skipped) = (table(), SkippedKeys::default());
                let scan = scan(&service).cast::<Picky>().split(splitter.clone());
                let scan = skipped.by(scan.ordered(ordered).concurrency(workers).take(limit));
                let (readable, _) = split(&service);
                let rows = found(run(scan.collect()).unwrap());
                assert_eq!(rows.len(), limit.min(readable.len()), "{splitter:?} {limit}");
                assert!(!ordered || rows == readable[..rows.len()]);
                let mut rows = sorted(rows);
                assert!(rows.iter().all(|row| readable.contains(row)));
                let all = rows.len();
                rows.dedup();
                assert_eq!(rows.len(), all, "{splitter:?} {limit}");
            }
        }
    }
    let service = service(mixed(), 4);
    let first = run(SkippedKeys::default().by(scan(&service).cast::<Picky>()).first()).unwrap();
    assert_eq!(first, Some(Picky(("m".to_owned(), "bib00".to_owned()))));
}

#[test]
fn without_the_option_an_unreadable_row_ends_the_scan_and_is_named() {
    let service = table();
    let mut rows = scan(&service).cast::<Picky>().concurrency(1).stream();
    let error = run(async {
        loop {
            match rows.next().await {
                Ok(row) => assert!(row.is_some()),
                Err(error) => break error,
            }
        }
    });
    assert!(matches!(&error, Error::Property(error) if error.row_key == "bib3"), "{error}");
    assert!(matches!(run(rows.next()), Ok(None)));
}

#[test]
fn a_checkpoint_counts_rows_left_out_as_done() {
    let directory = tempfile::tempdir().unwrap();
    for pages in 0..20 {
        let path = directory.path().join(format!("{pages}"));
        let (service, skipped) = (table(), SkippedKeys::default());
        let scan = || {
            let scan = scan(&service).cast::<Picky>().concurrency(1).ordered(true);
            skipped.by(scan.checkpoint(path.clone()))
        };
        let mut rows = Vec::new();
        let mut left = pages;
        let interrupted = run(scan().on_page(|page| {
            let go_on = left > 0;
            if go_on {
                left -= 1;
                rows.extend(found(page.rows));
            }
            async move { if go_on { Ok(()) } else { Err(Error::PageSize(0)) } }
        }));
        assert!(interrupted.is_err());
        rows.extend(found(run(scan().collect()).unwrap()));
        let (readable, unreadable) = split(&service);
        assert_eq!(rows, readable, "{pages}");
        let mut keys = skipped.keys();
        keys.dedup();
        assert_eq!(keys, unreadable);
        // Everything is done, even where no row was handed out.
        assert!(run(scan().collect()).unwrap().is_empty());
        assert!(skipped.keys().is_empty());
    }
}

#[test]
fn pages_resume_behind_rows_left_out() {
    let (service, skipped) = (table(), SkippedKeys::default());
    let pages = || skipped.by(scan(&service).cast::<Picky>()).pages(3);
    let (mut rows, mut token) = (Vec::new(), None);
    loop {
        let mut next = match token {
            Some(token) => pages().resume(token),
            None => pages(),
        };
        let page = run(next.next()).unwrap().unwrap();
        rows.extend(found(page.items));
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    assert_eq!((rows, skipped.keys()), split(&service));
}

#[cfg(feature = "distributed")]
#[test]
fn machines_that_share_a_scan_leave_out_unreadable_rows() {
    let (service, skipped) = (table(), SkippedKeys::default());
    let rows = Mutex::new(Vec::new());
    run(async {
        let control = Tables::in_memory().unwrap();
        let name = TableName::new("scans").unwrap();
        control.create(&name).await.unwrap();
        let scan = skipped.by(scan(&service).cast::<Picky>());
        let queues = crate::queue::MemoryQueues::new();
        let scan = scan.distributed("test", &control.table(name), queues, "copies");
        scan.start().await.unwrap();
        let work = || {
            scan.work(|page| {
                rows.lock().unwrap().extend(found(page.rows));
                async { Ok::<_, Error>(()) }
            })
        };
        let (one, other) = tokio::join!(work(), work());
        assert!(one.unwrap().complete && other.unwrap().complete);
        assert!(scan.status().await.unwrap().is_whole());
    });
    assert_eq!((sorted(rows.into_inner().unwrap()), skipped.keys()), split(&service));
}
