//! What `load` returns through an index row: entities that have the key of that row.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use std::fmt;
use std::sync::{Arc, Mutex};
use support::dose;
use support::recorder::recorded;
use table_orm::embedded::EmbeddedStore;
use table_orm::query::RowQuery;
use table_orm::repo::Table;
use table_orm::store::{Middleware, Page, Store, StoreError};
use table_orm::{Error, Repo, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB|{bib:05}")]
#[row(by_age, key = "AGE|{age:03}|{bib:05}")]
#[row(by_club, key = "CLUB|{club}|{bib:05}")]
struct Runner {
    race: String,
    bib: u32,
    age: u8,
    club: Option<String>,
    name: String,
}

fn runner(bib: u32, age: u8) -> Runner {
    Runner { race: "R".into(), bib, age, club: Some("Harriers".into()), name: "old".into() }
}

/// What another client does once, after the first page is read and before anything else is.
#[derive(Clone, Default)]
struct Between(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl fmt::Debug for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Between")
    }
}

#[derive(Debug)]
struct Reader {
    store: Arc<EmbeddedStore>,
    between: Between,
}

impl Middleware for Reader {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let page = self.store.query(query).await;
        let between = self.between.0.lock().unwrap().take();
        if let Some(between) = between {
            between.await;
        }
        page
    }
}

/// The runners as a reader sees them; as another client does; and what that one does in between.
async fn clients() -> (Repo<Runner>, Repo<Runner>, Table, Between) {
    let (store, between) = (Arc::new(EmbeddedStore::in_memory().unwrap()), Between::default());
    let other = Tables::new(Arc::clone(&store));
    let reader = Tables::new(Reader { store, between: between.clone() });
    let (runners, rows) = (other.repo::<Runner>(), other.table("runners".parse().unwrap()));
    runners.create_table().await.unwrap();
    (reader.repo(), runners, rows, between)
}

/// Leaves a copy of the row `from` behind at the keys of another age.
async fn leave_behind(rows: &Table, bib: u32, from: u8, age: u8) {
    let row = rows.get("R", &format!("AGE|{from:03}|{bib:05}")).await.unwrap().unwrap();
    let mut row = row.with("Age", i32::from(age));
    row.row_key = format!("AGE|{age:03}|{bib:05}");
    rows.insert_or_replace(&row).await.unwrap();
}

#[tokio::test]
async fn an_entity_that_moved_between_the_two_reads_is_left_out() {
    let (reader, other, _, between) = clients().await;
    let race = Runner::partition("R");
    for bib in 1..=3 {
        other.insert(&runner(bib, 30)).await.unwrap();
    }
    *between.0.lock().unwrap() = Some(Box::pin(async move {
        let race = Runner::partition("R");
        other.update(race.by_bib().bib(1), |runner| runner.age = 40).await.unwrap();
        other.update(race.by_bib().bib(2), |runner| runner.name = "new".into()).await.unwrap();
        other.force_delete(&runner(3, 30)).await.unwrap();
    }));
    let loaded = reader.load(race.by_age().age(30)).await.unwrap();
    let found: Vec<_> = loaded.iter().map(|runner| (runner.bib, &*runner.name)).collect();
    assert_eq!(found, [(2, "new")], "as it is now");
    for mut runner in loaded {
        runner.age = 31;
        reader.save(&mut runner).await.unwrap();
    }
    assert_eq!(reader.get(race.by_bib().bib(1)).await.unwrap().unwrap().age, 40);
}

#[tokio::test]
async fn an_index_row_that_was_left_behind_loads_nothing() {
    let (reader, other, rows, _) = clients().await;
    let race = Runner::partition("R");
    other.insert(&runner(1, 30)).await.unwrap();
    leave_behind(&rows, 1, 30, 40).await;
    assert_eq!(reader.load(race.by_age().age(40)).await.unwrap().len(), 0);
    // Once, though two rows of the range name it.
    assert_eq!(reader.load(race.by_age()).await.unwrap().one().unwrap().age, 30);
    // It is no longer in any club, so it has no such row.
    other.update(race.by_bib().bib(1), |runner| runner.name = "new".into()).await.unwrap();
    let row = rows.get("R", "CLUB|Harriers|00001").await.unwrap().unwrap();
    other.update(race.by_bib().bib(1), |runner| runner.club = None).await.unwrap();
    rows.insert(&row).await.unwrap();
    assert_eq!(reader.load(race.by_club().club("Harriers")).await.unwrap().len(), 0);
}

#[tokio::test]
async fn leaving_out_costs_no_request() {
    let (tables, record) = recorded();
    let (runners, rows) = (tables.repo::<Runner>(), tables.table("runners".parse().unwrap()));
    runners.create_table().await.unwrap();
    runners.insert(&runner(1, 30)).await.unwrap();
    leave_behind(&rows, 1, 30, 40).await;
    record.take();
    // The row of the entity, and the one that is left out.
    for (age, found) in [(30, 1), (40, 0)] {
        let load = runners.load(Runner::partition("R").by_age().age(age));
        assert_eq!(load.plan().unwrap().steps.len(), 2);
        assert_eq!(load.await.unwrap().len(), found);
        let requests = record.take();
        assert_eq!((requests.queries.len(), requests.gets), (1, 1), "{age}");
        assert_eq!(requests.writes, [0; 0]);
    }
}

/// What happens to a runner before the load, or between its two reads.
#[derive(Debug, Clone, Copy)]
enum Change {
    Nothing,
    Renamed,
    Moved(u8),
    MovedAndBack(u8),
    Deleted,
    Orphan(u8),
}

fn changes() -> impl Strategy<Value = Vec<(u8, Change, Change)>> {
    let age = || 0..8_u8;
    let change = prop_oneof![
        2 => Just(Change::Nothing),
        2 => Just(Change::Renamed),
        3 => age().prop_map(Change::Moved),
        1 => age().prop_map(Change::MovedAndBack),
        1 => Just(Change::Deleted),
        3 => age().prop_map(Change::Orphan),
    ];
    proptest::collection::vec((age(), change.clone(), change), 0..12)
}

async fn apply(runners: &Repo<Runner>, rows: &Table, bib: u32, change: Change) {
    let key = || Runner::partition("R").by_bib().bib(bib);
    let Some(stored) = runners.get(key()).await.unwrap() else { return };
    // A row that was left behind may be in the way.
    let move_to = async |age| match runners.update(key(), |runner| runner.age = age).await {
        Ok(_) | Err(Error::AlreadyExists(_)) => {}
        Err(error) => panic!("{error}"),
    };
    match change {
        Change::Nothing => {}
        Change::Renamed => {
            runners.update(key(), |runner| runner.name = "new".into()).await.unwrap();
        }
        Change::Moved(to) => move_to(to).await,
        Change::MovedAndBack(to) => {
            move_to(to).await;
            move_to(stored.age).await;
        }
        Change::Deleted => runners.force_delete(&stored).await.unwrap(),
        Change::Orphan(at) if at != stored.age => leave_behind(rows, bib, stored.age, at).await,
        Change::Orphan(_) => {}
    }
}

/// Loads a range while others change its entities.
async fn check(changes: Vec<(u8, Change, Change)>, ages: std::ops::Range<u8>) {
    let (reader, other, rows, between) = clients().await;
    let race = Runner::partition("R");
    for (bib, &(age, before, _)) in (0..).zip(&changes) {
        other.insert(&runner(bib, age)).await.unwrap();
        apply(&other, &rows, bib, before).await;
    }
    let before = other.list(race.by_bib()).collect().await.unwrap();
    let (others, other_rows) = (other.clone(), rows.clone());
    *between.0.lock().unwrap() = Some(
        async move {
            for (bib, (_, _, change)) in (0..).zip(changes) {
                apply(&others, &other_rows, bib, change).await;
            }
        }
        .boxed(),
    );
    let loaded = reader.load(race.by_age().age_in(ages.clone())).await.unwrap();
    let after = other.list(race.by_bib()).collect().await.unwrap();
    let mut expected = after.clone();
    // Orphans that the other client leaves in between are not on the page that was read.
    expected.retain(|runner| {
        let same = |old: &Runner| old.bib == runner.bib && old.age == runner.age;
        ages.contains(&runner.age) && before.iter().any(same)
    });
    expected.sort_by_key(|runner| (runner.age, runner.bib));
    let found: Vec<_> = loaded.iter().map(|runner| (**runner).clone()).collect();
    assert_eq!(found, expected);
    for mut runner in loaded {
        runner.name.push('!');
        reader.save(&mut runner).await.unwrap();
    }
    for (old, new) in after.iter().zip(reader.list(race.by_bib()).collect().await.unwrap()) {
        let saved = expected.iter().any(|runner| runner.bib == old.bib);
        let name = if saved { format!("{}!", old.name) } else { old.name.clone() };
        assert_eq!(new, Runner { name, ..old.clone() }, "no change of another client is undone");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(64, 4096)))]
    #[test]
    fn a_load_returns_each_entity_of_its_keys_once_and_undoes_nobodys_change(
        changes in changes(),
        from in 0..5_u8,
        ages in 1..8_u8,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(check(changes, from..from + ages));
    }
}

#[tokio::test]
async fn an_index_row_with_keys_of_another_entity_is_still_an_error() {
    let (reader, other, rows, _) = clients().await;
    other.insert(&runner(1, 30)).await.unwrap();
    let row = rows.get("R", "AGE|030|00001").await.unwrap().unwrap().with("Age", 31);
    rows.replace(&row).await.unwrap();
    let loaded = reader.load(Runner::partition("R").by_age()).await;
    assert!(matches!(loaded, Err(Error::KeyMismatch(_))), "{loaded:?}");
}
