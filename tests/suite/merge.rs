//! Writes that keep the properties they do not name: patches, insert-or-merge, and updates.

use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::query::QueryClass;
use table_orm::store::Action;
use table_orm::{DynamicEntity, Error, Repo, ScanPermit, TableEntity, TableName, Tables};

/// One row for each day, one property for each hour.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "loads", partition = "{host}", row = "{day:05}")]
struct Load {
    #[table(key_only)]
    host: String,
    #[table(key_only)]
    day: u32,
    #[table(series)]
    percent: [Option<f64>; 24],
    #[table(max_len = 10)]
    note: Option<String>,
    #[table(json)]
    tags: Option<Vec<String>>,
}

/// Full copies, a partial copy, and rows that come and go with what a patch sets.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "tickets", partition = "{project}", unique(code))]
#[row(by_id, key = "ID:{id:06}")]
#[row(by_owner, key = "OWN:{owner}__{id:06}")]
#[row(board, key = "BRD:{id:06}", include(title))]
#[row(open, key = "OPEN:{id:06}", when = Ticket::is_open, exclude(text))]
struct Ticket {
    project: String,
    id: u32,
    owner: String,
    code: u32,
    title: String,
    text: String,
    closed: bool,
    votes: u32,
    due: Option<String>,
}

impl Ticket {
    fn is_open(&self) -> bool {
        !self.closed
    }
}

fn ticket(id: u32) -> Ticket {
    Ticket {
        project: "orm".to_owned(),
        id,
        owner: "ann".to_owned(),
        code: id + 100,
        title: "title".to_owned(),
        text: "text".to_owned(),
        closed: false,
        votes: 0,
        due: None,
    }
}

async fn repo<E: TableEntity>() -> (Tables, Repo<E>) {
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<E>();
    repo.create_table().await.unwrap();
    (tables, repo)
}

async fn rows(tables: &Tables, table: &str) -> Vec<DynamicEntity> {
    let rows = tables.table(TableName::new(table).unwrap());
    rows.scan(ScanPermit::because("test")).collect().await.unwrap()
}

fn property(rows: &[DynamicEntity], row: &str, name: &str) -> Option<String> {
    let row = rows.iter().find(|stored| stored.row_key.starts_with(row)).expect(row);
    row.properties.get(name).map(|value| value.to_string().trim_matches('\'').to_owned())
}

#[tokio::test]
async fn a_slot_of_a_series_is_one_request_that_reads_nothing() {
    const { assert!(Load::PATCHES_ONE_ROW) };
    let (_tables, repo) = repo::<Load>().await;
    let day = Load::partition("web-1").row().day(20_778);
    let merge = repo.merge(&day, LoadPatch::default().percent_at(13, 41.5)).or_insert();
    let plan = merge.plan().unwrap();
    assert_eq!(plan.class(), None);
    assert!(matches!(
        plan.operations().map(|operation| &operation.action).collect::<Vec<_>>()[..],
        [Action::InsertOrMerge(_)]
    ));
    merge.await.unwrap();
    repo.merge(&day, LoadPatch::default().percent_at(14, 50.0).note("deploy")).await.unwrap();
    let stored = repo.get(&day).await.unwrap().unwrap();
    assert_eq!((stored.percent[13], stored.percent[14]), (Some(41.5), Some(50.0)));
    assert_eq!(stored.percent.iter().flatten().count(), 2);
    assert_eq!((stored.day, stored.note.as_deref()), (20_778, Some("deploy")));
}

#[tokio::test]
async fn a_patch_of_what_is_not_there_inserts_only_when_asked_to() {
    let (tables, repo) = repo::<Load>().await;
    let day = Load::partition("web-1").row().day(1);
    let patch = LoadPatch::default().note("x");
    assert!(matches!(repo.merge(&day, patch.clone()).await, Err(Error::NotFound(_))));
    assert!(rows(&tables, "loads").await.is_empty());
    repo.merge(&day, patch).or_insert().await.unwrap();
    assert_eq!(rows(&tables, "loads").await.len(), 1);
}

#[tokio::test]
async fn values_that_no_property_can_store_are_refused_before_anything_is_sent() {
    let (tables, repo) = repo::<Load>().await;
    let day = Load::partition("web-1").row().day(1);
    for (patch, wrong) in [
        (LoadPatch::default().percent_at(24, 1.0), "slot 24"),
        (LoadPatch::default().note("longer than ten"), "max_len"),
        (LoadPatch::default().tags(vec!["x".repeat(70_000)]), "64 KiB"),
    ] {
        let error = repo.merge(&day, patch).or_insert().await.unwrap_err();
        assert!(matches!(&error, Error::Property(_)), "{error:?}");
        assert!(error.to_string().contains(wrong), "{error}");
    }
    assert!(rows(&tables, "loads").await.is_empty());
}

#[tokio::test]
async fn a_property_set_twice_has_the_later_value() {
    let (_tables, repo) = repo::<Load>().await;
    let day = Load::partition("web-1").row().day(1);
    let patch = LoadPatch::default().note("first").note("second").tags(vec!["a".to_owned()]);
    repo.merge(&day, patch).or_insert().await.unwrap();
    let stored = repo.get(&day).await.unwrap().unwrap();
    assert_eq!(stored.note.as_deref(), Some("second"));
    assert_eq!(stored.tags.as_deref(), Some(&["a".to_owned()][..]));
}

#[tokio::test]
async fn every_copy_follows_a_patch() {
    const { assert!(!Ticket::PATCHES_ONE_ROW) };
    let (tables, repo) = repo::<Ticket>().await;
    repo.insert(&ticket(1)).await.unwrap();
    let key = Ticket::partition("orm").by_id().id(1);

    let merge = repo.merge(&key, TicketPatch::default().title("new"));
    assert_eq!(merge.plan().unwrap().class(), Some(QueryClass::Point));
    merge.await.unwrap();
    let stored = rows(&tables, "tickets").await;
    for row in ["ID:", "OWN:", "BRD:", "OPEN:"] {
        assert_eq!(property(&stored, row, "Title").as_deref(), Some("new"), "{row}");
    }

    // A sparse row goes with the patch, and comes back with another.
    repo.merge(&key, TicketPatch::default().closed(true)).await.unwrap();
    assert!(rows(&tables, "tickets").await.iter().all(|row| !row.row_key.starts_with("OPEN:")));
    repo.merge(&key, TicketPatch::default().closed(false).text("t")).await.unwrap();
    let stored = rows(&tables, "tickets").await;
    assert_eq!(property(&stored, "OPEN:", "Title").as_deref(), Some("new"));
    assert_eq!(property(&stored, "OPEN:", "Text"), None);
    assert_eq!(property(&stored, "OWN:", "Text").as_deref(), Some("t"));
    assert_eq!(property(&stored, "BRD:", "Text"), None);
}

#[tokio::test]
async fn a_patch_touches_only_the_rows_that_store_what_it_sets() {
    let (tables, repo) = repo::<Ticket>().await;
    repo.insert(&ticket(1)).await.unwrap();
    let before = rows(&tables, "tickets").await;
    let key = Ticket::partition("orm").by_id().id(1);
    repo.merge(&key, TicketPatch::default().text("new")).await.unwrap();
    let after = rows(&tables, "tickets").await;
    let changed = |start: &str| {
        let etag = |rows: &[DynamicEntity]| {
            rows.iter().find(|row| row.row_key.starts_with(start)).unwrap().etag.clone()
        };
        etag(&before) != etag(&after)
    };
    let changed = ["ID:", "OWN:", "BRD:", "OPEN:", "UNQ:"].map(changed);
    assert_eq!(changed, [true, true, false, false, false]);
}

#[tokio::test]
async fn properties_of_other_writers_survive_a_patch() {
    let (tables, repo) = repo::<Ticket>().await;
    repo.insert(&ticket(1)).await.unwrap();
    let table = tables.table(TableName::new("tickets").unwrap());
    let foreign = DynamicEntity::new("orm", "ID:000001").with("Foreign", "kept");
    table.merge(&foreign).await.unwrap();
    let key = Ticket::partition("orm").by_id().id(1);
    repo.merge(&key, TicketPatch::default().text("new")).await.unwrap();
    let stored = rows(&tables, "tickets").await;
    assert_eq!(property(&stored, "ID:", "Foreign").as_deref(), Some("kept"));
    assert_eq!(property(&stored, "ID:", "Text").as_deref(), Some("new"));
}

#[tokio::test]
async fn a_patch_that_leaves_fields_without_a_value_inserts_nothing() {
    let (tables, repo) = repo::<Ticket>().await;
    let key = Ticket::partition("orm").by_id().id(1);
    let error = repo.merge(&key, TicketPatch::default().title("x")).or_insert().await.unwrap_err();
    let Error::IncompleteEntity(incomplete) = &error else { panic!("{error}") };
    assert_eq!((incomplete.entity, incomplete.missing.as_str()), ("Ticket", "Project"));
    assert!(rows(&tables, "tickets").await.is_empty());
}

#[tokio::test]
async fn an_entity_merged_in_keeps_properties_that_it_lacks() {
    let (tables, repo) = repo::<Ticket>().await;
    repo.insert_or_merge(&Ticket { due: Some("May".to_owned()), ..ticket(1) }).await.unwrap();
    assert_eq!(rows(&tables, "tickets").await.len(), 5);
    // Another owner: an index row moves; no due date: the stored one stays, in every copy.
    let moved = Ticket { owner: "bob".to_owned(), votes: 3, ..ticket(1) };
    repo.insert_or_merge(&moved).await.unwrap();
    let stored = rows(&tables, "tickets").await;
    assert_eq!(stored.len(), 5);
    for row in ["ID:", "OWN:bob", "OPEN:"] {
        assert_eq!(property(&stored, row, "Due").as_deref(), Some("May"), "{row}");
        assert_eq!(property(&stored, row, "Votes").as_deref(), Some("3L"), "{row}");
    }
}

#[tokio::test]
async fn where_keys_follow_an_entity_is_merged_in_by_one_request() {
    const { assert!(Load::KEYS_FOLLOW_CANONICAL) };
    let (_tables, repo) = repo::<Load>().await;
    let mut load = Load {
        host: "web-1".to_owned(),
        day: 1,
        percent: [None; 24],
        note: Some("a".to_owned()),
        tags: None,
    };
    repo.insert_or_merge(&load).await.unwrap();
    load.percent[3] = Some(1.0);
    load.note = None;
    let write = repo.insert_or_merge(&load);
    assert_eq!(write.plan().unwrap().class(), None);
    write.await.unwrap();
    let stored = repo.get(Load::partition("web-1").row().day(1)).await.unwrap().unwrap();
    assert_eq!((stored.percent[3], stored.note.as_deref()), (Some(1.0), Some("a")));
}

#[tokio::test]
async fn no_increment_of_concurrent_updates_is_lost() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let repo = Tables::new(Arc::clone(&store)).repo::<Ticket>();
    repo.create_table().await.unwrap();
    repo.insert(&ticket(1)).await.unwrap();
    let key = Ticket::partition("orm").by_id().id(1);
    let tasks = (0..4).map(|_| {
        // As in several processes, whose calls do not wait for each other.
        let (repo, key) = (Tables::new(Arc::clone(&store)).repo::<Ticket>(), key.clone());
        tokio::spawn(async move {
            let mut done = 0;
            while done < 25 {
                match repo.update(&key, |ticket| ticket.votes += 1).await {
                    Ok(_) => done += 1,
                    // Another writer came between each time: the loop ends with a typed error.
                    Err(Error::Conflict(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(repo.get(&key).await.unwrap().unwrap().votes, 100);
}

#[tokio::test]
async fn an_update_removes_properties_and_moves_rows() {
    let (tables, repo) = repo::<Ticket>().await;
    repo.insert(&Ticket { due: Some("May".to_owned()), ..ticket(1) }).await.unwrap();
    let key = Ticket::partition("orm").by_id().id(1);
    let update = repo.update(&key, |ticket| {
        ticket.due = None;
        ticket.owner = "bob".to_owned();
        ticket.code = 7;
    });
    assert_eq!(update.plan().unwrap().class(), Some(QueryClass::Point));
    let mut ticket = update.await.unwrap();
    assert_eq!((ticket.due.as_deref(), ticket.code), (None, 7));
    let stored = rows(&tables, "tickets").await;
    assert_eq!(stored.len(), 5);
    assert_eq!(property(&stored, "ID:", "Due"), None);
    assert_eq!(property(&stored, "OWN:bob", "Owner").as_deref(), Some("bob"));
    assert!(stored.iter().any(|row| row.row_key == "UNQ:code:0000000007"));
    // The returned entity has the stored version, so it can be saved.
    ticket.votes = 1;
    repo.save(ticket).await.unwrap();
}

#[tokio::test]
async fn an_update_of_what_is_not_there_or_of_the_partition_is_refused() {
    let (_tables, repo) = repo::<Ticket>().await;
    let key = Ticket::partition("orm").by_id().id(1);
    assert!(matches!(repo.update(&key, |_| {}).await, Err(Error::NotFound(_))));
    repo.insert(&ticket(1)).await.unwrap();
    let moved = repo.update(&key, |ticket| ticket.project = "other".to_owned()).await;
    assert!(matches!(moved, Err(Error::PartitionChanged { .. })));
}

#[tokio::test]
async fn a_replace_accepts_the_expected_version_and_no_other() {
    let (tables, repo) = repo::<Ticket>().await;
    let first = repo.insert(&ticket(1)).await.unwrap();
    let moved = Ticket { owner: "bob".to_owned(), due: None, ..ticket(1) };
    let second = repo.replace(&moved, &first).await.unwrap();
    let stored = rows(&tables, "tickets").await;
    assert_eq!(stored.len(), 5);
    assert_eq!(property(&stored, "OWN:bob", "Owner").as_deref(), Some("bob"));

    let stale = repo.replace(&ticket(1), &first).await;
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
    assert_eq!(rows(&tables, "tickets").await, stored);
    assert!(matches!(repo.replace(&ticket(2), &second).await, Err(Error::NotFound(_))));

    // Without a read, where the keys follow.
    let tables = Tables::in_memory().unwrap();
    let repo = tables.repo::<Load>();
    repo.create_table().await.unwrap();
    let load = Load { host: "a".into(), day: 1, percent: [None; 24], note: None, tags: None };
    let etag = repo.insert(&load).await.unwrap();
    assert_eq!(repo.replace(&load, &etag).plan().unwrap().class(), None);
    repo.replace(&load, &etag).await.unwrap();
    assert!(matches!(repo.replace(&load, &etag).await, Err(Error::Conflict(_))));
}

#[derive(Debug, thiserror::Error)]
enum VoteError {
    #[error("closed")]
    Closed,
    #[error(transparent)]
    Table(#[from] Error),
}

#[tokio::test]
async fn a_change_that_fails_writes_nothing_and_returns_its_own_error() {
    let (tables, repo) = repo::<Ticket>().await;
    repo.insert(&Ticket { closed: true, ..ticket(1) }).await.unwrap();
    let before = rows(&tables, "tickets").await;
    let key = Ticket::partition("orm").by_id().id(1);
    let vote = |ticket: &mut Ticket| {
        ticket.votes += 1;
        if ticket.closed { Err(VoteError::Closed) } else { Ok(()) }
    };
    assert!(matches!(repo.try_update(&key, vote).await, Err(VoteError::Closed)));
    assert_eq!(rows(&tables, "tickets").await, before);
    let absent = repo.try_update(Ticket::partition("orm").by_id().id(2), vote).await;
    assert!(matches!(absent, Err(VoteError::Table(Error::NotFound(_)))));
}

#[tokio::test]
async fn a_change_may_borrow_and_makes_as_many_attempts_as_asked() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let repo = Tables::new(Arc::clone(&store)).repo::<Ticket>();
    repo.create_table().await.unwrap();
    repo.insert(&ticket(1)).await.unwrap();
    let key = Ticket::partition("orm").by_id().id(1);
    let owner = "bob".to_owned();
    repo.update(&key, |ticket| ticket.owner.clone_from(&owner)).await.unwrap();

    // A writer of another process comes between each time.
    let other = Tables::new(store).repo::<Ticket>();
    let mut tried = 0;
    let outcome = repo
        .update(&key, |ticket| {
            tried += 1;
            let other = other.update(&key, |ticket| ticket.votes += 10).into_future();
            futures_util::future::FutureExt::now_or_never(other).unwrap().unwrap();
            ticket.votes += 1;
        })
        .attempts(3)
        .await;
    assert!(matches!(outcome, Err(Error::Conflict(_))), "{outcome:?}");
    assert_eq!(tried, 3);
    let stored = repo.get(&key).await.unwrap().unwrap();
    assert_eq!((stored.votes, stored.owner), (30, owner));
}
