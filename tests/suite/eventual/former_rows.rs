//! Rows in other partitions that the types of an app had, and have no longer.

use table_orm::{Repo, ScanPermit, TableEntity, TableName, Tables};

mod before {
    use table_orm::TableEntity;

    #[derive(Debug, TableEntity)]
    #[table(name = "parts", partition = "{site}", row = "P:{sku}")]
    #[row(by_shelf, partition = "SHELF@{shelf}", key = "S:{site}__{sku}", eventual)]
    pub struct Part {
        pub site: String,
        pub sku: String,
        pub shelf: String,
    }
}

/// Its row in another partition has another PartitionKey now.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "parts", partition = "{site}", row = "P:{sku}")]
#[row(by_room, partition = "ROOM@{shelf}", key = "S:{site}__{sku}", eventual)]
struct Part {
    site: String,
    sku: String,
    shelf: String,
}

/// Its row in another partition has the components of the former one in another order.
mod turned {
    use table_orm::TableEntity;

    #[derive(Debug, TableEntity)]
    #[table(name = "parts", partition = "{site}", row = "P:{sku}")]
    #[row(by_shelf, partition = "SHELF@{shelf}", key = "S:{sku}__{site}", eventual)]
    pub struct Part {
        pub site: String,
        pub sku: String,
        pub shelf: String,
    }
}

/// A type whose rows in other partitions look like the former ones of `Part`.
#[derive(Debug, PartialEq, TableEntity)]
#[table(name = "parts", partition = "{owner}", row = "Q:{number}")]
#[row(by_shelf, partition = "SHELF@{shelf}", key = "S:{owner}__{number}", eventual)]
struct Quote {
    owner: String,
    number: String,
    shelf: String,
}

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

fn skus() -> impl Iterator<Item = String> {
    (0..5).map(|number| format!("sku{number}"))
}

/// Five parts with their former rows, which the present type does not have.
async fn with_former_rows() -> (Tables, Repo<before::Part>) {
    let tables = Tables::in_memory().unwrap();
    let former = tables.repo::<before::Part>();
    former.create_table().await.unwrap();
    for sku in skus() {
        let part = before::Part { site: "north".into(), sku, shelf: "a".into() };
        former.insert(&part).await.unwrap();
    }
    (tables, former)
}

async fn count_former(former: &Repo<before::Part>) -> usize {
    former.list(before::Part::by_shelf("a")).count().await.unwrap()
}

#[tokio::test]
async fn only_rows_with_both_keys_of_the_former_row_are_deleted() {
    let (tables, former) = with_former_rows().await;
    let parts = tables.repo::<Part>();
    parts.backfill_table(permit()).await.all().unwrap();
    let drop_rows = || parts.drop_eventual_row::<before::PartByShelf>(permit());
    let would = drop_rows().dry_run().await;
    assert_eq!((would.rows, would.kept, count_former(&former).await), (5, 0, 5));
    assert_eq!(drop_rows().await.all().unwrap(), 5);
    assert_eq!(count_former(&former).await, 0);
    assert_eq!(parts.list(Part::by_room("a")).count().await.unwrap(), 5);
    assert_eq!(parts.verify_table(permit()).await.unwrap().findings, []);
    // A row that the type has is kept.
    let done = parts.drop_eventual_row::<PartByRoom>(permit()).await;
    assert_eq!((done.rows, done.kept), (0, 5));
    assert_eq!(parts.list(Part::by_room("a")).count().await.unwrap(), 5);
}

#[tokio::test]
async fn rows_that_a_present_row_may_have_written_are_kept() {
    let (tables, former) = with_former_rows().await;
    let parts = tables.repo::<turned::Part>();
    parts.backfill_table(permit()).await.all().unwrap();
    let done = parts.drop_eventual_row::<before::PartByShelf>(permit()).await;
    assert_eq!((done.rows, done.kept, done.ended.is_none()), (0, 10, true));
    assert_eq!(count_former(&former).await, 10);
    // What no entity has is found and repaired.
    let rows = parts.verify_eventual_table::<turned::PartByShelf>(permit());
    let findings = rows.await.unwrap().findings;
    assert_eq!(findings.len(), 5);
    parts.repair(findings).await.all().unwrap();
    assert_eq!(parts.list(turned::Part::by_shelf("a")).count().await.unwrap(), 5);
}

#[tokio::test]
async fn rows_of_a_type_that_is_named_are_kept() {
    let (tables, former) = with_former_rows().await;
    let quotes = tables.repo::<Quote>();
    let quote = Quote { owner: "ann".into(), number: "7".into(), shelf: "b".into() };
    quotes.insert(&quote).await.unwrap();
    let parts = tables.repo::<Part>();
    let drop_rows = || parts.drop_eventual_row::<before::PartByShelf>(permit());
    let would = drop_rows().dry_run().await;
    assert_eq!((would.rows, would.kept), (6, 0));
    let done = drop_rows().keeping::<Quote>().await;
    assert_eq!((done.rows, done.kept), (0, 6));
    assert_eq!(count_former(&former).await, 5);
    assert_eq!(quotes.list(Quote::by_shelf("b")).collect().await.unwrap(), [quote]);
}

#[tokio::test]
async fn rows_of_a_type_that_is_named_are_kept_in_whatever_table_its_entities_are() {
    let tables = Tables::in_memory().unwrap();
    let tenant = || TableName::new("tenant").unwrap();
    tables.create(&tenant()).await.unwrap();
    let quotes = tables.repo_in::<Quote>(tenant());
    quotes
        .insert(&Quote { owner: "ann".into(), number: "7".into(), shelf: "b".into() })
        .await
        .unwrap();
    let parts = tables.repo_in::<Part>(tenant());
    let drop_rows = || parts.drop_eventual_row::<before::PartByShelf>(permit());
    let done = drop_rows().keeping::<Quote>().await;
    assert_eq!((done.rows, done.kept), (0, 1));
    assert_eq!(quotes.verify_table(permit()).await.unwrap().findings, []);
}
