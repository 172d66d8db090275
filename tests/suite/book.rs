//! A book of access patterns says what each costs for the entities that its samples stand for, and what stands
//! out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use table_orm::book::{
    Book, BookFinding, BookFindingKind, BookReport, PartitionLoad, Pattern, Prices, Sample,
};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Measure, as_pattern};
use table_orm::model::{DateTime, Metadata};
use table_orm::plan::Plan;
use table_orm::store::Store as _;
use table_orm::{Projection, Repo, ScanPermit, TableEntity, TableName, Tables};

#[derive(Debug, Clone, TableEntity)]
#[table(name = "orders", partition = "{customer}", unique(label))]
#[row(by_number, key = "ORD:{number:05}")]
#[row(by_state, key = "STA:{state}__{number:05}")]
#[row(by_cents, key = "CTS:{cents:05}__{number:05}", include(cents))]
#[row(by_day, key = "DAY:{customer}__{number:05}", eventual, partition = "DAY:{day}")]
struct Order {
    customer: String,
    number: u32,
    state: String,
    cents: u32,
    day: u32,
    label: String,
}

/// What a list of amounts asks for.
#[allow(dead_code, reason = "nothing is read here")]
#[derive(Debug, Projection)]
#[projection(of = Order)]
struct Cents {
    cents: u32,
}

/// Two partitions of ten orders each, of which four are open.
fn samples() -> Vec<Order> {
    let order = |number: u32| Order {
        customer: if number < 10 { "acme".into() } else { "beta".into() },
        number,
        state: if number % 5 < 2 { "open".into() } else { "sent".into() },
        cents: 10 * number,
        day: number % 4,
        label: format!("L{number}"),
    };
    (0..20).map(order).collect()
}

fn orders() -> Repo<Order> {
    Tables::in_memory().unwrap().repo()
}

fn prices() -> Prices {
    let json = r#"{"source": "test", "date": "2026-10-01", "currency": "EUR",
        "per_10_000_transactions": 1.0, "per_gib_month": 2.0}"#;
    Prices::from_json(json).unwrap()
}

/// A book of 200,000 orders, 5,000 of them of one customer.
fn book(patterns: impl IntoIterator<Item = Pattern>) -> BookReport {
    let sample = Sample::of(&samples()).unwrap().entities(200_000).largest_partition(5_000);
    let book = Book::new("Orders", prices()).entity(sample);
    patterns.into_iter().fold(book, Book::pattern).report()
}

fn acme() -> OrderPartition {
    Order::partition("acme")
}

#[test]
fn rows_are_those_of_the_samples_times_what_a_sample_stands_for() {
    let orders = orders();
    let open = orders.list(acme().by_state().state("open")).plan().unwrap();
    let dear = orders.list(acme().by_cents().cents_in(50..)).project::<Cents>().plan().unwrap();
    let few = orders.list(acme().by_number()).filter(|row| row.cents.ge(90_u32)).plan().unwrap();
    let day = orders.list(Order::by_day(1_u32)).plan().unwrap();
    let names = ["open", "dear", "few", "day"];
    let patterns = names.into_iter().zip([open, dear, few, day]);
    let book = book(patterns.map(|(name, plan)| Pattern::new(name, plan)));
    let counted = |at: usize| {
        let pattern = &book.patterns[at];
        (pattern.rows_read, pattern.rows_matching, pattern.requests)
    };
    assert_eq!(counted(0), (2_000, 2_000, 2));
    assert_eq!(counted(1), (2_500, 2_500, 3));
    // One of ten matches: the page ends when it is full.
    assert_eq!(counted(2), (5_000, 500, 1));
    // A quarter of all orders are of that day: its partition is not that of a customer.
    assert_eq!(counted(3), (50_000, 50_000, 50));
    // A projection gets fewer bytes.
    let bytes = |at: usize| book.patterns[at].bytes_down / book.patterns[at].rows_matching;
    assert!(bytes(1) < bytes(0), "{} {}", bytes(1), bytes(0));
}

#[tokio::test]
async fn a_scan_reads_rows_of_all_kinds_as_its_explanation_counts_them() {
    let (orders, samples) = (orders(), samples());
    orders.create_table().await.unwrap();
    orders.insert_many(samples.clone()).await.all().unwrap();
    let scan = || orders.scan(ScanPermit::because("test"));
    let some = || scan().partitions_in(Order::partition("acme")..);
    let plans = [scan().plan().unwrap(), some().plan().unwrap()];
    let book = Book::new("Scans", prices()).entity(Sample::of(&samples).unwrap());
    let patterns = plans.map(|plan| Pattern::new("scan", plan));
    let report = patterns.into_iter().fold(book, Book::pattern).report();
    let counted = [scan().explain().await.unwrap(), some().explain().await.unwrap()];
    for (pattern, counted) in report.patterns.iter().zip(counted) {
        assert_eq!(pattern.rows_read, counted.in_range, "{counted}");
        assert_eq!(pattern.rows_matching, counted.matching, "{counted}");
    }
    // Three rows in the partition, a row by day and a guard for each order.
    assert_eq!(report.patterns[0].rows_read, 5 * 20);
}

#[tokio::test]
async fn the_bytes_of_a_read_are_those_of_the_stored_row() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let orders = Tables::new(store.clone()).repo::<Order>();
    orders.create_table().await.unwrap();
    let sample = samples().remove(1);
    orders.insert(&sample).await.unwrap();
    let get = Pattern::new("get", orders.get(acme().by_number().number(1)).plan().unwrap());
    let book = Book::new("Gets", prices()).entity(Sample::of(&[sample]).unwrap()).pattern(get);
    let name = TableName::new("orders").unwrap();
    let row = store.get(&name, "acme", "ORD:00001", None, Metadata::None).await.unwrap().unwrap();
    assert_eq!(book.report().patterns[0].bytes_down, row.body.len() as u64);
}

#[test]
fn numbers_that_are_no_rate_are_named_and_count_as_none() {
    let get = || orders().get(acme().by_number().number(1)).plan().unwrap();
    let rates = [f64::NAN, f64::INFINITY, -5.0];
    let by_second = rates.map(|rate| Pattern::new("get", get()).per_second(rate));
    let by_month = rates.map(|rate| Pattern::new("get", get()).per_second(1.0).per_month(rate));
    for pattern in by_second.into_iter().chain(by_month) {
        let report = Book::new("Rates", prices()).pattern(pattern).report();
        assert_eq!(report.findings[0].kind(), BookFindingKind::InvalidRate, "{report:?}");
        assert_eq!(report.findings[0].subject(), "get");
        let text = report.findings[0].to_string();
        assert!(text.contains("Give a number from 0 up"), "{text}");
        assert!(report.price_per_month.is_finite() && report.price_per_month >= 0.0);
        assert!(report.rows_per_second >= 0.0 && report.rows_per_second <= 1.0);
    }
    let empty = Book::new("Nothing", prices()).report().markdown();
    assert!(empty.contains("for 0.00 EUR") && !empty.contains("-0."), "{empty}");
    let json = r#"{"source": "s", "date": "d", "currency": "EUR", "per_10_000_transactions": -1.0,
        "per_gib_month": 2.0}"#;
    let error = Prices::from_json(json).unwrap_err().to_string();
    assert!(error.contains("`per_10_000_transactions` is -1"), "{error}");
}

#[test]
fn a_write_costs_what_its_plan_says_and_a_read_of_a_few_rows_no_more() {
    let (orders, samples) = (orders(), samples());
    let insert = orders.insert(&samples[0]).plan().unwrap();
    let cost = insert.cost();
    let five = orders.list(acme().by_state()).take(5).plan().unwrap();
    let told = Pattern::new("told", orders.list(acme().by_number()).plan().unwrap()).reading(7);
    let book = book([Pattern::new("insert", insert), Pattern::new("five", five), told]);
    let [insert, five, told] = &book.patterns[..] else { panic!("{book:?}") };
    assert_eq!(Some(insert.requests), cost.transactions.most);
    assert_eq!(Some(insert.rows_written), cost.rows_written.most);
    assert_eq!((five.rows_read, five.requests), (5, 1));
    assert_eq!((told.rows_read, told.requests), (7, 1));
}

#[test]
fn prices_are_those_of_requests_and_of_what_is_stored() {
    let get = orders().get(acme().by_number().number(1)).plan().unwrap();
    let book = book([Pattern::new("get", get).per_second(2.0)]);
    // 2 x 2,629,800 seconds of a month, at 1 for 10,000.
    assert!((book.patterns[0].price_per_month - 525.96).abs() < 0.001);
    let stored = 200_000.0 * book.entities[0].stored_bytes as f64 / f64::from(1 << 30) * 2.0;
    assert!((book.entities[0].price_per_month - stored).abs() < 0.001);
    assert!((book.price_per_month - 525.96 - stored).abs() < 0.001);
}

#[test]
fn what_stands_out_is_named() {
    let orders = orders();
    let by_state = || orders.list(acme().by_state().state("open"));
    let patterns = [
        // Asks for some of a full copy; the only one that reads it.
        Pattern::new("amounts", by_state().project::<Cents>().plan().unwrap()).per_second(1.5),
        Pattern::new(
            "few",
            orders.list(acme().by_number()).filter(|row| row.label.eq("none")).plan().unwrap(),
        )
        .reading(30_000)
        .within(Duration::from_millis(9)),
        Pattern::new("all", orders.scan(ScanPermit::because("test")).plan().unwrap()),
    ];
    let book = book(patterns);
    let [sparse, slow, scans, hot, grows, partial, cents, day] = &book.findings[..] else {
        panic!("{:#?}", book.findings)
    };
    let BookFinding::Sparse { pattern, rows_read: 30_000, rows_matching: 0 } = sparse else {
        panic!("{sparse:?}")
    };
    assert_eq!(pattern, "few");
    assert!(matches!(slow, BookFinding::Slow { pattern, within_ms: 9, .. } if pattern == "few"));
    assert!(matches!(scans, BookFinding::Scans { pattern, .. } if pattern == "all"));
    let BookFinding::HotPartition { partition_key, rows_per_second, most_by, .. } = hot else {
        panic!("{hot:?}")
    };
    assert_eq!((partition_key.as_str(), most_by.as_str()), ("acme", "amounts"));
    assert_eq!(*rows_per_second, 3_000.0);
    assert!(matches!(
        grows,
        BookFinding::GrowsByName { partition: "DAY:{day}", component: "day", .. }
    ));
    let BookFinding::PartialServes { row: "by_state", properties, .. } = partial else {
        panic!("{partial:?}")
    };
    assert_eq!(properties, &["Cents"]);
    assert!(matches!(cents, BookFinding::UnusedRow { row: "by_cents", .. }));
    assert!(matches!(day, BookFinding::UnusedRow { row: "by_day", .. }));
}

#[test]
fn what_is_known_is_listed_apart_with_its_reason() {
    let plan = || orders().list(acme().by_number()).plan().unwrap();
    let sample = || Sample::of(&samples()).unwrap().entities(200_000).largest_partition(5_000);
    let book = || {
        let hot = Pattern::new("orders", plan()).per_second(1.0).within(Duration::from_millis(9));
        let scan = orders().scan(ScanPermit::because("test")).plan().unwrap();
        let scan = Pattern::new("all", scan);
        Book::new("Orders", prices()).entity(sample()).pattern(hot).pattern(scan)
    };
    let unmarked = book().report();
    // Each kind can be marked by what the finding says of itself.
    let mark =
        |book: Book, found: &BookFinding| book.known(found.kind(), found.subject(), "so it is");
    let marked = unmarked.findings.iter().fold(book(), mark).report();
    assert_eq!(marked.findings, []);
    assert_eq!(marked.known.len(), unmarked.findings.len());

    let day = |book: Book| book.known(BookFindingKind::UnusedRow, "Order.by_day", "a | b <i>");
    let report = day(book()).known(BookFindingKind::Scans, "every", "nightly").report();
    let [known] = &report.known[..] else { panic!("{:#?}", report.known) };
    assert!(matches!(known.finding, BookFinding::UnusedRow { row: "by_day", .. }), "{known:?}");
    assert_eq!(known.reason, "a | b <i>");
    // It is known, and nothing else is. The mark of no pattern is a finding.
    let (kind, subject) = (BookFindingKind::Scans, "every".to_owned());
    let mut expected = unmarked.findings.clone();
    expected.retain(|finding| *finding != known.finding);
    expected.push(BookFinding::UnusedMark { kind, subject });
    assert_eq!(report.findings, expected);

    let markdown = report.markdown();
    let (_, listed) = markdown.split_once("\n## Known\n\n").unwrap();
    let line = listed.lines().next().unwrap();
    assert!(line.contains("`by_day`") && line.ends_with("**Known:** a | b <i>"), "{line}");
    let html = report.html();
    assert!(html.contains("<h2>Known</h2>") && html.contains("a | b &lt;i&gt;"), "{html}");
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["known"][0]["finding"], "unused_row");
    assert_eq!(json["known"][0]["reason"], "a | b <i>");
    assert!(!unmarked.markdown().contains("## Known"));
}

#[test]
fn a_mark_for_a_busy_partition_hides_no_load_above_the_target() {
    let plan = || orders().get(acme().by_number().number(1)).plan().unwrap();
    let report = |per_second: f64| {
        let sample = Sample::of(&samples()).unwrap();
        let pattern = Pattern::new("get", plan()).per_second(per_second);
        let mark = |book: Book, kind| book.known(kind, "orders/acme", "measured");
        let book = Book::new("Orders", prices()).entity(sample).pattern(pattern);
        mark(book, BookFindingKind::BusyPartition).report()
    };
    let is_hot = |finding: &BookFinding| matches!(finding, BookFinding::HotPartition { .. });
    let (busy, hot) = (report(2_000.0), report(2_001.0));
    assert!(matches!(busy.known[0].finding, BookFinding::BusyPartition { .. }), "{:?}", busy.known);
    assert!(!busy.findings.iter().any(is_hot), "{:?}", busy.findings);
    assert!(hot.findings.iter().any(is_hot) && hot.known.is_empty(), "{:?}", hot.findings);
}

#[test]
fn a_month_is_billed_for_the_calls_that_it_has() {
    let get = || orders().get(acme().by_number().number(1)).plan().unwrap();
    let book = book([
        Pattern::new("all month", get()).per_second(2.0),
        Pattern::new("at times", get()).per_second(2.0).per_month(20_000.0),
    ]);
    let [all, some] = &book.patterns[..] else { panic!("{:?}", book.patterns) };
    assert!((all.price_per_month - 525.96).abs() < 0.001);
    assert!((some.price_per_month - 2.0).abs() < 0.001);
    assert_eq!(all.per_second, some.per_second);
}

#[test]
fn a_partial_copy_that_would_serve_has_what_filters_name() {
    let open = || orders().list(acme().by_state().state("open")).project::<Cents>();
    let properties = |pattern: Pattern| {
        let serves = |finding: &BookFinding| match finding {
            BookFinding::PartialServes { row: "by_state", properties, .. } => {
                Some(properties.clone())
            }
            _ => None,
        };
        book([pattern]).findings.iter().find_map(serves)
    };
    let filtered = open().filter(|row| row.label.ge("L5")).plan().unwrap();
    assert_eq!(properties(Pattern::new("open", open().plan().unwrap())).unwrap(), ["Cents"]);
    assert_eq!(properties(Pattern::new("late", filtered)).unwrap(), ["Cents", "Label"]);
}

#[test]
fn an_unused_row_takes_the_bytes_of_those_that_have_it() {
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "tasks", partition = "{team}", row = "T:{number:05}")]
    #[row(urgent, key = "URG:{number:05}", include(), when = Task::is_urgent)]
    #[row(by_tag, key = "TAG:{tag}__{number:05}", include(), each(tag in tags))]
    struct Task {
        team: String,
        number: u32,
        #[table(json)]
        tags: Vec<String>,
    }
    impl Task {
        fn is_urgent(&self) -> bool {
            self.number == 0
        }
    }
    let tags = || vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
    let task = |number| Task { team: "red".into(), number, tags: tags() };
    let sample = Sample::of(&(0..10).map(task).collect::<Vec<_>>()).unwrap().entities(1_000);
    let report = Book::new("Tasks", prices()).entity(sample).report();
    let bytes = |name: &str| {
        let unused = |finding: &BookFinding| match finding {
            BookFinding::UnusedRow { row, stored_bytes, .. } if *row == name => Some(*stored_bytes),
            _ => None,
        };
        report.findings.iter().find_map(unused).unwrap()
    };
    let of_one = |name: &str| {
        report.entities[0].rows.iter().find(|row| row.name == name).unwrap().stored_bytes
    };
    assert_eq!(bytes("urgent"), 100 * of_one("urgent"));
    assert_eq!(bytes("by_tag"), 3_000 * of_one("by_tag"));
}

#[test]
fn rows_in_other_partitions_load_those_partitions() {
    let insert = || Pattern::new("insert", orders().insert(&samples()[2]).plan().unwrap());
    let load = |pattern: Pattern, key: &str| {
        let book = book([pattern.per_second(100.0)]);
        let mut loads = book.partitions.iter();
        loads.find(|load| load.partition_key == key).unwrap().rows_per_second
    };
    // A ticket in the partition of the day, then the row and the delete of the ticket.
    assert_eq!(load(insert(), "DAY:2"), 300.0);
    assert_eq!(load(insert().over_partitions(50), "DAY:2"), 300.0);
    assert_eq!(load(insert().over_other_partitions(3), "DAY:2"), 100.0);
    // Three rows, a guard and an intent; then the read of the entity, and the delete of the intent.
    assert_eq!(load(insert(), "acme"), 700.0);
    assert_eq!(load(insert().over_partitions(50), "acme"), 14.0);
}

#[test]
fn rows_in_other_partitions_that_the_answer_decides_load_those_of_the_samples() {
    let orders = orders();
    let loads = |plan: Plan| {
        let report = book([Pattern::new("write", plan).per_second(1.0)]);
        assert!(!report.patterns[0].at_least);
        let load = |one: PartitionLoad| (one.partition_key, one.rows_per_second.round() as u64);
        BTreeMap::from_iter(report.partitions.into_iter().map(load))
    };
    let expected = |loads: &[(&str, u64)]| {
        BTreeMap::from_iter(loads.iter().map(|(key, rows)| ((*key).to_owned(), *rows)))
    };
    // The read, ten changes, and the read and the delete of what settles them. A ticket, its delete and a row, before and
    // after.
    let changed = expected(&[("acme", 13), ("DAY:2", 6)]);
    assert_eq!(loads(orders.update(acme().by_number().number(2), |_| {}).plan().unwrap()), changed);
    assert_eq!(loads(orders.upsert(&samples()[2]).plan().unwrap()), changed);
    let tickets_first = orders.upsert(&samples()[2]).tickets_first().plan().unwrap();
    assert_eq!(loads(tickets_first), expected(&[("acme", 12), ("DAY:2", 6)]));
    let deleted = orders.force_delete(&samples()[2]).plan().unwrap();
    assert_eq!(loads(deleted), expected(&[("acme", 13), ("DAY:2", 3)]));
    // No sample has that key.
    let unknown = orders.update(acme().by_number().number(77), |_| {}).plan().unwrap();
    assert_eq!(loads(unknown), expected(&[("acme", 13), ("DAY:0", 6)]));
    // Of ten samples, that stand for 5,000 entities, two or three are of each day.
    let deleted = loads(orders.delete_partition(acme()).plan().unwrap());
    let days = [("DAY:0", 4_500), ("DAY:1", 4_500), ("DAY:2", 3_000), ("DAY:3", 3_000)];
    // The read of each canonical row, before and after, four rows and an intent, and its delete.
    assert_eq!(deleted, expected(&[&days[..], &[("acme", 5_000 * 8)]].concat()));
    // Over so many partitions as the pattern says.
    let plan = orders.update(acme().by_number().number(2), |_| {}).plan().unwrap();
    let spread = Pattern::new("spread", plan).per_second(6.0).over_other_partitions(3);
    let report = book([spread]);
    let day = report.partitions.iter().find(|load| load.partition_key == "DAY:2").unwrap();
    assert_eq!(day.rows_per_second, 12.0);
}

#[test]
fn the_rows_that_a_call_reads_are_those_of_all_its_queries() {
    let both = ["acme", "beta"].map(|customer| Order::partition(customer).by_number());
    let plan = orders().list_many(both).plan().unwrap();
    let book = book([Pattern::new("both", plan).reading(701).per_second(1.0)]);
    assert_eq!((book.patterns[0].rows_read, book.patterns[0].requests), (701, 2));
    let loads = book.partitions.iter().map(|load| load.rows_per_second);
    assert_eq!(loads.collect::<Vec<_>>(), [351.0, 350.0]);
}

#[test]
fn calls_that_spread_over_partitions_load_each_with_their_share() {
    let plan = || orders().list(acme().by_number()).plan().unwrap();
    let one = Pattern::new("one", plan()).per_second(0.1);
    let spread = Pattern::new("spread", plan()).per_second(0.1).over_partitions(50);
    let loads = [one, spread].map(|pattern| book([pattern]).partitions[0].rows_per_second);
    assert_eq!(loads, [500.0, 10.0]);
}

#[test]
fn findings_have_names_of_any_text_as_code() {
    let scan = orders().scan(ScanPermit::because("test")).plan().unwrap();
    let get = orders().get(acme().by_number().number(1)).plan().unwrap();
    let name = "who `wears` a <bib>";
    let book = book([
        Pattern::new(name, scan),
        Pattern::new("one", get).per_second(1.0).within(Duration::from_millis(1)),
    ]);
    let found = |kind| book.findings.iter().find(|finding| finding.kind() == kind).unwrap();
    assert!(
        found(BookFindingKind::Scans).to_string().starts_with(&format!("`` {name} `` scans:")),
        "{}",
        found(BookFindingKind::Scans)
    );
    assert!(book.html().contains("<li><code>who `wears` a &lt;bib&gt;</code> scans:"));
    let slow = found(BookFindingKind::Slow).to_string();
    assert!(slow.starts_with("`one` sends 1 request, and has 1 ms"), "{slow}");
}

#[tokio::test]
async fn a_pattern_without_a_name_stands_out() {
    let measure = Measure::new();
    let tables = Tables::in_memory().unwrap().layer(measure.clone()).unwrap();
    tables.repo::<Order>().create_all_tables().await.unwrap();
    let get = || tables.repo::<Order>().get(acme().by_number().number(1));
    as_pattern("", get()).await.unwrap();
    let book = Book::new("Orders", prices()).pattern(Pattern::new(" ", get().plan().unwrap()));
    let findings = book.measured(measure.patterns()).report().findings;
    let no_name = |name: &str| BookFinding::NoName { pattern: name.to_owned() };
    assert_eq!(findings, [no_name(" "), no_name("")]);
}

#[test]
fn a_type_that_is_added_twice_stands_out_once() {
    let sample = || Sample::of(&samples()).unwrap();
    let report = Book::new("Orders", prices()).entity(sample()).entity(sample()).report();
    let same: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.kind() == BookFindingKind::SameType)
        .map(BookFinding::subject)
        .collect();
    assert_eq!(same, ["Order"]);
    let unused = |finding: &&BookFinding| finding.subject() == "Order.by_state";
    assert_eq!(report.findings.iter().filter(unused).count(), 1);
    let other =
        Sample::of(&[Bill { customer: "acme".into(), by_number: 1, due: 2, note: String::new() }]);
    let both = Book::new("Orders", prices()).entity(sample()).entity(other.unwrap()).report();
    assert!(both.findings.iter().all(|finding| finding.kind() != BookFindingKind::SameType));
}

#[test]
fn a_book_is_the_same_in_markdown_json_and_html() {
    let get = orders().get(acme().by_number().number(1)).plan().unwrap();
    let book = book([Pattern::new("a | b <i>", get).per_second(2.0)]);
    let json: serde_json::Value = serde_json::from_str(&book.json().unwrap()).unwrap();
    assert_eq!(json["patterns"][0]["class"], "point query");
    assert_eq!(json["entities"][0]["rows"][4]["kind"], "guard");
    // Text of an app cannot break a table or a page.
    assert!(book.markdown().contains("| a \\| b \\<i> | point query | 2/s |"));
    let html = book.html();
    assert!(html.contains("a | b &lt;i&gt;") && !html.contains("<i>"));
    assert!(html.contains(">point query</td>") && html.contains(">2/s</td>"), "{html}");
}

#[test]
fn a_total_says_that_a_pattern_may_need_more() {
    let get = orders().get(acme().by_number().number(1)).plan().unwrap();
    let mut book = book([Pattern::new("one", get).per_second(2.0)]);
    let totals = |book: &BookReport| {
        let page = book.html();
        let total = page.lines().find(|line| line.contains("<dt>a month</dt>")).unwrap();
        let markdown = book.markdown();
        [total.to_owned(), markdown.lines().nth(2).unwrap().to_owned()]
    };
    assert!(totals(&book).iter().all(|total| !total.contains("or more")));
    book.patterns[0].at_least = true;
    assert!(totals(&book).iter().all(|total| total.contains("or more")), "{:?}", totals(&book));
}

#[tokio::test]
async fn what_is_measured_stands_beside_what_is_planned() {
    let measure = Measure::new();
    let tables = Tables::in_memory().unwrap().layer(measure.clone()).unwrap();
    tables.repo::<Order>().create_all_tables().await.unwrap();
    let orders = tables.repo::<Order>();
    for order in &samples() {
        as_pattern("a new order", orders.insert(order)).await.unwrap();
    }
    let open = || orders.list(Order::partition("acme").by_state().state("open"));
    for _ in 0..3 {
        assert_eq!(as_pattern("open orders", open().collect()).await.unwrap().len(), 4);
    }
    // No pattern, and a call that fails.
    assert_eq!(open().count().await.unwrap(), 4);
    as_pattern("a new order", orders.insert(&samples()[0])).await.unwrap_err();

    let measured = measure.patterns();
    let [inserts, lists] = &measured[..] else { panic!("{measured:?}") };
    assert_eq!(
        (inserts.name, inserts.calls, lists.name, lists.calls),
        ("a new order", 21, "open orders", 3)
    );
    assert_eq!((lists.requests, lists.rows_returned, lists.rows_written), (3, 12, 0));
    assert!(lists.bytes_down > 0 && lists.bytes_up == 0);
    // An insert writes three rows, a guard and an intent. What settles the row by day is no part of it.
    assert_eq!((inserts.requests, inserts.rows_written), (21, 20 * 5));
    assert!(inserts.bytes_up > 0);

    let planned = Pattern::new("open orders", open().plan().unwrap()).per_second(2.0);
    let report = Book::new("Orders", prices())
        .entity(Sample::of(&samples()).unwrap())
        .pattern(planned.within(Duration::from_millis(300)))
        .measured(measure.patterns())
        .report();
    let text = report.markdown();
    let line = |name: &str| {
        let (_, table) = text.split_once("## Planned and measured").unwrap();
        let line = table.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
        line.split(" | ").map(str::to_owned).collect::<Vec<_>>()
    };
    let lists = line("open orders");
    assert_eq!([&lists[1], &lists[3], &lists[4]], ["2/s", "1", "1.0"]);
    assert_eq!([&lists[5], &lists[6], &lists[9]], ["4", "4.0", "300 ms"]);
    // The book does not plan it.
    assert_eq!([&line("a new order")[1], &line("a new order")[9]], ["", ""]);
    assert!(report.html().contains("<h2>Planned and measured</h2>"));
    assert!(report.json().unwrap().contains("\"latency_us\""));
    assert!(book([]).json().unwrap().contains("\"measured\": []"));
    let findings =
        report.findings.iter().filter(|finding| finding.kind() == BookFindingKind::Unplanned);
    assert_eq!(findings.map(BookFinding::subject).collect::<Vec<_>>(), ["a new order"]);
}

#[tokio::test]
async fn the_requests_of_a_scan_and_of_pages_belong_to_their_call() {
    let measure = Measure::new();
    let tables = Tables::in_memory().unwrap().layer(measure.clone()).unwrap();
    let orders = tables.repo::<Order>();
    tables.repo::<Order>().create_all_tables().await.unwrap();
    for order in &samples() {
        orders.insert(order).await.unwrap();
    }
    let scan = || orders.scan(ScanPermit::because("test")).page_size(4);
    assert_eq!(as_pattern("every order", scan().collect()).await.unwrap().len(), 20);
    let mut listed = 0;
    as_pattern("orders of acme", async {
        let mut pages = orders.list(Order::partition("acme").by_number()).pages(2);
        while let Some(page) = pages.next().await.unwrap() {
            listed += page.items.len();
        }
    })
    .await;
    assert_eq!(listed, 10);
    // No pattern.
    assert_eq!(scan().count().await.unwrap().rows, 20);

    let measured = measure.patterns();
    let [scans, lists] = &measured[..] else { panic!("{measured:?}") };
    assert_eq!((scans.name, scans.calls, scans.rows_returned), ("every order", 1, 20));
    assert!(scans.requests >= 5, "{scans:?}");
    assert_eq!((lists.name, lists.calls, lists.rows_returned), ("orders of acme", 1, 10));
    assert!(lists.requests >= 5, "{lists:?}");
}

/// A line of a log, of which one partition has more than a page.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "logs", partition = "{host}", row = "{line:05}")]
struct LogLine {
    host: String,
    line: u32,
}

#[tokio::test]
async fn a_page_that_is_read_ahead_belongs_to_the_call_that_took_the_page_before() {
    let measure = Measure::new();
    let tables = Tables::in_memory().unwrap().layer(measure.clone()).unwrap();
    let logs = tables.repo::<LogLine>();
    logs.create_table().await.unwrap();
    let lines = (0..2_100).map(|line| LogLine { host: "a".into(), line });
    logs.insert_many(lines).await.all().unwrap();
    let mut stream = logs.list(LogLine::partition("a")).stream();
    as_pattern("a log", async { while stream.next().await.unwrap().is_some() {} }).await;
    let measured = measure.patterns();
    let [log] = &measured[..] else { panic!("{measured:?}") };
    assert_eq!((log.name, log.calls, log.requests, log.rows_returned), ("a log", 1, 3, 2_100));
}

/// A document in the table of the orders, with a row and a unique value of the same name, `by_number`.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "orders", partition = "{customer}", unique(by_number), kind = "bill")]
#[row(by_bill, key = "BIL:{by_number:05}")]
#[row(by_number, key = "NUM:{by_number:05}", allow_duplicate)]
#[row(by_state, key = "DAT:{due:05}__{by_number:05}")]
struct Bill {
    customer: String,
    by_number: u32,
    due: u32,
    note: String,
}

#[test]
fn rows_of_one_name_are_told_apart() {
    let tables = Tables::in_memory().unwrap();
    let due = tables.repo::<Bill>().list(Bill::partition("acme").by_state()).plan().unwrap();
    let orders = orders().list(acme().by_number()).plan().unwrap();
    let bill = Bill { customer: "acme".into(), by_number: 1, due: 2, note: "n".repeat(1_000) };
    let book = Book::new("Orders", prices())
        .entity(Sample::of(&samples()).unwrap())
        .entity(Sample::of(&[bill]).unwrap())
        .pattern(Pattern::new("due", due))
        .pattern(Pattern::new("orders", orders))
        .report();
    let readers = |entity: usize, row: &str| {
        let mut rows = book.entities[entity].rows.iter();
        rows.find(|other| other.name == row).unwrap().patterns.clone()
    };
    assert_eq!((readers(0, "by_state"), readers(1, "by_state")), (vec![], vec!["due".into()]));
    assert_eq!((readers(0, "by_number"), readers(1, "by_number")), (vec!["orders".into()], vec![]));
    let unused = book.findings.iter().filter_map(|finding| match finding {
        BookFinding::UnusedRow { entity, row, .. } => Some((*entity, *row)),
        _ => None,
    });
    let of_orders = [("Order", "by_state"), ("Order", "by_cents"), ("Order", "by_day")];
    assert_eq!(unused.collect::<Vec<_>>(), [&of_orders[..], &[("Bill", "by_number")]].concat());
    // The note is in the row, and not in the guard.
    let of_kind = |kind: &str| {
        let mut rows = book.entities[1].rows.iter().filter(|row| row.name == "by_number");
        rows.find(|row| row.kind == kind).unwrap()
    };
    let (copy, guard) = (of_kind("full copy"), of_kind("guard"));
    assert!(copy.stored_bytes > 2_000 && guard.stored_bytes < 500, "{copy:?} {guard:?}");
    assert_ne!(copy.sample, guard.sample);
}

#[test]
fn a_partition_that_starts_with_a_time_by_its_name_stands_out() {
    #[derive(Debug, TableEntity)]
    #[table(
        name = "payments",
        partition = "{pay_year:04}{month:02}",
        row = "PAY:{id:05}",
        allow_append_only
    )]
    #[row(
        by_shop,
        key = "SHOP:{pay_year:04}__{id:05}",
        eventual,
        partition = "S:{shop}__{month:02}"
    )]
    struct Payment {
        pay_year: u32,
        month: u32,
        shop: u32,
        id: u32,
    }

    let payment = Payment { pay_year: 2026, month: 10, shop: 3, id: 7 };
    let book = Book::new("Pay", prices()).entity(Sample::of(&[payment]).unwrap()).report();
    let growing: Vec<_> = book
        .findings
        .iter()
        .filter(|finding| matches!(finding, BookFinding::GrowsByName { .. }))
        .collect();
    let partition = "{pay_year:04}{month:02}";
    let (entity, component) = ("Payment", "pay_year");
    assert_eq!(growing, [&BookFinding::GrowsByName { entity, partition, component }]);
    let text = growing[0].to_string();
    assert!(text.contains("`pay_year`") && text.contains("one server"), "{text}");
}

#[test]
fn a_purge_uses_the_row_that_finds_expired_entities() {
    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "links", partition = "{user}", row = "L:{id:05}", expires = until, purge_index)]
    struct Link {
        user: String,
        id: u32,
        until: Option<DateTime>,
    }
    let link = |id| Link { user: "ann".into(), id, until: Some(DateTime::MAX) };
    let sample = || Sample::of(&(0..10).map(link).collect::<Vec<_>>()).unwrap().entities(1_000);
    let links = Tables::in_memory().unwrap().repo::<Link>();
    let unused = |book: Book| {
        let findings = book.entity(sample()).report().findings;
        findings.iter().any(|finding| matches!(finding, BookFinding::UnusedRow { .. }))
    };
    assert!(unused(Book::new("Links", prices())));
    let purge = Pattern::new("purge", links.purge().plan());
    assert!(!unused(Book::new("Links", prices()).pattern(purge)));
}

/// A badge, whose number is unique in all halls, with a row in a table of its own.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "badges", partition = "{hall}", unique(number, across))]
#[row(by_name, key = "BADGE:{name}")]
#[row(
    by_day,
    table = "days",
    partition = "{day}",
    key = "BADGE:{hall}__{name}",
    include(number),
    eventual
)]
struct Badge {
    hall: String,
    name: String,
    day: u32,
    number: u32,
}

#[test]
fn rows_in_other_partitions_and_tables_are_shown_where_they_are() {
    let badge = Badge { hall: "a".into(), name: "ann".into(), day: 5, number: 7 };
    let sample = Sample::of(&[badge]).unwrap();
    let report = Book::new("Badges", prices()).entity(sample).report();
    let markdown = report.markdown();
    for expected in [
        "  subgraph rows0[\"badges · {hall}\"]\n    r0[",
        "  subgraph rows1[\"days · {day}\"]\n    r1[",
        "  subgraph rows2[\"badges · UNQ:number:{number}\"]\n    r2[\"number<br/>UNQ\"]",
        "| by_name | canonical | `{hall}` | `BADGE:{name}` | `a` / `BADGE:ann` |",
        "| by_day | partial copy, follows | `{day}` in `days` | `BADGE:{hall}__{name}` | `5` / `BADGE:a__ann` |",
        "| number | guard | `UNQ:number:{number}` | `UNQ` | `UNQ:number:0000000007` / `UNQ` |",
    ] {
        assert!(markdown.contains(expected), "{expected}\n{markdown}");
    }
    let page = report.html();
    let follows = "<code>{day}</code> / <code>BADGE:{hall}__{name}</code> in <code>days</code>";
    assert!(page.contains(follows), "{page}");
    let json = report.json().unwrap();
    assert!(json.contains("\"table\": \"days\"") && json.contains("\"partition\": \"{day}\""));
}

#[test]
fn another_partition_key_changes_the_book() {
    macro_rules! book {
        ($shards:literal) => {{
            #[derive(Debug, Clone, TableEntity)]
            #[table(name = "pings", partition = "{share}", row = "P:{id:05}")]
            #[component(share = shard(id, $shards))]
            struct Ping {
                id: u32,
            }
            let pings: Vec<_> = (0..9).map(|id| Ping { id }).collect();
            Book::new("Pings", prices()).entity(Sample::of(&pings).unwrap()).report().markdown()
        }};
    }
    assert_ne!(book!(8), book!(16));
}

#[test]
fn of_two_patterns_of_one_name_the_one_that_scans_is_named() {
    let permit = || ScanPermit::because("the test");
    let scan = || Pattern::new("orders", orders().scan(permit()).plan().unwrap());
    let list = || Pattern::new("orders", orders().list(acme().by_number()).plan().unwrap());
    for patterns in [[scan(), list()], [list(), scan()]] {
        let scans = |finding: &&BookFinding| matches!(finding, BookFinding::Scans { .. });
        assert_eq!(book(patterns).findings.iter().filter(scans).count(), 1);
    }
}

/// A pass whose number is unique in all halls, in one table. A guard row has properties of the same names.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "passes", partition = "{hall}", unique(ticket, across))]
#[row(by_name, key = "PASS:{name}")]
#[row(by_row, partition = "ROW:{row}", key = "SEAT:{hall}__{name}", eventual)]
struct Pass {
    hall: String,
    name: String,
    row: u32,
    ticket: u64,
}

#[tokio::test]
async fn a_book_counts_the_bytes_that_a_profile_finds() {
    let pass = |number: u32| Pass {
        hall: "a".into(),
        name: format!("n{number}"),
        row: number % 3,
        ticket: u64::from(number),
    };
    let passes: Vec<_> = (0..9).map(pass).collect();
    let repo = Tables::in_memory().unwrap().repo::<Pass>();
    repo.create_table().await.unwrap();
    repo.insert_many(passes.clone()).await.all().unwrap();
    let profile = repo.profile(ScanPermit::because("the test")).await.unwrap();
    assert_eq!(profile.rows, 3 * 9, "{profile}");
    let book = Book::new("Passes", prices()).entity(Sample::of(&passes).unwrap()).report();
    let entity = &book.entities[0];
    assert_eq!(9 * entity.stored_bytes, profile.sizes.as_ref().unwrap().bytes, "{profile}");
    let guard = entity.rows.iter().find(|row| row.kind == "guard").unwrap();
    assert_eq!(guard.sample.as_ref().unwrap()[1], "UNQ");
    // The name of a ticket in a guard row is text.
    assert!(profile.advice.is_empty(), "{profile}");
    assert_eq!(profile.property("Ticket").unwrap().types, ["Edm.Int64"]);
}
