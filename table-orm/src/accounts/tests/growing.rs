//! Accounts that grow, without faults.

use super::{insert, memory, name, pages};
use crate::accounts::route::{account_of, slot_of};
use crate::accounts::{Accounts, AccountsError};
use crate::entity::DynamicEntity;
use crate::model::{Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Batch, ErrorCode, Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Counts the requests for one table.
#[derive(Debug)]
struct Counted {
    inner: Arc<dyn Store>,
    requests: Arc<AtomicUsize>,
}

impl Middleware for Counted {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.requests.fetch_add(1, Relaxed);
        next.await
    }
}

fn row(partition_key: &str, row_key: &str) -> DynamicEntity {
    DynamicEntity::new(partition_key, row_key)
}

async fn put(accounts: &Accounts, table: &TableName, row: &DynamicEntity) {
    accounts.write(table, &row.partition_key, insert(row)).await.unwrap();
}

fn keys(partition: Span) -> KeyRange {
    KeyRange { partition, row: Span::All }
}

#[tokio::test(start_paused = true)]
async fn a_write_is_one_request_and_the_first_of_a_partition_four() {
    let requests = Arc::new(AtomicUsize::new(0));
    let store = Counted { inner: memory(), requests: Arc::clone(&requests) };
    let store: [Arc<dyn Store>; 1] = [Arc::new(store)];
    let (accounts, table) = (Accounts::growing(store, name("map")).unwrap(), name("rows"));
    accounts.create_table(&table).await.unwrap();
    let (one, other) = ("a", (0..).map(|n| format!("b{n}")));
    let mut other = other.filter(|key| slot_of(key) == slot_of(one));
    // The map, and the register of the slot.
    put(&accounts, &table, &row(one, "1")).await;
    let other = other.next().unwrap();
    for (row, expected) in [(row(&other, "1"), 4), (row(&other, "2"), 1), (row(one, "2"), 1)] {
        requests.store(0, Relaxed);
        put(&accounts, &table, &row).await;
        assert_eq!(requests.load(Relaxed), expected, "{row:?}");
    }
    requests.store(0, Relaxed);
    accounts.get(&table, one, "1", None, Metadata::None).await.unwrap().unwrap();
    assert_eq!(requests.load(Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn no_reader_sees_the_rows_of_the_protocol_and_no_writer_touches_them() {
    let stores = [memory(), memory()];
    let accounts = Accounts::growing(stores.clone(), name("map")).unwrap();
    let table = name("rows");
    accounts.create_table(&table).await.unwrap();
    for partition_key in ["a", "b", "c"] {
        put(&accounts, &table, &row(partition_key, "1")).await;
    }
    for partition in [Span::All, Span::Exact("a".into())] {
        let query = RowQuery::new(table.clone(), keys(partition));
        let rows = pages(&accounts, query).await.concat();
        assert!(!rows.is_empty() && rows.iter().all(|(_, row_key)| row_key == "1"), "{rows:?}");
    }
    let fence = accounts.get(&table, "a", "ACC:OPEN", None, Metadata::None).await.unwrap();
    assert_eq!(fence, None);
    let error = accounts.write(&table, "a", insert(&row("a", "ACC:OPEN"))).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::OUT_OF_RANGE_INPUT);
    assert_eq!(accounts.list_tables().await.unwrap(), [table]);
    let error = accounts.delete_table(&name("Map")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::INVALID_INPUT);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_has_one_operation_less_and_is_refused_before_it_is_sent() {
    let accounts = Accounts::growing([memory()], name("map")).unwrap();
    let table = name("rows");
    accounts.create_table(&table).await.unwrap();
    assert_eq!(accounts.transaction_operations(), 99);
    for (count, is_taken) in [(100, false), (99, true)] {
        let operations = (0..count).map(|n| insert(&row("p", &format!("{n:03}")))).collect();
        let batch = Batch { partition_key: "p".into(), operations };
        assert_eq!(accounts.commit(&table, batch).await.is_ok(), is_taken);
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_account_takes_the_partitions_of_its_slots_and_no_other_row_is_written() {
    let stores = [memory(), memory(), memory()];
    let of = |count: usize| Accounts::growing(stores[..count].to_vec(), name("map")).unwrap();
    let (table, two, three) = (name("rows"), of(2), of(3));
    three.create_table(&table).await.unwrap();
    let partitions: Vec<_> = (0..150).map(|n| format!("p{n:03}")).collect();
    let mut before = Vec::new();
    for partition_key in &partitions {
        put(&two, &table, &row(partition_key, "1").with("Value", 1.5)).await;
        before.push(two.get(&table, partition_key, "1", None, Metadata::Minimal).await.unwrap());
    }
    let query = RowQuery { top: Some(20), ..RowQuery::new(table.clone(), KeyRange::ALL) };
    let page = two.query(&query).await.unwrap();

    let growth = three.grow().await.unwrap();
    let moved = |key: &String| account_of(slot_of(key), 3) == 2;
    let expected = partitions.iter().filter(|key| moved(key)).count() as u64;
    assert!(expected > 30);
    assert_eq!((growth.partitions, growth.rows), (expected, expected));
    assert!((250..430).contains(&growth.slots));
    for (partition_key, before) in partitions.iter().zip(before) {
        let after = three.get(&table, partition_key, "1", None, Metadata::Minimal).await.unwrap();
        assert_eq!(after != before, moved(partition_key));
        let value = r#""Value":1.5"#;
        assert!(String::from_utf8_lossy(&after.unwrap().body).contains(value));
    }
    // A query that began before goes on.
    let rest = RowQuery { continuation: page.continuation, ..query };
    let rest = pages(&three, rest).await.concat();
    let seen = crate::entity::split_page(&page.body).unwrap().len();
    assert_eq!(rest.len() + seen, partitions.len());
    assert_eq!(three.grow().await.unwrap(), crate::accounts::Growth::default());
}

#[tokio::test(start_paused = true)]
async fn a_table_that_was_deleted_does_not_come_back_as_accounts_grow() {
    let stores = [memory(), memory()];
    let short = Accounts::growing([Arc::clone(&stores[0])], name("map")).unwrap();
    let long = Accounts::growing(stores, name("map")).unwrap();
    let table = name("rows");
    let rows: Vec<_> = (0..20).map(|n| row(&format!("p{n:03}"), "1")).collect();
    short.create_table(&table).await.unwrap();
    for row in &rows {
        put(&short, &table, row).await;
    }
    short.delete_table(&table).await.unwrap();
    long.grow().await.unwrap();
    assert!(long.list_tables().await.unwrap().is_empty());

    // Made again, it takes writes to the same partitions, once the map is read again.
    tokio::time::sleep(Duration::from_secs(20)).await;
    long.create_table(&table).await.unwrap();
    for row in &rows {
        put(&long, &table, row).await;
    }
    let query = RowQuery::new(table, KeyRange::ALL);
    assert_eq!(pages(&long, query).await.concat().len(), rows.len());
}

#[tokio::test(start_paused = true)]
async fn a_process_with_the_shorter_list_writes_nothing_once_the_accounts_have_grown() {
    let stores = [memory(), memory()];
    let short = Accounts::growing([Arc::clone(&stores[0])], name("map")).unwrap();
    let long = Accounts::growing(stores.clone(), name("map")).unwrap();
    let table = name("rows");
    long.create_table(&table).await.unwrap();
    let partitions: Vec<_> = (0..20).map(|n| format!("p{n:03}")).collect();
    for partition_key in &partitions {
        put(&short, &table, &row(partition_key, "1")).await;
    }
    long.grow().await.unwrap();
    for partition_key in &partitions {
        let row = row(partition_key, "2");
        let error = short.write(&table, partition_key, insert(&row)).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_INPUT, "{error}");
        assert_eq!(long.get(&table, partition_key, "2", None, Metadata::None).await.unwrap(), None);
    }
    let fixed = Accounts::by_partition(stores).unwrap();
    assert!(matches!(fixed.grow().await, Err(AccountsError::Fixed)));
}
