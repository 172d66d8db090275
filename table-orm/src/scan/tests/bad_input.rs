//! A scan that cannot run fails before the first request.

use super::*;
use crate::Error;
use crate::entity::RowHead;
use crate::query::{Comparison, Filter};
use crate::scan::{MAX_CONCURRENCY, ScanError};

fn rejected(change: impl FnOnce(Scan<DynamicEntity>) -> Scan<DynamicEntity>) -> Error {
    let service = service(grid("heat", 3, 3), 2);
    let error = run(change(scan(&service)).collect()).unwrap_err();
    assert_eq!(service.figures().requests, 0);
    error
}

fn rejected_pages(change: impl FnOnce(Scan<DynamicEntity>) -> Scan<DynamicEntity>) -> Error {
    let service = service(grid("heat", 3, 3), 2);
    let error = run(change(scan(&service)).pages(2).next()).unwrap_err();
    assert_eq!(service.figures().requests, 0);
    error
}

#[test]
fn bad_scans_are_refused_before_the_first_request() {
    let text = str::to_owned;
    for (lo, hi) in [("b", "a"), ("b", "b"), ("\u{E000}", "\u{1F3C3}")] {
        let error = rejected(|scan| scan.partition_range(text(lo)..text(hi)));
        assert!(matches!(error, Error::Scan(ScanError::EmptyRange { .. })), "{error}");
    }
    let error = rejected(|scan| scan.prefix("A").partition_range(text("B")..));
    assert!(matches!(error, Error::Scan(ScanError::EmptyRange { .. })), "{error}");
    for prefix in ["a/b", "#", "a\n", "\\", "?", "\u{9F}"] {
        let error = rejected(|scan| scan.prefix(prefix));
        assert!(matches!(error, Error::Scan(ScanError::PrefixCharacter { .. })), "{error}");
    }
    let error = rejected(|scan| scan.concurrency(0));
    assert!(matches!(error, Error::Scan(ScanError::NoWorkers)));
    let error = rejected(|scan| scan.concurrency(MAX_CONCURRENCY + 1));
    assert!(matches!(error, Error::Scan(ScanError::TooManyWorkers { given: 1001, most: 1000 })));
    let error = rejected(|scan| scan.pages_per_prefix(1, 0));
    assert!(matches!(error, Error::Scan(ScanError::NoPagesPerPrefix)));
    for key in ["\u{1F3C3}", "a/b", "a\n"] {
        let error = rejected(|scan| scan.split(Splitter::Keys(vec![text("a"), text(key)])));
        assert!(matches!(&error, Error::Scan(ScanError::SplitKey(found)) if found == key));
        assert!(error.to_string().ends_with(
            "use characters below U+D800 that keys can hold, so no `/`, `\\`, `#`, `?` or control \
             character"
        ));
    }
    let error = rejected_pages(|scan| scan.after(RowHead::default()));
    assert!(matches!(error, Error::Scan(ScanError::PagesAfter)), "{error}");
    for size in [0, 1001, 70_000] {
        assert!(matches!(rejected(|scan| scan.page_size(size)), Error::PageSize(_)));
    }
}

#[test]
fn a_filter_may_hold_twelve_comparisons() {
    let filter = |count: i32| {
        let each = (0..count).map(|n| Filter::compare("N", Comparison::NotEqual, n));
        each.reduce(Filter::and).unwrap()
    };
    assert!(matches!(rejected(|scan| scan.filter(filter(13))), Error::FilterTooLong(16)));
    let service = service((0..500).map(|row| ("one".to_owned(), format!("{row:03}"))), 10);
    let rows = run(scan(&service).filter(filter(12)).collect()).unwrap();
    assert_eq!(rows.len(), 488);
    let most = service.queries().iter().map(crate::query::RowQuery::comparisons).max();
    assert!(most.unwrap() <= 15);
}

#[test]
fn a_scan_says_why_it_cannot_be_run() {
    let error = rejected(|scan| scan.partition_range("b".to_owned().."a".to_owned()));
    assert_eq!(
        error.to_string(),
        "no PartitionKey lies from \"b\" up to \"a\"; check the range and the prefix"
    );
    let error = rejected(|scan| scan.prefix("a#"));
    assert_eq!(
        error.to_string(),
        "no key starts with \"a#\": keys cannot hold '#'; pass a prefix without it"
    );
}

#[test]
fn a_scan_outside_of_a_runtime_is_an_error() {
    let service = service(grid("heat", 3, 3), 2);
    let mut rows = scan(&service).stream();
    let mut next = std::pin::pin!(rows.next());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let polled = next.as_mut().poll(&mut context);
    assert!(matches!(polled, std::task::Poll::Ready(Err(Error::Scan(ScanError::NoRuntime)))));
}

#[test]
fn a_plan_shows_the_first_request_and_the_reason() {
    let service = service(grid("heat", 3, 3), 2);
    let plan = scan(&service).prefix("h").plan().unwrap().to_string();
    assert!(plan.contains("PartitionKey ge 'h' and PartitionKey lt 'i'"), "{plan}");
    assert!(plan.contains("because test"), "{plan}");
}

#[test]
fn a_plan_behind_a_row_begins_there() {
    let service = service(grid("heat", 3, 3), 2);
    let plan = |partition: &str| {
        let last = RowHead { partition_key: partition.to_owned(), row_key: "bib2".to_owned() };
        scan(&service).prefix("heat").after(last).plan().unwrap()
    };
    let behind = plan("heat2").to_string();
    assert!(behind.contains("PartitionKey eq 'heat2' and RowKey gt 'bib2'"), "{behind}");
    let before = plan("a").to_string();
    assert!(before.contains("PartitionKey ge 'heat' and PartitionKey lt 'heau'"), "{before}");
    assert!(plan("z").steps.is_empty());
}
