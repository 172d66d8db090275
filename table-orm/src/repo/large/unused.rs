//! Large values that no entity refers to.

use super::chunk_row::{ChunkRow, OWNER};
use crate::entity::{
    CanonicalKeyOf, CompleteKey, LargeType, RowHead, TableEntity, read_row, refers_to, split_page,
};
use crate::error::{Error, Result};
use crate::model::{ETag, Metadata, PARTITION_KEY, ROW_KEY, TIMESTAMP};
use crate::plan::{CanonicalKey, TableClient};
use crate::property::{LARGE_START, Reference, chunk_key, chunk_of};
use crate::query::{KeyRange, RowQuery, Span};
use crate::repo::Repo;
use crate::store::{Action, Batch, IfMatch, Operation, StoredRow};
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

/// Whether no entity refers to the value. The first row is read before the entity.
pub(crate) async fn judge<E: TableEntity>(
    client: &TableClient,
    partition_key: &str,
    id: &str,
) -> Result<Unused> {
    let Some(large) = LargeType::of::<E>() else { return Ok(Unused::No) };
    let Some(row) = head(client, partition_key, id).await? else {
        return Ok(Unused::Yes(None, Duration::ZERO));
    };
    let etag = row.etag()?;
    let ChunkRow { owner, written, .. } = read_row(0, &row.body)?;
    if !large.is_canonical(&owner) {
        return Ok(Unused::No);
    }
    let entity = client.annotated_row(partition_key, &owner).await?;
    if entity.is_some_and(|row| refers_to(&row.body, id)) {
        return Ok(Unused::No);
    }
    let age = written.map(|written| client.age(written)).unwrap_or_default();
    Ok(if age < GRACE { Unused::Young } else { Unused::Yes(Some(etag), age) })
}

/// The first row of a value, without the bytes.
async fn head(client: &TableClient, partition_key: &str, id: &str) -> Result<Option<StoredRow>> {
    let key = CanonicalKey { partition_key: partition_key.to_owned(), row_key: chunk_key(id, 0) };
    let select = [PARTITION_KEY, ROW_KEY, TIMESTAMP, OWNER].map(Cow::Borrowed);
    let (select, metadata) = (Some(select.into()), Metadata::Minimal);
    client.row(&RowQuery { select, metadata, ..client.point(&key) }).await
}

/// The deletes of a value's rows: the first row in that version alone, then the others.
pub(crate) async fn deletions(
    client: &TableClient,
    partition_key: &str,
    id: &str,
    head: Option<ETag>,
) -> Result<Vec<Batch>> {
    let first = chunk_key(id, 0);
    let mut batches = Vec::new();
    if let Some(etag) = head {
        let action = Action::Delete(IfMatch::ETag(etag));
        batches.push(vec![Operation { row_key: first.clone(), action }]);
    }
    let keys = rows(client, partition_key, format!("{LARGE_START}{id}:")).await?;
    let others = keys.into_iter().filter(|row_key| *row_key != first);
    let others: Vec<_> =
        others.map(|row_key| Operation { row_key, action: Action::Delete(IfMatch::Any) }).collect();
    let most = client.store().transaction_operations().max(1);
    batches.extend(others.chunks(most).map(<[_]>::to_vec));
    let partition_key = partition_key.to_owned();
    let batch = |operations| Batch { partition_key: partition_key.clone(), operations };
    Ok(batches.into_iter().map(batch).collect())
}

/// The keys of the rows that begin with that.
async fn rows(client: &TableClient, partition_key: &str, start: String) -> Result<Vec<String>> {
    let keys =
        KeyRange { partition: Span::Exact(partition_key.to_owned()), row: Span::prefix(start) };
    let select = Some([PARTITION_KEY, ROW_KEY].map(Cow::Borrowed).into());
    let mut pages = client.pages(RowQuery { select, ..client.query(keys) });
    let mut rows = Vec::new();
    while let Some(page) = pages.next().await? {
        for row in split_page(&page)? {
            rows.push(read_row::<RowHead>(0, row.get().as_bytes())?.row_key);
        }
    }
    Ok(rows)
}

impl<E: TableEntity> Repo<E> {
    /// Removes the large values of the entity under that canonical key to which it does not refer, whatever their
    /// age. Returns how many it removed.
    ///
    /// A write that reads the entity first removes the values that it replaces, and so does a write of a loaded
    /// entity. This is for the others: after a patch or an upsert that sends one request, or after an upload that was
    /// given up.
    ///
    /// An upload for the same entity that is in progress elsewhere is lost: storing its value fails with
    /// [`LargeValueError::Gone`](crate::repo::LargeValueError::Gone). Nothing else is harmed: readers of a removed
    /// value read the new one.
    ///
    /// One query, two point queries for each value, and two transactions or more for each that it removes.
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
        let CanonicalKey { partition_key, row_key } = CanonicalKey::of(key.into_keys()?);
        let owner = Reference::owner(&partition_key, &row_key);
        let keys = rows(&self.client, &partition_key, format!("{LARGE_START}{owner}")).await?;
        let mut ids: Vec<_> =
            keys.iter().filter_map(|key| chunk_of(key)).map(|(id, _)| id).collect();
        ids.dedup();
        let mut removed = 0;
        for id in ids {
            // The row of the entity is read after the first row of the value.
            let head = head(&self.client, &partition_key, id).await?;
            let head = head.map(|row| row.etag()).transpose()?;
            let entity = self.client.annotated_row(&partition_key, &row_key).await?;
            if entity.is_some_and(|row| refers_to(&row.body, id)) {
                continue;
            }
            removed += usize::from(remove(&self.client, &partition_key, id, head).await?);
        }
        Ok(removed)
    }
}

/// Sends the deletes. Returns whether the value is removed: not where an entity was made to refer to it.
pub(crate) async fn remove(
    client: &TableClient,
    partition_key: &str,
    id: &str,
    head: Option<ETag>,
) -> Result<bool> {
    for batch in deletions(client, partition_key, id, head).await? {
        match client.send_changes(batch, None).await {
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(Error::Conflict(_)) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
