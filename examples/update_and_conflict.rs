//! Two writers change one entity. Neither loses what the other has written.

use table_orm::{Error, TableEntity, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "stock", partition = "{warehouse}", row = "{article}")]
struct Stock {
    warehouse: String,
    article: String,
    pieces: u32,
    place: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let stock = Tables::in_memory()?.repo::<Stock>();
    stock.create_table().await?;
    let lamps =
        Stock { warehouse: "north".into(), article: "lamp".into(), pieces: 10, place: "A1".into() };
    stock.insert(&lamps).await?;
    let key = Stock::partition("north").row().article("lamp");

    // Both load the same version; `save` requires that version, so the second save fails.
    let mut ann = stock.load(&key).await?.one()?;
    let mut ben = stock.load(&key).await?.one()?;
    ann.pieces -= 3;
    stock.save(&mut ann).await?;
    ben.pieces -= 2;
    match stock.save(&mut ben).await {
        Err(Error::Conflict(_)) => println!("Ben's version is old: nothing was written"),
        other => println!("{other:?}"),
    }

    // `update` loads, changes and saves, and starts again when another writer was faster.
    let take = |pieces| stock.update(&key, move |lamps| lamps.pieces -= pieces);
    let (ben, cleo) = tokio::join!(take(2), take(1));
    println!("{} after Ben, {} after Cleo", ben?.pieces, cleo?.pieces);

    // A patch sets some properties and reads nothing: it cannot lose what it does not name.
    stock.merge(&key, StockPatch::default().place("B7")).await?;
    println!("{:?}", stock.get(&key).await?);
    Ok(())
}

// Prints:
// Ben's version is old: nothing was written
// 5 after Ben, 4 after Cleo
// Some(Stock { warehouse: "north", article: "lamp", pieces: 4, place: "B7" })
