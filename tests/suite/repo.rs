//! The typed calls on the embedded store: what they write, move, reject and read.

// Two rows may include the same field; clippy takes the repeated word for a repeated attribute
// (rust-clippy issue 13238).
#![allow(clippy::duplicated_attributes)]

use std::collections::BTreeMap;
use std::sync::Arc;
use support::recorder::recorded;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults, Retry};
use table_orm::plan::Step;
use table_orm::query::QueryClass;
use table_orm::{
    Error, KeyPart, Loaded, Projection, Repo, ScanPermit, TableEntity, TableName, Tables,
};
use time::OffsetDateTime;

#[derive(Debug, Clone, Copy, PartialEq, Eq, KeyPart)]
pub enum Sex {
    #[key("F")]
    F,
    #[key("M")]
    M,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{event}")]
#[row(by_bib, key = "BIB:{bib:05}__{name}__{sex}__{age}")]
#[row(by_age, key = "AGE:{age:03}__{bib}__{name}__{sex}")]
#[row(by_time, key = "NEW:{newest}__{bib:05}", include(name))]
#[row(by_city, key = "CITY:{city}__{bib:05}", include(name, age))]
#[row(seniors, key = "SEN:{bib:05}", include(name), when = is_senior)]
#[component(newest = desc(registered_at))]
pub struct Runner {
    pub event: String,
    #[table(max = 99_999)]
    pub bib: u32,
    #[table(max_len = 60)]
    pub name: String,
    pub sex: Sex,
    pub age: u8,
    pub registered_at: OffsetDateTime,
    pub city: Option<String>,
}

fn is_senior(runner: &Runner) -> bool {
    runner.age >= 65
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Runner)]
pub struct NameOnly {
    pub name: String,
}

fn runner(bib: u32, name: &str, age: u8) -> Runner {
    Runner {
        event: "Race".to_owned(),
        bib,
        name: name.to_owned(),
        sex: Sex::F,
        age,
        registered_at: OffsetDateTime::UNIX_EPOCH + time::Duration::minutes(bib.into()),
        city: None,
    }
}

async fn repo() -> (Tables, Repo<Runner>) {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Runner>();
    repo.create_table().await.unwrap();
    (tables, repo)
}

/// Every stored RowKey, with the row's `Name`.
async fn stored(tables: &Tables) -> BTreeMap<String, String> {
    let rows = tables.table(TableName::new("runners").unwrap());
    let rows = rows.scan(ScanPermit::because("test")).collect().await.unwrap();
    let name = |row: &table_orm::DynamicEntity| row.properties["Name"].to_string();
    rows.iter().map(|row| (row.row_key.clone(), name(row))).collect()
}

async fn keys(tables: &Tables) -> Vec<String> {
    stored(tables).await.into_keys().collect()
}

#[tokio::test]
async fn an_insert_writes_every_row_and_sparse_rows_only_when_due() {
    let (tables, repo) = repo().await;
    repo.insert(&runner(7, "Ann", 30)).await.unwrap();
    let newest = "NEW:2534023003799999999__00007".to_owned();
    assert_eq!(
        keys(&tables).await,
        ["AGE:030__7__Ann__F".to_owned(), "BIB:00007__Ann__F__30".to_owned(), newest]
    );
    let in_boston = Runner { city: Some("Boston".to_owned()), ..runner(8, "Bea", 70) };
    repo.insert(&in_boston).await.unwrap();
    let keys = keys(&tables).await;
    assert!(keys.contains(&"CITY:Boston__00008".to_owned()), "{keys:?}");
    assert!(keys.contains(&"SEN:00008".to_owned()) && keys.len() == 8, "{keys:?}");
}

#[tokio::test]
async fn a_second_insert_is_rejected_and_leaves_no_row() {
    let (tables, repo) = repo().await;
    repo.insert(&runner(7, "Ann", 30)).await.unwrap();
    let before = keys(&tables).await;
    // The canonical key is new; only the row by registration time is taken.
    let rejected = repo.insert(&Runner { age: 31, ..runner(7, "Ann", 30) }).await;
    let Err(Error::AlreadyExists(rejection)) = rejected else { panic!("{rejected:?}") };
    assert_eq!(rejection.entity, "Runner");
    assert_eq!(rejection.operation, Some((2, "insert")));
    assert!(rejection.row_key.starts_with("NEW:"), "{rejection}");
    assert_eq!(keys(&tables).await, before);
}

#[tokio::test]
async fn a_save_moves_the_rows_whose_keys_changed_and_leaves_the_others() {
    let (tables, repo) = repo().await;
    repo.insert(&runner(7, "Ann", 64)).await.unwrap();
    let race = Runner::partition("Race");
    let mut ann = repo.load(race.by_bib().bib(7)).await.unwrap().one().unwrap();
    ann.age = 65;
    let plan = repo.save(&mut ann).plan().unwrap();
    let operations: Vec<_> = plan
        .operations()
        .map(|operation| format!("{} {}", operation.action.name(), operation.row_key))
        .collect();
    assert_eq!(
        operations,
        [
            "delete BIB:00007__Ann__F__64",
            "insert BIB:00007__Ann__F__65",
            "delete AGE:064__7__Ann__F",
            "insert AGE:065__7__Ann__F",
            "insert SEN:00007",
        ]
    );
    repo.save(&mut ann).await.unwrap();
    assert_eq!(keys(&tables).await.len(), 4);
    // The saved entity carries its new version, so it can be saved again.
    ann.age = 50;
    ann.city = Some("Oslo".to_owned());
    repo.save(&mut ann).await.unwrap();
    let keys = keys(&tables).await;
    assert!(!keys.contains(&"SEN:00007".to_owned()), "{keys:?}");
    assert!(keys.contains(&"CITY:Oslo__00007".to_owned()), "{keys:?}");
    assert!(repo.save(&mut ann).plan().unwrap().steps.is_empty());
    let read = repo.get(race.by_age().age(50).bib(7).name("Ann").sex(Sex::F)).await.unwrap();
    assert_eq!(read.as_ref(), Some(&*ann));
}

#[tokio::test]
async fn a_stale_save_or_delete_is_a_conflict_and_changes_nothing() {
    let (tables, repo) = repo().await;
    repo.insert(&runner(7, "Ann", 30)).await.unwrap();
    let by_bib = || Runner::partition("Race").by_bib().bib(7);
    let first = repo.load(by_bib()).await.unwrap().one().unwrap();
    let mut second = first.clone();
    second.city = Some("Oslo".to_owned());
    repo.save(second).await.unwrap();
    let after = stored(&tables).await;
    let mut stale = first.clone();
    stale.name = "Anna".to_owned();
    let rejected = repo.save(stale).await;
    // The canonical key itself moved, so its old row is deleted under the old version.
    assert!(matches!(rejected, Err(Error::Conflict(_))), "{rejected:?}");
    assert!(matches!(repo.delete(first).await, Err(Error::Conflict(_))));
    assert_eq!(stored(&tables).await, after);
    let current = repo.load(by_bib()).await.unwrap().one().unwrap();
    repo.delete(current).await.unwrap();
    assert!(keys(&tables).await.is_empty());
}

#[tokio::test]
async fn a_save_into_another_partition_is_a_typed_error() {
    let (_tables, repo) = repo().await;
    repo.insert(&runner(7, "Ann", 30)).await.unwrap();
    let race = Runner::partition("Race");
    let mut ann = repo.load(race.by_bib().bib(7)).await.unwrap().one().unwrap();
    ann.event = "Other".to_owned();
    let rejected = repo.save(ann).await;
    assert!(matches!(rejected, Err(Error::PartitionChanged { .. })), "{rejected:?}");
}

#[tokio::test]
async fn load_through_an_index_row_finds_the_version_that_guards() {
    let (_tables, repo) = repo().await;
    repo.insert(&runner(7, "Ann", 30)).await.unwrap();
    repo.insert(&runner(8, "Bea", 30)).await.unwrap();
    let race = Runner::partition("Race");
    let by_age: Vec<Loaded<_>> = repo.load(race.by_age().age(30)).await.unwrap().into_vec();
    assert_eq!(by_age.len(), 2);
    for mut runner in by_age {
        runner.age += 1;
        repo.save(runner).await.unwrap();
    }
    assert_eq!(repo.list(race.by_age().age(31)).count().await.unwrap(), 2);
    let none = repo.load(race.by_bib().bib(9)).await.unwrap().one();
    assert!(matches!(none, Err(Error::RowCount(_))));
    let both = repo.load(race.by_bib()).await.unwrap().one();
    assert!(matches!(both, Err(Error::RowCount(_))));
}

#[tokio::test]
async fn blind_writes_read_first_where_keys_do_not_follow() {
    const { assert!(!Runner::KEYS_FOLLOW_CANONICAL) };
    let (tables, repo) = repo().await;
    let ann = runner(7, "Ann", 30);
    assert!(matches!(repo.force_replace(&ann).await, Err(Error::NotFound(_))));
    assert!(matches!(repo.force_delete(&ann).await, Err(Error::NotFound(_))));
    repo.upsert(&ann).await.unwrap();
    assert_eq!(keys(&tables).await.len(), 3);
    // The same canonical key; the row by time moves although the caller never saw the old one.
    let later = Runner {
        registered_at: OffsetDateTime::UNIX_EPOCH,
        city: Some("Oslo".to_owned()),
        ..ann.clone()
    };
    repo.upsert(&later).await.unwrap();
    let after = keys(&tables).await;
    assert_eq!(after.len(), 4);
    assert!(after.contains(&"NEW:2534023007999999999__00007".to_owned()), "{after:?}");
    repo.force_replace(&ann).await.unwrap();
    assert_eq!(keys(&tables).await.len(), 3);
    repo.force_delete(&later).await.unwrap();
    assert!(keys(&tables).await.is_empty());
}

/// Every key of this entity is a function of its canonical key.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "parts", partition = "{shelf}")]
#[row(by_number, key = "NUM:{number:04}")]
#[row(from_the_end, key = "END:{back:04}", include(number))]
#[component(back = desc(number))]
pub struct Part {
    pub shelf: String,
    pub number: u32,
    pub label: String,
}

#[tokio::test]
async fn blind_writes_are_one_request_where_keys_follow() {
    const { assert!(Part::KEYS_FOLLOW_CANONICAL) };
    let parts = Tables::in_memory().unwrap().repo::<Part>();
    parts.create_table().await.unwrap();
    let part = Part { shelf: "A".to_owned(), number: 7, label: "bolt".to_owned() };
    for plan in [
        parts.upsert(&part).plan().unwrap(),
        parts.force_replace(&part).plan().unwrap(),
        parts.force_delete(&part).plan().unwrap(),
    ] {
        assert_eq!((plan.steps.len(), plan.operations().count()), (1, 2), "{plan}");
    }
    parts.upsert(&part).await.unwrap();
    parts.upsert(&Part { label: "nut".to_owned(), ..part.clone() }).await.unwrap();
    let shelf = Part::partition("A");
    let found = parts.get(shelf.by_number().number(7)).await.unwrap().unwrap();
    assert_eq!(found.label, "nut");
    parts.force_replace(&part).await.unwrap();
    parts.force_delete(&part).await.unwrap();
    assert!(matches!(parts.force_delete(&part).await, Err(Error::NotFound(_))));
    assert!(!parts.list(shelf).exists().await.unwrap());
}

#[tokio::test]
async fn lists_page_stream_count_filter_and_project() {
    let (_tables, repo) = repo().await;
    let everyone = (0..2300).map(|bib| Runner {
        city: (bib % 2 == 0).then(|| "Oslo".to_owned()),
        ..runner(bib, &format!("N{bib}"), u8::try_from(20 + bib % 50).unwrap())
    });
    let report = repo.insert_many(everyone).await.all().unwrap();
    assert_eq!(report.entities, 2300);
    let race = Runner::partition("Race");
    assert_eq!(repo.list(&race).count().await.unwrap(), 2300);
    assert!(repo.list(race.by_bib().bib(5)).exists().await.unwrap());
    assert!(!repo.list(race.by_bib().bib(5000)).exists().await.unwrap());
    let thousand = repo.list(race.by_bib().bib_in(1000..2000)).collect().await.unwrap();
    assert!(thousand.len() == 1000 && thousand.is_sorted_by_key(|runner| runner.bib));
    let filtered = repo
        .list(race.by_bib().bib_in(..100))
        .filter(|r| r.city.eq("Oslo").and(r.age.ge(40).or(r.age.lt(22))))
        .collect()
        .await
        .unwrap();
    let expected = (0..100).filter(|bib| bib % 2 == 0 && (20 + bib % 50 >= 40 || bib % 50 < 2));
    assert!(filtered.iter().map(|runner| runner.bib).eq(expected));
    let newest = repo.list(race.by_time()).project::<NameOnly>().take(3).collect().await.unwrap();
    assert_eq!(
        newest.iter().map(|row| &*row.name).collect::<Vec<_>>(),
        ["N2299", "N2298", "N2297"]
    );
    let mut stream = repo.list(race.by_age().age_in(20..=21)).stream();
    let mut ages = Vec::new();
    while let Some(runner) = stream.next().await.unwrap() {
        ages.push(runner.age);
    }
    assert!(ages.len() == 92 && ages.is_sorted());
    let first = repo.list(race.by_age().age_in(30..)).first().await.unwrap().unwrap();
    // A bare number is equality-only, because its text does not sort: `1010__` before `10__`.
    assert_eq!((first.age, first.bib), (30, 1010));
    let one = repo.list(race.by_bib().bib(17).name("N17")).one().await.unwrap();
    assert_eq!(one.bib, 17);
    let keys = (0..40).map(|bib| race.seniors().bib(bib)).collect::<Vec<_>>();
    assert_eq!(keys.len(), 40);
}

#[tokio::test]
async fn pages_resume_by_token_and_refuse_the_token_of_another_query() {
    let (_tables, repo) = repo().await;
    repo.insert_many((0..250).map(|bib| runner(bib, "N", 30))).await.all().unwrap();
    let race = Runner::partition("Race");
    let mut token = None::<String>;
    let mut seen = Vec::new();
    loop {
        // Each page as its own web request would ask for it.
        let mut pages = repo.list(race.by_bib()).pages(100);
        if let Some(text) = token {
            pages = pages.resume(text.parse().unwrap());
        }
        let page = pages.next().await.unwrap().unwrap();
        seen.extend(page.items.iter().map(|runner| runner.bib));
        match page.next {
            Some(next) => token = Some(next.to_string()),
            None => break,
        }
    }
    assert!(seen.into_iter().eq(0..250));
    let mut pages = repo.list(race.by_bib()).pages(100);
    let token = pages.next().await.unwrap().unwrap().next.unwrap();
    let mut other = repo.list(race.by_age()).pages(100).resume(token);
    assert!(matches!(other.next().await, Err(Error::Token(_))));
    assert!(matches!(repo.list(race.by_bib()).pages(0).next().await, Err(Error::PageSize(0))));
    assert!(matches!(
        repo.list(race.by_bib()).pages(1001).next().await,
        Err(Error::PageSize(1001))
    ));
}

#[tokio::test]
async fn pages_collect_the_rows_from_where_they_are() {
    let (_tables, repo) = repo().await;
    repo.insert_many((0..20).map(|bib| runner(bib, "N", 30))).await.all().unwrap();
    let mut pages = repo.list(Runner::partition("Race").by_bib()).pages(7);
    pages.next().await.unwrap();
    let rest = pages.collect().await.unwrap();
    assert!(rest.iter().map(|runner| runner.bib).eq(7..20));
}

#[tokio::test]
async fn bad_values_are_refused_before_anything_is_written() {
    let (tables, repo) = repo().await;
    for bad in [
        runner(100_000, "Ann", 30),
        runner(1, "A/B", 30),
        runner(1, "Ann_", 30),
        runner(1, "Ann__B", 30),
        runner(1, &"x".repeat(61), 30),
        Runner {
            registered_at: OffsetDateTime::UNIX_EPOCH.replace_year(1600).unwrap(),
            ..runner(1, "Ann", 30)
        },
        Runner { city: Some("Oslo#".to_owned()), ..runner(1, "Ann", 30) },
    ] {
        let rejected = repo.insert(&bad).await.unwrap_err();
        assert!(matches!(rejected, Error::Key(_) | Error::Property(_)), "{rejected:?}");
        assert!(rejected.to_string().contains("Runner"), "{rejected}");
    }
    assert!(keys(&tables).await.is_empty());
    // A query keeps the error until it is sent.
    let race = Runner::partition("Ra/ce");
    assert!(matches!(repo.list(race.by_bib().bib(1)).collect().await, Err(Error::Key(_))));
    assert!(matches!(repo.list(race).count().await, Err(Error::Key(_))));
}

#[tokio::test]
async fn queries_know_their_class_before_they_are_sent() {
    let (_tables, repo) = repo().await;
    let race = Runner::partition("Race");
    let class = |plan: table_orm::Result<table_orm::plan::Plan>| plan.unwrap().class().unwrap();
    let point = race.by_bib().bib(1).name("Ann").sex(Sex::F).age(30);
    assert_eq!(class(repo.get(point).plan()), QueryClass::Point);
    assert_eq!(class(repo.list(race.by_bib().bib(1)).plan()), QueryClass::RowRange);
    let scan = || repo.scan(ScanPermit::because("test"));
    assert_eq!(class(scan().plan()), QueryClass::TableScan);
    let range = scan().partition_range("A".to_owned().."S".to_owned());
    assert_eq!(class(range.plan()), QueryClass::PartitionRange);
    let text = range.plan().unwrap().to_string();
    assert!(text.contains("because test") && text.contains("PartitionKey ge 'A'"), "{text}");
}

#[tokio::test]
async fn get_many_answers_in_the_order_asked() {
    let (_tables, repo) = repo().await;
    repo.insert_many((0..50).map(|bib| runner(bib, "N", 30))).await.all().unwrap();
    let race = Runner::partition("Race");
    let key = |bib| race.by_bib().bib(bib).name("N").sex(Sex::F).age(30);
    let found = repo.get_many([40, 3, 99, 0].map(key)).await.unwrap();
    let bibs: Vec<_> = found.iter().map(|found| found.as_ref().map(|runner| runner.bib)).collect();
    assert_eq!(bibs, [Some(40), Some(3), None, Some(0)]);
    let names = repo.get_many([40, 99].map(key)).project::<NameOnly>();
    let plan = names.plan().unwrap().to_string();
    assert!(plan.matches("$select").count() == 2 && !plan.contains("City"), "{plan}");
    let names = names.await.unwrap();
    assert!(matches!(&names[..], [Some(NameOnly { name }), None] if name == "N"));
}

#[tokio::test]
async fn a_bulk_write_reports_what_was_rejected_and_goes_on_with_the_remainder() {
    let (_tables, repo) = repo().await;
    repo.insert(&runner(150, "N", 30)).await.unwrap();
    let mut last = table_orm::repo::BulkProgress::default();
    let report = repo
        .insert_many((0..400).map(|bib| runner(bib, "N", 30)))
        .parallelism(1)
        .on_progress(|progress| last = progress)
        .await;
    assert_eq!(report.written, last);
    let [failure] = &report.failures[..] else { panic!("{report:?}") };
    assert_eq!(failure.entity.as_ref().map(|runner| runner.bib), Some(150));
    assert!(matches!(failure.error, Error::AlreadyExists(_)));
    let written = report.written.entities;
    let rest = repo.insert_many(report.remainder).await.all().unwrap();
    assert_eq!(written + rest.entities, 399);
    let race = Runner::partition("Race");
    assert_eq!(repo.list(&race).count().await.unwrap(), 400);
    let deleted = repo.delete_partition(&race).await.unwrap();
    assert_eq!((deleted.entities, deleted.rows), (400, 1200));
    assert!(!repo.list(&race).exists().await.unwrap());
}

/// Two parts may have the same label, and then the same row by label.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "labelled", partition = "{shelf}")]
#[row(by_number, key = "NUM:{number:04}__{label}")]
#[row(by_label, key = "LAB:{label}")]
pub struct Labelled {
    pub shelf: String,
    pub number: u32,
    pub label: String,
}

#[tokio::test]
async fn an_index_row_of_another_entity_is_never_taken_over() {
    let repo = Tables::in_memory().unwrap().repo::<Labelled>();
    repo.create_table().await.unwrap();
    let part = |number| Labelled { shelf: "A".to_owned(), number, label: "bolt".to_owned() };
    repo.upsert(&part(1)).await.unwrap();
    for rejected in [repo.upsert(&part(2)).await, repo.insert(&part(2)).await] {
        assert!(matches!(rejected, Err(Error::AlreadyExists(_))), "{rejected:?}");
    }
    let report = repo.upsert_many([part(1), part(3)]).await;
    assert_eq!((report.written.entities, report.failures.len()), (1, 1));
    let shelf = Labelled::partition("A");
    assert_eq!(repo.get(shelf.by_label().label("bolt")).await.unwrap(), Some(part(1)));
    assert_eq!(repo.list(&shelf).count().await.unwrap(), 1);
    assert_eq!(repo.delete_partition(&shelf).await.unwrap().rows, 2);
}

/// `Part` in a later version of the app: with one more row.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "parts", partition = "{shelf}")]
#[row(by_number, key = "NUM:{number:04}")]
#[row(from_the_end, key = "END:{back:04}", include(number))]
#[row(by_label, key = "LAB:{label}__{number:04}")]
#[component(back = desc(number))]
pub struct PartWithLabel {
    pub shelf: String,
    pub number: u32,
    pub label: String,
}

#[tokio::test]
async fn an_index_row_that_was_never_written_does_not_block_a_write() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<Part>();
    old.create_table().await.unwrap();
    for number in 0..4 {
        old.insert(&Part { shelf: "A".to_owned(), number, label: "bolt".to_owned() })
            .await
            .unwrap();
    }
    let new = tables.repo::<PartWithLabel>();
    let shelf = PartWithLabel::partition("A");
    let mut part = new.load(shelf.by_number().number(0)).await.unwrap().one().unwrap();
    part.label = "nut".to_owned();
    new.save(&mut part).await.unwrap();
    let found = new.get(shelf.by_label().label("nut").number(0)).await.unwrap();
    assert_eq!(found.as_ref(), Some(&*part));
    part.label = "screw".to_owned();
    new.save(&mut part).await.unwrap();
    assert_eq!(new.list(shelf.by_label()).count().await.unwrap(), 1);
    let one = new.load(shelf.by_number().number(1)).await.unwrap().one().unwrap();
    new.delete(one.clone()).await.unwrap();
    let gone = new.delete(one).await;
    assert!(matches!(gone, Err(Error::NotFound(_))), "{gone:?}");
    let changed = PartWithLabel { shelf: "A".to_owned(), number: 2, label: "nut".to_owned() };
    new.upsert(&changed).await.unwrap();
    new.force_delete(&changed).await.unwrap();
    assert_eq!(new.delete_partition(&shelf).await.unwrap().entities, 2);
    assert!(
        tables
            .table(TableName::new("parts").unwrap())
            .list("A", ..)
            .collect()
            .await
            .unwrap()
            .is_empty()
    );
}

#[derive(Debug, Clone, PartialEq, table_orm::Properties)]
pub struct Address {
    pub city: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "people", partition = "{id}", row = "P")]
pub struct Person {
    pub id: String,
    #[table(flatten)]
    pub home: Address,
    #[table(flatten)]
    pub more: BTreeMap<String, table_orm::model::Edm>,
}

#[tokio::test]
async fn a_property_that_two_flattened_groups_write_is_a_typed_error() {
    let repo = Tables::in_memory().unwrap().repo::<Person>();
    repo.create_table().await.unwrap();
    for name in ["City", "Id", "RowKey"] {
        let person = Person {
            id: "p".to_owned(),
            home: Address { city: "Oslo".to_owned() },
            more: BTreeMap::from([(name.to_owned(), 1.into())]),
        };
        let Err(Error::Property(error)) = repo.insert(&person).await else { panic!("{name}") };
        assert_eq!(error.property, name);
    }
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "events", partition = "{day}", allow_append_only)]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_kind, key = "KIND:{kind}", allow_key_conflict)]
struct Event {
    day: u32,
    id: u32,
    kind: String,
}

#[tokio::test]
async fn an_index_key_of_two_entities_is_an_error_that_names_the_row() {
    let repo = Tables::in_memory().unwrap().repo::<Event>();
    repo.create_table().await.unwrap();
    repo.insert(&Event { day: 1, id: 1, kind: "a".to_owned() }).await.unwrap();
    let second = repo.insert(&Event { day: 1, id: 2, kind: "a".to_owned() }).await.unwrap_err();
    let Error::AlreadyExists(rejection) = &second else { panic!("{second}") };
    assert_eq!(rejection.index_row, Some("by_kind"));
    assert!(
        second.to_string().contains("add a component to its template that makes the key unique")
    );
    let same = repo.insert(&Event { day: 1, id: 1, kind: "b".to_owned() }).await.unwrap_err();
    assert_eq!(same.rejection().unwrap().index_row, None);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{owner}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_color, key = "COLOR:{color}__{id:05}")]
struct Note {
    owner: String,
    id: u32,
    color: String,
    #[table(etag)]
    version: Option<table_orm::ETag>,
}

#[tokio::test]
async fn the_version_in_a_field_is_that_of_the_canonical_row_and_follows_a_save() {
    let repo = Tables::in_memory().unwrap().repo::<Note>();
    repo.create_table().await.unwrap();
    let note = Note { owner: "ann".to_owned(), id: 1, color: "red".to_owned(), version: None };
    let first = repo.insert(&note).await.unwrap();
    let ann = Note::partition("ann");
    let read = repo.get(ann.by_id().id(1)).await.unwrap().unwrap();
    assert_eq!(read.version.as_ref(), Some(&first));
    let through_index = repo.list(ann.by_color().color("red")).one().await.unwrap();
    assert_eq!(through_index.version, None);

    let second = repo.replace(&read, &first).await.unwrap();
    let mut loaded = repo.load(ann.by_color().color("red")).await.unwrap().one().unwrap();
    assert_eq!(loaded.version.as_ref(), Some(&second));
    loaded.color = "blue".to_owned();
    repo.save(&mut loaded).await.unwrap();
    assert_eq!(loaded.version.as_ref(), Some(loaded.etag()));
    assert_ne!(loaded.etag(), &second);
    let updated = repo.update(ann.by_id().id(1), |note| note.color = "red".to_owned()).await;
    let updated = updated.unwrap();
    assert_eq!(updated.version.as_ref(), Some(updated.etag()));
}

#[tokio::test]
async fn a_key_of_another_entity_is_rejected_at_once_and_not_tried_again() {
    let (tables, record) = recorded();
    let repo = tables.repo::<Event>();
    repo.create_table().await.unwrap();
    let event = |id, kind: &str| Event { day: 1, id, kind: kind.to_owned() };
    repo.insert(&event(1, "a")).await.unwrap();
    repo.insert(&event(2, "b")).await.unwrap();
    record.take();
    let mut calls = 0;
    let key = Event::partition(1).by_id().id(2);
    let change = |event: &mut Event| {
        calls += 1;
        event.kind = "a".to_owned();
    };
    for rejected in [
        repo.upsert(&event(3, "a")).await.map(drop),
        repo.upsert(&event(2, "a")).await.map(drop),
        repo.update(key, change).await.map(drop),
    ] {
        let Err(Error::AlreadyExists(rejection)) = rejected else { panic!("{rejected:?}") };
        assert_eq!(rejection.index_row, Some("by_kind"));
    }
    assert_eq!((record.take().writes.len(), calls), (3, 1));
}

#[tokio::test]
async fn an_entity_under_empty_keys_is_not_taken_for_a_table() {
    #[derive(Debug, TableEntity)]
    #[table(name = "singles", partition = "{space}", row = "{name}")]
    struct Single {
        space: String,
        name: String,
    }
    let repo = Tables::in_memory().unwrap().repo::<Single>();
    let single = Single { space: String::new(), name: String::new() };
    let without_table = repo.force_replace(&single).await.unwrap_err();
    assert!(matches!(without_table, Error::TableNotFound(_)), "{without_table}");
    repo.create_table().await.unwrap();
    let absent = repo.force_replace(&single).await.unwrap_err();
    assert!(matches!(absent, Error::NotFound(_)), "{absent}");
    repo.insert(&single).await.unwrap();
    repo.force_replace(&single).await.unwrap();
}

#[tokio::test]
async fn an_update_keeps_what_is_not_stored_with_the_entity() {
    #[derive(Debug, TableEntity)]
    #[table(name = "counters", partition = "{space}", row = "{name}")]
    struct Counter {
        space: String,
        name: String,
        count: u32,
        #[table(timestamp)]
        written: Option<OffsetDateTime>,
        #[table(skip)]
        seen: u32,
    }
    let repo = Tables::in_memory().unwrap().repo::<Counter>();
    repo.create_table().await.unwrap();
    let (space, name) = ("s".to_owned(), "n".to_owned());
    repo.insert(&Counter { space, name, count: 0, written: None, seen: 0 }).await.unwrap();
    let key = Counter::partition("s").row().name("n");
    let stored = repo.get(&key).await.unwrap().unwrap().written;
    assert!(stored.is_some());
    let unchanged = repo.update(&key, |_| {}).await.unwrap();
    assert_eq!(unchanged.written, stored);
    let changed = repo.update(&key, |counter| (counter.count, counter.seen) = (1, 7)).await;
    let mut changed = changed.unwrap();
    assert_eq!((changed.count, changed.seen), (1, 7));
    // The service does not return the time of a write.
    assert_eq!(changed.written, None);
    // It can be saved again.
    changed.count = 2;
    repo.save(&mut changed).await.unwrap();
    assert_eq!(repo.get(&key).await.unwrap().unwrap().count, 2);
}

#[tokio::test]
async fn a_page_that_reaches_the_limit_is_the_last() {
    let (tables, record) = recorded();
    let repo = tables.repo::<Runner>();
    repo.create_table().await.unwrap();
    repo.insert_many((0..10).map(|bib| runner(bib, "Ann", 30))).await.all().unwrap();
    let race = Runner::partition("Race");
    let mut pages = repo.list(race.by_bib()).take(3).pages(5);
    let planned = pages.plan();
    record.take();
    let page = pages.next().await.unwrap().unwrap();
    assert_eq!((page.items.len(), page.next), (3, None));
    assert!(pages.next().await.unwrap().is_none());
    let sent = record.take().queries;
    assert_eq!(sent.len(), 1);
    let [Step::Read { query, .. }] = &planned.steps[..] else { panic!("{planned}") };
    assert_eq!((query, query.top), (&sent[0], Some(3)));
    let mut pages = repo.list(race.by_bib()).take(7).pages(5);
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!((first.items.len(), first.next.is_some()), (5, true));
    let second = pages.next().await.unwrap().unwrap();
    assert_eq!((second.items.len(), second.next), (2, None));
}

/// Each limit with its ways out.
mod limits {
    use super::*;

    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "files", partition = "{folder}", row = "{name}")]
    struct File {
        folder: String,
        name: String,
        text: String,
        #[table(series)]
        parts: Vec<String>,
    }

    fn file(name: usize, text: usize, parts: usize) -> File {
        File {
            folder: "a".to_owned(),
            name: name.to_string(),
            text: "x".repeat(text),
            parts: vec!["x".repeat(32 * 1024); parts],
        }
    }

    #[tokio::test]
    async fn what_is_over_a_limit_names_the_ways_out() {
        let tables = Tables::in_memory().unwrap();
        let files = tables.repo::<File>();
        files.create_table().await.unwrap();
        let value = files.insert(&file(1, 32 * 1024 + 1, 0)).await.unwrap_err().to_string();
        assert!(value.contains("64 KiB") && value.contains("`Zstd`"), "{value}");
        assert!(value.contains("several fields or rows") && value.contains("blob"), "{value}");
        let entity = files.insert(&file(1, 0, 17)).await.unwrap_err().to_string();
        assert!(entity.contains("1 MiB") && entity.contains("several entities"), "{entity}");
        let mut transaction = tables.transaction(File::partition("a"));
        for name in 0..10 {
            transaction = transaction.insert(&file(name, 0, 15));
        }
        let request = transaction.commit().await.unwrap_err();
        assert!(matches!(request, Error::TooLarge(_)), "{request}");
        let request = request.to_string();
        assert!(request.contains("several transactions"), "{request}");
        assert!(request.contains("`insert_many`"), "{request}");
    }
}

/// An entity that is moved to a key of another, or of a row that it left behind.
mod moved {
    use super::*;
    use table_orm::DynamicEntity;

    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "seats", partition = "{hall}")]
    #[row(by_seat, key = "SEAT:{seat:03}")]
    #[row(by_guest, key = "GUEST:{guest}", allow_key_conflict)]
    struct Seat {
        hall: String,
        seat: u16,
        guest: String,
    }

    #[tokio::test]
    async fn a_key_moved_onto_a_stored_row_says_whose_it_may_be() {
        let tables = Tables::in_memory().unwrap();
        let seats = tables.repo::<Seat>();
        seats.create_table().await.unwrap();
        for (seat, guest) in [(1, "Ann"), (2, "Bea")] {
            let guest = guest.to_owned();
            seats.insert(&Seat { hall: "a".to_owned(), seat, guest }).await.unwrap();
        }
        // Left over from when Ann was called Eve.
        let old = DynamicEntity::new("a", "GUEST:Eve").with("Hall", "a").with("Seat", 1);
        let rows = tables.table(seats.table().clone());
        rows.insert(&old.with("Guest", "Eve")).await.unwrap();
        let ann = seats.load(Seat::partition("a").by_seat().seat(1)).await.unwrap().one().unwrap();
        let mut there = ann.clone();
        there.seat = 2;
        let there = seats.save(&mut there).await.unwrap_err().to_string();
        assert!(there.contains("an entity of this key is stored"), "{there}");
        let mut index = ann;
        index.guest = "Eve".to_owned();
        let index = seats.save(&mut index).await.unwrap_err().to_string();
        assert!(index.contains("another entity has the same key in row `by_guest`"), "{index}");
        assert!(index.contains("an old row of this entity, which `verify` finds"), "{index}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_whose_creation_lost_its_answer_exists() {
    let faults = Faults::seeded(1).on("create_table", 1, Fault::LostReply);
    let store = faults.store(Arc::new(EmbeddedStore::in_memory().unwrap())).unwrap();
    let tables = Tables::new(store).layer(Retry::interactive()).unwrap();
    let runners = tables.repo::<Runner>();
    assert!(!runners.create_table_if_not_exists().await.unwrap());
    assert!(matches!(runners.create_table().await, Err(Error::AlreadyExists(_))));
}
