//! A book counts the reads of a call where they are sent: their bytes, their partitions, and what waits for what.

use std::time::Duration;
use table_orm::book::{Book, BookFinding, BookFindingKind, BookReport, Pattern, Prices, Sample};
use table_orm::layer::{Measure, as_pattern};
use table_orm::{Repo, TableEntity, Tables};

/// A parcel of a depot. A courier has those of many depots.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "parcels", partition = "{depot}", unique(label, across))]
#[row(by_number, key = "PAR:{number:05}")]
#[row(
    by_courier,
    partition = "COU:{courier}",
    key = "COU:{depot}__{number:05}",
    include(number),
    eventual
)]
struct Parcel {
    depot: String,
    number: u32,
    courier: String,
    label: String,
    note: String,
}

const DEPOTS: [&str; 4] = ["east", "north", "south", "west"];

/// Each depot has four parcels, of which each courier brings two.
fn parcels() -> Vec<Parcel> {
    let parcel = |number: u32| Parcel {
        depot: DEPOTS[number as usize % 4].into(),
        number,
        courier: if number < 8 { "ann".into() } else { "bob".into() },
        label: format!("L{number:03}"),
        note: "fragile ".repeat(number as usize),
    };
    (0..16).map(parcel).collect()
}

fn repo() -> Repo<Parcel> {
    Tables::in_memory().unwrap().repo()
}

fn book() -> Book {
    Book::new("Parcels", Prices::east_us_2()).entity(Sample::of(&parcels()).unwrap())
}

fn report(pattern: Pattern) -> BookReport {
    book().pattern(pattern).report()
}

fn loads(report: &BookReport) -> Vec<(&str, f64)> {
    let loads = report.partitions.iter();
    let mut loads: Vec<_> =
        loads.map(|load| (load.partition_key.as_str(), load.rows_per_second)).collect();
    loads.sort_by(|one, other| one.0.cmp(other.0));
    loads
}

#[test]
fn canonical_rows_of_entities_found_elsewhere_load_their_own_partitions() {
    let checked = repo().list(Parcel::by_courier("ann")).checked().plan().unwrap();
    let report = report(Pattern::new("of ann", checked).per_second(10.0));
    let of_depots = DEPOTS.map(|depot| (depot, 20.0));
    assert_eq!(loads(&report), [&[("COU:ann", 80.0)][..], &of_depots].concat());
}

#[test]
fn the_entity_of_a_unique_value_loads_its_own_partition() {
    let load = repo().load_unique(Parcel::unique_label("L006")).plan().unwrap();
    let report = report(Pattern::new("by label", load).per_second(10.0));
    assert_eq!(loads(&report)[1..], [("south", 10.0)]);
}

#[tokio::test]
async fn bytes_down_are_those_that_are_measured() {
    let measure = Measure::new();
    let tables = Tables::in_memory().unwrap().layer(measure.clone()).unwrap();
    let repo = tables.repo::<Parcel>();
    repo.create_all_tables().await.unwrap();
    for parcel in &parcels() {
        assert!(repo.insert(parcel).report_settled().await.unwrap().settled.get());
    }
    let checked = || repo.list(Parcel::by_courier("ann")).checked();
    let by_label = || repo.load_unique(Parcel::unique_label("L006"));
    assert_eq!(as_pattern("checked", checked().collect()).await.unwrap().len(), 8);
    as_pattern("by label", by_label()).await.unwrap().unwrap();
    let report = book()
        .pattern(Pattern::new("checked", checked().plan().unwrap()))
        .pattern(Pattern::new("by label", by_label().plan().unwrap()))
        .measured(measure.patterns())
        .report();
    for planned in &report.patterns {
        let measured = report.measured.iter().find(|one| *one.name == planned.name).unwrap();
        // A row's ETag comes with it, where the caller may need it.
        let etags = measured.rows_returned * 100;
        let few = planned.bytes_down..=planned.bytes_down + etags;
        assert!(few.contains(&measured.bytes_down), "{planned:?}\n{measured:?}");
        assert_eq!(planned.requests, measured.requests);
    }
    let page = report.markdown();
    let (_, table) = page.split_once("## Planned and measured").unwrap();
    assert!(table.contains("| Bytes down | Bytes down, measured |"), "{table}");
}

#[test]
fn requests_that_are_in_flight_together_need_no_longer_than_one() {
    let repo = repo();
    let keys = (0..32).map(|number| Parcel::partition("east").by_number().number(number));
    let get_many = repo.get_many(keys).plan().unwrap();
    let slow = |pattern: &Pattern| {
        let findings = report(pattern.clone()).findings;
        findings.into_iter().find(|finding| finding.kind() == BookFindingKind::Slow)
    };
    let pattern = Pattern::new("some", get_many);
    assert_eq!(report(pattern.clone()).patterns[0].rounds, 2);
    assert_eq!(slow(&pattern.clone().within(Duration::from_millis(10))), None);
    let found = slow(&pattern.within(Duration::from_millis(9))).unwrap();
    let (name, within_ms) = ("some".to_owned(), 9);
    assert_eq!(found, BookFinding::Slow { pattern: name, requests: 32, rounds: 2, within_ms });
    assert!(found.to_string().contains("32 requests, 2 of them one after another"), "{found}");
    // The pages of a range wait for one another, those of several ranges do not.
    let depots = DEPOTS.map(|depot| Parcel::partition(depot).by_number());
    let list_many = Pattern::new("all", repo.list_many(depots).plan().unwrap()).reading(8_000);
    let list = repo.list(Parcel::partition("east").by_number()).plan().unwrap();
    let list = Pattern::new("east", list).reading(8_000);
    let rounds = |pattern| {
        let pattern = report(pattern).patterns.remove(0);
        (pattern.requests, pattern.rounds)
    };
    assert_eq!((rounds(list_many), rounds(list)), ((8, 2), (8, 8)));
    // Eight entities are read after the page that names them.
    let checked = repo.list(Parcel::by_courier("ann")).checked().plan().unwrap();
    assert_eq!(rounds(Pattern::new("checked", checked)), (9, 2));
    // A write sends its requests one after another.
    let insert = repo.insert(&parcels()[0]).plan().unwrap();
    let (requests, rounds) = rounds(Pattern::new("insert", insert));
    assert_eq!(requests, rounds);
}

#[test]
fn a_pattern_whose_keys_no_sample_has_stands_out() {
    let repo = repo();
    let missing = |pattern: Pattern| {
        let findings = report(pattern).findings;
        findings.iter().any(|one| one.kind() == BookFindingKind::NoSample)
    };
    let list = |depot: &str| {
        let plan = repo.list(Parcel::partition(depot).by_number()).plan().unwrap();
        Pattern::new(depot, plan)
    };
    assert!(missing(list("eats")) && !missing(list("east")));
    assert!(!missing(list("eats").reading(100)));
    // One of several ranges is enough, as of shards that few samples fill.
    let some = ["east", "eats"].map(|depot| Parcel::partition(depot).by_number());
    assert!(!missing(Pattern::new("some", repo.list_many(some).plan().unwrap())));
    let filtered = repo.list(Parcel::partition("east").by_number());
    let filtered = filtered.filter(|row| row.label.eq("none")).plan().unwrap();
    assert!(!missing(Pattern::new("none", filtered)));
    // A point query reads one row, whatever the samples.
    let get = repo.get(Parcel::partition("eats").by_number().number(1)).plan().unwrap();
    assert!(!missing(Pattern::new("get", get.clone())));
    // What the samples do not show has their size.
    let of_east = report(list("east").reading(1_000)).patterns.remove(0);
    let of_eats = report(list("eats").reading(1_000)).patterns.remove(0);
    assert_eq!((of_east.rows_read, of_eats.rows_read), (1_000, 1_000));
    assert!(of_eats.bytes_down > of_east.bytes_down / 2);
    assert!(report(Pattern::new("get", get)).patterns[0].bytes_down > 0);
    // A type without samples.
    let empty = Book::new("Parcels", Prices::east_us_2()).pattern(list("east")).report();
    assert_eq!(empty.findings, [BookFinding::NoSample { pattern: "east".into() }]);
}

#[test]
fn a_book_is_the_same_at_each_run() {
    let parcel = &parcels()[0];
    let made = || {
        let insert = Pattern::new("insert", repo().insert(parcel).plan().unwrap());
        let report = report(insert.per_second(1.0));
        (report.json().unwrap(), report.html(), report.markdown())
    };
    let (json, ..) = made();
    assert!(json.contains("DUE:..") && json.contains("\"measured\": []"), "{json}");
    assert_eq!(made(), made());
}

#[test]
fn patterns_of_one_name_stand_out_once() {
    let get = || {
        Pattern::new(
            "get",
            repo().get(Parcel::partition("east").by_number().number(1)).plan().unwrap(),
        )
    };
    let names = |patterns: usize| {
        let report = (0..patterns).fold(book(), |book, _| book.pattern(get())).report();
        let same = report.findings.into_iter();
        same.filter(|finding| finding.kind() == BookFindingKind::SameName).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(1), names(3)),
        (vec![], vec![BookFinding::SameName { pattern: "get".into() }])
    );
}

#[test]
fn a_mark_without_a_reason_has_no_effect() {
    let marked = |reason: &str| {
        let report = book().known(BookFindingKind::UnusedRow, "Parcel.by_courier", reason).report();
        let kinds = report.findings.iter().map(BookFinding::kind);
        (kinds.collect::<Vec<_>>(), report.known.len())
    };
    assert_eq!(marked("the app to come reads it"), (vec![], 1));
    assert_eq!(marked(" "), (vec![BookFindingKind::UnusedRow, BookFindingKind::NoReason], 0));
}

#[test]
fn samples_stand_for_no_fewer_than_themselves() {
    let sample = Sample::of(&parcels()).unwrap().entities(3).largest_partition(1);
    let list = repo().list(Parcel::partition("east").by_number()).plan().unwrap();
    let book = Book::new("Parcels", Prices::east_us_2()).entity(sample);
    let report = book.pattern(Pattern::new("east", list)).report();
    assert_eq!((report.entities[0].entities, report.patterns[0].rows_read), (16, 4));
}

#[test]
fn a_page_lists_the_partitions_with_the_most_load_and_counts_the_others() {
    let get = |number: u32| {
        let key = Parcel::partition(format!("d{number:02}")).by_number().number(1);
        Pattern::new(format!("get {number}"), repo().get(key).plan().unwrap())
            .per_second(f64::from(100 - number))
    };
    let report = |patterns: u32| (0..patterns).map(get).fold(book(), Book::pattern).report();
    let many = report(25);
    assert_eq!(many.partitions.len(), 25);
    assert!(many.markdown().contains("| 5 others | | | at most 80.0 each | 4.0 % |"));
    assert!(many.html().contains("<p>5 others with at most 80.0 rows a second each.</p>"));
    let hot = |patterns: u32| {
        let patterns =
            (0..patterns).map(|number| get(number).per_second(f64::from(3_000 - number)));
        patterns.fold(book(), Book::pattern).report()
    };
    let rest = "20 other partitions bear more than 2,000 rows a second each.";
    let lines = |page: &str| page.lines().filter(|line| line.contains(" bears ")).count();
    for page in [hot(25).markdown(), hot(25).html()] {
        assert!(page.contains(rest) && lines(&page) == 5, "{page}");
    }
    assert_eq!((lines(&hot(6).markdown()), hot(25).findings.len() > 25), (6, true));
    let few = report(20);
    assert!(!few.markdown().contains("others") && !few.html().contains("others"));
}
