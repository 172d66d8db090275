//! Asks for rows by range, filter, projection and page. All of it is read from one partition.
use table_orm::{Projection, TableEntity, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "readings", partition = "{station}", row = "{day:05}")]
struct Reading {
    station: String,
    day: u32,
    celsius: f64,
    wind: u16,
}

#[derive(Debug, Projection)]
#[projection(of = Reading)] // the `$select`: other properties are not read
struct Wind {
    day: u32,
    wind: u16,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let readings = Tables::in_memory()?.repo::<Reading>();
    readings.create_table().await?;
    let year = (0..365).map(|day| Reading {
        station: "roof".into(),
        day,
        celsius: 10.0 - 12.0 * (f64::from(day) / 58.0).cos(),
        wind: (day * 7 % 31) as u16,
    });
    readings.insert_many(year).await.all()?;
    let roof = Reading::partition("roof");

    // A range of the key: rows outside it are not read.
    let week = readings.list(roof.row().day_in(10..17)).collect().await?;

    // A filter on other properties: the store reads the partition and sends what matches.
    let frost = readings.list(&roof).filter(|row| row.celsius.lt(0.0)).count().await?;
    println!("{} days of a week, {frost} days of frost", week.len());
    let calm = readings.list(&roof).project::<Wind>().filter(|row| row.wind.lt(1)).take(2);
    println!("{}", calm.plan()?); // what the next call sends
    let days: Vec<_> = calm.collect().await?.iter().map(|row| (row.day, row.wind)).collect();
    println!("calm days: {days:?}");

    // A page has a token, which a web client sends back to get the next one.
    let first = readings.list(&roof).pages(200).next().await?;
    let Some(token) = first.and_then(|page| page.next) else { return Ok(()) };
    let rest = readings.list(&roof).pages(200).resume(token).collect().await?;
    println!("{} readings after the first page", rest.len());
    Ok(())
}

// Prints:
// 7 days of a week, 68 days of frost
// row range query on `readings`
//   $filter       PartitionKey eq 'roof' and RowKey ge '0' and RowKey lt ':' and Wind lt 1
//   $select       PartitionKey,RowKey,Day,Wind,Moved_To
//   $top          2
//   at most       2 rows in all
// calm days: [(0, 0), (31, 0)]
// 165 readings after the first page
