use super::*;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const CHILD_PATH: &str = "TABLE_ORM_TEST_DATABASE";

fn open(path: &Path) -> Result<EmbeddedStore, OpenError> {
    EmbeddedStore::open(path)
}

#[tokio::test]
async fn reopening_keeps_rows_and_their_etags() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    let people = Fixture::with(open(&path).unwrap()).await;
    assert_eq!(people.store.path(), Some(&*path));
    let first = people.insert("p", "r", r#"{"A":1}"#).await;
    let second = people
        .write("p", "r", Action::Merge(json(r#"{"B":2}"#), IfMatch::ETag(first.clone())))
        .await
        .unwrap()
        .unwrap();
    let row = people.get("p", "r").await;
    let table = people.table.clone();
    drop(people);

    let people = Fixture { store: open(&path).unwrap(), table };
    assert_eq!(people.store.list_tables().await.unwrap(), std::slice::from_ref(&people.table));
    assert_eq!(people.get("p", "r").await, row);
    let stale = Action::Delete(IfMatch::ETag(first));
    rejected(people.write("p", "r", stale).await, &ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
    let third = Action::Replace(json("{}"), IfMatch::ETag(second.clone()));
    let third = people.write("p", "r", third).await.unwrap().unwrap();
    assert!(second.as_str() < third.as_str());
}

#[tokio::test]
async fn the_etag_of_a_deleted_row_does_not_come_back_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    drop(Fixture::with(open(&path).unwrap()).await);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        let table = TableName::new("people").unwrap();
        let people = Fixture { store: open(&path).unwrap(), table };
        let etag = people.insert("p", "r", "{}").await;
        assert!(seen.insert(etag.clone()), "{etag} was there before");
        people.write("p", "r", Action::Delete(IfMatch::ETag(etag))).await.unwrap();
    }
}

#[tokio::test]
async fn a_store_can_be_reopened_as_soon_as_its_last_write_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    drop(Fixture::with(open(&path).unwrap()).await);
    for row in 0..20 {
        let table = TableName::new("people").unwrap();
        let people = Fixture { store: open(&path).unwrap(), table };
        people.insert("p", &row.to_string(), "{}").await;
    }
}

#[test]
fn a_file_of_another_program_is_refused_and_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    for content in
        [b"x".to_vec(), b"my notes, all of them".to_vec(), vec![0; 100_000], b"redb".to_vec()]
    {
        std::fs::write(&path, &content).unwrap();
        let error = open(&path).unwrap_err();
        assert!(matches!(error, OpenError::NotADatabase { .. }), "{error:?}");
        assert!(error.to_string().contains("notes.txt"));
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }

    let path = directory.path().join("other.redb");
    let database = redb::Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(redb::TableDefinition::<u64, u64>::new("numbers")).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let content = std::fs::read(&path).unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::OtherProgram { .. }), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), content);
}

#[test]
fn a_later_layout_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("later.redb");
    let database = redb::Database::create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(redb::TableDefinition::<&str, &str>::new("table-orm/2/tables")).unwrap();
    transaction.commit().unwrap();
    drop(database);
    assert!(matches!(open(&path), Err(OpenError::OtherFormat { .. })));
}

#[test]
fn an_empty_file_becomes_a_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.redb");
    std::fs::write(&path, b"").unwrap();
    drop(open(&path).unwrap());
    drop(redb::Database::create(directory.path().join("bare.redb")).unwrap());
    drop(open(&directory.path().join("bare.redb")).unwrap());
    drop(open(&path).unwrap());
}

#[test]
fn an_invalid_path_is_an_error_that_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing").join("people.redb");
    let error = open(&missing).unwrap_err();
    assert!(matches!(error, OpenError::DirectoryMissing { .. }), "{error:?}");
    assert!(error.to_string().contains("create it first"));
    let error = open(directory.path()).unwrap_err();
    assert!(matches!(error, OpenError::IsADirectory { .. }), "{error:?}");
    std::fs::write(directory.path().join("file"), b"x").unwrap();
    let error = open(&directory.path().join("file").join("people.redb")).unwrap_err();
    assert!(matches!(error, OpenError::DirectoryMissing { .. }), "{error:?}");
}

#[test]
fn a_file_can_be_open_only_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    let store = open(&path).unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    drop(store);
    open(&path).unwrap();
}

#[tokio::test]
async fn a_file_that_is_only_read_can_be_read_by_many_and_is_not_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    let absent = EmbeddedStore::open_read_only(&path).unwrap_err();
    assert!(matches!(absent, OpenError::Absent { .. }) && !path.exists(), "{absent:?}");
    let people = Fixture::with(open(&path).unwrap()).await;
    people.insert("p", "r", r#"{"A":1}"#).await;
    let (table, row) = (people.table.clone(), people.get("p", "r").await);
    drop(people);

    let content = std::fs::read(&path).unwrap();
    let reader =
        || Fixture { store: EmbeddedStore::open_read_only(&path).unwrap(), table: table.clone() };
    let readers = [reader(), reader()];
    for people in &readers {
        assert_eq!(people.store.list_tables().await.unwrap(), std::slice::from_ref(&table));
        assert_eq!(people.get("p", "r").await, row);
        assert_eq!(people.keys(people.query(partition("p"))).await.0.len(), 1);
        let created = people.store.create_table(&TableName::new("Other").unwrap()).await;
        for refused in [created.unwrap_err(), people.store.compact().await.unwrap_err()] {
            assert!(refused.is_unauthorized() && refused.message.contains("reading"), "{refused}");
        }
        assert!(people.write("p", "r", Action::Delete(IfMatch::Any)).await.is_err());
        assert_eq!(people.get("p", "r").await, row);
    }
    let locked = open(&path).unwrap_err();
    assert!(matches!(locked, OpenError::Locked { .. }), "{locked:?}");
    drop(readers);
    assert!(std::fs::read(&path).unwrap() == content);

    let empty = directory.path().join("bare.redb");
    drop(redb::Database::create(&empty).unwrap());
    let store = EmbeddedStore::open_read_only(&empty).unwrap();
    assert_eq!(store.list_tables().await.unwrap(), []);
}

#[test]
fn a_file_that_a_crash_left_open_is_recovered_to_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    let mut child = child(&path);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap).filter(|line| line.starts_with("written "));
    lines.nth(10).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let store = EmbeddedStore::open_read_only(&path).unwrap();
    let people = Fixture { store, table: TableName::new("People").unwrap() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (keys, _) = runtime.block_on(people.keys(people.query(partition("p"))));
    assert!(keys.len() >= 22, "{} rows", keys.len());
}

/// Runs [`child_process_writes_until_it_is_killed`] in a process of its own.
fn child(path: &Path) -> Child {
    let module = module_path!().split_once("::").unwrap().1;
    let name = format!("{module}::child_process_writes_until_it_is_killed");
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(CHILD_PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Part of the test below, which runs it in another process.
#[tokio::test]
async fn child_process_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD_PATH) else { return };
    let people = Fixture::with(open(Path::new(&path)).unwrap()).await;
    for row in 0.. {
        let pair = vec![insert(&format!("{row:06}a"), "{}"), insert(&format!("{row:06}b"), "{}")];
        people.commit(pair).await.unwrap();
        println!("\nwritten {row}");
    }
}

#[test]
fn another_process_is_locked_out_and_its_crash_loses_no_answered_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    let mut child = child(&path);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut written = lines
        .map(Result::unwrap)
        .filter_map(|line| line.strip_prefix("written ").map(str::to_owned));
    written.next().unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    let before: usize = written.by_ref().nth(50).unwrap().parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let last = written.last().map_or(before, |row| row.parse().unwrap());

    let people = Fixture { store: open(&path).unwrap(), table: TableName::new("People").unwrap() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (keys, _) = runtime.block_on(people.keys(people.query(partition("p"))));
    assert!(keys.len() >= 2 * (last + 1), "{} rows, {last} answered", keys.len());
    assert_eq!(keys.len() % 2, 0, "a transaction is whole or absent");
    runtime.block_on(people.insert("p", "after", "{}"));
}

#[tokio::test]
async fn a_damaged_file_is_a_typed_error_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.redb");
    {
        let people = Fixture::with(EmbeddedStore::open(&path).unwrap()).await;
        for index in 0..2000 {
            people.insert("p", &format!("{index:05}"), r#"{"A":1}"#).await;
        }
    }
    let whole = std::fs::read(&path).unwrap();
    let flipped: Vec<u8> = whole
        .iter()
        .enumerate()
        .map(|(at, byte)| if at >= 4096 && at % 7 == 0 { !byte } else { *byte })
        .collect();
    for damaged in [&whole[..300], &whole[..5000], &flipped] {
        std::fs::write(&path, damaged).unwrap();
        let opened = EmbeddedStore::open(&path);
        assert!(matches!(opened, Err(OpenError::Damaged { .. })), "{opened:?}");
        assert_eq!(std::fs::read(&path).unwrap(), damaged);
    }
}

#[tokio::test]
async fn a_compacted_file_is_smaller_and_keeps_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("people.redb");
    let people = Fixture::with(open(&path).unwrap()).await;
    let body = format!(r#"{{"A":"{}"}}"#, "x".repeat(10_000));
    for row in 0..200 {
        people.insert("p", &format!("{row:03}"), &body).await;
    }
    for row in 20..200 {
        people.write("p", &format!("{row:03}"), Action::Delete(IfMatch::Any)).await.unwrap();
    }
    let rows = people.keys(people.query(partition("p"))).await.0;
    let first = people.get("p", "000").await;
    let (before, after) = people.store.compact().await.unwrap();
    assert!(2 * after < before, "{before} bytes before, {after} after");
    assert_eq!(path.metadata().unwrap().len(), after);

    let later = people.insert("p", "later", "{}").await;
    assert_eq!(people.get("p", "000").await, first);
    let table = people.table.clone();
    drop(people);
    let people = Fixture { store: open(&path).unwrap(), table };
    assert_eq!(people.get("p", "000").await, first);
    assert_eq!(people.get("p", "later").await.unwrap().etag().unwrap(), later);
    assert_eq!(people.keys(people.query(partition("p"))).await.0.len(), rows.len() + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_wait_for_a_compaction() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("people.redb")).unwrap();
    let people = std::sync::Arc::new(Fixture::with(store).await);
    let tasks = (0..8).map(|task| {
        let people = std::sync::Arc::clone(&people);
        tokio::spawn(async move {
            for round in 0..10 {
                let row_key = format!("{task}-{round}");
                match task % 4 {
                    0 => drop(people.store.compact().await.unwrap()),
                    1 => drop(people.keys(people.query(partition("p"))).await),
                    _ => {
                        people.insert("p", &row_key, "{}").await;
                        assert!(people.get("p", &row_key).await.is_some());
                    }
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(people.keys(people.query(partition("p"))).await.0.len(), 4 * 10);
}

#[tokio::test]
async fn compacting_memory_does_nothing() {
    assert_eq!(EmbeddedStore::in_memory().unwrap().compact().await.unwrap(), (0, 0));
}
