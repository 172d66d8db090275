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
    let year = readings.during(now - Duration::days(365)..=now).newest_first();
    let warm = year.list(&roof).filter(|row| row.celsius.gt(18.0)).take_each(1);
    let mut latest = warm.stream();
    while let Some(reading) = latest.next().await?.filter(|reading| reading.at.year() == 2026) {
        print!("{} ", reading.at.date());
    }
    println!("were warm");

    // An entity stays in the table of its time.
    let mut moved = readings.insert_loaded(&reading(401)).await?;
    moved.at = now;
    println!("{}", readings.save(&mut moved).await.is_err_and(|error| error.is_client_error()));

    let dropped = readings.retain(12, now).await?;
    println!("{dropped}");
    Ok(())
}

// Prints:
