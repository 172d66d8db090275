//! Films with trailers of any size, which are uploaded before their film, and removed with it.

use table_orm::property::Large;
use table_orm::repo::Upload;
use table_orm::{TableEntity, TableName, Tables};

#[derive(Debug, TableEntity)]
#[table(name = "films", partition = "{studio}", row = "FILM:{id:05}")]
struct Film {
    studio: String,
    id: u32,
    #[table(overflow)]
    trailer: Large,
}

/// Writes piece by piece: the memory holds one row of the value.
async fn write(mut upload: Upload, megabytes: u8) -> table_orm::Result<Large> {
    for megabyte in 0..megabytes {
        upload.add(vec![megabyte; 1_000_000]).await?;
    }
    upload.finish().await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> table_orm::Result<()> {
    let tables = Tables::in_memory()?;
    let films = tables.repo::<Film>();
    films.create_table().await?;
    let rows = tables.table(TableName::new("films")?);

    let key = || Film::partition("A24").row().id(1);
    let trailer = write(films.upload(key())?, 3).await?;
    films.insert(&Film { studio: "A24".into(), id: 1, trailer }).await?;
    println!("{} rows", rows.list("A24", ..).count().await?);

    // The film is read without its trailer, whose bytes come one row at a time.
    let film = films.load(key()).await?.one()?;
    let mut pieces = films.stream_large(&film, |film| &film.trailer);
    let mut read = 0;
    while let Some(bytes) = pieces.next().await? {
        read += bytes.len() as u64;
    }
    println!("read {read} of {} bytes", film.trailer.len());

    // A write that has read the film removes the value that it replaces.
    let shorter = write(films.upload(key())?, 1).await?;
    films.update(key(), |film| film.trailer = shorter.clone()).await?;
    println!("{} rows", rows.list("A24", ..).count().await?);
    films.delete(films.load(key()).await?.one()?).await?;
    println!("{} rows", rows.list("A24", ..).count().await?);
    Ok(())
}

// Prints:
// 6 rows
// read 3000000 of 3000000 bytes
// 3 rows
// 0 rows
