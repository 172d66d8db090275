//! New keys for stored orders, while two versions of an app write them.

use table_orm::migrate::StoredForm;
use table_orm::{ScanPermit, TableEntity, Tables};

#[derive(Clone, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "ORD:{n:05}")]
struct OrderV1 {
    shop: String,
    n: u32,
    cents: i64,
}

/// A partition for each year, in another table.
#[derive(Clone, TableEntity)]
#[table(name = "orders2", partition = "{shop}__{year}", row = "ORD:{n:08}", migrate_from = OrderV1)]
struct Order {
    shop: String,
    year: u32,
    n: u32,
    cents: i64,
}

impl From<OrderV1> for Order {
    fn from(OrderV1 { shop, n, cents }: OrderV1) -> Self {
        Self { shop, year: 2000 + n / 1000, n, cents }
    }
}
impl From<Order> for OrderV1 {
    fn from(Order { shop, n, cents, .. }: Order) -> Self {
        Self { shop, n, cents }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let tables = Tables::in_memory()?;
    tables.repo::<OrderV1>().create_table().await?;
    // Version 1 inserts the old form, version 2 the new one. Both find each order in either form.
    let version1 = tables.migrating::<Order>()?.inserting(StoredForm::Old);
    let version2 = tables.migrating::<Order>()?;
    version2.create_table_if_not_exists().await?;
    for n in 24_001..=24_003 {
        version1.insert(&Order { shop: "oslo".into(), year: 2024, n, cents: 100 }).await?;
    }
    let year = Order::partition("oslo", 2024_u32);
    version2.update(year.row().n(24_001_u32), |order| order.cents = 200).await?;
    println!("{} orders of 2024", version1.list(&year).count().await?);
    let permit = ScanPermit::because("a partition for each year");
    println!("{} more moved", version2.migrate(&permit).await.all()?);
    println!("complete: {}", version2.verify_migrated(&permit).await?.is_complete());
    println!("{} markers deleted", version2.retire(&permit).await.all()?.markers);
    Ok(())
}

// Prints:
// 3 orders of 2024
// 2 more moved
// complete: true
// 3 markers deleted
