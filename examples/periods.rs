//! Keeps each month in a table of its own, reads over several of them, and drops the old ones.

use std::error::Error;
use table_orm::{TableEntity, Tables};
use time::{Duration, OffsetDateTime};

#[derive(Debug, Clone, TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{newest}", bucket(month, at))]
#[component(newest = desc(at))]
struct Reading {
    sensor: String,
    at: OffsetDateTime,
    celsius: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let readings = Tables::in_memory()?.periods::<Reading>();
    let now = OffsetDateTime::from_unix_timestamp(1_794_000_000)?; // 2026-11-06
    let reading = |days: u16| Reading {
        sensor: "roof".into(),
        at: now - Duration::days(days.into()),
        celsius: f64::from(days % 20),
    };

    // Each goes to the table of its month. Nobody creates a table: the first write of a month does.
    let written = readings.insert_many((0..400).map(reading)).await.all()?;
    println!("{} readings in {} tables", written.entities, readings.existing().await?.len());

    // One month, and the latest of all: the keys of a month start with the newest.
    let roof = Reading::partition("roof");
    println!("{} in November", readings.at(now).list(&roof).count().await?);
    let half = readings.during(now - Duration::days(150)..=now).newest_first();
    let warm = half.list(&roof).filter(|row| row.celsius.gt(18.0)).take_each(1);
    let mut latest = warm.stream();
    while let Some(reading) = latest.next().await? {
        print!("{} ", reading.at.date());
    }
    println!("were warm");

    // An entity stays in the table of its time.
    let mut moved = readings.insert_loaded(&reading(401)).await?;
    moved.at = now;
    if let Err(table_orm::Error::PeriodMismatch(other)) = readings.save(&mut moved).await {
        println!("{} takes no reading of {}", other.table, other.period);
    }

    let dropped = readings.retain(12, now).await.all()?;
    println!("{dropped}");
    Ok(())
}

// Prints:
// 400 readings in 14 tables
// 6 in November
// 2026-10-18 2026-09-28 2026-08-19 2026-07-30 2026-06-20 were warm
// readings202510 takes no reading of 202611
// keeps 12 tables, drops 2: readings202510, readings202511
