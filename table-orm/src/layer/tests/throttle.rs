//! Requests above a rate.

use crate::layer::Throttle;
use crate::{DynamicEntity, TableName, Tables};
use std::time::Duration;
use tokio::time::Instant;

/// How many of these inserts pass, one for each name of a partition.
async fn passed(tables: &Tables, partitions: impl Iterator<Item = String>) -> usize {
    let table = tables.table(TableName::new("readings").unwrap());
    let mut passed = 0;
    for (n, partition) in partitions.enumerate() {
        let at = Instant::now();
        let row = DynamicEntity::new(partition, format!("{n} {at:?}"));
        passed += usize::from(table.insert(&row).await.is_ok());
    }
    passed
}

async fn tables(throttle: Throttle) -> Tables {
    let tables = Tables::in_memory().unwrap().layer(throttle).unwrap();
    tables.create(&TableName::new("readings").unwrap()).await.unwrap();
    tables
}

#[tokio::test(start_paused = true)]
async fn what_exceeds_a_partition_s_rate_is_rejected_until_time_has_passed() {
    let tables = tables(Throttle::new().per_partition(10)).await;
    let same = |count| (0..count).map(|_| "roof".to_owned());
    assert_eq!(passed(&tables, same(30)).await, 11);
    assert_eq!(passed(&tables, (0..30).map(|n| n.to_string())).await, 30);
    tokio::time::advance(Duration::from_millis(500)).await;
    assert_eq!(passed(&tables, same(30)).await, 5);
}

#[tokio::test(start_paused = true)]
async fn all_partitions_share_the_rate_of_the_account() {
    let tables = tables(Throttle::new().per_account(10).per_partition(10)).await;
    assert_eq!(passed(&tables, (0..30).map(|n| n.to_string())).await, 11);
}

#[tokio::test(start_paused = true)]
async fn a_page_pays_for_the_rows_it_read() {
    let tables = tables(Throttle::new().per_partition(10)).await;
    passed(&tables, (0..10).map(|_| "roof".to_owned())).await;
    tokio::time::advance(Duration::from_secs(2)).await;
    let table = tables.table(TableName::new("readings").unwrap());
    assert_eq!(table.list("roof", ..).collect().await.unwrap().len(), 10);
    assert_eq!(passed(&tables, (0..30).map(|_| "roof".to_owned())).await, 1);
}
