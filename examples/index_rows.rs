//! Finds one entity by three keys. Each `#[row(..)]` is a copy that every write keeps in step.

use table_orm::{Error, TableEntity, Tables};

#[derive(Debug, Clone, TableEntity)]
#[table(name = "parcels", partition = "{depot}", unique(label))]
#[row(by_number, key = "NO:{number:06}")]
#[row(by_shelf, key = "SHELF:{shelf:03}__{number:06}")]
#[row(by_receiver, key = "TO:{receiver}__{number:06}")]
struct Parcel {
    depot: String,
    number: u32,
    shelf: u16,
    #[table(max_len = 80)]
    receiver: String,
    label: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let parcels = Tables::in_memory()?.repo::<Parcel>();
    parcels.create_table().await?;
    let parcel = Parcel {
        depot: "Leith".into(),
        number: 42,
        shelf: 7,
        receiver: "Ann".into(),
        label: "LX-9".into(),
    };
    println!("{}", parcels.insert(&parcel).plan()?); // what `.await` sends: one transaction
    parcels.insert(&parcel).await?;

    // A label is unique in its depot: the guard row `UNQ:label:LX-9` takes it.
    match parcels.insert(&Parcel { number: 43, ..parcel }).await {
        Err(Error::UniqueViolation { unique, .. }) => println!("another parcel has this {unique}"),
        other => println!("{other:?}"),
    }

    // Found by its receiver, moved to another shelf: only the rows that change are sent.
    let leith = Parcel::partition("Leith");
    let mut parcel = parcels.load(leith.by_receiver().receiver("Ann")).await?.one()?;
    parcel.shelf = 8;
    parcels.save(&mut parcel).await?;
    for shelf in [7, 8] {
        let parcels = parcels.list(leith.by_shelf().shelf(shelf)).count().await?;
        println!("shelf {shelf}: {parcels}");
    }
    Ok(())
}

// Prints:
// entity group transaction on `parcels`
//   PartitionKey  "Leith"
//    0 insert            "NO:000042"
//    1 insert            "UNQ:label:LX-9"
//    2 insert            "SHELF:007__000042"
//    3 insert            "TO:Ann__000042"
// another parcel has this label
// shelf 7: 0
// shelf 8: 1
