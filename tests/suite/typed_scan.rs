//! Scans of typed entities: canonical rows only, whatever else is in the table.

use std::ops::Bound;
use support::recorder::recorded;
use support::reference::{Registration, john};
use table_orm::key::KeyFault;
use table_orm::model::DateTime;
use table_orm::scan::Splitter;
use table_orm::{Error, Repo, ScanPermit, TableEntity, Tables};

async fn repo() -> table_orm::Result<Repo<Registration>> {
    let repo = Tables::in_memory()?.repo::<Registration>();
    repo.create_table().await?;
    for event in ["Boston", "Chicago", "Tokyo"] {
        for bib in 0..40 {
            let age = 20 + (bib % 50) as u8;
            repo.insert(&Registration { event: event.to_owned(), bib, age, ..john() }).await?;
        }
    }
    Ok(repo)
}

fn because() -> ScanPermit {
    ScanPermit::because("test")
}

#[tokio::test]
async fn an_entity_with_two_rows_comes_once_whatever_the_splitter() {
    let repo = repo().await.unwrap();
    for splitter in [Splitter::Adaptive, Splitter::Prefix, Splitter::Serial] {
        for ordered in [false, true] {
            let scan = || repo.scan(because()).split(splitter.clone()).page_size(7);
            let mut found = scan().ordered(ordered).collect().await.unwrap();
            if !ordered {
                found.sort_by(|a, b| a.event.cmp(&b.event).then(a.bib.cmp(&b.bib)));
            }
            assert_eq!(found.len(), 120);
            assert!(found.is_sorted_by_key(|row| (row.event.clone(), row.bib)));
            assert_eq!(scan().count().await.unwrap().rows, 120);
        }
    }
}

#[tokio::test]
async fn filters_and_ranges_narrow_it() {
    let repo = repo().await.unwrap();
    let scan = || repo.scan(because()).partition_range("C".to_owned().."T".to_owned());
    assert_eq!(scan().count().await.unwrap().rows, 40);
    let old = scan().filter(|row| row.age.ge(50)).page_size(3).collect().await.unwrap();
    assert_eq!(old.len(), 10);
    assert!(old.iter().all(|row| row.event == "Chicago" && row.age >= 50));
    let plan = scan().plan().unwrap().to_string();
    assert!(plan.contains("RowKey ge 'BIB:' and RowKey lt 'BIB;'"), "{plan}");
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "bills", partition = "{year:04}{month:02}", row = "{number:04}", allow_append_only)]
struct Bill {
    year: u16,
    month: u8,
    number: u16,
}

#[tokio::test]
async fn a_range_of_typed_partitions_reads_those_and_no_others() {
    let (tables, record) = recorded();
    let bills = tables.repo::<Bill>();
    bills.create_table().await.unwrap();
    let months: Vec<_> = (2024..=2026).flat_map(|year| (1..=12).map(move |m| (year, m))).collect();
    for &(year, month) in &months {
        bills.insert(&Bill { year, month, number: 7 }).await.unwrap();
    }
    let at = |(year, month): (u16, u8)| Bill::partition(year, month);
    let (from, to) = ((2024, 11), (2026, 2));
    record.take();
    let scan = || bills.scan(because()).ordered(true);
    let found = |bills: Vec<Bill>| bills.iter().map(|b| (b.year, b.month)).collect::<Vec<_>>();
    let read = scan().partitions_in(at(from)..at(to)).collect().await.unwrap();
    let expected: Vec<_> = months.iter().copied().filter(|m| (from..to).contains(m)).collect();
    assert_eq!(found(read), expected);
    for query in record.take().queries {
        let filter = query.filter_text().unwrap();
        assert!(filter.contains("PartitionKey lt '202602'"), "{filter}");
    }
    let read = scan().partitions_in(at(from)..=at(to)).collect().await.unwrap();
    assert_eq!(found(read).last(), Some(&to));
    assert_eq!(scan().partitions_in(at(to)..).count().await.unwrap().rows, 11);
    assert_eq!(scan().partitions_in(..at(from)).count().await.unwrap().rows, 10);

    let swapped = scan().partitions_in(at(to)..at(from)).count().await;
    assert!(matches!(swapped, Err(Error::Scan(_))), "{swapped:?}");
    // The message has the keys as they were given.
    let message = |answer: Result<_, Error>| answer.map(|_| ()).unwrap_err().to_string();
    let swapped = message(scan().partitions_in(at(to)..=at(from)).count().await);
    assert!(swapped.contains(r#"from "202602" up to "202411", inclusive; check"#), "{swapped}");
    let after = (Bound::Excluded(at(to)), Bound::Excluded(at(from)));
    let swapped = message(scan().partitions_in(after).count().await);
    assert!(swapped.contains(r#"after "202602" up to "202411"; check"#), "{swapped}");
    let wide = scan().partitions_in(at((10_000, 1))..).count().await;
    assert!(matches!(wide, Err(Error::Key(_))), "{wide:?}");
}

#[tokio::test]
async fn pages_come_in_order_and_are_resumed_by_token() {
    let repo = repo().await.unwrap();
    let mut pages = repo.scan(because()).pages(50);
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!(first.items.len(), 50);
    let mut rest = repo.scan(because()).pages(50).resume(first.next.unwrap());
    let second = rest.next().await.unwrap().unwrap();
    let all: Vec<_> = first.items.iter().chain(&second.items).collect();
    assert!(all.is_sorted_by_key(|row| (row.event.clone(), row.bib)));
    let mut rejected = repo.scan(because()).concurrency(0).pages(50);
    assert!(matches!(rejected.next().await, Err(Error::Scan(_))));
}

#[tokio::test]
async fn a_typed_scan_returns_some_rows_the_first_or_the_only_one() {
    let repo = repo().await.unwrap();
    let scan = || repo.scan(because());
    assert_eq!(scan().take(7).collect().await.unwrap().len(), 7);
    let first = scan().filter(|row| row.age.ge(50)).first().await.unwrap().unwrap();
    assert_eq!((first.event.as_str(), first.bib), ("Boston", 30));
    assert!(scan().prefix("Tok").exists().await.unwrap());
    assert!(!scan().filter(|row| row.age.ge(90)).exists().await.unwrap());
    let tokyo = || scan().prefix("Tokyo").filter(|row| row.age.eq(44));
    assert_eq!(tokyo().one().await.unwrap().bib, 24);
    let found = scan().filter(|row| row.age.eq(44)).one().await;
    assert!(matches!(found, Err(Error::RowCount(found)) if found.found == 2));
}

#[tokio::test]
async fn every_way_to_run_a_scan_is_there_for_typed_rows() {
    let repo = repo().await.unwrap();
    let scan = || repo.scan(because()).concurrency(3).page_size(9);
    let mut keys = scan().ordered(true).partition_keys();
    assert_eq!(keys.next().await.unwrap().as_deref(), Some("Boston__Full"));
    let mut pages = scan().prefix("Chicago").page_stream();
    let mut paged = 0;
    while let Some(page) = pages.next().await.unwrap() {
        assert!(page.rows.iter().all(|row| row.event == "Chicago"));
        paged += page.rows.len();
    }
    assert_eq!((paged, pages.report().rows), (40, 40));
    let mut rows = scan().prefix("Chicago").stream();
    let mut found = 0;
    while let Some(row) = rows.next().await.unwrap() {
        assert_eq!(row.event, "Chicago");
        found += 1;
    }
    assert_eq!((found, rows.report().rows), (40, 40));
    let mut handled = 0;
    let report = scan()
        .on_page(|page| {
            handled += page.rows.len();
            async { Ok::<_, Error>(()) }
        })
        .await
        .unwrap();
    assert_eq!((handled, report.rows), (120, 120));
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "pages", partition = "{book}_{number}", row = "{line:03}")]
struct PrintedPage {
    book: String,
    number: u32,
    line: u16,
}

#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "leaves", partition = "{book}_{number:05}", row = "{line:03}")]
struct Leaf {
    book: String,
    number: u32,
    line: u16,
}

#[tokio::test]
async fn a_range_of_partitions_fails_where_it_would_leave_out_some_of_its_values() {
    let tables = Tables::in_memory().unwrap();
    let (pages, leaves) = (tables.repo::<PrintedPage>(), tables.repo::<Leaf>());
    pages.create_table().await.unwrap();
    leaves.create_table().await.unwrap();
    for number in 1..=20 {
        let book = "Emma".to_owned();
        pages.insert(&PrintedPage { book, number, line: 1 }).await.unwrap();
        for book in ["Emma", "Ulysses"] {
            leaves.insert(&Leaf { book: book.to_owned(), number, line: 1 }).await.unwrap();
        }
    }
    // As text, 2 comes after 19.
    let page = |number| PrintedPage::partition("Emma", number);
    let range = || pages.scan(because());
    let unsorted = [
        range().partitions_in(page(1)..page(20)).count().await,
        range().partitions_in(page(1)..).count().await,
        range().partitions_in(..=page(20)).count().await,
    ];
    for (failed, component) in unsorted.into_iter().zip(["number", "book", "book"]) {
        let Err(Error::Key(error)) = failed else { panic!("{failed:?}") };
        assert_eq!((error.component, &error.fault), (component, &KeyFault::Unsorted));
    }
    assert_eq!(range().partitions_in(page(7)..=page(7)).count().await.unwrap().rows, 1);
    assert_eq!(range().partitions_in::<PrintedPagePartition>(..).count().await.unwrap().rows, 20);

    // A text that both bounds have in common need not sort.
    let leaf = |book, number| Leaf::partition(book, number);
    let in_one = leaves.scan(because()).partitions_in(leaf("Emma", 9)..=leaf("Emma", 12));
    assert_eq!(in_one.count().await.unwrap().rows, 4);
    let over = leaves.scan(because()).partitions_in(leaf("Emma", 9)..leaf("Ulysses", 1));
    let error = over.count().await.unwrap_err().to_string();
    assert!(error.contains("component `book` of `Leaf`") && error.contains("sort"), "{error}");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "vitals", partition = "{slot}", row = "{at}__{bed:05}")]
#[component(slot = spread(at, second))]
struct Vital {
    at: DateTime,
    bed: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "visits", partition = "{share}__{day:05}", row = "{id:010}")]
#[component(share = shard(id, 8))]
struct Visit {
    day: u32,
    id: u32,
}

#[tokio::test]
async fn a_range_of_partitions_over_shards_fails_instead_of_returning_other_rows() {
    let tables = Tables::in_memory().unwrap();
    let (vitals, visits) = (tables.repo::<Vital>(), tables.repo::<Visit>());
    vitals.create_table().await.unwrap();
    visits.create_table().await.unwrap();
    let second = |at: i64| DateTime::from_ticks(DateTime::MIN.ticks() + at * 10_000_000).unwrap();
    for at in [5, 7, 86_400 + 5, 86_400 + 7] {
        vitals.insert(&Vital { at: second(at), bed: 1 }).await.unwrap();
    }
    let of_time = |from, to| {
        vitals
            .scan(because())
            .partitions_in(Vital::partition(second(from))..=Vital::partition(second(to)))
    };
    let of_hash = visits
        .scan(because())
        .partitions_in(Visit::partition(3, 0_u32)..=Visit::partition(4, 2_u32));
    let failed = [of_time(5, 7).count().await, of_hash.count().await];
    for (failed, component) in failed.into_iter().zip(["slot", "share"]) {
        let Err(Error::Key(error)) = failed else { panic!("{failed:?}") };
        assert_eq!((error.component, &error.fault), (component, &KeyFault::Unsorted));
    }
    assert_eq!(of_time(5, 5).count().await.unwrap().rows, 1);
}
