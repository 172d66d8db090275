//! Routes that stay.

use super::{insert, memory, name, pages};
use crate::accounts::{Accounts, AccountsError};
use crate::entity::DynamicEntity;
use crate::layer::{Fault, Faults};
use crate::model::Metadata;
use crate::query::{Comparison, Filter, IntoSpan as _, KeyRange, RowQuery, Span};
use crate::store::{ErrorCode, Store};
use proptest::prelude::*;
use std::sync::Arc;

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(future)
}

fn spans() -> impl Strategy<Value = Span> {
    let bound = || "[a-e]{0,2}";
    prop_oneof![
        Just(Span::All),
        (bound(), bound()).prop_map(|(lower, upper)| (lower..upper).into_span()),
        bound().prop_map(|lower| (lower..).into_span()),
        bound().prop_map(Span::prefix),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_query_over_accounts_returns_what_one_store_returns(
        rows in prop::collection::btree_map(("[a-e]{1,2}", "[a-e]{1,2}"), 0..3_i32, 0..60),
        (partition, row) in (spans(), spans()),
        top in prop::option::of(1..7_u16),
        value in prop::option::of(0..3_i32),
        selects in any::<bool>(),
        seed in any::<u64>(),
        accounts in 1..4_usize,
    ) {
        let table = name("rows");
        run(async {
            tokio::time::pause();
            let one = memory();
            // Pages end early, and may be empty.
            let weather = Faults::seeded(seed).short_pages(0.3).empty_pages(0.3);
            let stores = (0..accounts).map(|_| {
                Arc::new(weather.clone().store(memory()).unwrap()) as Arc<dyn Store>
            });
            let many = Accounts::by_partition(stores).unwrap();
            for store in [&*one, &many] {
                store.create_table(&table).await.unwrap();
                for ((partition_key, row_key), value) in &rows {
                    let row = DynamicEntity::new(partition_key, row_key).with("Value", *value);
                    store.write(&table, partition_key, insert(&row)).await.unwrap();
                }
            }
            let filter = value.map(|value| Filter::compare("Value", Comparison::Equal, value));
            let mut query = RowQuery { top, filter, ..RowQuery::new(table, KeyRange { partition, row }) };
            let (expected, found) = (pages(&*one, query.clone()).await, pages(&many, query.clone()).await);
            let most = usize::from(top.unwrap_or(1000));
            assert!(found.iter().all(|page| page.len() <= most));
            assert_eq!(found.concat(), expected.concat());
            if selects {
                query.select = Some(vec!["Value".into()]);
                let page = many.query(&query).await.unwrap();
                let text = String::from_utf8_lossy(&page.body).into_owned();
                assert!(!text.contains("PartitionKey") && !text.contains("RowKey"), "{text}");
            }
        });
    }
}

#[tokio::test]
async fn a_partition_is_in_one_account_and_its_transactions_too() {
    let stores = [memory(), memory()];
    let accounts = Accounts::by_partition(stores.clone()).unwrap();
    let table = name("rows");
    accounts.create_table(&table).await.unwrap();
    for n in 0..40 {
        let row = DynamicEntity::new(format!("p{n}"), "r");
        accounts.write(&table, &row.partition_key, insert(&row)).await.unwrap();
    }
    let all = RowQuery::new(table, KeyRange::ALL);
    let counts = [pages(&*stores[0], all.clone()).await, pages(&*stores[1], all).await];
    let counts = counts.map(|pages| pages.concat().len());
    assert_eq!(counts.iter().sum::<usize>(), 40);
    assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
}

#[tokio::test]
async fn a_table_is_whole_in_the_account_that_the_app_names() {
    let stores = [memory(), memory()];
    let by = |table: &crate::TableName| usize::from(table.as_str().starts_with("log"));
    let accounts = Accounts::by_table(stores.clone(), by).unwrap();
    let (logs, orders) = (name("logs"), name("orders"));
    accounts.create_table(&logs).await.unwrap();
    accounts.create_table(&orders).await.unwrap();
    assert_eq!(stores[0].list_tables().await.unwrap(), std::slice::from_ref(&orders));
    assert_eq!(stores[1].list_tables().await.unwrap(), std::slice::from_ref(&logs));
    assert_eq!(accounts.list_tables().await.unwrap(), [logs, orders]);
}

#[tokio::test]
async fn an_account_that_is_not_there_is_an_error_before_anything_is_sent() {
    let accounts = Accounts::by([memory(), memory()], |_, _| 2).unwrap();
    let table = name("rows");
    let error = accounts.get(&table, "p", "r", None, Metadata::None).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::INVALID_INPUT);
    assert!(error.message.contains("account 2"), "{error}");
    assert!(matches!(Accounts::by_partition([]), Err(AccountsError::Number(0))));
    let [one, other] = [memory(), memory()];
    let twice = Accounts::by_partition([other, Arc::clone(&one), one]);
    assert!(matches!(twice, Err(AccountsError::Twice(1, 2))));
}

#[tokio::test]
async fn a_row_in_an_account_that_is_not_its_own_is_absent() {
    let stores = [memory(), memory()];
    let accounts = Accounts::by(stores.clone(), |_, _| 1).unwrap();
    let table = name("rows");
    accounts.create_table(&table).await.unwrap();
    let row = DynamicEntity::new("p", "r");
    stores[0].write(&table, "p", insert(&row)).await.unwrap();
    assert_eq!(accounts.get(&table, "p", "r", None, Metadata::None).await.unwrap(), None);
    let all = RowQuery::new(table, KeyRange::ALL);
    assert!(pages(&accounts, all).await.concat().is_empty());
}

#[tokio::test(start_paused = true)]
async fn tables_that_were_made_or_deleted_in_some_accounts_only_are_completed_by_the_same_call() {
    let fails = Faults::seeded(1)
        .on("create_table", 1, Fault::Rejected(ErrorCode::SERVER_BUSY))
        .on("delete_table", 1, Fault::Rejected(ErrorCode::SERVER_BUSY));
    let second = Arc::new(fails.store(memory()).unwrap()) as Arc<dyn Store>;
    let accounts = Accounts::by_partition([memory(), second]).unwrap();
    let table = name("rows");
    let error = accounts.create_table(&table).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::SERVER_BUSY);
    accounts.create_table(&table).await.unwrap();
    let error = accounts.create_table(&table).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::TABLE_ALREADY_EXISTS);

    let error = accounts.delete_table(&table).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::SERVER_BUSY);
    accounts.delete_table(&table).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let error = accounts.delete_table(&table).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::RESOURCE_NOT_FOUND);
}

#[tokio::test]
async fn a_continuation_reads_no_row_that_its_query_does_not() {
    let fixed = Accounts::by_partition([memory(), memory()]).unwrap();
    let growing = Accounts::growing([memory(), memory()], name("map")).unwrap();
    let table = name("rows");
    for (accounts, top) in [(fixed, 4), (growing, 20)] {
        accounts.create_table(&table).await.unwrap();
        for n in 0..20 {
            let row = DynamicEntity::new(format!("p{n:02}"), "r");
            accounts.write(&table, &row.partition_key, insert(&row)).await.unwrap();
        }
        let all = RowQuery { top: Some(top), ..RowQuery::new(table.clone(), KeyRange::ALL) };
        let continuation = accounts.query(&all).await.unwrap().continuation;
        assert!(continuation.is_some());
        for partition in [Span::prefix("p19"), Span::Exact("p19".into())] {
            let keys = KeyRange { partition, row: Span::All };
            let other = RowQuery { keys, continuation: continuation.clone(), ..all.clone() };
            // To where a continuation of the whole table goes on, this query does not come.
            let page = accounts.query(&other).await;
            assert_eq!(page.unwrap_err().code, ErrorCode::INVALID_INPUT);
        }
    }
}

#[tokio::test]
async fn a_continuation_that_is_altered_or_of_other_accounts_is_refused() {
    let of = |count: usize| Accounts::by_partition((0..count).map(|_| memory())).unwrap();
    let (two, three) = (of(2), of(3));
    let table = name("rows");
    for accounts in [&two, &three] {
        accounts.create_table(&table).await.unwrap();
        for n in 0..20 {
            let row = DynamicEntity::new(format!("p{n}"), "r");
            accounts.write(&table, &row.partition_key, insert(&row)).await.unwrap();
        }
    }
    let mut query = RowQuery { top: Some(4), ..RowQuery::new(table, KeyRange::ALL) };
    let next = two.query(&query).await.unwrap().continuation.unwrap();
    let text = next.next_partition_key.clone().unwrap();
    query.continuation = Some(next);
    assert_eq!(three.query(&query).await.unwrap_err().code, ErrorCode::INVALID_INPUT);
    let mut refused = 0;
    for at in 0..text.len() {
        let mut altered = text.clone().into_bytes();
        altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
        let next_partition_key = Some(String::from_utf8(altered).unwrap());
        query.continuation =
            Some(crate::model::Continuation { next_partition_key, next_row_key: None });
        refused += usize::from(two.query(&query).await.is_err());
    }
    // The last character may have bits that no byte has.
    assert!(refused + 1 >= text.len());
}
