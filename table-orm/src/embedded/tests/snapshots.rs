use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const ROWS: usize = 50;
const ROUNDS: usize = 100;

fn numbered(number: usize) -> Bytes {
    json(&format!(r#"{{"N":{number}}}"#))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_page_shows_whole_transactions_only() {
    let people = Arc::new(fixture().await);
    let set = |number| {
        let action = || Action::InsertOrReplace(numbered(number));
        (0..ROWS).map(|row| operation(&format!("{row:02}"), action())).collect()
    };
    people.commit(set(0)).await.unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let readers = (0..3).map(|_| {
        let (people, ended) = (Arc::clone(&people), Arc::clone(&ended));
        tokio::spawn(async move {
            let mut last = 0;
            while !ended.load(Ordering::Relaxed) {
                let page = people.store.query(&people.query(partition("p"))).await.unwrap();
                let numbers: Vec<_> =
                    rows(&page).iter().map(|row| row["N"].as_u64().unwrap()).collect();
                assert_eq!(numbers, [numbers[0]; ROWS], "one transaction");
                assert!(numbers[0] >= last, "never an older one");
                last = numbers[0];
                tokio::task::yield_now().await;
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    for round in 1..=ROUNDS {
        people.commit(set(round)).await.unwrap();
    }
    ended.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_read_sees_the_writes_that_were_answered_before() {
    let people = Arc::new(fixture().await);
    people.insert("p", "r", r#"{"N":0}"#).await;
    let answered = Arc::new(AtomicUsize::new(0));
    let readers = (0..3).map(|_| {
        let (people, answered) = (Arc::clone(&people), Arc::clone(&answered));
        tokio::spawn(async move {
            loop {
                let least = answered.load(Ordering::SeqCst);
                let row = people.get("p", "r").await.unwrap();
                let row: Value = serde_json::from_slice(&row.body).unwrap();
                assert!(row["N"].as_u64().unwrap() >= least as u64);
                if least == ROUNDS {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
    });
    let readers: Vec<_> = readers.collect();
    for round in 1..=ROUNDS {
        people.write("p", "r", Action::InsertOrReplace(numbered(round))).await.unwrap();
        answered.store(round, Ordering::SeqCst);
        tokio::task::yield_now().await;
    }
    for reader in readers {
        reader.await.unwrap();
    }
}

#[tokio::test]
async fn a_table_that_was_created_again_is_read_anew() {
    let people = fixture().await;
    people.insert("p", "old", "{}").await;
    assert!(people.get("p", "old").await.is_some());
    people.store.delete_table(&people.table).await.unwrap();
    let read = people.store.get(&people.table, "p", "old", None, Metadata::None).await;
    rejected(read, &ErrorCode::TABLE_NOT_FOUND);
    people.store.create_table(&people.table).await.unwrap();
    assert_eq!(people.get("p", "old").await, None);
    people.insert("p", "new", "{}").await;
    assert_eq!(people.keys(people.query(KeyRange::ALL)).await.0, [("p".into(), "new".into())]);
}
