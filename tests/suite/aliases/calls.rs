use super::runner::{Data, present};
use std::collections::BTreeMap;
use std::sync::Mutex;
use table_orm::model::Edm;
use table_orm::outbox::{Event, HandlerError};
use table_orm::plan::Step;
use table_orm::repo::{Table, TransactionError};
use table_orm::{DynamicEntity, Error, ScanPermit, TableEntity, TableUnion, Tables};

/// A note as it was first, which patches without a read.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{owner}", row = "NOTE:{id:05}")]
struct Memo {
    #[table(key_only)]
    owner: String,
    #[table(key_only)]
    id: u32,
    body: Option<String>,
    stars: Option<u8>,
}

/// The same, which calls the property `Body` now `Text`.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{owner}", row = "NOTE:{id:05}", outbox(before, after))]
struct Note {
    #[table(key_only)]
    owner: String,
    #[table(key_only)]
    id: u32,
    #[table(alias = "Body")]
    text: Option<String>,
    stars: Option<u8>,
    #[table(flatten)]
    rest: BTreeMap<String, Edm>,
}

#[derive(Debug, PartialEq, TableUnion)]
enum Paper {
    Note(Note),
}

fn memo(body: &str) -> Memo {
    Memo { owner: "ann".to_owned(), id: 7, body: Some(body.to_owned()), stars: None }
}

fn note(text: &str) -> Note {
    let (owner, text) = ("ann".to_owned(), Some(text.to_owned()));
    Note { owner, id: 7, text, stars: None, rest: BTreeMap::new() }
}

async fn tables() -> (Tables, Table) {
    let tables = Tables::in_memory().unwrap();
    tables.repo::<Memo>().create_table().await.unwrap();
    let table = tables.table(tables.repo::<Memo>().table().clone());
    (tables, table)
}

async fn stored(table: &Table) -> DynamicEntity {
    table.get("ann", "NOTE:00007").await.unwrap().unwrap()
}

#[tokio::test]
async fn a_later_merge_by_an_older_version_is_not_lost() {
    let (tables, table) = tables().await;
    let (memos, notes) = (tables.repo::<Memo>(), tables.repo::<Note>());
    let key = Note::partition("ann").row().id(7);
    notes.insert(&note("new")).await.unwrap();
    let old_key = Memo::partition("ann").row().id(7);
    memos.merge(&old_key, MemoPatch::default().body("old".to_owned())).await.unwrap();
    assert_eq!(notes.get(&key).await.unwrap(), Some(note("old")));
    // A patch of another property keeps it, and leaves one name.
    notes.merge(&key, NotePatch::default().stars(3)).await.unwrap();
    let row = stored(&table).await;
    assert_eq!(row.properties.keys().collect::<Vec<_>>(), ["Stars", "Text"]);
    assert_eq!(row.properties["Text"], "old".into());
}

#[tokio::test]
async fn a_merge_reads_before_it_writes() {
    let (tables, table) = tables().await;
    let (memos, notes) = (tables.repo::<Memo>(), tables.repo::<Note>());
    memos.insert(&memo("old")).await.unwrap();
    let key = Note::partition("ann").row().id(7);
    let patch = || NotePatch::default().text("new".to_owned());
    for plan in [
        notes.merge(&key, patch()).plan().unwrap(),
        notes.merge(&key, patch()).or_insert().plan().unwrap(),
        notes.insert_or_merge(&note("new")).plan().unwrap(),
    ] {
        assert!(matches!(plan.steps[0], Step::Read { .. }), "{plan}");
    }
    let ann = Note::partition("ann");
    for transaction in [
        tables.transaction(&ann).merge(&key, patch()),
        tables.transaction(&ann).insert_or_merge(&note("new")),
    ] {
        let refused = transaction.commit().await;
        assert!(matches!(refused, Err(Error::Transaction(TransactionError::NotBlind("Note")))));
    }
    assert_eq!(stored(&table).await.properties["Body"], "old".into());
    notes.insert_or_merge(&note("new")).await.unwrap();
    assert_eq!(
        stored(&table).await.properties,
        BTreeMap::from([("Text".to_owned(), "new".into())])
    );
}

#[tokio::test]
async fn a_merge_keeps_properties_that_no_field_has() {
    let tables = Tables::in_memory().unwrap();
    let runners = present::repo(&tables);
    runners.create_table().await.unwrap();
    let data = Data {
        bib: 1,
        name: "Ann".to_owned(),
        age: 2,
        chip: 5,
        city: None,
        score: 0.5,
        paid: true,
        laps: Vec::new(),
    };
    runners.insert(&(&data).into()).await.unwrap();
    let runner_table = tables.table(runners.table().clone());
    let more = DynamicEntity::new("R", "BIB:00001").with("Shoes", "red");
    runner_table.insert_or_merge(&more).await.unwrap();
    let key = || present::Runner::partition("R").by_bib().bib(1);
    runners.merge(key(), present::RunnerPatch::default().score(1.5)).await.unwrap();
    let row = runner_table.get("R", "BIB:00001").await.unwrap().unwrap();
    assert_eq!((&row.properties["Shoes"], &row.properties["Score"]), (&"red".into(), &1.5.into()));
    // A merge cannot remove the name that an older version merges into the row.
    let older = DynamicEntity::new("R", "BIB:00001").with("Points", 2.0);
    runner_table.insert_or_merge(&older).await.unwrap();
    runners.merge(key(), present::RunnerPatch::default().score(2.5)).await.unwrap();
    let row = runner_table.get("R", "BIB:00001").await.unwrap().unwrap();
    assert!(!row.properties.contains_key("Points"), "{row:?}");
}

#[tokio::test]
async fn an_open_map_never_holds_a_former_name() {
    let (tables, table) = tables().await;
    tables.repo::<Memo>().insert(&memo("old")).await.unwrap();
    let both = DynamicEntity::new("ann", "NOTE:00007").with("Text", "stale").with("Pages", 5_i64);
    table.insert_or_merge(&both).await.unwrap();
    let notes = tables.repo::<Note>();
    let mut expected = note("old");
    expected.rest.insert("Pages".to_owned(), 5_i64.into());
    let ann = Note::partition("ann");
    assert_eq!(notes.get(ann.row().id(7)).await.unwrap(), Some(expected.clone()));
    let union = tables.union::<Paper>(&ann).collect().await.unwrap();
    assert_eq!(union, [Paper::Note(expected.clone())]);
    let scan = notes.scan(ScanPermit::because("a test"));
    let filtered = scan.clone().filter(|row| row.text.eq("stale")).collect().await.unwrap();
    assert_eq!(filtered, []);
    assert_eq!(scan.filter(|row| row.text.eq("old")).collect().await.unwrap(), [expected]);
}

#[tokio::test]
async fn an_event_reads_what_was_stored_under_a_former_name() {
    let (tables, _) = tables().await;
    tables.repo::<Memo>().insert(&memo("old")).await.unwrap();
    let notes = tables.repo::<Note>();
    let ann = Note::partition("ann");
    notes.merge(ann.row().id(7), NotePatch::default().text("new".to_owned())).await.unwrap();
    let texts = Mutex::new(Vec::new());
    let take = |event: Event| {
        texts.lock().unwrap().push((event.before().unwrap(), event.after().unwrap()));
        async { Ok::<_, HandlerError>(()) }
    };
    notes.outbox().dispatch(&ann, take).await.all().unwrap();
    assert_eq!(texts.into_inner().unwrap(), [(Some(note("old")), Some(note("new")))]);
}
