//! An index that nobody reads any more: the type loses it, and `drop_row` deletes its stored rows.

use table_orm::repo::FormerRow;
use table_orm::{ScanPermit, TableEntity, TableName, Tables};

mod before {
    #[derive(table_orm::TableEntity)]
    #[table(name = "runners", partition = "{race}")]
    #[row(by_bib, key = "BIB:{bib:05}")]
    #[row(by_state, key = "STATE:{state}__{bib:05}")]
    pub struct Runner {
        pub race: String,
        pub bib: u32,
        pub state: String,
    }
}

#[derive(Debug, TableEntity)]
#[table(name = "runners", partition = "{race}", row = "BIB:{bib:05}")]
struct Runner {
    race: String,
    bib: u32,
    state: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tables = Tables::in_memory()?;
    let old = tables.repo::<before::Runner>();
    old.create_table().await?;
    for bib in 0..250 {
        let state = if bib % 2 == 0 { "MA" } else { "NH" };
        old.insert(&before::Runner { race: "Boston".into(), bib, state: state.into() }).await?;
    }
    let rows = tables.table(TableName::new("runners")?);
    println!("{} rows", rows.list("Boston", ..).count().await?);

    // First deploy the type without the row. Then look at what would be deleted.
    let runners = tables.repo::<Runner>();
    let by_state = FormerRow::new("by_state", "STATE:{state}__{bib:05}")?;
    let permit = || ScanPermit::because("by_state is not read any more");
    let would = runners.drop_row(by_state.clone(), permit()).dry_run().await;
    println!("would delete {} rows, in {} requests", would.progress.rows, would.progress.requests);
    println!("would keep {} rows that look alike", would.kept.len());

    let done = runners.drop_row(by_state, permit()).await.all()?;
    println!("deleted {}", done.rows);
    println!("{} rows", rows.list("Boston", ..).count().await?);
    let first = runners.list(Runner::partition("Boston").row()).take(1).one().await?;
    println!("runner {} of {} is there", first.bib, first.state);
    Ok(())
}

// Prints:
// 500 rows
// would delete 250 rows, in 3 requests
// would keep 0 rows that look alike
// deleted 250
// 250 rows
// runner 0 of MA is there
