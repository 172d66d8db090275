//! A shop: customers with unique e-mail addresses, orders by customer, label and day, invoices without
//! gaps, and the revenue of each day. It survives being killed.
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

use arguments::{Arguments, Crash, WrongArguments};
use meter::Meter;
use report::Report;
use shop::Shop;
use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;
use story::{Story, StoryError};
use table_orm::{Error, Tables};

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
    let (tables, place) = match (&arguments.azure, &arguments.db) {
        (Some(text), _) => (azure(text)?, "the storage account".to_owned()),
        (None, Some(path)) => (Tables::open(path)?, path.display().to_string()),
        (None, None) => (Tables::in_memory()?, "memory".to_owned()),
    };
    let (dies, last) = match arguments.crash {
        None => (false, None),
        Some(Crash::Order) => (true, None),
        Some(Crash::Request(number)) => (false, Some(number)),
    };
    let meter = Meter::new(last);
    let shop = Shop::open(&tables.layer(meter.clone())?).await?;
    report.title(&format!("A shop, in {place}"))?;
    Story { shop: &shop, meter: &meter, report, dies }.tell().await?;
    Ok(())
}

/// A storage account.
#[cfg(feature = "azure")]
fn azure(connection_string: &str) -> Result<Tables, Failure> {
    Ok(Tables::from_connection_string(connection_string)?)
}

#[cfg(not(feature = "azure"))]
fn azure(_: &str) -> Result<Tables, Failure> {
    let message = "--azure is not in this build: run it with `--features azure`";
    Err(WrongArguments(message.to_owned()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn two_days_on_one_store_are_told_in_100_columns_with_plans_and_costs() {
        let meter = Meter::new(None);
        let tables = Tables::in_memory().unwrap().layer(meter.clone()).unwrap();
        let mut told = Vec::new();
        for _ in 0..2 {
            let shop = Shop::open(&tables).await.unwrap();
            let mut out = Vec::new();
            let mut report = Report::new(&mut out, false);
            let mut story = Story { shop: &shop, meter: &meter, report: &mut report, dies: false };
            story.tell().await.unwrap();
            told.push(String::from_utf8(out).unwrap());
        }
        let [first, second] = &told[..] else { panic!("{told:?}") };
        for out in &told {
            assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
            assert!(out.contains("Nothing."), "{out}");
            assert!(out.contains("3 new invoices, "), "{out}");
        }
        // An order is one transaction; the row of its day follows with four more requests.
        assert!(first.contains("\n   5 requests, "), "{first}");
        // Its move to another day is seven.
        assert!(first.contains("\n   7 requests, "), "{first}");
        assert!(second.contains("Ann is customer 1000 of an earlier run."), "{second}");
        assert!(second.contains("2026-11-23   4300\n"), "{second}");
    }
}
