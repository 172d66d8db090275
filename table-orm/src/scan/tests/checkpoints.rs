//! Killed and resumed scans: nothing lost, and nothing twice but the page in flight.

use super::*;
use crate::Error;
use crate::dose::dose;
use crate::layer::Faults;
use crate::query::{Comparison, Filter};
use crate::repo::Table;
use crate::scan::{Checkpoint, ScanError};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Scans until `pages` pages were handled, then drops the scan while the next one is. Returns the
/// keys handled, those of the page in flight, and whether that was all.
pub(super) async fn until(scan: Scan<DynamicEntity>, pages: usize) -> (Vec<Key>, Vec<Key>, bool) {
    let (mut handled, mut flying) = (Vec::new(), Vec::new());
    let mut left = pages;
    let ended = scan
        .on_page(|page| {
            let go_on = left > 0;
            if go_on {
                left -= 1;
                handled.extend(keys(&page.rows));
            } else {
                flying = keys(&page.rows);
            }
            // So that pages of one range wait for each other, at times.
            let busy = Duration::from_millis(if left.is_multiple_of(3) { 40 } else { 0 });
            async move {
                tokio::time::sleep(busy).await;
                if go_on { Ok(()) } else { Err(Error::PageSize(0)) }
            }
        })
        .await;
    (handled, flying, ended.is_ok())
}

fn mixed() -> Vec<Key> {
    let big = (0..60).map(|row| ("m".to_owned(), format!("{row:03}")));
    let small = (0..60).map(|row| (format!("s{row:02}"), String::new()));
    let empty = [(String::new(), String::new()), ("\u{FFFF}'%".to_owned(), "\u{1F3C3}".to_owned())];
    big.chain(small).chain(empty).chain(grid("a", 9, 4)).collect()
}

#[test]
fn a_scan_killed_at_any_page_and_resumed_loses_and_doubles_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for splitter in splitters() {
        for ordered in [false, true] {
            for pages in (0..60).step_by(dose(7, 1)) {
                let path = directory.path().join(format!("{splitter:?}{ordered}{pages}"));
                let service = service(mixed(), 4);
                let scan = || {
                    scan(&service)
                        .split(splitter.clone())
                        .ordered(ordered)
                        .concurrency(5)
                        .checkpoint(path.clone())
                };
                let (mut found, flying, ended) = run(until(scan(), pages));
                assert_eq!(ended, flying.is_empty());
                let rest = run(scan().collect()).unwrap();
                let rest: Vec<_> = keys(&rest);
                // The page in flight is delivered again.
                assert!(flying.iter().all(|key| rest.contains(key)));
                found.extend(rest);
                assert_eq!(sorted(found), all(&service), "{splitter:?} {ordered} {pages}");
            }
        }
    }
}

#[test]
fn a_scan_killed_again_and_again_comes_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("scan.json");
    let service = service(mixed(), 3);
    let mut found = Vec::new();
    for kill in 0.. {
        let scan = scan(&service).concurrency(1 + kill % 9).checkpoint(path.clone());
        let (handled, _, ended) = run(until(scan, 1 + kill % 3));
        found.extend(handled);
        if ended {
            break;
        }
        assert!(kill < 500);
    }
    assert_eq!(sorted(found), all(&service));
    // A complete scan has nothing left to read.
    let before = service.figures().requests;
    assert!(run(scan(&service).checkpoint(path).collect()).unwrap().is_empty());
    assert_eq!(service.figures().requests, before);
}

#[test]
fn a_process_killed_at_any_page_loses_nothing_and_doubles_one_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("scan.json");
    let killed = directory.path().join("killed.json");
    let service = service(mixed(), 4);
    let often = |path: &Path| Checkpoint::file(path).every(1, Duration::from_secs(30));
    let mut files = Vec::new();
    let mut found: Vec<Key> = Vec::new();
    run(scan(&service).concurrency(5).checkpoint(often(&path)).on_page(|page| {
        // What a process that dies while it handles this page leaves behind.
        files.push((std::fs::read(&path).ok(), found.clone(), page.rows.len()));
        found.extend(keys(&page.rows));
        async { Ok::<_, Error>(()) }
    }))
    .unwrap();
    for (file, handled, flying) in files {
        let Some(file) = file else { continue };
        std::fs::write(&killed, file).unwrap();
        let rest = keys(&run(scan(&service).checkpoint(often(&killed)).collect()).unwrap());
        let both: BTreeSet<_> = handled.iter().chain(&rest).cloned().collect();
        assert_eq!(both.len(), all(&service).len());
        assert!(handled.len() + rest.len() <= both.len() + flying);
        std::fs::remove_file(&killed).unwrap();
    }
}

#[test]
fn a_stream_of_pages_given_up_resumes_at_the_page_that_was_being_handled() {
    let directory = tempfile::tempdir().unwrap();
    let service = service(mixed(), 4);
    let mut taken = 0;
    let mut over = false;
    while !over {
        taken += 1;
        let path = directory.path().join(format!("{taken}"));
        let scan = || scan(&service).concurrency(3).checkpoint(path.clone());
        let mut found = Vec::new();
        let flying = run(async {
            let mut pages = scan().page_stream();
            for _ in 0..taken {
                let page = pages.next().await.unwrap()?;
                assert_eq!(page.first.row_key, page.rows[0].row_key);
                found.push(keys(&page.rows));
            }
            found.pop()
        });
        over = flying.is_none();
        found.push(keys(&run(scan().collect()).unwrap()));
        let mut found: Vec<_> = found.concat();
        found.sort_unstable();
        let mut expected = all(&service);
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
    assert!(taken > 5);
}

#[test]
fn partition_keys_are_resumed_behind_the_last_partition() {
    let directory = tempfile::tempdir().unwrap();
    let service = service(grid("tenant", 30, 20), 6);
    let mut expected: Vec<_> = all(&service).into_iter().map(|(pk, _)| pk).collect();
    expected.dedup();
    for taken in 0..31 {
        let path = directory.path().join(format!("{taken}"));
        let mut found = Vec::new();
        run(async {
            // A key is done once the next one is polled, so the last one is not.
            let mut stream = scan(&service).page_size(1).checkpoint(path.clone()).partition_keys();
            for _ in 0..taken {
                found.extend(stream.next().await.unwrap());
            }
        });
        found.pop();
        run(async {
            let mut stream = scan(&service).page_size(1).checkpoint(path.clone()).partition_keys();
            while let Some(key) = stream.next().await.unwrap() {
                found.push(key);
            }
        });
        found.sort_unstable();
        let mut expected = expected.clone();
        expected.sort_unstable();
        assert_eq!(found, expected, "{taken}");
    }
}

#[test]
fn a_checkpoint_is_saved_at_the_start_and_after_so_many_pages_or_that_time() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("scan.json");
    let service = service((0..1000).map(|row| (format!("{row:04}"), String::new())), 1);
    // The pages at which the file was found to be new.
    let saved = |took: Duration| {
        let (mut saved, mut last, mut at) = (Vec::new(), Vec::new(), 0);
        run(scan(&service).checkpoint(path.clone()).on_page(|_| {
            at += 1;
            let text = std::fs::read(&path).unwrap();
            if text != last {
                (saved, last) = ([saved.as_slice(), &[at]].concat(), text);
            }
            async move {
                tokio::time::sleep(took).await;
                Ok::<_, Error>(())
            }
        }))
        .unwrap();
        std::fs::remove_file(&path).unwrap();
        saved
    };
    assert_eq!(saved(Duration::ZERO)[..3], [1, 101, 201]);
    let slow = saved(Duration::from_secs(10));
    assert_eq!(slow[0], 1);
    assert!((3..=5).contains(&slow[1]), "{slow:?}");
}

#[test]
fn a_checkpoint_of_another_scan_is_refused_before_the_first_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("scan.json");
    let service = service(mixed(), 4);
    run(until(scan(&service).checkpoint(path.clone()), 3));
    let before = service.figures().requests;
    let rejected = |scan: Scan<DynamicEntity>| {
        let error = run(scan.checkpoint(path.clone()).collect()).unwrap_err();
        assert_eq!(service.figures().requests, before);
        match error {
            Error::Scan(error) => error,
            error => panic!("{error}"),
        }
    };
    let filter = Filter::compare("N", Comparison::Equal, 1);
    assert!(matches!(rejected(scan(&service).filter(filter)), ScanError::CheckpointQuery));
    let error = rejected(scan(&service).prefix("s"));
    assert!(matches!(error, ScanError::CheckpointQuery));
    assert_eq!(
        error.to_string(),
        "the checkpoint is of another scan of this table; pass the range, prefix, filter and \
         selection that it was started with (`count` selects no properties), or delete the \
         checkpoint to start over"
    );
    assert!(matches!(rejected(scan(&service).select(["N"])), ScanError::CheckpointQuery));
    let other = TableName::new("others").unwrap();
    let other = Tables::new(service.clone()).scan(other, ScanPermit::because("test"));
    let error = rejected(other);
    let text =
        "the checkpoint is of table `things`, not of `others`; use one checkpoint for each table";
    assert_eq!(error.to_string(), text);
    let saved = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, saved.replace("\"version\":2", "\"version\":7")).unwrap();
    let error = rejected(scan(&service));
    assert!(matches!(error, ScanError::CheckpointVersion { found: 7, expected: 2 }), "{error}");
    for broken in
        ["", "{}", "[1]", "{\"version\":2,\"table\":\"things\"}", &saved[..saved.len() / 2]]
    {
        std::fs::write(&path, broken).unwrap();
        assert!(matches!(rejected(scan(&service)), ScanError::CheckpointMalformed(_)), "{broken}");
    }
    // A scan with another splitter or number of workers may resume.
    std::fs::write(&path, &saved).unwrap();
    let rest = scan(&service).split(Splitter::Serial).checkpoint(path.clone());
    assert!(run(rest.collect()).is_ok());
}

#[test]
fn an_altered_checkpoint_is_refused_before_the_first_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("scan.json");
    let service = service(mixed(), 4);
    run(until(scan(&service).concurrency(3).checkpoint(path.clone()), 9));
    let saved = std::fs::read(&path).unwrap();
    let before = service.figures().requests;
    let refused = |text: &[u8]| {
        std::fs::write(&path, text).unwrap();
        let error = run(scan(&service).checkpoint(path.clone()).collect()).unwrap_err();
        assert!(matches!(error, Error::Scan(_)), "{error}");
        assert_eq!(service.figures().requests, before);
    };
    for at in (0..saved.len()).step_by(dose(7, 1)) {
        for other in [b'0', b'9', b'a', b' ', saved[at] ^ 1, saved[at] ^ 0x20] {
            let mut altered = saved.clone();
            altered[at] = if other == saved[at] { b'1' } else { other };
            refused(&altered);
        }
        refused(&saved[..at]);
    }
    std::fs::write(&path, saved).unwrap();
    assert!(run(scan(&service).checkpoint(path.clone()).collect()).is_ok());
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_an_error() {
    let service = service(mixed(), 4);
    let scan = scan(&service).checkpoint("/nowhere/at/all.json");
    let error = run(scan.collect()).unwrap_err();
    assert!(matches!(error, Error::Scan(ScanError::CheckpointUnwritable { .. })), "{error}");
}

/// A table for checkpoints, in memory.
async fn jobs() -> Table {
    let (tables, name) = (Tables::in_memory().unwrap(), TableName::new("jobs").unwrap());
    tables.create(&name).await.unwrap();
    tables.table(name)
}

#[test]
fn a_scan_that_keeps_its_progress_in_a_row_is_resumed_at_any_page() {
    for splitter in splitters() {
        for pages in (0..60).step_by(dose(7, 1)) {
            let service = service(mixed(), 4);
            run(async {
                let checkpoint = Checkpoint::row(&jobs().await, "export", "things");
                let scan = || {
                    let scan = scan(&service).split(splitter.clone()).concurrency(5);
                    scan.checkpoint(checkpoint.clone())
                };
                let (mut found, flying, ended) = until(scan(), pages).await;
                assert_eq!(ended, flying.is_empty());
                let rest = keys(&scan().collect().await.unwrap());
                assert!(flying.iter().all(|key| rest.contains(key)));
                found.extend(rest);
                assert_eq!(sorted(found), all(&service), "{splitter:?} {pages}");
            });
        }
    }
}

#[test]
fn a_process_killed_at_any_page_goes_on_from_the_row() {
    let service = service(mixed(), 4);
    for pages in 1..60 {
        run(async {
            let checkpoint = Checkpoint::row(&jobs().await, "export", "things");
            let checkpoint = checkpoint.every(1, Duration::from_secs(30));
            let mut found = Vec::new();
            // A row is not saved when a scan is dropped: as when its process is killed.
            let mut stream = scan(&service).concurrency(5).checkpoint(checkpoint.clone()).stream();
            while found.len() < 4 * pages
                && let Some(row) = stream.next().await.unwrap()
            {
                found.push(key(&row));
            }
            drop(stream);
            let rest = keys(&scan(&service).checkpoint(checkpoint).collect().await.unwrap());
            let both: BTreeSet<_> = found.iter().chain(&rest).cloned().collect();
            assert_eq!(both.len(), all(&service).len());
            assert!(found.len() + rest.len() <= both.len() + 4, "{pages}");
        });
    }
}

#[test]
fn a_row_of_another_scan_is_refused_before_the_first_request() {
    let service = service(mixed(), 4);
    run(async {
        let table = jobs().await;
        let checkpoint = Checkpoint::row(&table, "export", "things");
        until(scan(&service).checkpoint(checkpoint.clone()), 3).await;
        let before = service.figures().requests;
        let other = Filter::compare("N", Comparison::Equal, 1);
        let error = scan(&service).filter(other).checkpoint(checkpoint.clone()).collect().await;
        assert!(matches!(error, Err(Error::Scan(ScanError::CheckpointQuery))), "{error:?}");
        table
            .insert_or_replace(&DynamicEntity::new("export", "things").with("A", 1))
            .await
            .unwrap();
        let error = scan(&service).checkpoint(checkpoint).collect().await.unwrap_err();
        let text = "the row \"export\", \"things\" is not a checkpoint of a scan, or was altered; \
                    pass another one, or delete it to start over";
        assert_eq!(error.to_string(), text);
        assert_eq!(service.figures().requests, before);
    });
}

#[test]
fn of_two_scans_with_one_row_one_ends() {
    let service = service(mixed(), 4);
    run(async {
        let checkpoint = Checkpoint::row(&jobs().await, "export", "things");
        let mut first = scan(&service).checkpoint(checkpoint.clone()).stream();
        first.next().await.unwrap();
        scan(&service).checkpoint(checkpoint).collect().await.unwrap();
        let error = loop {
            match first.next().await {
                Ok(row) => assert!(row.is_some()),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Scan(ScanError::CheckpointTaken(_))), "{error}");
    });
}

#[test]
fn pages_handled_at_a_time_are_done_in_the_order_they_were_handed_out() {
    let directory = tempfile::tempdir().unwrap();
    for ordered in [false, true] {
        for kill in (1..60).step_by(dose(7, 1)) {
            let path = directory.path().join(format!("{ordered}{kill}"));
            let service = service(mixed(), 4);
            let scan = || {
                scan(&service).ordered(ordered).concurrency(5).handlers(4).checkpoint(path.clone())
            };
            let (mut begun, mut busiest) = (0, 0);
            let (handled, under_way) = (RefCell::new(Vec::new()), Cell::new(0));
            let ended = run(scan().on_page(|page| {
                begun += 1;
                under_way.set(under_way.get() + 1);
                busiest = busiest.max(under_way.get());
                let (at, handled, under_way) = (begun, &handled, &under_way);
                async move {
                    tokio::time::sleep(Duration::from_millis(at % 5 * 10)).await;
                    under_way.set(under_way.get() - 1);
                    handled.borrow_mut().extend(keys(&page.rows));
                    if at == kill { Err(Error::PageSize(0)) } else { Ok(()) }
                }
            }));
            assert_eq!(ended.is_ok(), begun < kill);
            assert!(busiest <= 4 && (busiest == 4 || kill < 4), "{busiest}");
            assert_eq!(under_way.get(), 0, "those beside the one that failed are finished");
            let rest = keys(&run(scan().collect()).unwrap());
            let handled = handled.into_inner();
            let both: BTreeSet<_> = handled.iter().chain(&rest).cloned().collect();
            assert_eq!(both.len(), all(&service).len());
            // The pages in flight are delivered again, and no others.
            assert!(handled.len() + rest.len() <= both.len() + 4 * 4);
        }
    }
}

#[test]
fn pages_being_handled_when_the_scan_fails_are_done() {
    let directory = tempfile::tempdir().unwrap();
    for seed in 0..20 {
        let path = directory.path().join(seed.to_string());
        let service = service(mixed(), 4);
        let broken = Faults::seeded(seed).errors_before(0.2).store(Arc::new(service.clone()));
        let table = TableName::new("things").unwrap();
        let failing = Tables::new(broken.unwrap()).scan(table, ScanPermit::because("test"));
        let (handled, begun) = (RefCell::new(Vec::new()), Cell::new(0));
        let ended = run(failing.handlers(4).checkpoint(path.clone()).on_page(|page| {
            begun.set(begun.get() + 1);
            let handled = &handled;
            async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                handled.borrow_mut().push(keys(&page.rows));
                Ok::<_, Error>(())
            }
        }));
        assert!(ended.is_err());
        let handled = handled.into_inner();
        assert_eq!(handled.len(), begun.get());
        let mut both = handled.concat();
        both.extend(keys(&run(scan(&service).checkpoint(path).collect()).unwrap()));
        assert_eq!(sorted(both), all(&service));
    }
}
