//! Counts: invoice numbers without gaps, ids from blocks, and totals that every write keeps exact.

use table_orm::{Sum, TableEntity, Tables};

#[derive(Debug, Clone, TableEntity)]
#[table(name = "invoices", partition = "{shop}", row = "{number:06}", sums = Invoice::SUMS)]
struct Invoice {
    shop: String,
    number: u64,
    customer: u64,
    day: String,
    cents: i64,
}

impl Invoice {
    const COUNT: Sum<Self> = Sum::count("invoices");
    const REVENUE: Sum<Self> =
        Sum::by_group("revenue", |invoice| (invoice.day.clone(), invoice.cents));
    const SUMS: &'static [Sum<Self>] = &[Self::COUNT, Self::REVENUE];
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let tables = Tables::in_memory()?;
    let invoices = tables.repo::<Invoice>();
    invoices.create_table().await?;
    let north = Invoice::partition("north");
    let customers = tables.sequence(&north, "customers").starting_at(1000);
    let numbers = tables.sequence(&north, "invoices");

    // Ids may have gaps; the numbers of invoices have none.
    for (day, cents) in [("2026-03-01", 900), ("2026-03-01", 150), ("2026-03-02", 700)] {
        let customer = customers.next().await?;
        let (shop, day) = ("north".to_owned(), day.to_owned());
        let mut new = [Invoice { shop, number: 0, customer, day, cents }];
        numbers.insert_numbered(&mut new, |invoice, number| invoice.number = number).await?;
        println!("invoice {} for customer {}", new[0].number, new[0].customer);
    }

    // A change of an invoice changes the revenue of its day, in the same transaction.
    invoices.update(north.row().number(2), |invoice| invoice.cents = 250).await?;
    println!("{} invoices", invoices.sum(&north, &Invoice::COUNT).await?);
    println!("revenue {:?}", invoices.sum_by_group(&north, &Invoice::REVENUE).await?);
    println!("{} totals are wrong", invoices.verify_sums(&north).await?.len());
    Ok(())
}

// Prints:
// invoice 1 for customer 1000
// invoice 2 for customer 1001
// invoice 3 for customer 1002
// 3 invoices
// revenue {"2026-03-01": 1150, "2026-03-02": 700}
// 0 totals are wrong
