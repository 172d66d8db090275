//! A shop: customers with unique e-mail addresses, orders by customer, label and day, invoices without
//! gaps, the revenue of each day, and a warehouse that learns of each order. It survives being killed.
//!
//! ```text
//! cargo run --example shop
//! cargo run --example shop -- --db shop.redb --crash
//! cargo run --example shop -- --db shop.redb
//! cargo run --example shop --features azure -- --azure env:STORAGE
//! ```

mod arguments;
mod customer;
#[path = "../from_env.rs"]
mod from_env;
mod invoice;
#[cfg(test)]
mod killed;
mod meter;
mod order;
mod recovery;
#[path = "../report.rs"]
mod report;
mod shop;
mod story;
mod warehouse;

use arguments::{Arguments, Crash, WrongArguments};
use meter::Meter;
use report::Report;
use shop::Shop;
use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;
use std::sync::Arc;
use story::{Story, StoryError};
use table_orm::queue::{MemoryQueues, Queues};
use table_orm::{Error, Tables};
use warehouse::Warehouse;

/// Why the program ends early.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Arguments(#[from] WrongArguments),
    #[error(transparent)]
    Store(#[from] Error),
    #[error(transparent)]
    Story(#[from] StoryError),
    #[error("the output cannot be written: {0}")]
    Output(#[from] io::Error),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough: `shop | head`.
        Err(Failure::Output(error) | Failure::Story(StoryError::Output(error)))
            if error.kind() == io::ErrorKind::BrokenPipe =>
        {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("shop: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Failure> {
    let stdout = io::stdout();
    let Some(arguments) = Arguments::read(lexopt::Parser::from_env())? else {
        return Ok(stdout.lock().write_all(arguments::HELP.as_bytes())?);
    };
    tell(&arguments, &mut Report::new(stdout.lock(), stdout.is_terminal())).await
}

/// Opens the shop, and tells its story.
async fn tell<W: Write>(arguments: &Arguments, report: &mut Report<W>) -> Result<(), Failure> {
    let ((tables, queues), place) = match (&arguments.azure, &arguments.db) {
        (Some(text), _) => (azure(text)?, "the storage account".to_owned()),
        (None, Some(path)) => (embedded(Tables::open(path)?), path.display().to_string()),
        (None, None) => (embedded(Tables::in_memory()?), "memory".to_owned()),
    };
    let (dies, last) = match arguments.crash {
        None => (false, None),
        Some(Crash::Order) => (true, None),
        Some(Crash::Request(number)) => (false, Some(number)),
    };
    let meter = Meter::new(last);
    let shop = Shop::open(&tables.layer(meter.clone())?).await?;
    let warehouse = Warehouse::open(queues).await.map_err(StoryError::from)?;
    report.title(&format!("A shop, in {place}"))?;
    let (shop, warehouse, meter) = (&shop, &warehouse, &meter);
    Story { shop, warehouse, meter, report, dies }.tell().await?;
    Ok(())
}

/// Where the shop's data is, and the queue to its warehouse.
type Place = (Tables, Arc<dyn Queues>);

/// A queue in memory is as good as a warehouse in the same process.
fn embedded(tables: Tables) -> Place {
    (tables, Arc::new(MemoryQueues::new()))
}

/// A storage account.
#[cfg(feature = "azure")]
fn azure(connection_string: &str) -> Result<Place, Failure> {
    let queues = table_orm::azure::AzureQueues::from_connection_string(connection_string);
    let queues = queues.map_err(Error::from)?;
    Ok((Tables::from_connection_string(connection_string)?, Arc::new(queues)))
}

#[cfg(not(feature = "azure"))]
fn azure(_: &str) -> Result<Place, Failure> {
    let message = "--azure is not in this build: run it with `--features azure`";
    Err(WrongArguments(message.to_owned()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use table_orm::schema_lock::{LockError, SchemaLock};
    use time::macros::date;

    #[test]
    fn stored_rows_stay_readable() -> Result<(), LockError> {
        let (day, labels) = (date!(2026 - 11 - 23), vec!["gift".to_owned(), "fragile".to_owned()]);
        let customer = customer::Customer {
            id: 7,
            name: "Ann".to_owned(),
            email: "Ann@Example.org".to_owned(),
        };
        let order =
            order::Order { customer: 7, number: 3, day, labels, cents: 1_250, invoice: Some(1) };
        let open = order::Order { number: 4, labels: Vec::new(), invoice: None, ..order.clone() };
        let invoice =
            invoice::Invoice { series: "2026".to_owned(), number: 1, order: 3, day, cents: 1_250 };
        SchemaLock::new("apps/shop/tables.lock")
            .with([customer])
            .with([order, open])
            .with([invoice])
            .check()
    }

    #[tokio::test]
    async fn two_days_on_one_store_are_told_in_100_columns_with_plans_and_costs() {
        let meter = Meter::new(None);
        let tables = Tables::in_memory().unwrap().layer(meter.clone()).unwrap();
        let warehouse = Warehouse::open(Arc::new(MemoryQueues::new())).await.unwrap();
        let mut told = Vec::new();
        for _ in 0..2 {
            let shop = Shop::open(&tables).await.unwrap();
            let mut out = Vec::new();
            let mut report = Report::new(&mut out, false);
            let (shop, warehouse, meter, report) = (&shop, &warehouse, &meter, &mut report);
            Story { shop, warehouse, meter, report, dies: false }.tell().await.unwrap();
            told.push(String::from_utf8(out).unwrap());
        }
        let [first, second] = &told[..] else { panic!("{told:?}") };
        for out in &told {
            assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
            assert!(out.contains("Nothing."), "{out}");
            assert!(out.contains("3 new invoices, "), "{out}");
        }
        let section = |title: &str| {
            let rest = first.split(title).nth(1).unwrap_or_default();
            rest.split("\n\n").next().unwrap_or_default()
        };
        // An order is one transaction, after a read of the next event's number; the row of its day follows
        // with four more requests. The first of a customer names it in the register, for what is to be
        // settled and for its events.
        assert!(section("Ann orders for 2026-11-23").contains("\n   8 requests, "), "{first}");
        // Its move to another day has two more than an order, and the customer is named.
        assert!(section("is postponed to").contains("\n   8 requests, "), "{first}");
        // The register is read in 16 requests, and two customers have events.
        assert!(section("What does the warehouse").contains("the queue, 22 requests, "), "{first}");
        assert!(
            section("What does the warehouse").contains("   The oldest was written "),
            "{first}"
        );
        // Three orders, their invoices, and a move.
        assert!(first.contains("7 events handed on to the queue, "), "{first}");
        assert!(first.contains("7 messages received, the last one:"), "{first}");
        assert!(second.contains("Ann is customer 1000 of an earlier run."), "{second}");
        assert!(second.contains("2026-11-23   4300\n"), "{second}");
    }
}
