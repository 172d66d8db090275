//! Lists that yield entities with their versions.

use std::collections::BTreeSet;
use support::recorder::{Record, recorded};
use table_orm::repo::Table;
use table_orm::{Error, Repo, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB|{bib:05}")]
#[row(by_age, key = "AGE|{age:03}|{bib:05}")]
#[row(by_tag, key = "TAG|{tag}|{bib:05}", each(tag in tags))]
struct Runner {
    race: String,
    bib: u32,
    age: u8,
    paid: bool,
    #[table(json)]
    tags: BTreeSet<String>,
}

fn runner(bib: u32, age: u8) -> Runner {
    let tags = ["fast", "fair"].map(str::to_owned).into();
    Runner { race: "R".into(), bib, age, paid: bib.is_multiple_of(2), tags }
}

struct Race {
    tables: Tables,
    runners: Repo<Runner>,
    rows: Table,
    record: Record,
}

/// Runners with the numbers 1 to 9, the older the higher the number.
async fn race() -> Race {
    let (tables, record) = recorded();
    let (runners, rows) = (tables.repo::<Runner>(), tables.table("runners".parse().unwrap()));
    runners.create_table().await.unwrap();
    runners.insert_many((1..10).map(|bib| runner(bib, 30 + bib as u8))).await.all().unwrap();
    record.take();
    Race { tables, runners, rows, record }
}

impl Race {
    /// Leaves a copy of a row of that key prefix behind, as if the runner had once been of that age.
    async fn leave_behind(&self, bib: u32, age: u8) {
        let row = self.rows.get("R", &format!("AGE|{:03}|{bib:05}", 30 + bib)).await.unwrap();
        let mut row = row.unwrap().with("Age", i32::from(age));
        row.row_key = format!("AGE|{age:03}|{bib:05}");
        self.rows.insert_or_replace(&row).await.unwrap();
        self.record.take();
    }
}

fn bibs<'a, R: std::ops::Deref<Target = Runner> + 'a>(
    found: impl IntoIterator<Item = &'a R>,
) -> Vec<u32> {
    found.into_iter().map(|runner| runner.bib).collect()
}

#[tokio::test]
async fn through_canonical_rows_versions_cost_no_further_request() {
    let Race { runners, record, .. } = race().await;
    let by_bib = || runners.list(Runner::partition("R").by_bib().bib_in(3..)).loaded();
    assert_eq!(by_bib().plan().unwrap().steps.len(), 1);
    let found = by_bib().collect().await.unwrap();
    assert_eq!(bibs(&found), [3, 4, 5, 6, 7, 8, 9]);
    let sent = record.take();
    assert_eq!((sent.queries.len(), sent.gets), (1, 0));
    let first = by_bib().first().await.unwrap();
    assert_eq!(first.as_ref(), found.first());
    let sent = record.take();
    assert_eq!((sent.queries.len(), sent.queries[0].top, sent.gets), (1, Some(1), 0));
    for runner in &found {
        assert_eq!(runners.reload(&**runner).await.unwrap().etag(), runner.etag());
    }
}

#[tokio::test]
async fn through_an_index_row_each_hit_costs_one_point_query() {
    let Race { runners, record, .. } = race().await;
    let by_age = || runners.list(Runner::partition("R").by_age().age_in(35..)).loaded();
    assert_eq!(by_age().plan().unwrap().steps.len(), 2);
    record.take();
    let found = by_age().collect().await.unwrap();
    assert_eq!(bibs(&found), [5, 6, 7, 8, 9]);
    let sent = record.take();
    assert_eq!((sent.queries.len(), sent.gets), (1, 5));
    for runner in &found {
        assert_eq!(runners.reload(&**runner).await.unwrap(), *runner);
    }
}

#[tokio::test]
async fn what_a_list_yields_can_be_saved_deleted_and_required() {
    let Race { tables, runners, .. } = race().await;
    let race = Runner::partition("R");
    let mut found = runners.list(race.by_age()).loaded().take(3).collect().await.unwrap();
    let (third, second, mut first) =
        (found.pop().unwrap(), found.pop().unwrap(), found.pop().unwrap());
    first.age = 90;
    runners.save(&mut first).await.unwrap();
    runners.delete(second.clone()).await.unwrap();
    tables.transaction(&race).require(&third).insert(&runner(20, 50)).commit().await.unwrap();
    let now = runners.list(race.by_age().age_in(..)).loaded().collect().await.unwrap();
    assert_eq!(bibs(&now), [3, 4, 5, 6, 7, 8, 9, 20, 1]);
    // Their versions are those that were read.
    assert!(matches!(runners.delete(second).await, Err(Error::NotFound(_) | Error::Conflict(_))));
    runners.update(race.by_bib().bib(3), |runner| runner.paid = true).await.unwrap();
    let late = tables.transaction(&race).require(&third).insert(&runner(21, 50)).commit().await;
    assert!(matches!(late, Err(Error::Transaction(_) | Error::Conflict(_))), "{late:?}");
}

#[tokio::test]
async fn a_stale_index_row_yields_nothing_and_counts_for_no_limit() {
    let race = race().await;
    race.leave_behind(1, 77).await;
    race.leave_behind(9, 10).await;
    let by_age = |ages| race.runners.list(Runner::partition("R").by_age().age_in(ages)).loaded();
    assert_eq!(by_age(70..=u8::MAX).collect().await.unwrap(), []);
    assert_eq!(by_age(0..=u8::MAX).first().await.unwrap().unwrap().bib, 1);
    assert_eq!(bibs(&by_age(0..=u8::MAX).take(2).collect().await.unwrap()), [1, 2]);
    // The runner stands where the row is that it has, though another one was found first.
    let all = by_age(0..=u8::MAX).collect().await.unwrap();
    assert_eq!(bibs(&all), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(by_age(39..=77).one().await.unwrap().bib, 9);
    race.runners.force_delete(&runner(9, 39)).await.unwrap();
    assert!(matches!(by_age(39..=77).one().await, Err(Error::RowCount(_))));
}

#[tokio::test]
async fn a_filter_holds_for_the_entity_as_it_is_now() {
    let Race { runners, rows, record, .. } = race().await;
    let race = Runner::partition("R");
    let unpaid = || runners.list(race.by_age()).filter(|row| row.paid.eq(false)).loaded();
    assert_eq!(bibs(&unpaid().collect().await.unwrap()), [1, 3, 5, 7, 9]);
    let sent = record.take();
    // The canonical rows are asked for with the filter, each by its key.
    assert_eq!((sent.queries.len(), sent.gets), (1 + 5, 0));
    let paid = rows.get("R", "BIB|00003").await.unwrap().unwrap().with("Paid", true);
    rows.replace(&paid).await.unwrap();
    assert_eq!(bibs(&unpaid().collect().await.unwrap()), [1, 5, 7, 9]);
    let canonical = runners.list(race.by_bib()).filter(|row| row.paid.eq(false)).loaded();
    assert_eq!(bibs(&canonical.collect().await.unwrap()), [1, 5, 7, 9]);
    for runner in unpaid().collect().await.unwrap() {
        assert_eq!(runners.reload(&*runner).await.unwrap().etag(), runner.etag());
    }
}

#[tokio::test]
async fn a_limit_asks_for_no_more_entities_than_it_yields() {
    let Race { runners, record, .. } = race().await;
    let by_age = || runners.list(Runner::partition("R").by_age());
    assert_eq!(bibs(&by_age().take(2).loaded().collect().await.unwrap()), [1, 2]);
    assert_eq!(record.take().gets, 2);
    assert_eq!(bibs(&by_age().loaded().take(2).collect().await.unwrap()), [1, 2]);
    assert_eq!(record.take().gets, 2);
    assert_eq!(by_age().loaded().first().await.unwrap().unwrap().bib, 1);
    assert_eq!(record.take().gets, 1);
    assert_eq!(by_age().loaded().take(0).collect().await.unwrap(), []);
    let sent = record.take();
    assert_eq!((sent.queries.len(), sent.gets), (0, 0));
}

#[tokio::test]
async fn pages_resume_by_their_token() {
    let race = race().await;
    race.leave_behind(9, 32).await;
    let runners = &race.runners;
    let by_age = || runners.list(Runner::partition("R").by_age()).loaded().pages(4);
    let by_bib = || runners.list(Runner::partition("R").by_bib()).loaded().pages(4);
    let mut pages = by_age();
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!(bibs(&*first), [1, 2, 3], "one of the four rows is stale");
    let token = first.next.clone().unwrap().to_string();
    let mut rest = by_age().resume(token.parse().unwrap());
    let second = rest.next().await.unwrap().unwrap();
    assert_eq!(bibs(&*second), [4, 5, 6, 7]);
    let back = by_age().resume(second.previous.unwrap()).next().await.unwrap().unwrap();
    assert_eq!(back.items, first.items);
    assert_eq!(bibs(&*rest.next().await.unwrap().unwrap()), [8, 9]);
    assert_eq!(rest.next().await.unwrap(), None);
    // A value that read a page reads it again after a token.
    let mut again = rest.resume(token.parse().unwrap());
    assert_eq!(again.next().await.unwrap().unwrap().items, second.items);
    let mut other = by_bib().resume(token.parse().unwrap());
    assert!(matches!(other.next().await, Err(Error::Token(_))));
    let mut canonical = by_bib();
    let token = canonical.next().await.unwrap().unwrap().next.unwrap();
    assert_eq!(bibs(&*by_bib().resume(token).next().await.unwrap().unwrap()), [5, 6, 7, 8]);
}

#[tokio::test]
async fn an_entity_of_several_rows_comes_once_whatever_the_pages() {
    let Race { runners, record, .. } = race().await;
    let race = Runner::partition("R");
    let fa = || runners.list(race.by_tag().tag_starts_with("fa")).loaded();
    assert_eq!(bibs(&fa().collect().await.unwrap()), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(record.take().gets, 9);
    let (mut pages, mut found) = (fa().pages(4), Vec::new());
    while let Some(page) = pages.next().await.unwrap() {
        found.extend(bibs(&*page));
    }
    assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(record.take().gets, 9);
    let mut stream = fa().stream();
    while let Some(mut runner) = stream.next().await.unwrap() {
        runner.paid = !runner.paid;
        runners.save(runner).await.unwrap();
    }
}

#[tokio::test]
async fn a_load_and_a_list_with_versions_return_the_same() {
    let race = race().await;
    race.leave_behind(4, 99).await;
    let partition = Runner::partition("R");
    let load = race.runners.load(partition.by_age()).await.unwrap().into_vec();
    let sent = race.record.take();
    assert_eq!(race.runners.list(partition.by_age()).loaded().collect().await.unwrap(), load);
    assert_eq!(race.record.take().gets, sent.gets);
    let mut by_bib = race.runners.list(partition.by_bib()).loaded().stream();
    for runner in race.runners.load(&partition).await.unwrap() {
        assert_eq!(by_bib.next().await.unwrap(), Some(runner));
    }
    assert_eq!(by_bib.next().await.unwrap(), None);
}
