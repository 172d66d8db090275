//! Projections: what a row stores is read from its properties, the rest from its keys.

use super::repo;
use std::borrow::Cow;
use support::recorder::recorded;
use table_orm::property::PropertyFault;
use table_orm::{DynamicEntity, Error, KeyPart, Projection, Repo, ScanPermit, TableEntity, Tables};
use time::OffsetDateTime;
use time::macros::{date, datetime};

#[derive(Debug, TableEntity)]
#[table(name = "results", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_minutes, key = "MIN:{minutes:04}__{bib:05}", include())]
struct Finisher {
    race: String,
    bib: u32,
    minutes: u32,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Finisher)]
struct Place {
    bib: u32,
    minutes: u32,
    race: String,
}

#[tokio::test]
async fn a_row_without_properties_is_read_from_its_keys() {
    let (tables, record) = recorded();
    let repo = tables.repo::<Finisher>();
    repo.create_table().await.unwrap();
    let boston = Finisher::partition("Boston");
    repo.insert(&Finisher { race: "Boston".into(), bib: 7, minutes: 170 }).await.unwrap();
    let seventh = Place { bib: 7, minutes: 170, race: "Boston".into() };

    let fast = repo.list(boston.by_minutes().minutes_in(0..180)).project::<Place>();
    assert_eq!(fast.collect().await.unwrap(), [seventh]);
    let key = boston.by_minutes().minutes(170).bib(7);
    assert_eq!(repo.get(key).project::<Place>().await.unwrap().unwrap().bib, 7);
    let select = record.take().queries.remove(0).select.unwrap();
    assert_eq!(select, ["PartitionKey", "RowKey", "Bib", "Minutes", "Race", "Moved_To"]);
}

#[tokio::test]
async fn a_stored_property_is_preferred_to_the_key() {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Finisher>();
    repo.create_table().await.unwrap();
    let rows = tables.table("results".parse().unwrap());
    let row = DynamicEntity::new("Boston", "BIB:00007");
    let row = row.with("Race", "boston").with("Bib", 8_i64).with("Minutes", 170_i64);
    rows.insert(&row).await.unwrap();
    let boston = Finisher::partition("Boston");
    let stored = repo.list(&boston).project::<Place>().one().await.unwrap();
    assert_eq!(stored, Place { bib: 8, minutes: 170, race: "boston".into() });

    // A row that should store the field, but does not, is an error.
    rows.insert(&DynamicEntity::new("Boston", "BIB:00009").with("Bib", 9_i64)).await.unwrap();
    let ninth = repo.get(boston.by_bib().bib(9)).project::<Place>().await;
    let Err(Error::Property(error)) = ninth else { panic!("{ninth:?}") };
    assert_eq!((&*error.property, error.fault), ("Minutes", PropertyFault::Missing));
}

#[derive(Debug, Clone, TableEntity)]
#[table(name = "orders", partition = "{tenant}")]
#[row(by_number, key = "ORD|{number:010}")]
#[row(by_customer, key = "OBC|{customer}|{number:010}", include(total))]
struct Order {
    #[table(key_only)]
    tenant: String,
    #[table(key_only)]
    number: u32,
    customer: String,
    total: f64,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Order)]
struct Total {
    number: u32,
    total: f64,
    tenant: String,
}

#[tokio::test]
async fn key_only_fields_are_read_from_any_row_and_never_asked_for() {
    let (tables, record) = recorded();
    let repo = tables.repo::<Order>();
    repo.create_table().await.unwrap();
    let order = Order { tenant: "a".into(), number: 12, customer: "x".into(), total: 1.5 };
    repo.insert(&order).await.unwrap();
    let total = [Total { number: 12, total: 1.5, tenant: "a".into() }];

    let tenant = Order::partition("a");
    record.take();
    let of_x = repo.list(tenant.by_customer().customer("x")).project::<Total>();
    assert_eq!(of_x.collect().await.unwrap(), total);
    let all = repo.list(tenant.by_number()).project::<Total>();
    assert_eq!(all.collect().await.unwrap(), total);
    for query in record.take().queries {
        assert_eq!(query.select.unwrap(), ["PartitionKey", "RowKey", "Total", "Moved_To"]);
    }
}

#[tokio::test]
async fn a_row_with_a_key_of_another_form_is_left_out() {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Order>();
    repo.create_table().await.unwrap();
    let row = DynamicEntity::new("a", "OBC|x|12").with("Total", 1.5);
    tables.table("orders".parse().unwrap()).insert(&row).await.unwrap();
    let of_x = repo.list(Order::partition("a").by_customer().customer("x")).project::<Total>();
    assert_eq!(of_x.collect().await.unwrap(), []);
}

#[derive(Debug, Clone, Copy, PartialEq, KeyPart, serde::Serialize, serde::Deserialize)]
enum Kind {
    Fast,
    Slow,
}

#[derive(Debug, TableEntity)]
#[table(name = "jobs", partition = "{owner}", escape = encode)]
#[row(by_id, key = "ID:{id}")]
#[row(by_rank, key = "RANK:{by_rank}{kind}:{id}", include())]
#[row(by_due, key = "DAY:{due}__{newest}__{rank:03}__{id}", exclude(due, at, rank, id, kind))]
#[component(by_rank = desc(rank), newest = desc(at))]
struct Job<'a> {
    #[table(key_only)]
    owner: Cow<'a, str>,
    id: String,
    rank: u8,
    #[table(json)]
    kind: Kind,
    at: OffsetDateTime,
    due: Option<time::Date>,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Job<'static>)]
struct Ranked {
    owner: Cow<'static, str>,
    id: String,
    rank: u8,
    #[projection(json)]
    kind: Kind,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Job<'static>)]
struct Due {
    id: String,
    rank: u8,
    at: OffsetDateTime,
    #[projection(default = never)]
    due: Option<time::Date>,
}

fn never() -> Option<time::Date> {
    panic!("the key holds it")
}

#[tokio::test]
async fn each_row_reads_a_field_as_its_own_key_writes_it() {
    let repo = repo::<Job<'static>>().await;
    let (at, due) = (datetime!(2011-11-06 09:10:00 UTC), date!(2011 - 11 - 07));
    let (owner, id) = (Cow::Borrowed("R&D/x"), "a/b__c".to_owned());
    let job =
        Job { owner: owner.clone(), id: id.clone(), rank: 9, kind: Kind::Slow, at, due: Some(due) };
    repo.insert(&job).await.unwrap();
    let jobs = Job::partition(owner.clone());
    let ranked = repo.list(jobs.by_rank()).project::<Ranked>().one().await.unwrap();
    assert_eq!(ranked, Ranked { owner, id: id.clone(), rank: 9, kind: Kind::Slow });
    let soon = repo.list(jobs.by_due().due(due)).project::<Due>().one().await.unwrap();
    assert_eq!(soon, Due { id, rank: 9, at, due: Some(due) });
    // Full rows store what the other rows hold in their keys.
    assert_eq!(repo.list(jobs.by_id()).project::<Ranked>().one().await.unwrap(), ranked);
}

#[derive(Debug, TableEntity)]
#[table(name = "loads", partition = "{meter}")]
#[row(by_day, key = "D:{day:05}")]
#[row(newest, key = "N:{newest}", include(load))]
#[component(newest = desc(day))]
struct Day {
    meter: String,
    day: u32,
    note: String,
    #[table(series)]
    load: [Option<f64>; 24],
    #[table(series, rename = "Alarm")]
    alarms: Vec<i32>,
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Day)]
struct Morning {
    day: u32,
    #[projection(slots(6..9))]
    load: [Option<f64>; 3],
    #[projection(slots(1..3))]
    alarms: [Option<i32>; 2],
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Day)]
struct Loads {
    #[projection(series)]
    load: [Option<f64>; 24],
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Day)]
struct Alarms {
    #[projection(series)]
    alarms: Vec<i32>,
}

#[tokio::test]
async fn a_series_is_projected_whole_or_in_part() {
    let (tables, record) = recorded();
    let repo = tables.repo::<Day>();
    repo.create_table().await.unwrap();
    let mut load = [None; 24];
    (load[5], load[6], load[8], load[9]) = (Some(5.0), Some(6.0), Some(8.0), Some(9.0));
    let day = Day { meter: "m".into(), day: 1, note: "x".into(), load, alarms: vec![4, 5] };
    repo.insert(&day).await.unwrap();
    let meter = Day::partition("m");
    record.take();

    let morning = repo.list(&meter).project::<Morning>().one().await.unwrap();
    let expected = Morning { day: 1, load: [Some(6.0), None, Some(8.0)], alarms: [Some(5), None] };
    assert_eq!(morning, expected);
    let select = record.take().queries.remove(0).select.unwrap();
    let names = [
        "PartitionKey",
        "RowKey",
        "Day",
        "Load06",
        "Load07",
        "Load08",
        "Alarm001",
        "Alarm002",
        "Moved_To",
    ];
    assert_eq!(select, names);

    // From a partial copy, and by a point query.
    let loads = repo.get(meter.newest().newest(1)).project::<Loads>().await.unwrap().unwrap();
    assert_eq!(loads, Loads { load });
    assert_eq!(record.take().queries.len(), 0);
    let loads = repo.list(meter.newest()).project::<Loads>().collect().await.unwrap();
    assert_eq!(loads, [Loads { load }]);
    let select = record.take().queries.remove(0).select.unwrap();
    assert_eq!((select.len(), &*select[25], &*select[26]), (27, "Load23", "Moved_To"));

    // A `Vec` may have more values than a request can name.
    let alarms = repo.list(&meter).project::<Alarms>().one().await.unwrap();
    assert_eq!(alarms, Alarms { alarms: vec![4, 5] });
    assert_eq!(record.take().queries.remove(0).select, None);
    let scanned = repo.scan(ScanPermit::because("test")).project::<Morning>();
    assert_eq!(scanned.collect().await.unwrap(), [expected]);
}

#[derive(Debug, TableEntity)]
#[table(name = "notes", partition = "{owner}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_title, key = "TITLE:{title}__{id:05}", include())]
struct Note {
    owner: String,
    id: u32,
    title: String,
    text: Option<String>,
    #[table(json)]
    tags: Vec<String>,
}

#[derive(Projection)]
#[projection(of = Note, borrow)]
struct Text<'a> {
    owner: Cow<'a, str>,
    title: Cow<'a, str>,
    text: Option<Cow<'a, str>>,
    #[projection(json)]
    tags: Vec<String>,
}

#[derive(Projection)]
#[projection(of = Note, borrow)]
struct Title<'a> {
    owner: Cow<'a, str>,
    id: u32,
    title: Cow<'a, str>,
}

async fn notes(texts: &[(&str, Option<&str>)]) -> (Repo<Note>, support::recorder::Record) {
    let (tables, record) = recorded();
    let repo = tables.repo::<Note>();
    repo.create_table().await.unwrap();
    for (id, (title, text)) in (0..).zip(texts) {
        let (title, text) = ((*title).to_owned(), text.map(str::to_owned));
        let tags = vec!["a".to_owned()];
        repo.insert(&Note { owner: "ann".into(), id, title, text, tags }).await.unwrap();
    }
    (repo, record)
}

#[tokio::test]
async fn texts_without_escapes_are_slices_of_the_page() {
    let (repo, record) =
        notes(&[("plain", Some("é 日本")), ("none", None), ("two", Some("a\nb"))]).await;
    let is_borrowed = |text: &Cow<'_, str>| matches!(text, Cow::Borrowed(_));
    record.take();
    let rows = repo.list(Note::partition("ann")).map::<Text<'_>, _>(move |row| {
        assert!(is_borrowed(&row.owner) && is_borrowed(&row.title));
        assert_eq!(row.tags, ["a"]);
        row.text.map(|text| (is_borrowed(&text), text.into_owned()))
    });
    let texts = rows.collect().await.unwrap();
    assert_eq!(texts, [Some((true, "é 日本".to_owned())), None, Some((false, "a\nb".to_owned()))]);
    let select = record.take().queries.remove(0).select.unwrap();
    assert_eq!(select, ["PartitionKey", "RowKey", "Owner", "Title", "Text", "Tags", "Moved_To"]);
}

#[tokio::test]
async fn a_borrowed_text_that_no_property_holds_is_read_from_the_key() {
    let (repo, _) = notes(&[("b", None), ("a", None)]).await;
    let by_title = Note::partition("ann").by_title();
    let row = |row: Title<'_>| format!("{} {} {}", row.owner, row.id, row.title);
    let rows = repo.list(by_title).map::<Title<'_>, _>(row);
    assert_eq!(rows.clone().collect().await.unwrap(), ["ann 1 a", "ann 0 b"]);
    assert_eq!(rows.clone().first().await.unwrap().as_deref(), Some("ann 1 a"));
    assert!(rows.one().await.is_err());
}

#[tokio::test]
async fn a_value_that_is_no_text_is_the_error_of_its_row() {
    let (tables, _) = recorded();
    let repo = tables.repo::<Note>();
    repo.create_table().await.unwrap();
    let rows = tables.table(repo.table().clone());
    let row = |id: u32| DynamicEntity::new("ann", format!("ID:{id:05}")).with("Owner", "ann");
    rows.insert(&row(1).with("Title", 7).with("Id", 1_i64)).await.unwrap();
    rows.insert(&row(2).with("Title", "two").with("Id", 2_i64)).await.unwrap();
    let list = repo.list(Note::partition("ann"));
    let error = list.clone().map::<Title<'_>, _>(|row| row.id).collect().await.unwrap_err();
    let Error::Property(error) = error else { panic!("{error}") };
    assert_eq!((&*error.row_key, &*error.property), ("ID:00001", "Title"));
    let list = list.skip_unreadable(|error| assert_eq!(error.row_key, "ID:00001"));
    assert_eq!(list.map::<Title<'_>, _>(|row| row.id).collect().await.unwrap(), [2]);
}

#[tokio::test]
async fn pages_and_scans_have_what_was_made_of_each_row() {
    let (repo, _) = notes(&[("a", None), ("b", None), ("c", None)]).await;
    let list = repo.list(Note::partition("ann")).map::<Title<'_>, _>(|row| row.title.len());
    let mut pages = list.pages(2);
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!(first.items, [1, 1]);
    assert_eq!(pages.next().await.unwrap().unwrap().items, [1]);
    let scan = || repo.scan(ScanPermit::because("a test"));
    let scan = || scan().map::<Title<'_>, _>(|row| row.id).take(2).ordered(true);
    assert_eq!(scan().collect().await.unwrap(), [0, 1]);
    assert_eq!(scan().pages(1).next().await.unwrap().unwrap().items, [0]);
    let mut found = Vec::new();
    let report = scan().on_page(|page| {
        found.extend(page.rows);
        async { Ok::<_, Error>(()) }
    });
    assert_eq!((report.await.unwrap().rows, found), (2, vec![0, 1]));
}
