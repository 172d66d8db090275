//! A server that is killed while clients write.

use crate::served::Served;
use support::{dose, draw};
use table_orm::TableName;
use table_orm::azure::AzureStore;
use table_orm::embedded::EmbeddedStore;
use table_orm::model::Metadata;
use table_orm::store::{Action, Batch, Operation, Store, StoreError};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const WRITERS: usize = 8;

/// The rows of one write: a single insert, or a transaction.
type Write = Vec<String>;

/// The writes of one client.
struct Written {
    partition: String,
    answered: Vec<Write>,
    /// The one that got no answer, and took effect as a whole or not at all.
    unanswered: Write,
}

fn table() -> TableName {
    TableName::new("events").unwrap()
}

fn insert(row_key: &str) -> Operation {
    let body = format!(r#"{{"Text":"{row_key}"}}"#);
    Operation { row_key: row_key.to_owned(), action: Action::Insert(body.into()) }
}

async fn write(client: &AzureStore, partition: &str, rows: &Write) -> Result<(), StoreError> {
    if let [row] = &rows[..] {
        return client.write(&table(), partition, insert(row)).await.map(drop);
    }
    let operations = rows.iter().map(|row| insert(row)).collect();
    let transaction = Batch { partition_key: partition.to_owned(), operations };
    client.commit(&table(), transaction).await.map(drop)
}

/// Writes until no answer comes, and reports each answer.
async fn write_until_killed(
    client: AzureStore,
    round: usize,
    writer: usize,
    report: UnboundedSender<()>,
) -> Written {
    let (partition, mut answered) = (format!("writer-{writer}"), Vec::new());
    loop {
        let number = answered.len();
        let rows = if number % 2 == 0 { 1 } else { 5 };
        let rows: Write = (0..rows).map(|row| format!("{round:03}-{number:05}-{row}")).collect();
        match write(&client, &partition, &rows).await {
            Ok(()) => answered.push(rows),
            Err(error) => {
                assert_eq!(error.status, 0, "the server refuses what it should do: {error}");
                return Written { partition, answered, unanswered: rows };
            }
        }
        let _ = report.send(());
    }
}

/// Kills a server on the file after some answers, and returns what was written.
async fn killed_under_load(mut served: Served, round: usize) -> Vec<Written> {
    let client = AzureStore::from_connection_string(&served.connection_string()).unwrap();
    if round == 0 {
        client.create_table(&table()).await.unwrap();
    }
    let (report, mut reports) = unbounded_channel();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            tokio::spawn(write_until_killed(client.clone(), round, writer, report.clone()))
        })
        .collect();
    drop(report);
    for _ in 0..draw(("answers before the kill", round), 1..150) {
        reports.recv().await.unwrap();
    }
    served.kill();
    let mut written = Vec::new();
    for writer in writers {
        written.push(writer.await.unwrap());
    }
    written
}

/// How many rows of a write are in the file.
async fn present(store: &EmbeddedStore, partition: &str, rows: &Write) -> usize {
    let mut present = 0;
    for row in rows {
        let found = store.get(&table(), partition, row, None, Metadata::None).await.unwrap();
        if let Some(found) = found {
            let body = String::from_utf8(found.body.to_vec()).unwrap();
            assert!(body.contains(&format!(r#""Text":"{row}""#)), "{body}");
            present += 1;
        }
    }
    present
}

async fn check(store: &EmbeddedStore, round: usize, written: &[Written]) {
    for Written { partition, answered, unanswered } in written {
        for rows in answered {
            let present = present(store, partition, rows).await;
            assert_eq!(present, rows.len(), "round {round}, {partition}: {rows:?}");
        }
        let present = present(store, partition, unanswered).await;
        assert!(
            present == 0 || present == unanswered.len(),
            "round {round}: half of a transaction"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_has_kept_all_that_it_answered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.redb");
    let mut rounds = Vec::new();
    for round in 0..dose(4, 100) {
        let written = killed_under_load(Served::with_file(&file), round).await;
        check(&EmbeddedStore::open(&file).unwrap(), round, &written).await;
        rounds.push(written);
    }
    // Nor did a later crash take what an earlier one had left.
    let store = EmbeddedStore::open(&file).unwrap();
    for (round, written) in rounds.iter().enumerate() {
        check(&store, round, written).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_of_eventual_writes_has_kept_those_up_to_some_moment_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.redb");
    let store = EmbeddedStore::open(&file).unwrap();
    store.create_table(&table()).await.unwrap();
    drop(store);
    for round in 1..=dose(4, 50) {
        let written = killed_under_load(Served::with_eventual_file(&file), round).await;
        let store = EmbeddedStore::open(&file).unwrap();
        for Written { partition, mut answered, unanswered } in written {
            answered.push(unanswered);
            let mut is_lost = false;
            for rows in answered {
                let present = present(&store, &partition, &rows).await;
                assert!(present == 0 || present == rows.len(), "round {round}: half of {rows:?}");
                assert!(!is_lost || present == 0, "round {round}: {rows:?} is behind a lost write");
                is_lost = present == 0;
            }
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_is_asked_to_end_keeps_eventual_writes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.redb");
    for round in 0..3 {
        let mut served = Served::with_eventual_file(&file);
        let client = AzureStore::from_connection_string(&served.connection_string()).unwrap();
        if round == 0 {
            client.create_table(&table()).await.unwrap();
        }
        let rows: Write = (0..50).map(|row| format!("{round}-{row}")).collect();
        for row in &rows {
            write(&client, "p", &vec![row.clone()]).await.unwrap();
        }
        served.terminate();
        let store = EmbeddedStore::open(&file).unwrap();
        assert_eq!(present(&store, "p", &rows).await, 50, "round {round}");
    }
}
