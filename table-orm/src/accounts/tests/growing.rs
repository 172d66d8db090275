//! Accounts that grow, without faults.

use super::{insert, memory, name, pages};
use crate::accounts::route::{account_of, slot_of};
use crate::accounts::{Accounts, AccountsError};
use crate::entity::DynamicEntity;
use crate::error::{Error, TransactionError};
use crate::layer::Counted;
use crate::model::{Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{Backend, Batch, ErrorCode, Store};
use crate::{TableEntity, Tables};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

fn row(partition_key: &str, row_key: &str) -> DynamicEntity {
    DynamicEntity::new(partition_key, row_key)
}

async fn put(accounts: &Accounts, table: &TableName, row: &DynamicEntity) {
    accounts.write(table, &row.partition_key, insert(row)).await.unwrap();
}

/// Clients with the first of two accounts, and with both.
fn short_and_long(stores: &[Arc<dyn Store>; 2]) -> (Accounts, Accounts) {
    let of = |stores: &[Arc<dyn Store>]| Accounts::growing(stores.to_vec(), name("map")).unwrap();
    (of(&stores[..1]), of(stores))
}

fn keys(partition: Span) -> KeyRange {
    KeyRange { partition, row: Span::All }
}

#[tokio::test(start_paused = true)]
async fn a_write_is_one_request_and_the_first_of_a_partition_four_or_in_a_new_slot_six() {
    let store = Counted::new(memory());
    let stores: [Arc<dyn Store>; 1] = [Arc::clone(&store) as _];
    let (accounts, table) = (Accounts::growing(stores, name("map")).unwrap(), name("rows"));
    accounts.create_table(&table).await.unwrap();
    let (one, other) = ("a", (0..).map(|n| format!("b{n}")));
    let mut other = other.filter(|key| slot_of(key) == slot_of(one));
    let other = other.next().unwrap();
    // Makes the map, in another slot.
    put(&accounts, &table, &row("c", "1")).await;
    assert_ne!(slot_of("c"), slot_of(one));
    for (row, expected) in
        [(row(one, "1"), 6), (row(&other, "1"), 4), (row(&other, "2"), 1), (row(one, "2"), 1)]
    {
        store.take();
        put(&accounts, &table, &row).await;
        assert_eq!(store.take(), expected, "{row:?}");
    }
    accounts.get(&table, one, "1", None, Metadata::None).await.unwrap().unwrap();
    assert_eq!(store.take(), 1);
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
    two.create_table(&table).await.unwrap();
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
    assert_eq!(three.grow().await.unwrap(), crate::accounts::GrowReport::default());
}

#[tokio::test(start_paused = true)]
async fn a_table_that_was_deleted_does_not_come_back_as_accounts_grow() {
    let (short, long) = short_and_long(&[memory(), memory()]);
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
async fn a_new_account_gets_the_tables_that_were_there_before() {
    let stores = [memory(), memory()];
    let (short, long) = short_and_long(&stores);
    let (table, empty) = (name("rows"), name("empty"));
    for table in [&table, &empty] {
        short.create_table(table).await.unwrap();
    }
    let rows: Vec<_> = (0..20).map(|n| row(&format!("p{n:03}"), "1")).collect();
    for row in &rows {
        put(&short, &table, row).await;
    }
    let all = RowQuery::new(table.clone(), KeyRange::ALL);
    let is_readable = async || {
        for row in &rows {
            let query =
                RowQuery { keys: keys(Span::Exact(row.partition_key.clone())), ..all.clone() };
            assert_eq!(pages(&long, query).await.concat().len(), 1);
            let found = long.get(&table, &row.partition_key, "1", None, Metadata::None).await;
            assert!(found.unwrap().is_some());
        }
        assert_eq!(pages(&long, all.clone()).await.concat().len(), rows.len());
        let absent = RowQuery::new(name("absent"), KeyRange::ALL);
        assert_eq!(long.query(&absent).await.unwrap_err().code, ErrorCode::TABLE_NOT_FOUND);
    };
    // With the longer list, before it grows, while slots are marked, and after.
    is_readable().await;
    let mut grows = pin!(long.grow());
    assert!(timeout(Duration::from_secs(30), &mut grows).await.is_err());
    is_readable().await;
    put(&long, &table, &row("while", "1")).await;
    long.delete_table(&empty).await.unwrap_err();
    grows.await.unwrap();
    assert_eq!(stores[1].list_tables().await.unwrap().len(), 3, "with that of the map");
    for n in 0..20 {
        put(&long, &empty, &row(&format!("p{n:03}"), "1")).await;
    }
    // A process with the shorter list makes no table that the new account lacks.
    let error = short.create_table(&name("late")).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::INVALID_INPUT, "{error}");
}

#[tokio::test(start_paused = true)]
async fn no_table_is_deleted_while_accounts_grow() {
    let (short, long) = short_and_long(&[memory(), memory()]);
    let table = name("rows");
    short.create_table(&table).await.unwrap();
    let rows: Vec<_> = (0..20).map(|n| row(&format!("p{n:03}"), "1")).collect();
    for row in &rows {
        put(&short, &table, row).await;
    }
    let mut grows = pin!(long.grow());
    assert!(timeout(Duration::from_secs(1), &mut grows).await.is_err());
    let refusals = [(&short, ErrorCode::INVALID_INPUT), (&long, ErrorCode::SERVER_BUSY)];
    for (accounts, expected) in refusals {
        let error = accounts.delete_table(&table).await.unwrap_err();
        assert_eq!(error.code, expected, "{error}");
    }
    grows.await.unwrap();
    let query = RowQuery::new(table.clone(), KeyRange::ALL);
    assert_eq!(pages(&long, query).await.concat().len(), rows.len());
    long.delete_table(&table).await.unwrap();
    assert!(long.list_tables().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_continuation_of_fixed_accounts_does_not_start_again_over_growing_ones_or_the_reverse() {
    let table = name("rows");
    let fixed = Accounts::by_partition([memory(), memory()]).unwrap();
    let growing = Accounts::growing([memory(), memory()], name("map")).unwrap();
    let mut continuations = Vec::new();
    let all = RowQuery { top: Some(8), ..RowQuery::new(table.clone(), KeyRange::ALL) };
    for accounts in [&fixed, &growing] {
        accounts.create_table(&table).await.unwrap();
        for n in 0..20 {
            put(accounts, &table, &row(&format!("p{n:02}"), "1")).await;
        }
        continuations.push(accounts.query(&all).await.unwrap().continuation.unwrap());
    }
    for (accounts, continuation) in [&growing, &fixed].into_iter().zip(continuations) {
        let query = RowQuery { continuation: Some(continuation), ..all.clone() };
        let error = accounts.query(&query).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_INPUT, "{error}");
    }
}

#[tokio::test]
async fn reports_name_what_all_accounts_have_in_common() {
    let one = Accounts::by_partition([memory(), memory()]).unwrap().backend();
    assert_eq!(one, memory().backend());
    let azure = |account: &str| {
        let (namespace, address) = (Some(account.to_owned().into()), Some("host".into()));
        Backend { system: "azure.table".into(), namespace, address, ..Backend::default() }
    };
    let both = azure("first").in_common(azure("second"));
    assert_eq!(both, Backend { namespace: None, ..azure("first") });
    assert_eq!(azure("first").in_common(memory().backend()).system, "other");
}

/// An entity of one row, whose transactions are full with 99 of them.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "rows", partition = "{part}", row = "{number:05}", crate = crate)]
struct Numbered {
    part: String,
    number: u32,
}

#[tokio::test(start_paused = true)]
async fn writes_of_many_fill_the_transactions_of_accounts_that_grow_and_too_many_are_an_error() {
    let accounts = Accounts::growing([memory()], name("map")).unwrap();
    let tables = Tables::new(accounts).on_virtual_time(1);
    let repo = tables.repo::<Numbered>();
    repo.create_table().await.unwrap();
    let at = |part: &str, number| Numbered { part: part.to_owned(), number };
    let many = repo.insert_many((0..198).map(|number| at("many", number))).await.all().unwrap();
    assert_eq!((many.entities, many.requests), (198, 2));
    // Without waiting for its time, as the transaction is full.
    let writer = repo.writer().every(Duration::MAX).await.unwrap();
    for number in 0..99 {
        writer.send(at("writer", number)).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(repo.list(Numbered::partition("writer")).count().await.unwrap(), 99);
    writer.close().await.unwrap().all().unwrap();

    let of = |count| {
        let empty = tables.transaction(Numbered::partition("one"));
        (0..count).fold(empty, |all, number| all.insert(&at("one", number)))
    };
    assert_eq!(of(0).room().operations, 99);
    let error = of(100).commit().await.unwrap_err();
    let expected = TransactionError::TooManyOperations { found: 100, most: 99 };
    assert!(matches!(&error, Error::Transaction(error) if *error == expected), "{error}");
    of(99).commit().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_process_with_the_shorter_list_writes_nothing_once_the_accounts_have_grown() {
    let stores = [memory(), memory()];
    let (short, long) = short_and_long(&stores);
    let table = name("rows");
    short.create_table(&table).await.unwrap();
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
