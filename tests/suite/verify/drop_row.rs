//! Rows of an index that the type no longer has are deleted, and no other row.

use super::between::{SmallPages, WriteBetween};
use proptest::prelude::*;
use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::repo::{FormerRow, FormerRowError, KeptReason};
use table_orm::schema_lock::SchemaLock;
use table_orm::store::{Batch, ErrorCode, Middleware, Store, StoreError};
use table_orm::{DynamicEntity, ETag, Error, Repo, ScanPermit, TableEntity, TableName, Tables};

mod before {
    use table_orm::TableEntity;

    #[derive(Debug, Clone, TableEntity)]
    #[table(name = "runners", partition = "{race}")]
    #[row(by_bib, key = "BIB:{bib:05}")]
    #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    #[row(by_state, key = "STATE:{state}__{bib:05}")]
    #[row(by_club, key = "CLUB:{club}__{bib:05}", include(name))]
    pub struct Runner {
        pub race: String,
        pub bib: u32,
        pub age: u8,
        pub state: String,
        pub club: String,
        pub name: String,
    }
}

/// Without two rows, and without the property `Club`.
#[derive(Debug, TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_age, key = "AGE:{age:03}__{bib:05}")]
struct Runner {
    race: String,
    bib: u32,
    age: u8,
    state: String,
    name: String,
}

/// Another type of the table, some of whose keys read as those of the former row.
#[derive(Debug, TableEntity)]
#[table(name = "runners", partition = "{race}", row = "STATE:{state}")]
struct State {
    race: String,
    state: String,
    name: String,
}

fn runner(race: &str, bib: u32, state: &str) -> before::Runner {
    let (race, state) = (race.to_owned(), state.to_owned());
    before::Runner { race, bib, age: 40, state, club: "RC".into(), name: "Ann".into() }
}

fn state(state: &str) -> State {
    State { race: "Boston".into(), state: state.into(), name: "-".into() }
}

fn by_state() -> FormerRow {
    FormerRow::of::<before::Runner, before::RunnerByState>()
}

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

async fn tables() -> Tables {
    let tables = Tables::in_memory().unwrap();
    tables.repo::<Runner>().create_table().await.unwrap();
    tables
}

async fn insert(tables: &Tables, runners: &[before::Runner]) {
    tables.repo().insert_many(runners.to_vec()).await.all().unwrap();
}

async fn stored(tables: &Tables) -> Vec<DynamicEntity> {
    let name = TableName::new("runners").unwrap();
    tables.table(name).scan(permit()).collect().await.unwrap()
}

fn lock() -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tables.lock");
    SchemaLock::new(&path).with([runner("Boston", 7, "MA")]).update().check().unwrap();
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn the_rows_of_an_index_that_is_gone_are_deleted_in_few_transactions_and_all_else_stays() {
    let former = [
        by_state(),
        FormerRow::new("by_state", "STATE:{state}__{bib:05}").unwrap().property("Club"),
        FormerRow::in_lock(&lock(), "Runner", "by_state").unwrap(),
    ];
    for former in former {
        let tables = tables().await;
        let runners: Vec<_> = (0..250)
            .map(|bib| runner(if bib < 120 { "Boston" } else { "Oslo" }, bib, "MA"))
            .collect();
        insert(&tables, &runners).await;
        let before = stored(&tables).await;
        let repo = tables.repo::<Runner>();
        let would = repo.drop_row(former.clone(), permit()).dry_run().await.all().unwrap();
        assert_eq!((would.rows, would.requests, would.kept), (250, 4, 0));
        assert_eq!(stored(&tables).await, before);
        let done = repo.drop_row(former.clone(), permit()).await.all().unwrap();
        assert_eq!(done, would);
        let rest: Vec<_> =
            before.into_iter().filter(|row| !row.row_key.starts_with("STATE:")).collect();
        assert_eq!(stored(&tables).await, rest);
        let again = repo.drop_row(former, permit()).await.all().unwrap();
        assert_eq!((again.rows, again.requests), (0, 0));
    }
}

#[tokio::test]
async fn a_partial_copy_is_a_row_of_the_index_too() {
    let tables = tables().await;
    insert(&tables, &[runner("Boston", 7, "MA")]).await;
    let by_club = FormerRow::of::<before::Runner, before::RunnerByClub>();
    let done = tables.repo::<Runner>().drop_row(by_club, permit()).await.all().unwrap();
    assert_eq!((done.rows, done.kept), (1, 0));
}

#[tokio::test]
async fn a_row_with_a_property_that_nobody_knows_is_kept_until_it_is_named() {
    let tables = tables().await;
    insert(&tables, &[runner("Boston", 7, "MA")]).await;
    let repo = tables.repo::<Runner>();
    let text = FormerRow::new("by_state", "STATE:{state}__{bib:05}").unwrap();
    let report = repo.drop_row(text.clone(), permit()).await;
    assert_eq!((report.progress.rows, report.progress.kept), (0, 1));
    assert_eq!(report.kept[0].row_key, "STATE:MA__00007");
    assert_eq!(report.kept[0].reason, KeptReason::UnknownProperty { property: "Club".into() });
    let done = repo.drop_row(text.property("Club"), permit()).await.all().unwrap();
    assert_eq!((done.rows, done.kept), (1, 0));
}

#[tokio::test]
async fn a_row_of_another_type_is_kept_where_its_key_or_its_content_tells_it_apart() {
    let tables = tables().await;
    tables.repo().insert_many([state("MA"), state("RI__00001")]).await.all().unwrap();
    let rows = tables.table(TableName::new("runners").unwrap());
    // A partial copy stores `Name` alone.
    rows.insert(&DynamicEntity::new("Boston", "CLUB:RC__00001").with("Bib", 1)).await.unwrap();
    // A full copy whose properties make another key.
    insert(&tables, &[runner("Boston", 7, "MA")]).await;
    let copy = rows.get("Boston", "STATE:MA__00007").await.unwrap().unwrap();
    let copy = DynamicEntity { row_key: "STATE:MA__00008".into(), etag: None, ..copy };
    rows.insert(&copy).await.unwrap();
    let kept = async |former| {
        let report = tables.repo::<Runner>().drop_row(former, permit()).dry_run().await;
        let kept = report.kept.into_iter().map(|row| (row.row_key, row.reason));
        (report.progress.rows, kept.collect::<Vec<_>>())
    };
    let of = |key: &str, reason| (key.to_owned(), reason);
    let other = |key| of(key, KeptReason::OtherContent);
    let expected = [other("STATE:MA__00008"), other("STATE:RI__00001")];
    assert_eq!(kept(by_state()).await, (1, expected.to_vec()));
    let locked = |row| FormerRow::in_lock(&lock(), "Runner", row).unwrap();
    let missing = KeptReason::MissingProperty { property: "Age".into() };
    assert_eq!(kept(locked("by_state")).await, (2, vec![of("STATE:RI__00001", missing)]));
    let club = FormerRow::of::<before::Runner, before::RunnerByClub>();
    let unknown = KeptReason::UnknownProperty { property: "Bib".into() };
    for club in [club, locked("by_club")] {
        assert_eq!(kept(club).await, (1, vec![of("CLUB:RC__00001", unknown.clone())]));
    }
}

#[tokio::test]
async fn rows_that_a_type_has_now_are_kept() {
    let tables = tables().await;
    insert(&tables, &[runner("Boston", 7, "MA")]).await;
    tables.repo().insert_many([state("MA"), state("RI__00001")]).await.all().unwrap();
    let text = || FormerRow::new("by_state", "STATE:{state}__{bib:05}").unwrap().property("Club");
    let present = |entity: &str, row: &str| KeptReason::Present {
        entity: entity.to_owned(),
        row: row.to_owned(),
    };
    // `STATE:MA` has another form. `STATE:MA__00007` may be the state `MA__00007`.
    let report = tables.repo::<Runner>().drop_row(text(), permit()).keeping::<State>().await;
    assert_eq!((report.progress.rows, report.progress.kept), (0, 2));
    assert!(report.kept.iter().all(|row| row.reason == present("State", "row")));
    // A row that the type still has is kept, whatever is called former.
    let age = FormerRow::new("by_age", "AGE:{age}__{bib}").unwrap();
    let report = tables.repo::<Runner>().drop_row(age, permit()).await;
    assert_eq!(report.kept[0].reason, present("Runner", "by_age"));
    let all = FormerRow::new("all", "{any}").unwrap().property("Club");
    let report = tables.repo::<Runner>().drop_row(all, permit()).keeping::<State>().await;
    // Only that of `by_club` is of no type that is named.
    assert_eq!((report.progress.rows, report.progress.kept), (1, 5));
}

#[tokio::test]
async fn rows_of_another_kind_and_marks_of_moved_rows_are_kept() {
    let tables = tables().await;
    let rows = tables.table(TableName::new("runners").unwrap());
    let marked = |key: &str, name: &str| DynamicEntity::new("Boston", key).with(name, "x");
    rows.insert(&marked("STATE:MA__00001", "Entity_Kind")).await.unwrap();
    rows.insert(&marked("STATE:MA__00002", "Moved_To")).await.unwrap();
    let report = tables.repo::<Runner>().drop_row(by_state(), permit()).await;
    let reasons: Vec<_> = report.kept.iter().map(|row| row.reason.clone()).collect();
    let kind = KeptReason::OtherKind { entity_kind: "x".into() };
    assert_eq!(reasons, [kind, KeptReason::Moved]);
    assert_eq!(stored(&tables).await.len(), 2);
}

#[tokio::test]
async fn helper_rows_and_guards_are_never_former_rows() {
    let tables = tables().await;
    let rows = tables.table(TableName::new("runners").unwrap());
    for key in "UNQ:bib:7 SUM:a SEQ:b OUT:c TKT:d DUE:e MOV:f EXP:g LOB:h UNQ".split(' ') {
        rows.insert(&DynamicEntity::new("Boston", key)).await.unwrap();
    }
    let all = FormerRow::new("all", "{any}").unwrap();
    let done = tables.repo::<Runner>().drop_row(all, permit()).await.all().unwrap();
    assert_eq!((done.rows, done.kept), (0, 0));
    assert!(matches!(FormerRow::new("a", "UNQ:bib:{bib}"), Err(FormerRowError::Reserved { .. })));
}

#[tokio::test]
async fn what_cannot_be_looked_for_is_refused_before_anything_is_sent() {
    let template = |text: &str| FormerRow::new("a", text).unwrap_err();
    for broken in ["{", "A}", "{a:5}", "{day}{hour:02}"] {
        assert!(matches!(template(broken), FormerRowError::Template { .. }), "{broken}");
    }
    let lock = lock();
    let of = |entity: &str, row: &str| FormerRow::in_lock(&lock, entity, row).unwrap_err();
    assert!(matches!(of("Runner", "by_name"), FormerRowError::NotInLock { .. }));
    assert!(matches!(of("State", "by_state"), FormerRowError::NotInLock { .. }));
    assert!(matches!(of("Runner", "by_bib"), FormerRowError::Canonical { .. }));
    let line = FormerRow::in_lock("nonsense", "Runner", "by_state").unwrap_err();
    assert_eq!(line, FormerRowError::MalformedLock(1));
    let elsewhere = lock.replace("in the partition", "{state} on runners");
    let elsewhere = FormerRow::in_lock(&elsewhere, "Runner", "by_state").unwrap_err();
    assert!(matches!(elsewhere, FormerRowError::InOtherPartitions { .. }));
}

#[tokio::test]
async fn it_goes_on_where_it_stopped() {
    let tables = tables().await.layer(SmallPages(25)).unwrap();
    let runners: Vec<_> = (0..60).map(|bib| runner("Boston", bib, "MA")).collect();
    insert(&tables, &runners).await;
    let repo = tables.repo::<Runner>();
    let mut seen = Vec::new();
    let dry = repo.drop_row(by_state(), permit()).dry_run();
    let dry = dry.on_progress(|progress| seen.push(progress.clone())).await.all().unwrap();
    assert_eq!((dry.rows, seen.len()), (60, 3));
    let token = seen[0].token.clone().unwrap();
    let rest = repo.drop_row(by_state(), permit()).resume(token.clone()).await.all().unwrap();
    assert_eq!(rest.rows, 35);
    let other = FormerRow::new("by_club", "CLUB:{club}").unwrap();
    let other = repo.drop_row(other, permit()).resume(token).await;
    assert!(matches!(other.ended, Some(Error::Token(_))));
}

/// A repository through a store in which another write comes right before the first deletion.
async fn meddled(tables: &Tables) -> (Repo<Runner>, WriteBetween) {
    let between = WriteBetween::default();
    (tables.clone().layer(between.clone()).unwrap().repo(), between)
}

#[tokio::test]
async fn a_row_that_is_written_in_between_is_kept_and_one_that_is_deleted_stops_nobody() {
    let tables = tables().await;
    let runners: Vec<_> = (0..30).map(|bib| runner("Boston", bib, "MA")).collect();
    insert(&tables, &runners).await;
    let (repo, between) = meddled(&tables).await;
    let rows = tables.table(TableName::new("runners").unwrap());
    between.set(async move {
        let row = |bib: u32| DynamicEntity::new("Boston", format!("STATE:MA__{bib:05}"));
        rows.merge(&row(3).with("Name", "Bob")).await.unwrap();
        rows.delete(&row(5)).await.unwrap();
    });
    let report = repo.drop_row(by_state(), permit()).await;
    assert_eq!((report.progress.rows, report.progress.requests), (28, 3));
    assert_eq!(report.kept.len(), 1);
    assert_eq!(report.kept[0].row_key, "STATE:MA__00003");
    assert_eq!(report.kept[0].reason, KeptReason::Changed);
    assert_eq!(repo.drop_row(by_state(), permit()).await.all().unwrap().rows, 1);
}

/// A store that refuses transactions.
#[derive(Debug)]
struct ReadOnly(Arc<dyn Store>);

impl Middleware for ReadOnly {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn commit(&self, _: &TableName, _: Batch) -> Result<Vec<Option<ETag>>, StoreError> {
        Err(StoreError::new(ErrorCode::SERVER_BUSY, "read-only for now"))
    }
}

#[tokio::test]
async fn an_error_of_the_store_ends_it_and_the_report_says_so() {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
    let tables = Tables::new(Arc::clone(&store));
    tables.repo::<Runner>().create_table().await.unwrap();
    insert(&tables, &[runner("Boston", 1, "MA"), runner("Boston", 2, "MA")]).await;
    let refused = Tables::new(Arc::new(ReadOnly(store))).repo::<Runner>();
    let report = refused.drop_row(by_state(), permit()).await;
    assert_eq!((report.progress.rows, report.progress.token.is_none()), (0, true));
    assert!(report.all().unwrap_err().is_unavailable());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Of random rows of two types, exactly the former rows go, also where keys of the other type read
    /// as theirs. What `verify` finds does not change.
    #[test]
    fn exactly_the_former_rows_go(
        runners in proptest::collection::btree_map(0_u32..40, "[A-C]{1,2}", 0..12),
        states in proptest::collection::btree_set("[A-D]{1,2}(__[0-9]{5})?", 0..8),
        from_lock in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let tables = tables().await;
            let runners: Vec<_> =
                runners.iter().map(|(bib, name)| runner("Boston", *bib, name)).collect();
            insert(&tables, &runners).await;
            let taken = stored(&tables).await;
            let is_free = |name: &String| {
                taken.iter().all(|row| row.row_key.strip_prefix("STATE:") != Some(name))
            };
            let states: Vec<_> = states.into_iter().filter(is_free).collect();
            let others = states.iter().map(|name| state(name)).collect::<Vec<_>>();
            tables.repo().insert_many(others).await.all().unwrap();
            let lock = from_lock.then(lock);
            let former = lock.map(|lock| FormerRow::in_lock(&lock, "Runner", "by_state").unwrap());
            let mut expected = stored(&tables).await;
            expected.retain(|row| match row.row_key.strip_prefix("STATE:") {
                Some(name) => states.iter().any(|state| state == name),
                None => true,
            });
            let repo = tables.repo::<Runner>();
            let faults = repo.verify_table(permit()).await.unwrap().findings;
            let done = repo.drop_row(former.unwrap_or_else(by_state), permit()).await.all().unwrap();
            assert_eq!(done.rows, runners.len() as u64);
            assert_eq!(stored(&tables).await, expected);
            assert_eq!(repo.verify_table(permit()).await.unwrap().findings, faults);
        });
    }
}

#[tokio::test]
async fn a_mistyped_template_is_reported() {
    let tables = Tables::in_memory().unwrap();
    tables.repo::<before::Runner>().create_table().await.unwrap();
    for bib in 0..3 {
        tables.repo::<before::Runner>().insert(&runner("Boston", bib, "MA")).await.unwrap();
    }
    let runners = tables.repo::<Runner>();
    let permit = || ScanPermit::because("test");
    let drop = async |template: &str| {
        let former = FormerRow::new("by_state", template).unwrap().property("Club");
        let report = runners.drop_row(former, permit()).dry_run().await;
        let text = report.to_string();
        let (read, rows) = (report.progress.read, report.progress.rows);
        assert!(text.starts_with(&format!("would delete {rows} of {read} rows")), "{text}");
        let is_strange = !report.unknown_components.is_empty() || read == 0;
        assert_eq!(text.contains("WARNING"), is_strange, "{text}");
        for name in &report.unknown_components {
            assert!(text.contains(&format!("WARNING: {{{name}}} is no component")), "{text}");
        }
        (report.progress.read, report.progress.rows, report.unknown_components)
    };
    let unknown = |name: &str| vec![name.to_owned()];
    assert_eq!(drop("STATE:{stat}__{bib:05}").await, (3, 3, unknown("stat")));
    assert_eq!(drop("STATE:{state}__{bib:04}").await, (3, 0, vec![]));
    assert_eq!(drop("STAT:{state}__{bib:05}").await, (0, 0, vec![]));
    assert_eq!(drop("STATE:{state}__{bib:05}").await, (3, 3, vec![]));
    // A field that the type has lost is one that it does not know.
    assert_eq!(drop("CLUB:{club}__{bib:05}").await.2, unknown("club"));
}
