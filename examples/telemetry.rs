//! Takes readings of sensors one by one and writes them with few requests. Reads the settings of the sensors
//! again and again, without a request each time.

use std::time::Duration;
use table_orm::{TableEntity, Tables};

#[derive(Debug, Clone, TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{second:06}")]
struct Reading {
    sensor: String,
    second: u32,
    celsius: f64,
}

/// A change by another process is seen within 30 seconds, an own one at once.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "sensors", partition = "{building}", row = "{sensor}", cache = "30s")]
struct Sensor {
    building: String,
    sensor: String,
    offset: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let tables = Tables::in_memory()?;
    let (readings, sensors) = (tables.repo::<Reading>(), tables.repo::<Sensor>());
    readings.create_table().await?;
    sensors.create_table().await?;
    for (sensor, offset) in [("cellar", 0.5), ("roof", -0.5)] {
        let (building, sensor) = ("north".to_owned(), sensor.to_owned());
        sensors.insert(&Sensor { building, sensor, offset }).await?;
    }

    let writer = readings.writer().every(Duration::from_secs(2)).await?;
    for second in 0..500 {
        for name in ["cellar", "roof"] {
            let sensor = sensors.get(Sensor::partition("north").row().sensor(name)).await?;
            let celsius = 20.0 + sensor.map_or(0.0, |sensor| sensor.offset);
            writer.send(Reading { sensor: name.to_owned(), second, celsius }).await?;
        }
    }
    let written = writer.close().await?.all()?;
    println!("{} readings in {} requests", written.entities, written.requests);
    let counts = tables.cache_counts();
    println!("{} settings read, {} requests", counts.hits + counts.misses, counts.misses);
    let last = readings.list(Reading::partition("roof").row().second_in(499..)).one().await?;
    println!("{last:?}");
    Ok(())
}

// Prints:
// 1000 readings in 10 requests
// 1000 settings read, 2 requests
// Reading { sensor: "roof", second: 499, celsius: 19.5 }
