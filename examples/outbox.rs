//! Reactions to changes: each write adds an event to its transaction, and a handler gets the events in order.

use table_orm::outbox::Event;
use table_orm::{ScanPermit, TableEntity, Tables};

#[derive(Debug, Clone, TableEntity)]
#[table(name = "orders", partition = "{customer}", row = "{number:05}", outbox(before, after))]
struct Order {
    customer: String,
    number: u32,
    state: String,
}

async fn send_mail(event: Event) -> table_orm::Result<()> {
    let (before, after) = (event.before::<Order>()?, event.after::<Order>()?);
    let state = |order: Option<Order>| order.map_or("-".to_owned(), |order| order.state);
    println!(
        "event {}: {} {}, {} to {}",
        event.number,
        event.row_key,
        event.change,
        state(before),
        state(after)
    );
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let orders = Tables::in_memory()?.repo::<Order>();
    orders.create_table().await?;
    let acme = Order::partition("acme");
    let order = Order { customer: "acme".into(), number: 1, state: "open".into() };
    orders.insert(&order).await?;
    orders.update(acme.row().number(1), |order| order.state = "paid".into()).await?;
    orders.force_delete(&order).await?;

    let outbox = orders.outbox();
    println!("{} events wait", outbox.backlog(&acme).await?.events);
    // As a job, every few seconds, in any number of processes.
    let permit = ScanPermit::because("mails about orders");
    let report = outbox.dispatch(permit, send_mail).await;
    println!("{} handed on, {} failures", report.progress.handed_on, report.failures.len());
    Ok(())
}

// Prints:
// 3 events wait
// event 1: 00001 inserted, - to open
// event 2: 00001 updated, open to paid
// event 3: 00001 deleted, paid to -
// 3 handed on, 0 failures
