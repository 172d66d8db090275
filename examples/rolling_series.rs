//! The last hours of a sensor in one row that never grows, and the days before in a coarser ring.

use table_orm::model::DateTime;
use table_orm::property::{Days, Hours, Ring};
use table_orm::{TableEntity, TableName, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "sensors", partition = "{sensor}", row = "ROLLING")]
struct Rolling {
    #[table(key_only)]
    sensor: String,
    #[table(series)]
    hours: Ring<f64, 48, Hours>,
    #[table(series)]
    days: Ring<f64, 30, Days>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tables = Tables::in_memory()?;
    let sensors = tables.repo::<Rolling>();
    sensors.create_table().await?;
    let roof = Rolling::partition("roof").row();

    // One request for each value: the slot and its stamp, and nothing is read.
    for (at, celsius) in [("2026-11-22T02:00:00Z", 4.0), ("2026-11-23T00:00:00Z", 6.0)] {
        let patch = RollingPatch::default().hours_at(at.parse()?, celsius);
        sensors.merge(&roof, patch).or_insert().await?;
    }
    let rows = tables.table(TableName::new("sensors")?);
    for row in rows.list("roof", ..).collect().await? {
        println!("{:?}", row.properties.keys().collect::<Vec<_>>());
    }

    // An hour and the mean of its day, in one transaction.
    let at: DateTime = "2026-11-23T01:00:00Z".parse()?;
    let mean = |hours: &[&f64]| hours.iter().copied().sum::<f64>() / hours.len() as f64;
    let put = sensors.update(&roof, |rolling| {
        rolling.hours.put(at, 5.0);
        rolling.hours.downsample(at, &mut rolling.days, mean);
    });
    let rolling = put.await?;

    // Over the border of the day. What is a day old or not there is not shown.
    for (hour, celsius) in rolling.hours.last("2026-11-23T02:30:00Z".parse()?, 4) {
        println!("{hour} {celsius:?}");
    }
    println!("{:?}", rolling.days.newest());
    Ok(())
}

// Prints:
// ["Hours00", "Hours00At", "Hours26", "Hours26At"]
// 2026-11-22T23:00:00.0000000Z None
// 2026-11-23T00:00:00.0000000Z Some(6.0)
// 2026-11-23T01:00:00.0000000Z Some(5.0)
// 2026-11-23T02:00:00.0000000Z None
// Some((2026-11-23T00:00:00.0000000Z, 5.5))
