//! Calls through a layer that leaves a property of its own in every row.

use super::{Runner, runner};
use std::collections::BTreeMap;
use table_orm::layer::{ConcurrencyLimit, Retry};
use table_orm::model::Edm;
use table_orm::{DynamicEntity, Error, TableEntity, TableName, Tables};

/// An entity whose map takes every property that no field has.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "notes", partition = "{owner}", unique(title))]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_title, key = "TITLE:{title}__{id:05}")]
struct Note {
    owner: String,
    id: u32,
    title: String,
    #[table(flatten)]
    rest: BTreeMap<String, Edm>,
}

fn tables() -> Tables {
    let stamped = Retry::interactive().write_id("WriteId");
    Tables::in_memory().unwrap().layer(stamped).unwrap().layer(ConcurrencyLimit::default()).unwrap()
}

#[tokio::test]
async fn the_id_of_a_write_is_no_difference() {
    let tables = tables();
    let repo = tables.repo::<Runner>();
    repo.create_table().await.unwrap();
    repo.insert_many((0..20).map(|bib| runner("Boston", bib, 70))).await.all().unwrap();
    let partition = Runner::partition("Boston");
    // Rows of one entity then carry the ids of different writes.
    repo.update(partition.by_bib().bib(3), |runner| runner.name = "Ann".to_owned()).await.unwrap();
    assert!(repo.verify(&partition).await.unwrap().findings.is_empty());

    let table = tables.table(TableName::new("runners").unwrap());
    let lost = DynamicEntity::new("Boston", "AGE:070__00004");
    table.delete(&lost).await.unwrap();
    let findings = repo.verify(&partition).await.unwrap().findings;
    assert_eq!(findings.len(), 1);
    let report = repo.repair(findings).await;
    assert_eq!((report.repaired.len(), report.failures.len()), (1, 0));
    assert!(repo.verify(&partition).await.unwrap().findings.is_empty());
}

#[tokio::test]
async fn the_id_of_a_write_is_no_difference_in_a_map_of_all_properties() {
    let repo = tables().repo::<Note>();
    repo.create_table().await.unwrap();
    let note = Note {
        owner: "ann".to_owned(),
        id: 1,
        title: "a".to_owned(),
        rest: BTreeMap::from([("Colour".to_owned(), "red".into())]),
    };
    repo.insert(&note).await.unwrap();
    let partition = Note::partition("ann");
    repo.update(partition.by_id().id(1), |note| note.title = "b".to_owned()).await.unwrap();
    assert!(repo.verify(&partition).await.unwrap().findings.is_empty());
}

#[tokio::test]
async fn without_its_layer_the_id_of_a_write_is_a_property_too_many() {
    let plain = Tables::in_memory().unwrap();
    let stamped = plain.clone().layer(Retry::interactive().write_id("WriteId")).unwrap();
    let repo = stamped.repo::<Runner>();
    repo.create_table().await.unwrap();
    repo.insert(&runner("Boston", 1, 60)).await.unwrap();
    let partition = Runner::partition("Boston");
    assert!(repo.verify(&partition).await.unwrap().findings.is_empty());
    let findings = plain.repo::<Runner>().verify(&partition).await.unwrap().findings;
    let texts: Vec<_> = findings.iter().map(super::described).collect();
    assert_eq!(texts.len(), 2);
    assert!(texts.iter().all(|text| text.contains("WriteId")), "{texts:?}");
}

#[tokio::test]
async fn the_id_of_a_write_is_one_of_252_properties() {
    let tables = tables();
    let table = tables.table(TableName::new("runners").unwrap());
    tables.repo::<Runner>().create_table().await.unwrap();
    let row = |count: usize| {
        let properties = (0..count).map(|at| format!("P{at:03}"));
        properties.fold(DynamicEntity::new("p", "r"), |row, name| row.with(name, true))
    };
    table.insert(&row(251)).await.unwrap();
    let rejected = table.insert_or_replace(&row(252)).await;
    assert!(matches!(rejected, Err(Error::TooLarge(_))), "{rejected:?}");
}
