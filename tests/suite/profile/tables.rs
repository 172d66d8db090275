//! Sizes are the service's, and partitions those of the table.

use super::*;
use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::profile::AdviceKind;
use table_orm::query::RowQuery;
use table_orm::scan::Checkpoint;
use table_orm::store::{Middleware, Page, Store, StoreError};
use table_orm::{DynamicEntity, TableName, Tables};

fn name() -> TableName {
    TableName::new("things").unwrap()
}

/// A row of so many bytes, with a property of each type.
fn sized(bytes: usize) -> DynamicEntity {
    use table_orm::model::DateTime;
    let mut row = DynamicEntity::new("Zürich \u{1F3C3}", "r")
        .with("Int32", 1)
        .with("Int64", 1_i64)
        .with("Double", 1.5)
        .with("Boolean", true)
        .with("Guid", uuid::Uuid::from_u128(1))
        .with("DateTime", DateTime::MIN)
        .with("Text", "é\u{1F3C3}");
    let values = 4 + 8 + 8 + 1 + 16 + 8 + (4 + 2 * 3);
    let names = 5 + 5 + 6 + 7 + 4 + 8 + 4;
    let mut left = bytes - (4 + 2 * (9 + 1) + 7 * 8 + 2 * names + values);
    for part in 0.. {
        let length = left.saturating_sub(8 + 2 * 3 + 4).min(60_000);
        row = row.with(format!("B{part:02}"), vec![7_u8; length]);
        left = left.checked_sub(8 + 2 * 3 + 4 + length).unwrap();
        if left == 0 {
            return row;
        }
    }
    unreachable!()
}

#[tokio::test]
async fn a_row_has_the_size_by_which_stores_refuse_a_larger_one() {
    let tables = Tables::in_memory().unwrap();
    tables.create(&name()).await.unwrap();
    let things = tables.table(name());
    assert!(things.insert(&sized(1024 * 1024 + 1)).await.is_err());
    things.insert(&sized(1024 * 1024)).await.unwrap();
    let sizes = things.profile(because()).await.unwrap().sizes.unwrap();
    assert_eq!((sizes.bytes, sizes.row.most), (1024 * 1024, 1024 * 1024));
    assert_eq!((sizes.histogram.len(), sizes.histogram[0].at_most), (1, 1024 * 1024));
}

#[tokio::test]
async fn a_partition_is_whole_however_many_workers_read_it() {
    let tables = Tables::in_memory().unwrap();
    tables.create(&name()).await.unwrap();
    let things = tables.table(name());
    let rows = (1..=40_usize).flat_map(|rank| {
        (0..400 / rank).map(move |row| {
            DynamicEntity::new(format!("{:02}", rank * 7 % 41), format!("{row:04}"))
        })
    });
    let count = rows.clone().count() as u64;
    things.insert_many(rows).await.all().unwrap();
    let profile = |workers| {
        things.profile(because()).scan(move |scan| scan.concurrency(workers).page_size(17)).top(40)
    };
    let one = profile(1).await.unwrap();
    assert_eq!(
        (one.rows, one.partitions.count, one.partitions.most_rows[0].rows),
        (count, 40, 400)
    );
    let sizes: Vec<_> = one.partitions.most_rows.iter().map(|size| size.rows).collect();
    assert_eq!(sizes, (1..=40).map(|rank| 400 / rank).collect::<Vec<_>>());
    for workers in [2, 7, 16] {
        let many = profile(workers).await.unwrap();
        assert_eq!((many.partitions, many.sizes), (one.partitions.clone(), one.sizes.clone()));
    }
}

#[tokio::test]
async fn an_earlier_scan_s_checkpoint_leaves_no_row_out() {
    let tables = Tables::in_memory().unwrap();
    tables.create(&name()).await.unwrap();
    let things = tables.table(name());
    let rows = (0..50).map(|row| DynamicEntity::new("p", format!("{row:02}")));
    things.insert_many(rows).await.all().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::file(folder.path().join("scan.json"));
    things.scan(because()).checkpoint(checkpoint.clone()).count().await.unwrap();
    let profile = things.profile(because()).scan(|scan| scan.checkpoint(checkpoint));
    assert_eq!(profile.await.unwrap().rows, 50);
}

/// A store that returns a value which no row can have.
#[derive(Debug)]
struct Garbling(Arc<dyn Store>);

impl Middleware for Garbling {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let mut page = self.0.query(query).await?;
        let body = String::from_utf8(page.body.to_vec()).unwrap();
        page.body = body.replace("\"Chip\":13", "\"Chip\":[13]").into();
        Ok(page)
    }
}

#[tokio::test]
async fn an_unreadable_row_is_counted_apart() {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
    let tables = Tables::new(Arc::clone(&store));
    tables.create(&name()).await.unwrap();
    let rows = (0..20).map(|row| DynamicEntity::new("p", format!("{row:02}")).with("Chip", row));
    tables.table(name()).insert_many(rows).await.all().unwrap();
    let things = Tables::new(Garbling(store)).table(name());
    let report = things.profile(because()).scan(|scan| scan.page_size(3)).await.unwrap();
    assert_eq!((report.rows, report.unreadable, report.partitions.rows.most), (19, 1, 19));
    assert!(report.advice.iter().any(|advice| advice.kind == AdviceKind::Unreadable));
    // A profile of keys does not read the value.
    let keys = things.profile(because()).keys_only().await.unwrap();
    assert_eq!((keys.rows, keys.unreadable), (20, 0));
}

#[tokio::test]
async fn the_error_of_a_table_that_is_not_there_names_the_type() {
    let runners = Tables::in_memory().unwrap().repo::<Runner>();
    let missing = runners.profile(because()).await.unwrap_err().to_string();
    assert!(missing.contains("Runner") && !missing.contains("DynamicEntity"), "{missing}");
}
