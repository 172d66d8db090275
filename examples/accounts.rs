//! Two storage accounts as one store, and a third that takes its share while the app runs.

use std::sync::Arc;
use table_orm::accounts::Accounts;
use table_orm::embedded::EmbeddedStore;
use table_orm::store::Store;
use table_orm::{ScanPermit, TableEntity, TableName, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "{number:05}")]
struct Order {
    shop: String,
    number: u32,
    cents: u32,
}

// The clock is paused, as `grow` waits for a minute: an app leaves `start_paused` out.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In production: `AzureStore`s, each with its own limits.
    let account = || EmbeddedStore::in_memory().map(|store| Arc::new(store) as Arc<dyn Store>);
    let (first, second, third) = (account()?, account()?, account()?);
    let map = || TableName::new("accountmap");

    let two = Accounts::growing([Arc::clone(&first), Arc::clone(&second)], map()?)?;
    let orders = Tables::new(two).repo::<Order>();
    orders.create_table().await?;
    for shop in 0..30 {
        orders.insert(&Order { shop: format!("shop {shop:02}"), number: 1, cents: 900 }).await?;
    }

    // Each process gets the longer list. Then one of them moves what the new account takes.
    let three = Accounts::growing([first, second, Arc::clone(&third)], map()?)?;
    let orders = Tables::new(three.clone()).repo::<Order>();
    let growth = three.grow().await?;
    println!("{} of 30 partitions moved", growth.partitions);

    let alone = Tables::new(third).repo::<Order>();
    let there = alone.scan(ScanPermit::because("what moved")).collect().await?;
    println!("the new account has {} orders", there.len());
    let all = orders.scan(ScanPermit::because("all shops")).collect().await?;
    println!("all accounts have {} orders", all.len());
    Ok(())
}

// Prints:
// 10 of 30 partitions moved
// the new account has 10 orders
// all accounts have 30 orders
