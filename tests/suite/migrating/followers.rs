//! Types with rows in other partitions: they follow in either form, and lists by them find each entity once.

use super::types::{Counter, Loses, permit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::{Migrating, StoredForm};
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use table_orm::{Error, Repo, TableEntity, TableName, Tables};
use time::OffsetDateTime;

/// To another table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "tasks", partition = "{team}", row = "T:{n:06}")]
#[row(by_day, partition = "{day}", key = "DAY:{n:06}__{team}", eventual)]
#[row(of_owner, partition = "{owner}", key = "OWN:{n:06}__{team}", eventual, include(title))]
struct TaskV1 {
    team: String,
    n: u32,
    day: String,
    owner: String,
    title: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "tasks2", partition = "T{team}", row = "T:{n:08}", migrate_from = TaskV1)]
#[row(by_day, partition = "{day}", key = "DAY:{n:08}__{team}", eventual)]
struct Task {
    team: String,
    n: u32,
    day: String,
    owner: String,
    title: String,
}

both_ways!(Task, TaskV1 { team, n, day, owner, title });

/// Within a partition, with the row that finds expired entities.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "links", partition = "{user}", row = "L:{n:03}", expires = until, purge_index)]
struct LinkV1 {
    user: String,
    n: u32,
    until: Option<OffsetDateTime>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "links", partition = "{user}", row = "LINK:{n:08}", expires = until, purge_index)]
#[table(migrate_from = LinkV1)]
struct Link {
    user: String,
    n: u32,
    until: Option<OffsetDateTime>,
}

both_ways!(Link, LinkV1 { user, n, until });

const MONDAY: &str = "2026-11-23";
const TUESDAY: &str = "2026-11-24";

fn task(n: u32, day: &str) -> Task {
    let (team, owner, title) = ("red".into(), "ann".into(), format!("task {n}"));
    Task { team, n, day: day.into(), owner, title }
}

macro_rules! key {
    ($n:expr) => {
        Task::partition("red").row().n($n)
    };
}

struct App {
    store: Arc<Counter>,
    loses: Arc<Loses>,
    tables: Tables,
    tasks: Repo<TaskV1>,
    tasks_1: Migrating<Task>,
    tasks_2: Migrating<Task>,
}

impl App {
    async fn start() -> Self {
        let inner = EmbeddedStore::in_memory().unwrap();
        let loses = Arc::new(Loses { inner, landings: AtomicBool::new(false) });
        let store = Arc::new(Counter::around(loses.clone()));
        let tables = Tables::new(store.clone());
        let tasks = tables.repo::<TaskV1>();
        tasks.create_table().await.unwrap();
        let tasks_2 = tables.migrating::<Task>().unwrap();
        tasks_2.create_table_if_not_exists().await.unwrap();
        let tasks_1 = tasks_2.clone().inserting(StoredForm::Old);
        store.take();
        Self { store, loses, tables, tasks, tasks_1, tasks_2 }
    }

    /// The rows in other partitions of a table, and the intents.
    async fn followers(&self, table: &'static str) -> Vec<String> {
        let rows = self.tables.table(TableName::new(table).unwrap());
        let rows = rows.scan(permit()).collect().await.unwrap();
        let is_one = |row_key: &String| {
            ["DAY:", "OWN:", "DUE:"].iter().any(|start| row_key.starts_with(start))
        };
        rows.into_iter().map(|row| row.row_key).filter(is_one).collect()
    }
}

/// The numbers of the tasks of a day.
async fn of_day(tasks: &Migrating<Task>, day: &str) -> Vec<u32> {
    tasks.list(Task::by_day(day)).await.unwrap().iter().map(|task| task.n).collect()
}

#[tokio::test]
async fn rows_in_other_partitions_follow_writes_in_either_form() {
    let app = App::start().await;
    for n in 1..=3 {
        app.tasks.insert(&task(n, MONDAY).into()).await.unwrap();
    }
    app.tasks_1.insert(&task(4, MONDAY)).await.unwrap();
    app.tasks_2.insert(&task(5, MONDAY)).await.unwrap();
    app.tasks_1.update(key!(1_u32), |task| task.day = TUESDAY.into()).await.unwrap();
    app.tasks_2.update(key!(2_u32), |task| task.day = TUESDAY.into()).await.unwrap();
    app.tasks_2.delete(app.tasks_2.load(key!(3_u32)).await.unwrap().unwrap()).await.unwrap();
    for tasks in [&app.tasks_1, &app.tasks_2] {
        assert_eq!(of_day(tasks, MONDAY).await, [4, 5]);
        assert_eq!(of_day(tasks, TUESDAY).await, [1, 2]);
    }
    assert_eq!(app.followers("tasks").await.len(), 2 + 2);
    assert_eq!(app.followers("tasks2").await.len(), 2);
    app.tasks_2
        .transaction_with(Task::partition("red"), async |tx| {
            for n in [1_u32, 5] {
                let mut held = tx.load(key!(n)).await?.expect("it is stored");
                held.day = MONDAY.into();
                tx.save(held);
            }
            tx.insert(&task(6, TUESDAY));
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(of_day(&app.tasks_2, MONDAY).await, [1, 4, 5]);
    let many = (10..13).map(|n| task(n, TUESDAY));
    assert_eq!(app.tasks_2.insert_many(many).await.all().unwrap(), 3);
    assert_eq!(app.tasks_1.insert_many([task(20, TUESDAY)]).await.all().unwrap(), 1);
    assert_eq!(of_day(&app.tasks_1, TUESDAY).await, [2, 6, 10, 11, 12, 20]);
    assert_eq!(app.tasks_2.migrate(&permit()).await.all().unwrap(), 2);
    assert_eq!(of_day(&app.tasks_1, TUESDAY).await, [2, 6, 10, 11, 12, 20]);
    assert_eq!(app.followers("tasks").await, [""; 0]);
    assert_eq!(app.followers("tasks2").await.len(), 9);
    let mut held = Vec::new();
    for n in [10_u32, 11, 20] {
        held.push(app.tasks_2.load(key!(n)).await.unwrap().unwrap());
    }
    assert_eq!(app.tasks_2.delete_many(held).await.all().unwrap(), 3);
    assert_eq!(of_day(&app.tasks_1, TUESDAY).await, [2, 6, 12]);
    assert!(app.tasks_2.verify_migrated(&permit()).await.unwrap().is_complete());
    app.tasks_2.retire(&permit()).await.all().unwrap();
}

#[tokio::test]
async fn entities_move_in_bulk_with_their_rows_in_other_partitions() {
    let app = App::start().await;
    let all = (0..60).map(|n| TaskV1::from(task(n, MONDAY)));
    app.tasks.insert_many(all).await.all().unwrap();
    app.store.take();
    assert_eq!(app.tasks_2.migrate(&permit()).in_bulk().await.all().unwrap(), 60);
    let requests = app.store.take();
    assert_eq!(requests, 28);
    assert_eq!(of_day(&app.tasks_2, MONDAY).await.len(), 60);
    assert_eq!((app.followers("tasks").await.len(), app.followers("tasks2").await.len()), (0, 60));
    assert_eq!(app.tasks_2.settle(&permit()).await.all().unwrap().settled, 0);
}

#[tokio::test]
async fn a_page_of_a_list_by_a_row_in_another_partition_goes_on_after_the_last_entity() {
    let app = App::start().await;
    for n in 0..40 {
        app.tasks.insert(&task(n, MONDAY).into()).await.unwrap();
    }
    for n in (0..40_u32).step_by(3) {
        app.tasks_2.update(key!(n), |task| task.title.push('!')).await.unwrap();
    }
    let (mut token, mut all) = (None, Vec::new());
    loop {
        let pages = app.tasks_1.list(Task::by_day(MONDAY)).pages(7);
        let mut pages = token.take().into_iter().fold(pages, |pages, token| pages.resume(token));
        let page = pages.next().await.unwrap().expect("a page");
        all.extend(page.items.into_iter().map(|task| task.n));
        match page.next {
            Some(next) => token = Some(next),
            None => break,
        }
        // Meanwhile one moves that comes later, and one that came.
        for n in [all[0], 39 - all[0]] {
            app.tasks_2.update(key!(n), |task| task.title.push('?')).await.unwrap();
        }
    }
    assert_eq!(all, (0..40).collect::<Vec<_>>());
    let list = app.tasks_1.list(Task::by_day(MONDAY)).filter(|task| task.title.eq("task 4"));
    assert_eq!(list.await.unwrap(), [task(4, MONDAY)]);
    let range = Task::by_day(MONDAY).n_in(5..8);
    assert_eq!(app.tasks_1.list(range).count().await.unwrap(), 3);
    assert_eq!(app.tasks_1.list(Task::by_day(MONDAY)).first().await.unwrap().unwrap().n, 0);
}

#[tokio::test]
async fn a_list_finds_an_entity_on_its_way_and_settling_ends_its_move() {
    let app = App::start().await;
    app.tasks.insert(&task(1, MONDAY).into()).await.unwrap();
    app.loses.landings.store(true, Relaxed);
    let permit = permit();
    let moving = app.tasks_2.migrate(&permit).into_future();
    let _ended = tokio::time::timeout(Duration::from_secs(1), moving).await;
    assert_eq!(of_day(&app.tasks_1, MONDAY).await, [1]);
    let verified = app.tasks_2.verify_migrated(&permit).await.unwrap();
    assert_eq!((verified.in_transit.len(), verified.unsettled.len()), (1, 1));
    assert!(!verified.is_complete());
    app.loses.landings.store(false, Relaxed);
    // Young ones are left to their writers.
    let left = app.tasks_2.settle(&permit).await.all().unwrap();
    assert_eq!((left.settled, left.young), (0, 1));
    let settled = app.tasks_2.settle(&permit).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(settled.settled, 1);
    assert_eq!(of_day(&app.tasks_1, MONDAY).await, [1]);
    assert_eq!(app.followers("tasks").await, [""; 0]);
    assert!(app.tasks_2.verify_migrated(&permit).await.unwrap().is_complete());
}

/// A process that ends at a request: it takes effect, or does not, and nothing follows.
#[derive(Debug)]
struct Ends {
    inner: Arc<dyn Store>,
    requests: AtomicU64,
    takes_effect: bool,
    has_ended: AtomicBool,
}

impl Middleware for Ends {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let left = self.requests.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        if left.is_ok() {
            return next.await;
        }
        if self.takes_effect && !self.has_ended.swap(true, Relaxed) {
            let _answer = next.await;
        }
        std::future::pending().await
    }
}

#[tokio::test]
async fn rows_in_other_partitions_follow_wherever_a_process_ends() {
    let permit = permit();
    for (ends_at, takes_effect) in (0..14).flat_map(|at| [(at, false), (at, true)]) {
        for moves in [true, false] {
            let app = App::start().await;
            app.tasks.insert(&task(1, MONDAY).into()).await.unwrap();
            let store: Arc<dyn Store> = app.store.clone();
            let (requests, has_ended) = (AtomicU64::new(ends_at), AtomicBool::new(false));
            let ends = Ends { inner: store, requests, takes_effect, has_ended };
            let ends = Tables::new(Arc::new(ends));
            let ending = ends.migrating::<Task>().unwrap();
            let work = async {
                if moves {
                    let _report = ending.migrate(&permit).await;
                } else {
                    let _saved = ending.update(key!(1_u32), |task| task.title.push('!')).await;
                }
            };
            let _ended = tokio::time::timeout(Duration::from_millis(20), work).await;
            let at = format!("{ends_at} {takes_effect} {moves}");
            assert_eq!(of_day(&app.tasks_1, MONDAY).await, [1], "{at}");
            app.tasks_2.settle(&permit).grace(Duration::ZERO).await.all().unwrap();
            assert_eq!(of_day(&app.tasks_2, MONDAY).await, [1], "{at}");
            app.tasks_2.migrate(&permit).await.all().unwrap();
            let verified = app.tasks_2.verify_migrated(&permit).await.unwrap();
            assert!(verified.is_complete(), "{at}: {verified:?}");
            assert_eq!(of_day(&app.tasks_2, MONDAY).await, [1], "{at}");
            assert_eq!(app.followers("tasks").await, [""; 0], "{at}");
            assert_eq!(app.followers("tasks2").await.len(), 1, "{at}");
        }
    }
}

#[tokio::test]
async fn no_marker_is_deleted_while_a_row_of_the_old_form_has_to_follow() {
    let app = App::start().await;
    app.tasks.insert(&task(1, MONDAY).into()).await.unwrap();
    let due = |name: &str| {
        let key =
            serde_json::json!([["T:000001", [["by_day", "tasks", MONDAY, "DAY:000001__red"]]]]);
        table_orm::entity::DynamicEntity::new("red", name)
            .with("Entity", "Task".to_owned())
            .with("Due", key.to_string())
    };
    // The old type had the name that the new one has now.
    let rows = app.tables.table(TableName::new("tasks").unwrap());
    rows.insert(&due("DUE:01ARZ3NDEKTSV4RRFFQ69G5FAV")).await.unwrap();
    let permit = permit();
    app.tasks_2.migrate(&permit).await.all().unwrap();
    let early = app.tasks_2.retire(&permit).await.all();
    assert!(matches!(early, Err(Error::Migration(_))), "{early:?}");
    let settled = app.tasks_2.settle(&permit).grace(Duration::ZERO).await.all().unwrap();
    assert_eq!(settled.settled, 1);
    assert_eq!(app.tasks_2.retire(&permit).await.all().unwrap().markers, 1);
}

#[tokio::test]
async fn expired_entities_are_purged_after_the_migration_whatever_form_they_had() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<LinkV1>();
    old.create_table().await.unwrap();
    let links = tables.migrating::<Link>().unwrap();
    let until = Some(OffsetDateTime::now_utc() - time::Duration::HOUR);
    for n in 1..=3 {
        old.insert(&LinkV1 { user: "ann".into(), n, until }).await.unwrap();
    }
    links.insert(&Link { user: "ann".into(), n: 4, until }).await.unwrap();
    assert_eq!(links.list(Link::partition("ann")).count().await.unwrap(), 0);
    // An expired entity makes room in either form.
    links.insert(&Link { user: "ann".into(), n: 1, until: None }).await.unwrap();
    assert_eq!(links.migrate(&permit()).await.all().unwrap(), 2);
    assert!(links.verify_migrated(&permit()).await.unwrap().is_complete());
    let rows = tables.table(TableName::new("links").unwrap());
    let rows = rows.scan(permit()).collect().await.unwrap();
    let indexed = |start: &str| rows.iter().filter(|row| row.row_key.starts_with(start)).count();
    assert_eq!((indexed("EXP:LinkV1:"), indexed("EXP:Link:")), (0, 3));
}

#[tokio::test]
async fn calls_that_change_rows_in_other_partitions_cost_what_the_guide_says() {
    let App { store, tasks, tasks_1, tasks_2, .. } = App::start().await;
    macro_rules! costs {
        ($call:expr) => {{
            store.take();
            let answer = $call.await.unwrap();
            (answer, store.take())
        }};
    }
    assert_eq!(costs!(tasks_2.insert(&task(1, MONDAY))).1, 2 + 4);
    let mut held = tasks_2.load(key!(1_u32)).await.unwrap().unwrap();
    held.title.push('!');
    assert_eq!(costs!(tasks_2.save(&mut held)).1, 1 + 4);
    for n in 2..=4 {
        tasks.insert(&task(n, MONDAY).into()).await.unwrap();
    }
    let mut held = tasks_1.load(key!(2_u32)).await.unwrap().unwrap();
    held.title.push('!');
    // Two rows in other partitions in the old form, one in the new form.
    assert_eq!(costs!(tasks_1.save(&mut held)).1, 1 + 6);
    assert_eq!(costs!(tasks_2.save(&mut held)).1, 3 + 4 + 6);
    let (report, cost) = {
        store.take();
        (tasks_2.migrate(&permit()).await, store.take())
    };
    assert_eq!((report.all().unwrap(), cost), (2, 1 + 2 * (3 + 4 + 6) + 1));
    // A query of each form, and a read for each row that they find.
    assert_eq!(costs!(tasks_1.list(Task::by_day(MONDAY))).1, 2 + 4);
    tasks.insert(&task(9, TUESDAY).into()).await.unwrap();
    assert_eq!(costs!(tasks_1.list(Task::by_day(TUESDAY))).1, 2 + 1);
    store.take();
    tasks_1.settle(&permit()).await.all().unwrap();
    assert_eq!(store.take(), 2);
}
