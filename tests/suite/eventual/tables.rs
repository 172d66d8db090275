//! A type with several tables: a row in a table of its own says in which of them its entity is.

use table_orm::model::Edm;
use table_orm::repo::Problem;
use table_orm::{DynamicEntity, Repo, ScanPermit, TableEntity, TableName, Tables};

/// A parcel of a region, each of which has a table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "parcels", partition = "{sender}", row = "PAR:{number:05}")]
#[row(
    by_driver,
    table = "drivers",
    partition = "{driver}",
    key = "PAR:{region}__{number:05}__{sender}",
    eventual
)]
struct Parcel {
    sender: String,
    number: u32,
    region: String,
    driver: String,
}

mod without_drivers {
    use table_orm::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "parcels", partition = "{sender}", row = "PAR:{number:05}")]
    pub struct Parcel {
        sender: String,
        number: u32,
    }
}

fn parcel(region: &str, number: u32) -> Parcel {
    let (sender, region, driver) = ("acme".into(), region.into(), "Ann".into());
    Parcel { sender, number, region, driver }
}

fn name(table: &str) -> TableName {
    TableName::new(table).unwrap()
}

/// The regions `eu`, in the table of the type, and `us`.
async fn regions() -> (Tables, [Repo<Parcel>; 2]) {
    let tables = Tables::in_memory().unwrap();
    let repos = [tables.repo::<Parcel>(), tables.repo_in::<Parcel>(name("parcelsUs"))];
    for table in ["parcels", "parcelsUs", "drivers"] {
        tables.create(&name(table)).await.unwrap();
    }
    for (region, repo) in ["eu", "us"].into_iter().zip(&repos) {
        for number in 1..=3 {
            repo.insert(&parcel(region, number)).await.unwrap();
        }
    }
    (tables, repos)
}

fn text(value: &Edm) -> String {
    let Edm::String(text) = value else { panic!("{value:?}") };
    text.clone()
}

async fn drivers_rows(tables: &Tables) -> Vec<(String, Option<String>)> {
    let scan = tables.scan(name("drivers"), ScanPermit::because("test")).ordered(true);
    let rows = scan.collect().await.unwrap().into_iter();
    let home = |row: &DynamicEntity| row.properties.get("Entity_Table").map(text);
    rows.map(|row| (row.row_key.clone(), home(&row))).collect()
}

#[tokio::test]
async fn a_checked_query_of_one_table_leaves_the_rows_of_the_others() {
    let (tables, repos) = regions().await;
    let before = drivers_rows(&tables).await;
    assert_eq!(before.len(), 6);
    for (row_key, home) in &before {
        let is_us = row_key.starts_with("PAR:us");
        assert_eq!(home.as_deref(), is_us.then_some("parcelsus"), "{row_key}");
    }
    for (region, repo) in ["eu", "us"].into_iter().zip(&repos) {
        let checked = repo.list(Parcel::by_driver("Ann")).checked().collect().await.unwrap();
        assert_eq!(checked, [1, 2, 3].map(|number| parcel(region, number)));
    }
    assert_eq!(drivers_rows(&tables).await, before);
}

#[tokio::test]
async fn verify_finds_the_rows_of_its_own_table_only_and_repair_leaves_the_others() {
    let (tables, repos) = regions().await;
    // Another program deletes an entity of each table, and nothing else.
    for repo in &repos {
        let rows = tables.table(repo.table().clone());
        let row = rows.get("acme", "PAR:00002").await.unwrap().unwrap();
        rows.delete(&row).await.unwrap();
    }
    for (left, (region, repo)) in [5, 4].into_iter().zip(["eu", "us"].into_iter().zip(&repos)) {
        let permit = ScanPermit::because("test");
        let reports = [
            repo.verify_eventual(Parcel::by_driver("Ann")).await.unwrap(),
            repo.verify_eventual_table::<ParcelByDriver>(permit.clone())
                .join(permit)
                .await
                .unwrap(),
        ];
        for report in &reports {
            let [finding] = &report.findings[..] else { panic!("{report:?}") };
            assert_eq!(finding.problem, Problem::Orphan);
            assert_eq!(finding.row_key, format!("PAR:{region}__00002__acme"));
            assert_eq!(report.entities, 2);
        }
        let [report, _] = reports;
        assert_eq!(repo.repair(report.findings).await.all().unwrap(), 1);
        assert_eq!(drivers_rows(&tables).await.len(), left);
    }
}

#[tokio::test]
async fn a_row_that_lacks_the_name_of_its_table_is_found_from_its_entity_and_gets_it() {
    let (tables, [_, us]) = regions().await;
    let drivers = tables.table(name("drivers"));
    let mut row = drivers.get("Ann", "PAR:us__00001__acme").await.unwrap().unwrap();
    row.properties.remove("Entity_Table");
    drivers.replace(&row).await.unwrap();
    let findings = us.verify(Parcel::partition("acme")).await.unwrap().findings;
    let problems: Vec<_> = findings.iter().map(|finding| &finding.problem).collect();
    let [Problem::WrongProjection { lacking, .. }] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!(lacking, &["Entity_Table"]);
    assert_eq!(us.repair(findings).await.all().unwrap(), 1);
    let stored = drivers.get("Ann", "PAR:us__00001__acme").await.unwrap().unwrap();
    assert_eq!(stored.properties.get("Entity_Table").map(text).as_deref(), Some("parcelsus"));
}

#[tokio::test]
async fn a_row_in_a_table_of_its_own_follows_its_entity_in_any_table() {
    let (tables, [eu, us]) = regions().await;
    us.update(Parcel::partition("acme").row().number(2), |parcel| parcel.driver = "Bob".into())
        .await
        .unwrap();
    let third = eu.load(Parcel::partition("acme").row().number(3)).await.unwrap().one().unwrap();
    eu.delete(third).await.unwrap();
    let rows: Vec<_> =
        drivers_rows(&tables).await.into_iter().map(|(row_key, _)| row_key).collect();
    let expected = [
        "PAR:eu__00001__acme",
        "PAR:eu__00002__acme",
        "PAR:us__00001__acme",
        "PAR:us__00003__acme",
        "PAR:us__00002__acme",
    ];
    assert_eq!(rows, expected);
}

#[tokio::test]
async fn drop_eventual_row_deletes_the_rows_of_its_own_table_only() {
    let (tables, [_, us]) = regions().await;
    us.delete_table().leave_rows_in_other_tables().await.unwrap();
    let permit = ScanPermit::because("test");
    let us = tables.repo_in::<without_drivers::Parcel>(us.table().clone());
    assert_eq!(us.drop_eventual_row::<ParcelByDriver>(permit).await.all().unwrap(), 3);
    let left = drivers_rows(&tables).await;
    assert_eq!(left.len(), 3);
    assert!(left.iter().all(|(row_key, _)| row_key.starts_with("PAR:eu")), "{left:?}");
}

#[tokio::test]
async fn the_name_of_a_table_is_that_of_its_every_spelling() {
    let (tables, [_, us]) = regions().await;
    let shouted = tables.repo_in::<Parcel>(name("PARCELSUS"));
    let acme = || Parcel::partition("acme");
    shouted.update(acme().row().number(1), |parcel| parcel.driver = "Bob".into()).await.unwrap();
    for repo in [&us, &shouted] {
        assert_eq!(repo.verify(acme()).await.unwrap().findings, []);
        let checked = repo.list(Parcel::by_driver("Bob")).checked().count().await.unwrap();
        assert_eq!(checked, 1);
    }
}
