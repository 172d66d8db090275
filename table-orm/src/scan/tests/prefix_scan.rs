//! The prefix scan: what it finds, in which steps.

use super::*;
use crate::Error;
use crate::scan::ScanError;
use std::ops::Bound;

const SIZES: [usize; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000];

fn prefix_scan(service: &FakeService, page: usize) -> Scan<DynamicEntity> {
    scan(service).split(Splitter::Prefix).page_size(page).ordered(true)
}

fn find(scan: Scan<DynamicEntity>) -> Vec<Key> {
    keys(&run(scan.collect()).unwrap())
}

fn filters(service: &FakeService) -> Vec<String> {
    service.queries().iter().map(|query| query.filter_text().unwrap_or_default()).collect()
}

fn with_prefix(service: &FakeService, prefix: &str) -> Vec<Key> {
    all(service).into_iter().filter(|(pk, _)| pk.starts_with(prefix)).collect()
}

#[test]
fn a_projection_keeps_keys_and_version() {
    let service = service(grid("heat", 3, 4), 1000);
    let rows = run(prefix_scan(&service, 1).select(["N"]).collect()).unwrap();
    assert_eq!(keys(&rows), all(&service));
    assert!(rows.iter().all(|row| row.etag.is_some() && row.properties.contains_key("N")));
    let rows = run(prefix_scan(&service, 1).select(["Other"]).collect()).unwrap();
    assert!(rows.iter().all(|row| row.etag.is_some() && row.properties.is_empty()));
}

/// What each round of the walk found: the numbers of runners `b0` to `b6` and `w0` to `w7`.
fn rounds(page: usize, first: u32, later: u32) -> String {
    let runners = |club: &'static str, count: u32| (0..count).map(move |n| format!("{club}{n}"));
    let partitions = runners("b", 7).chain(runners("w", 8));
    let service = service(partitions.map(|pk| (pk, "finish".to_owned())), 1000);
    let scan = prefix_scan(&service, page).concurrency(1).pages_per_prefix(first, later);
    assert_eq!(find(scan), all(&service));
    let again = super::service(all(&service), 1000);
    let mut rounds: Vec<Vec<String>> = Vec::new();
    for query in service.queries() {
        // A query without a continuation starts a round.
        if query.continuation.is_none() {
            rounds.push(Vec::new());
        }
        let body = run(crate::store::Store::query(&again, &query)).unwrap().body;
        let page =
            crate::entity::read_page::<crate::entity::RowHead>(&crate::entity::OwnRows::ANY, &body)
                .unwrap()
                .rows;
        rounds.last_mut().unwrap().extend(page.into_iter().map(|key| key.partition_key));
    }
    rounds.retain(|round| !round.is_empty());
    rounds.sort();
    rounds.into_iter().map(|round| round.join("")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_query_reads_as_many_pages_of_a_prefix_as_its_options_say() {
    assert_eq!(rounds(1, 1, 1), "b0 b1 b2 b3 b4 b5 b6 w0 w1 w2 w3 w4 w5 w6 w7");
    assert_eq!(rounds(1, 1, 2), "b0 b1 b2b3 b4b5 b6 w0w1 w2 w3w4 w5w6 w7");
    assert_eq!(rounds(1, 3, 1), "b0b1b2 b3b4b5 b6 w0 w1w2w3 w4 w5 w6 w7");
    assert_eq!(rounds(1, 3, 3), "b0b1b2 b3b4b5 b6 w0w1w2 w3w4w5 w6w7");
    assert_eq!(rounds(2, 1, 1), "b0b1 b2b3 b4b5 b6 w0w1 w2w3 w4w5 w6w7");
    assert_eq!(rounds(2, 1, 2), "b0b1 b2b3 b4b5b6 w0w1w2w3 w4w5 w6w7");
    assert_eq!(rounds(2, 2, 3), "b0b1b2b3 b4b5b6 w0w1w2w3w4w5 w6w7");
    assert_eq!(rounds(3, 1, 1), "b0b1b2 b3b4b5 b6 w0w1w2 w3w4w5 w6w7");
    assert_eq!(rounds(3, 2, 1), "b0b1b2b3b4b5 b6 w0w1w2 w3w4w5w6w7");
}

#[test]
fn an_empty_table_has_no_rows() {
    for prefix in ["", "heat"] {
        assert_eq!(find(prefix_scan(&service([], 1000), 1000).prefix(prefix)), []);
    }
}

#[test]
fn surrogate_pairs_are_one_character() {
    // Two medals share their first code unit; the runner does not.
    let partitions = ["5k", "10k", "🏃", "🏃🥇", "🥇", "🥇gold", "🥇team", "🥈", "🥈silver"];
    for prefix in ["", "2011"] {
        for partition in partitions {
            let rows = partitions.iter().enumerate().flat_map(|(at, name)| {
                (0..=at % 4).map(move |row| (format!("{prefix}{name}"), format!("{row}")))
            });
            let service = service(rows, 1000);
            assert_eq!(find(prefix_scan(&service, 1).prefix(prefix)), all(&service));
            let deeper = format!("{prefix}{partition}");
            let expected = with_prefix(&service, &deeper);
            assert_eq!(find(prefix_scan(&service, 1).prefix(deeper)), expected);
        }
    }
}

#[test]
fn a_prefix_beside_all_keys_finds_none() {
    // Before, between and after the partitions; longer than one; prefix of no partition.
    for prefix in ["Athens", "a", "m", "tokyo!", "tokyo2", "x", "~"] {
        for page in [1, 2, 1000] {
            let rows = [("boston", "1"), ("tokyo", "1")].map(|(pk, rk)| (pk.into(), rk.into()));
            assert_eq!(find(prefix_scan(&service(rows, 1000), page).prefix(prefix)), []);
        }
    }
}

#[test]
fn one_page_holds_everything() {
    let service = service(grid("heat", 4, 2), 1000);
    assert_eq!(find(prefix_scan(&service, 1000)), all(&service));
    assert_eq!(filters(&service), ["PartitionKey eq ''", "PartitionKey gt ''"]);
}

#[test]
fn rows_are_found_by_no_prefix_by_a_prefix_of_all_and_by_one_of_some() {
    let thirds = [grid("final", 3, 3), grid("heat", 3, 3), grid("semi", 3, 3)];
    for page in 1..=4 {
        let one = service(grid("heat", 3, 3), 1000);
        assert_eq!(find(prefix_scan(&one, page)), all(&one));
        assert_eq!(find(prefix_scan(&one, page).prefix("h")), all(&one));
        let three = service(thirds.concat(), 1000);
        for (prefix, third) in [("final", 0), ("heat", 1), ("semi", 2)] {
            assert_eq!(
                find(prefix_scan(&three, page).prefix(prefix)),
                sorted(thirds[third].clone())
            );
        }
    }
}

#[test]
fn partition_keys_are_found_without_their_rows() {
    let service = service(grid("heat", 6, 5), 1000);
    let found = run(async {
        let mut stream = prefix_scan(&service, 7).concurrency(1).partition_keys();
        let mut found = Vec::new();
        while let Some(key) = stream.next().await.unwrap() {
            found.push(key);
        }
        found
    });
    assert_eq!(found, (1..=6).map(|p| format!("heat{p}")).collect::<Vec<_>>());
    // Each page of seven rows ends in the second partition, and skips to the one after it.
    assert_eq!(service.figures().rows, 3 * 7);
}

/// Every start of this word is a partition, the empty one too; so is each with another letter
/// after it, below and above the word's own.
const WORD: &str = "marathons";

fn nested() -> Vec<Key> {
    let starts = (0..=WORD.len()).map(|length| &WORD[..length]);
    let names = starts.flat_map(|start| ["", "5", "x"].map(|more| format!("{start}{more}")));
    let row = |number: usize| format!("bib{number}");
    names.flat_map(|name| (0..=name.len() % 3).map(move |n| (name.clone(), row(n)))).collect()
}

#[test]
fn bounds_and_prefixes_cut_each_other() {
    // None, before all, at a partition or between two, after all. So each pair is open, in order,
    // empty or inverted, and lies before, across, inside or after what a prefix selects.
    let bounds = [None, Some(""), Some("A"), Some("mar"), Some("marat5"), Some("maraw"), Some("n")];
    let open =
        |bound: Option<&str>| bound.map_or(Bound::Unbounded, |key| Bound::Excluded(key.to_owned()));
    for prefix in ["", "m", "mara", "marathons", "q"] {
        for (lower, upper) in bounds.iter().flat_map(|lo| bounds.iter().map(move |hi| (*lo, *hi))) {
            for (page, workers) in SIZES.iter().zip([1, 8].into_iter().cycle()) {
                let service = service(nested(), 1000);
                let inside = |pk: &str| {
                    lower.is_none_or(|lower| pk > lower) && upper.is_none_or(|upper| pk < upper)
                };
                let mut expected = with_prefix(&service, prefix);
                expected.retain(|(pk, _)| inside(pk));
                let scan = prefix_scan(&service, *page).concurrency(workers).prefix(prefix);
                match run(scan.partition_range((open(lower), open(upper))).collect()) {
                    Ok(rows) => assert_eq!(keys(&rows), expected, "{prefix} {lower:?} {upper:?}"),
                    Err(Error::Scan(ScanError::EmptyRange { .. })) => {
                        assert_eq!(expected, [], "{prefix} {lower:?} {upper:?}");
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

#[test]
fn the_partition_named_by_the_prefix_is_found() {
    for length in 0..=WORD.len() {
        for page in [1, 2, 1000] {
            let service = service(nested(), 1000);
            let prefix = &WORD[..length];
            let expected = with_prefix(&service, prefix);
            assert!(expected.iter().any(|(pk, _)| pk == prefix));
            assert_eq!(find(prefix_scan(&service, page).prefix(prefix)), expected);
        }
    }
}

/// The example of Joel Verhagen's post "How to run a distributed scan of Azure Table Storage"
/// (2020): ten rows, two to a page. His walk finds D, H to N, R to S and W in four queries, then
/// goes back for what the pages that ended in `Davis`, `Nuckles` and `Splawn` left open. Bounds are
/// half-open here, so his `gt 'D\u{FFFF}'` is `ge 'E'`, and the empty partition is read first.
#[test]
fn ten_rows_take_the_published_queries_in_their_order() {
    let rows = [
        ("Dashner", "Cleopatra"),
        ("Davis", "Gemma"),
        ("Davis", "Loralee"),
        ("Dodge", "Lowell"),
        ("Hartlage", "Marketta"),
        ("Nuckles", "Timmy"),
        ("Rundle", "Coleen"),
        ("Splawn", "Lise"),
        ("Wedell", "Annabelle"),
        ("Wongus", "Rosenda"),
    ];
    let service = service(rows.map(|(pk, rk)| (pk.to_owned(), rk.to_owned())), 1000);
    let found = find(prefix_scan(&service, 2).concurrency(1));
    assert_eq!(found, all(&service));
    let expected = [
        "PartitionKey eq ''",
        "PartitionKey gt ''",
        "PartitionKey ge 'E'",
        "PartitionKey ge 'O'",
        "PartitionKey ge 'T'",
        "PartitionKey eq 'Davis' and RowKey gt 'Gemma'",
        "PartitionKey gt 'Davis' and PartitionKey lt 'E'",
        "PartitionKey eq 'Nuckles' and RowKey gt 'Timmy'",
        "PartitionKey gt 'Nuckles' and PartitionKey lt 'O'",
        "PartitionKey eq 'Splawn' and RowKey gt 'Lise'",
        "PartitionKey gt 'Splawn' and PartitionKey lt 'T'",
    ];
    assert_eq!(filters(&service), expected);
}
