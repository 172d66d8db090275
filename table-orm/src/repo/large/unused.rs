//! Large values that no entity refers to.

use super::value_row::{IN_BLOB, OWNER, ValueRow};
use crate::entity::{
    CanonicalKeyOf, CompleteKey, LargeType, RowHead, TableEntity, read_row, refers_to, split_page,
};
use crate::error::{Error, Result};
use crate::model::{DateTime, ETag, Metadata, PARCEL_START, PARTITION_KEY, ROW_KEY, TIMESTAMP};
use crate::plan::{CanonicalKey, TableClient};
use crate::property::{LARGE_START, Reference, chunk_key, chunk_of};
use crate::query::{KeyRange, RowQuery, Span};
use crate::repo::Repo;
use crate::store::{Action, Batch, IfMatch, Operation, StoredRow};
use futures_core::future::BoxFuture;
use std::borrow::Cow;
use std::time::Duration;

/// How long a value is left to its upload.
const GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// What is known about a large value.
#[derive(Debug)]
pub(crate) enum Unused {
    /// Its entity refers to it, or it belongs to another type.
    No,
    /// Nobody refers to it yet: its upload may be in progress.
    Young,
    /// Nobody refers to it. The version of its first row, if there is one; and its age.
    Yes(Option<ETag>, Duration),
}

/// Whether no entity of the type refers to the value. The first row is read before the entity.
pub(crate) async fn judge(
    large: Option<LargeType>,
    client: &TableClient,
    partition_key: &str,
    id: &str,
) -> Result<Unused> {
    let Some(large) = large else { return Ok(Unused::No) };
    let Some(row) = row(client, partition_key, id, 0).await? else {
        let second = row(client, partition_key, id, 1).await?;
        let second = second.map(|row| read_row::<ValueRow>(0, &row.body)).transpose()?;
        let is_young = second.is_some_and(|second| names_young_blob(client, &second));
        return Ok(if is_young { Unused::Young } else { Unused::Yes(None, Duration::ZERO) });
    };
    let etag = row.etag()?;
    let ValueRow { owner, written, .. } = read_row(0, &row.body)?;
    if !large.is_canonical(&owner) {
        return Ok(Unused::No);
    }
    if is_used(client, partition_key, &owner, id).await? {
        return Ok(Unused::No);
    }
    let age = age(client, written);
    Ok(if age < GRACE { Unused::Young } else { Unused::Yes(Some(etag), age) })
}

/// Whether the entity refers to the value, or a parcel that lands under its key. The first row of the value was read before.
async fn is_used(client: &TableClient, partition_key: &str, owner: &str, id: &str) -> Result<bool> {
    let entity = async || -> Result<bool> {
        let row = client.annotated_row(partition_key, owner).await?;
        Ok(row.is_some_and(|row| refers_to(&row.body, id)))
    };
    // A parcel that has landed by now was there after the first row was read.
    Ok(entity().await? || is_in_parcel(client, partition_key, id).await? || entity().await?)
}

/// Whether a parcel refers to the value, whose entity is on its way to this partition.
async fn is_in_parcel(client: &TableClient, partition_key: &str, id: &str) -> Result<bool> {
    let partition = Span::Exact(partition_key.to_owned());
    let keys = KeyRange { partition, row: Span::prefix(PARCEL_START) };
    let mut pages = client.pages(RowQuery { metadata: Metadata::Minimal, ..client.query(keys) });
    while let Some(page) = pages.next().await? {
        if split_page(&page)?.iter().any(|row| refers_to(row.get().as_bytes(), id)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn age(client: &TableClient, written: Option<DateTime>) -> Duration {
    written.map(|written| client.age(written)).unwrap_or_default()
}

/// Whether the row is of a value in a blob whose upload may be in progress.
fn names_young_blob(client: &TableClient, row: &ValueRow) -> bool {
    row.in_blob && age(client, row.written) < GRACE
}

/// A row of a value, without the bytes.
async fn row(
    client: &TableClient,
    partition_key: &str,
    id: &str,
    chunk: u64,
) -> Result<Option<StoredRow>> {
    let (partition_key, row_key) = (partition_key.to_owned(), chunk_key(id, chunk));
    let key = CanonicalKey { partition_key, row_key };
    let select = [PARTITION_KEY, ROW_KEY, TIMESTAMP, OWNER, IN_BLOB].map(Cow::Borrowed);
    let (select, metadata) = (Some(select.into()), Metadata::Minimal);
    client.row(&RowQuery { select, metadata, ..client.point(&key) }).await
}

/// How a value is removed, in this order.
pub(crate) struct Removal {
    /// The delete of the first row in the version that was read, if it is there.
    head: Option<Batch>,
    /// Whether a blob holds the bytes.
    in_blob: bool,
    /// The deletes of the other rows: none while the upload of a blob may be in progress.
    others: Vec<Batch>,
}

impl Removal {
    /// Its transactions.
    pub fn into_batches(self) -> Vec<Batch> {
        self.head.into_iter().chain(self.others).collect()
    }
}

/// How the value with that first row is removed.
pub(crate) fn removal<'f>(
    client: &'f TableClient,
    partition_key: &'f str,
    id: &'f str,
    head: Option<ETag>,
) -> BoxFuture<'f, Result<Removal>> {
    Box::pin(async move {
        let first = chunk_key(id, 0);
        let partition_key = partition_key.to_owned();
        let batch = |operations| Batch { partition_key: partition_key.clone(), operations };
        let head = head.map(|etag| {
            let action = Action::Delete(IfMatch::ETag(etag));
            batch(vec![Operation { row_key: first.clone(), action }])
        });
        let rows = rows(client, &partition_key, format!("{LARGE_START}{id}:")).await?;
        let in_blob = rows.iter().any(|(_, row)| row.in_blob);
        let stays = |(row_key, row): &(String, ValueRow)| {
            *row_key == first || names_young_blob(client, row)
        };
        let delete = |(row_key, _)| Operation { row_key, action: Action::Delete(IfMatch::Any) };
        let others: Vec<_> = rows.into_iter().filter(|row| !stays(row)).map(delete).collect();
        let most = client.store().transaction_operations().max(1);
        let others = others.chunks(most).map(|some| batch(some.to_vec())).collect();
        Ok(Removal { head, in_blob, others })
    })
}

/// The rows whose keys begin with that, each with its key and without the bytes.
async fn rows(
    client: &TableClient,
    partition_key: &str,
    start: String,
) -> Result<Vec<(String, ValueRow)>> {
    let keys =
        KeyRange { partition: Span::Exact(partition_key.to_owned()), row: Span::prefix(start) };
    let select = Some([PARTITION_KEY, ROW_KEY, TIMESTAMP, IN_BLOB].map(Cow::Borrowed).into());
    let metadata = Metadata::Minimal;
    let mut pages = client.pages(RowQuery { select, metadata, ..client.query(keys) });
    let mut rows = Vec::new();
    while let Some(page) = pages.next().await? {
        for row in split_page(&page)? {
            let json = row.get().as_bytes();
            rows.push((read_row::<RowHead>(0, json)?.row_key, read_row(0, json)?));
        }
    }
    Ok(rows)
}

impl<E: TableEntity> Repo<E> {
    /// Removes the large values of the entity under that canonical key to which it does not refer, whatever their
    /// age. Returns how many it removed.
    ///
    /// A write that reads the entity first removes the values that it replaces. So does a write of a loaded
    /// entity. Call this after other writes: a patch or an upsert that sent one request, or an upload that was
    /// given up.
    ///
    /// An upload for the same entity that is in progress elsewhere is lost: storing its value fails with
    /// [`LargeValueError::Gone`](crate::repo::LargeValueError::Gone). Nothing else is harmed: readers of a removed
    /// value read the new one.
    ///
    /// A value in a [blob](crate::TablesBuilder::blobs) that was uploaded within the last day leaves one small
    /// row, which [`repair`](Self::repair) deletes later. The row names a blob that an upload in progress may
    /// still create.
    ///
    /// It sends one query, and two point queries for each value. Each value that it removes takes two more
    /// queries, another point query, a transaction for its first row, and one for each 100 of its other rows.
    ///
    /// ```
    /// # use table_orm::property::Large;
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, PartialEq, TableEntity)]
    /// # #[table(name = "films", partition = "{studio}", row = "FILM:{id:05}")]
    /// # struct Film { studio: String, id: u32, #[table(overflow)] trailer: Large }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let films = Tables::in_memory()?.repo::<Film>();
    /// # films.create_table().await?;
    /// # let key = Film::partition("A24").row().id(1);
    /// let mut upload = films.upload(&key)?;
    /// upload.add(vec![7; 100_000]).await?;
    /// upload.finish().await?; // and no entity is stored with it
    /// assert_eq!(films.remove_unused_values(&key).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the store rejects a request. Values may be left then; the same call goes on.
    pub async fn remove_unused_values<Q>(&self, key: Q) -> Result<usize>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        const { assert!(!E::OVERFLOW.is_empty(), "the type has no field with `#[table(overflow)]`") }
        remove_all_unused(&self.client, &CanonicalKey::of(key.into_keys()?)).await
    }
}

/// Removes the values of the entity under that key to which it does not refer. Returns how many it removed.
pub(crate) fn remove_all_unused<'f>(
    client: &'f TableClient,
    owner: &'f CanonicalKey,
) -> BoxFuture<'f, Result<usize>> {
    Box::pin(async move {
        let CanonicalKey { partition_key, row_key } = owner;
        let start = format!("{LARGE_START}{}", Reference::owner(partition_key, row_key));
        let rows = rows(client, partition_key, start).await?;
        let mut ids: Vec<_> =
            rows.iter().filter_map(|(key, _)| chunk_of(key)).map(|(id, _)| id).collect();
        ids.dedup();
        let mut removed = 0;
        for id in ids {
            removed += usize::from(remove_unused(client, owner, id).await?);
        }
        Ok(removed)
    })
}

/// Whether the first row of a value is in that table.
pub(crate) fn has_first_row<'f>(
    client: &'f TableClient,
    partition_key: &'f str,
    id: &'f str,
) -> BoxFuture<'f, Result<bool>> {
    Box::pin(async move { Ok(row(client, partition_key, id, 0).await?.is_some()) })
}

/// Removes a value, unless the entity under that key refers to it. Returns whether it removed rows.
pub(crate) fn remove_unused<'f>(
    client: &'f TableClient,
    owner: &'f CanonicalKey,
    id: &'f str,
) -> BoxFuture<'f, Result<bool>> {
    Box::pin(async move {
        let CanonicalKey { partition_key, row_key } = owner;
        let head = row(client, partition_key, id, 0).await?;
        let head = head.map(|row| row.etag()).transpose()?;
        if is_used(client, partition_key, row_key, id).await? {
            return Ok(false);
        }
        let deleted = remove(client, partition_key, id, head).await?;
        Ok(deleted.is_some_and(|rows| rows > 0))
    })
}

/// Sends the deletes. Returns how many rows were deleted; `None` where an entity was made to refer to the value.
pub(crate) async fn remove(
    client: &TableClient,
    partition_key: &str,
    id: &str,
    head: Option<ETag>,
) -> Result<Option<usize>> {
    let Removal { head, in_blob, others } = removal(client, partition_key, id, head).await?;
    let blob = in_blob.then(|| client.blob(id)).transpose()?;
    let rows = head.iter().chain(&others).map(|batch| batch.operations.len()).sum();
    if let Some(batch) = head
        && !send(client, batch).await?
    {
        return Ok(None);
    }
    if let Some(blob) = blob {
        blob.delete().await?;
    }
    for batch in others {
        send(client, batch).await?;
    }
    Ok(Some(rows))
}

/// Sends deletes of rows that may be gone. Returns whether they have the versions that were read.
async fn send(client: &TableClient, batch: Batch) -> Result<bool> {
    match client.send_changes(batch, None).await {
        Ok(_) | Err(Error::NotFound(_)) => Ok(true),
        Err(Error::Conflict(_)) => Ok(false),
        Err(error) => Err(error),
    }
}
