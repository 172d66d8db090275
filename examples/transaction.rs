//! Writes entities of two types as a whole: an order takes the last tickets, or nothing happens.

use table_orm::{Error, TableEntity, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "concerts", partition = "{concert}", row = "TICKETS")]
struct Tickets {
    concert: String,
    left: u32,
}

#[derive(Debug, TableEntity)]
#[table(name = "concerts", partition = "{concert}", row = "ORDER:{number:05}")]
struct Order {
    concert: String,
    number: u32,
    tickets: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let tables = Tables::in_memory()?;
    let tickets = tables.repo::<Tickets>();
    tickets.create_table().await?;
    let concert = "Winterreise".to_owned();
    tickets.insert(&Tickets { concert: concert.clone(), left: 5 }).await?;
    let partition = Tickets::partition(&concert);

    // The order is stored and the tickets are counted, in one entity group transaction.
    let mut left = tickets.load(partition.row()).await?.one()?;
    left.left -= 4;
    let order = Order { concert: concert.clone(), number: 1, tickets: 4 };
    println!("{}", tables.transaction(&partition).insert(&order).plan()?);
    tables.transaction(&partition).save(&mut left).insert(&order).commit().await?;

    // The same order once more: its row is there already, so the tickets stay as they are.
    left.left -= 1;
    let again = tables.transaction(&partition).save(&mut left).insert(&order).commit().await;
    if let Err(Error::AlreadyExists(rejection)) = again {
        println!("{} {} is stored already", rejection.entity, rejection.row_key);
    }
    println!("{:?}", tickets.get(partition.row()).await?);
    Ok(())
}

// Prints:
// insert on `concerts`
//   PartitionKey  "Winterreise"
//   RowKey        "ORDER:00001"
// Order ORDER:00001 is stored already
// Some(Tickets { concert: "Winterreise", left: 1 })
