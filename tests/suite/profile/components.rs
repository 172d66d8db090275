//! How many different values each component of the keys of a type has.

use super::*;
use table_orm::Tables;
use table_orm::profile::{Advice, AdviceKind, Distinct};
use table_orm::testing::{FakeService, KeySet, ServiceSettings};

/// A copy elsewhere, too.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "games", partition = "{league}__{season:04}", unique(ticket))]
#[row(by_number, key = "NUM:{number:05}")]
#[row(by_home, key = "HOME:{home}__{number:05}")]
#[row(
    by_city,
    partition = "CITY:{city}",
    key = "GAME:{league}__{season:04}__{number:05}",
    eventual
)]
struct Game {
    league: String,
    season: u16,
    number: u32,
    home: String,
    city: String,
    ticket: u32,
}

#[tokio::test]
async fn each_component_is_counted_in_the_rows_of_its_template() -> table_orm::Result<()> {
    let games = Tables::in_memory()?.repo::<Game>();
    games.create_table().await?;
    for number in 0..130 {
        let (home, city) = (format!("team {}", number % 20), format!("city {}", number % 7));
        let (league, season) = (format!("L{}", number % 3), 2020 + (number % 2) as u16);
        games.insert(&Game { league, season, number, home, city, ticket: number }).await?;
    }
    let report = games.profile(because()).await?;
    let shown: Vec<_> = report
        .components
        .iter()
        .map(|one| {
            let row = one.row.as_deref().unwrap_or("all");
            format!("{row} {} {} {}", one.key, one.name, one.values)
        })
        .collect();
    assert_eq!(
        shown[..5],
        [
            "all PartitionKey league 3",
            "all PartitionKey season 2",
            "by_number RowKey number about 130",
            "by_home RowKey home 20",
            "by_home RowKey number about 130",
        ]
        .map(|line| line.replace("about 130", &shown[2]["by_number RowKey number ".len()..]))
    );
    assert_eq!(
        shown[5..9],
        [
            "by_city PartitionKey city 7",
            "by_city RowKey league 3",
            "by_city RowKey season 2",
            &shown[2].replace("by_number", "by_city"),
        ]
    );
    assert_eq!(shown.len(), 9);
    let Distinct::About(numbers) = report.components[2].values else { panic!("{shown:?}") };
    assert!((124..=136).contains(&numbers), "{numbers}");
    let league = report.partition_component("Game", "league").unwrap();
    assert_eq!(league.values, Distinct::Exactly(3));
    let text = report.to_string();
    assert!(text.contains("\n  Game PartitionKey {league}: 3 different\n"), "{text}");
    assert!(text.contains("\n  Game.by_city RowKey {season}: 2 different\n"), "{text}");
    Ok(())
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "bills", partition = "{year:04}__{state}", row = "{number:08}", allow_append_only)]
struct Bill {
    year: u16,
    state: String,
    number: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "sales",
    partition = "{year:04}__{country}__{state}",
    row = "{number:08}",
    allow_append_only
)]
struct Sale {
    year: u16,
    country: String,
    state: String,
    number: u32,
}

/// What the advice is about for bills with these PartitionKeys in turn.
async fn advice(partitions: &[&str], rows: usize) -> Vec<AdviceKind> {
    advices::<Bill>(partitions, rows).await.iter().map(|advice| advice.kind).collect()
}

async fn advices<E: TableEntity>(partitions: &[&str], rows: usize) -> Vec<Advice> {
    let key = |at: usize| (partitions[at % partitions.len()].to_owned(), format!("{at:08}"));
    let service = FakeService::new(KeySet::new((0..rows).map(key)), ServiceSettings::default());
    let report = Tables::new(service).repo::<E>().profile(because()).keys_only().await.unwrap();
    assert_eq!(report.rows as usize, rows);
    report.advice
}

#[tokio::test]
async fn two_partitions_are_named_once_they_are_large() {
    let two = |advice: &[AdviceKind]| advice.contains(&AdviceKind::TwoPartitions);
    assert!(two(&advice(&["2025__paid", "2025__open"], 20_000).await));
    assert!(!two(&advice(&["2025__paid", "2025__open"], 19_000).await));
    assert!(!two(&advice(&["2025__paid", "2026__open"], 20_000).await));
}

#[tokio::test]
async fn a_component_that_spreads_nothing_is_named_once_there_are_many_rows() {
    let constant = |advice: &[AdviceKind]| advice.contains(&AdviceKind::ConstantComponent);
    assert!(constant(&advice(&["2025__a", "2025__b", "2025__c"], 1_000).await));
    assert!(!constant(&advice(&["2025__a", "2025__b", "2025__c"], 999).await));
    assert!(!constant(&advice(&["2025__a", "2026__b", "2025__c"], 1_000).await));
    // Each is named.
    let two = advices::<Sale>(&["2025__no__a", "2025__no__b"], 1_000).await;
    let named: Vec<_> =
        two.iter().map(|advice| advice.finding.split(' ').next().unwrap()).collect();
    assert_eq!(named, ["`year`", "`country`"]);
    // All rows are in one partition, which other advice says.
    assert!(!constant(&advice(&["2025__a"], 1_000).await));
}
