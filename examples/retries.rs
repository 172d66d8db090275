//! Writes while the service throttles, loses a request and loses an answer.

use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults, Retry};
use table_orm::store::ErrorCode;
use table_orm::{Error, TableEntity, Tables, Within};
use tokio::time::Instant;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "payments", partition = "{account}", row = "{number:06}")]
struct Payment {
    account: String,
    number: u32,
    cents: i64,
}

// The clock is paused: waits take no time.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let faults = Faults::seeded(1)
        .on("insert", 2, Fault::Rejected(ErrorCode::SERVER_BUSY))
        .on("insert", 4, Fault::LostReply)
        .on("insert", 5, Fault::LostRequest);
    let service = faults.store(Arc::new(EmbeddedStore::in_memory()?))?;
    // The layers that tables of an account have. The id in each row distinguishes a retry from an insert of somebody else.
    let retry = Retry::interactive().write_id("WriteId");
    let payments = Tables::builder(service.clone()).retry(retry).build()?.repo::<Payment>();
    payments.create_table().await?;

    let payment = |number| Payment { account: "ann".into(), number, cents: 500 };
    for number in 1..=4 {
        let before = service.injected();
        payments.insert(&payment(number)).await?;
        println!("payment {number}: faults {}, stored once", service.injected() - before);
    }
    assert_eq!(payments.list(Payment::partition("ann")).count().await?, 4);

    // A second insert is no retry: it is refused.
    let again = payments.insert(&payment(1)).await;
    println!("payment 1 again: refused {}", matches!(again, Err(Error::AlreadyExists(_))));

    // A call that may take no longer ends in time, and says whether it may have taken effect.
    let down = Faults::seeded(1).throttled(1.0).store(Arc::new(EmbeddedStore::in_memory()?))?;
    let payments = Tables::builder(down).build()?.repo::<Payment>();
    let start = Instant::now();
    let late = payments.insert(&payment(5)).within(Duration::from_secs(2)).await;
    let kind = late.map_err(|error| error.kind());
    println!("payment 5 after {} s: {kind:?}", start.elapsed().as_secs());
    Ok(())
}

// Prints:
// payment 1: faults 0, stored once
// payment 2: faults 1, stored once
// payment 3: faults 2, stored once
// payment 4: faults 0, stored once
// payment 1 again: refused true
// payment 5 after 2 s: Err(Unavailable)
