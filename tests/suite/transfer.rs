//! Exports and imports of typed entities.

use table_orm::{DynamicEntity, Error, Repo, ScanPermit, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "results", partition = "{race}", unique(chip), kind = "finisher")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_rank, key = "RANK:{rank:05}__{bib:05}", include(name))]
struct Finisher {
    race: String,
    bib: u32,
    rank: u32,
    chip: u64,
    name: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "results", partition = "{race}", row = "BIB:{bib:05}", kind = "walker")]
struct Walker {
    race: String,
    bib: u32,
}

fn finisher(bib: u32) -> Finisher {
    let race = format!("race {}", bib % 3);
    Finisher { race, bib, rank: 1000 - bib, chip: bib.into(), name: format!("Runner {bib}") }
}

async fn repo() -> (Tables, Repo<Finisher>) {
    let tables = Tables::in_memory().unwrap();
    let finishers = tables.repo::<Finisher>();
    finishers.create_table().await.unwrap();
    (tables, finishers)
}

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

/// All rows, as text.
async fn rows(tables: &Tables) -> String {
    let mut text = Vec::new();
    let export = tables.export("results".parse().unwrap(), permit());
    export.write_to(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn an_export_of_entities_has_one_row_of_each_and_an_import_writes_them_all() {
    let (source, finishers) = repo().await;
    finishers.insert_many((0..300).map(finisher)).await.all().unwrap();
    let whole = rows(&source).await;
    assert_eq!(whole.lines().count(), 900, "with index rows and guard rows");
    // Another type under like keys, and a row that was moved.
    source.repo::<Walker>().insert(&Walker { race: "race 9".into(), bib: 1 }).await.unwrap();
    let moved = DynamicEntity::new("race 9", "BIB:00002").with("Moved_To", "elsewhere");
    source.table("results".parse().unwrap()).insert(&moved).await.unwrap();

    let mut text = Vec::new();
    let exported = finishers.export(permit()).write_to(&mut text).await.unwrap();
    assert_eq!((exported.rows, exported.partitions), (300, 3));
    assert_eq!(exported.bytes, text.len() as u64);

    let (target, copies) = repo().await;
    for _ in 0..2 {
        let imported = copies.import().read_from(&*text).await.unwrap();
        assert_eq!((imported.rows, imported.refused), (300, 0));
        assert_eq!(rows(&target).await, whole);
    }

    let partial = target.table("results".parse().unwrap()).list("race 1", ..).count().await;
    assert_eq!(partial.unwrap(), 300);
}

#[tokio::test]
async fn a_filtered_export_has_the_properties_that_the_type_does_not_know() {
    let (source, finishers) = repo().await;
    finishers.insert_many((0..10).map(finisher)).await.all().unwrap();
    let extra = DynamicEntity::new("race 1", "BIB:00004").with("Shoe", 42_i64);
    source.table("results".parse().unwrap()).merge(&extra).await.unwrap();
    let mut text = Vec::new();
    let export = finishers.export(permit());
    export.scan(|scan| scan.filter(|row| row.bib.eq(4))).write_to(&mut text).await.unwrap();
    let row = DynamicEntity::from_json(str::from_utf8(&text).unwrap().trim_end()).unwrap();
    assert_eq!((row.row_key.as_str(), &row.properties["Shoe"]), ("BIB:00004", &42_i64.into()));
}

#[tokio::test]
async fn rows_of_other_types_and_of_index_rows_are_refused() {
    let (tables, finishers) = repo().await;
    finishers.insert(&finisher(1)).await.unwrap();
    tables.repo::<Walker>().insert(&Walker { race: "race 9".into(), bib: 1 }).await.unwrap();
    let text = rows(&tables).await;
    let (target, copies) = repo().await;
    let mut refused = Vec::new();
    let import = copies.import().on_refused(|row| refused.push((row.line, row.error)));
    let imported = import.read_from(text.as_bytes()).await.unwrap();
    assert_eq!((imported.rows, imported.refused), (1, 3));
    assert!(refused.iter().all(|(_, error)| matches!(error, Error::Transfer(_))), "{refused:?}");
    assert_eq!(rows(&target).await.lines().count(), 3);
}
