//! Reads a whole table with several workers, and continues from a checkpoint after a failure.

use std::error::Error;
use std::future::ready;
use table_orm::{ScanPermit, TableEntity, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "visits", partition = "{page}", row = "{second:010}")]
struct Visit {
    page: String,
    second: u64,
    millis: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let visits = Tables::in_memory()?.repo::<Visit>();
    visits.create_table().await?;
    let day = (0..8000_u32).map(|visit| Visit {
        page: format!("page{:02}", visit % 20),
        second: u64::from(visit) * 10,
        millis: visit % 90,
    });
    visits.insert_many(day).await.all()?;

    // No key says where slow visits are: only reading every row finds them. That is slow and
    // billed, so it takes a permit, which records why.
    let scan = || visits.scan(ScanPermit::because("monthly report of slow pages"));
    let slow = scan().filter(|row| row.millis.ge(85)).count().await?;
    println!("{} slow visits", slow.rows);

    // An export that stops when its disk is full, and goes on once there is room. The checkpoint
    // records which pages were handled: they are not read again.
    let folder = tempfile::tempdir()?;
    let checkpoint = folder.path().join("export.json");
    let mut exported = 0;
    for room in [4_500, 10_000] {
        let export = scan().checkpoint(&*checkpoint).on_page(|page| {
            let fits = exported + page.rows.len() <= room;
            exported += if fits { page.rows.len() } else { 0 };
            ready(if fits { Ok(()) } else { Err(Box::<dyn Error>::from("the disk is full")) })
        });
        match export.await {
            Ok(report) => println!("{} rows in this run, {exported} in all", report.rows),
            Err(error) => println!("{error} after {exported} rows"),
        }
    }
    Ok(())
}

// Prints:
// 440 slow visits
// the disk is full after 4000 rows
// 4000 rows in this run, 8000 in all
