//! What a scan would find, counted by keys alone.

use table_orm::repo::Explanation;
use table_orm::{DynamicEntity, ScanPermit, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{race}", unique(chip))]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_age, key = "AGE:{age:03}__{bib:05}")]
struct Runner {
    race: String,
    bib: u32,
    age: u8,
    chip: u32,
}

/// Three races of 400 runners, each of three rows, and a note in each.
async fn tables() -> table_orm::Result<Tables> {
    let tables = Tables::in_memory()?;
    let runners = tables.repo::<Runner>();
    runners.create_table().await?;
    let races = ["Berlin", "Boston", "Chicago"];
    let runner =
        |race: &str, bib| Runner { race: race.into(), bib, age: (bib % 100) as u8, chip: bib };
    let all = races.iter().flat_map(|race| (0..400).map(|bib| runner(race, bib)));
    runners.insert_many(all).await.all()?;
    for race in races {
        tables.table(runners.table().clone()).insert(&DynamicEntity::new(race, "NOTE")).await?;
    }
    Ok(tables)
}

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

fn rows(explained: &Explanation) -> (u64, u64) {
    (explained.in_range, explained.matching)
}

#[tokio::test]
async fn a_scan_counts_what_the_service_reads_for_it_and_what_it_returns() -> table_orm::Result<()>
{
    let tables = tables().await?;
    let runners = tables.repo::<Runner>();
    let scan = runners.scan(permit());
    let all = scan.clone().explain().await?;
    assert_eq!(rows(&all), (3 * 1201, 1200));
    assert_eq!((all.transactions, all.transactions_unfiltered), (2, 4));

    let young = scan.clone().filter(|row| row.age.lt(10));
    let found = young.clone().collect().await?.len() as u64;
    let explained = young.take(1).explain().await?;
    assert_eq!(rows(&explained), (3 * 1201, found));
    assert!((explained.density() - found as f64 / 3603.0).abs() < 1e-12);

    let races = scan.partitions_in(Runner::partition("Boston")..);
    assert_eq!(rows(&races.clone().explain().await?), (2 * 1201, 800));
    let nobody = races.filter(|row| row.age.gt(200)).explain().await?;
    assert_eq!(rows(&nobody), (2 * 1201, 0));
    Ok(())
}

#[tokio::test]
async fn a_scan_of_one_partition_counts_only_its_row_keys() -> table_orm::Result<()> {
    let tables = tables().await?;
    let runners = tables.repo::<Runner>();
    let boston = Runner::partition("Boston")..=Runner::partition("Boston");
    let scan = runners.scan(permit()).partitions_in(boston);
    assert_eq!(rows(&scan.clone().explain().await?), (400, 400));
    let young = scan.filter(|row| row.age.lt(10)).explain().await?;
    assert_eq!(rows(&young), (400, 40));
    Ok(())
}

#[tokio::test]
async fn a_scan_of_any_rows_counts_all_of_its_range() -> table_orm::Result<()> {
    let tables = tables().await?;
    let table = tables.repo::<Runner>().table().clone();
    let scan = tables.scan(table, permit());
    let all = scan.clone().explain().await?;
    assert_eq!((rows(&all), all.density()), ((3603, 3603), 1.0));
    assert_eq!(all.transactions, all.transactions_unfiltered);
    let notes = scan.prefix("B").row_range("NOTE".to_owned()..="NOTE".to_owned());
    assert_eq!(rows(&notes.explain().await?), (2402, 2));
    Ok(())
}
