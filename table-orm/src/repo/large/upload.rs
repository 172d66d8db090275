//! Writes the rows of a large value, or its blob.
//!
//! Invariant: the first row is inserted once under an id. A late insert would bring it back after the value was removed,
//! and an entity could refer to a value without the others.

use super::value_row::ValueRow;
use crate::blobs::{BlobErrorKind, MAX_PARTS, PART_BYTES};
use crate::entity::{CanonicalKeyOf, CompleteKey, TableEntity};
use crate::error::{self, LargeValueError, Result};
use crate::plan::{Attempts, CanonicalKey, RetryLimits, TableClient};
use crate::property::{CHUNK_BYTES, Digest, Large, MAX_INLINE, Reference, chunk_key};
use crate::repo::Repo;
use crate::store::Batch;
use bytes::{Bytes, BytesMut};
use std::error::Error;

/// How many ids are tried.
const IDS: usize = 4;
/// The most rows of a value: their numbers have six digits in keys.
const MAX_ROWS: u64 = 1_000_000;

impl<E: TableEntity> Repo<E> {
    /// Starts the upload of a large value for the entity under that canonical key, which may not exist yet.
    ///
    /// Give the bytes piece by piece; the memory holds one row of them, 704 KiB, or one part of a
    /// [blob](crate::TablesBuilder::blobs), 4 MiB. Up to 64 KiB stay in memory and go into the entity. Then store the
    /// entity with the [`Large`] that [`finish`](Upload::finish) returns: the value exists for readers from that
    /// transaction on. It belongs to this entity: another one, or this one under another key, cannot be stored with it.
    ///
    /// If the process ends before that, no entity refers to the bytes: [`verify`](Self::verify) finds them after a
    /// day, and [`repair`](Self::repair) removes them. [`remove_unused_values`](Self::remove_unused_values) does so
    /// at once. When the entity is stored with another value later, or is deleted, a write that has read it removes
    /// the bytes.
    ///
    /// ```
    /// use table_orm::property::Large;
    /// use table_orm::{TableEntity, Tables};
    ///
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "films", partition = "{studio}", row = "FILM:{id:05}")]
    /// struct Film {
    ///     studio: String,
    ///     id: u32,
    ///     #[table(overflow)]
    ///     trailer: Large,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let films = Tables::in_memory()?.repo::<Film>();
    /// films.create_table().await?;
    /// let key = Film::partition("A24").row().id(1);
    /// let mut upload = films.upload(&key)?;
    /// for _ in 0..30 {
    ///     upload.add(vec![7; 100_000]).await?;
    /// }
    /// let film = Film { studio: "A24".into(), id: 1, trailer: upload.finish().await? };
    /// films.insert(&film).await?;
    ///
    /// let film = films.get(&key).await?.expect("inserted above");
    /// assert_eq!(film.trailer.len(), 3_000_000);
    /// let bytes = films.read_large(&film, |film| &film.trailer).await?;
    /// assert_eq!(bytes.map(|bytes| bytes.len()), Some(3_000_000));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a key cannot hold a value. Nothing was sent.
    pub fn upload<Q>(&self, key: Q) -> Result<Upload>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        const { assert!(!E::OVERFLOW.is_empty(), "the type has no field with `#[table(overflow)]`") }
        Ok(Upload::new(&self.client, CanonicalKey::of(key.into_keys()?)))
    }
}

/// An upload of a large value in progress.
#[must_use = "the value is complete when `finish` has returned"]
#[derive(Debug)]
pub struct Upload {
    client: TableClient,
    key: CanonicalKey,
    id: String,
    /// The bytes of each row, or of each part of a blob, but for the last.
    part_bytes: usize,
    /// The version of the blob, once there is one.
    version: Option<String>,
    /// The bytes of the next row or part.
    buffer: BytesMut,
    digest: Digest,
    length: u64,
    /// How many rows or parts were written.
    chunks: u32,
    /// Whether a source has not been read to its end.
    is_cut_off: bool,
}

impl Upload {
    /// An upload for the entity under that key.
    pub(crate) fn new(client: &TableClient, key: CanonicalKey) -> Self {
        let id = Reference::fresh_id(&key.partition_key, &key.row_key);
        Self {
            client: client.clone(),
            key,
            id,
            part_bytes: if client.has_blobs() { PART_BYTES } else { CHUNK_BYTES },
            version: None,
            buffer: BytesMut::new(),
            digest: Digest::default(),
            length: 0,
            chunks: 0,
            is_cut_off: false,
        }
    }

    /// What the keys of its rows have.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Appends bytes. Sends a request for each 704 KiB, or for each 4 MiB of a blob.
    ///
    /// # Errors
    /// - [`LargeValueError::Gone`] when the value was removed meanwhile.
    /// - [`LargeValueError::TooLong`] beyond 195 GiB in a blob, or 671 GiB in rows.
    /// - When the store rejects a row or a part.
    ///
    /// After an error, or after a call that was dropped, the upload cannot go on: later calls fail with
    /// [`LargeValueError::Interrupted`]. Start another one.
    pub async fn add(&mut self, bytes: impl Into<Bytes>) -> Result<()> {
        self.check_whole()?;
        self.append(bytes.into()).await
    }

    async fn append(&mut self, mut bytes: Bytes) -> Result<()> {
        let parts = if self.client.has_blobs() { MAX_PARTS.into() } else { MAX_ROWS };
        let most = parts * self.part_bytes as u64;
        if bytes.len() as u64 > most - self.length {
            return Err(LargeValueError::TooLong { most }.into());
        }
        self.digest.add(&bytes);
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = self.part_bytes - self.buffer.len();
            self.buffer.extend_from_slice(&bytes.split_to(room.min(bytes.len())));
            if self.buffer.len() == self.part_bytes {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Appends the bytes of a stream, each before the next one is asked for.
    ///
    /// # Errors
    /// When the stream yields an error: [`LargeValueError::Source`]. Else as [`add`](Self::add).
    pub async fn add_all<B, X>(
        &mut self,
        source: impl futures_core::Stream<Item = Result<B, X>>,
    ) -> Result<()>
    where
        B: Into<Bytes>,
        X: Into<Box<dyn Error + Send + Sync>>,
    {
        use futures_util::StreamExt as _;
        self.check_whole()?;
        // Whoever drops this drops what is left of the source.
        self.is_cut_off = true;
        let mut source = std::pin::pin!(source);
        while let Some(bytes) = source.next().await {
            let bytes = bytes.map_err(|error| LargeValueError::Source(error.into()))?;
            self.append(bytes.into()).await?;
        }
        self.is_cut_off = false;
        Ok(())
    }

    /// Writes what is left. Returns the value, to be stored in the entity.
    ///
    /// # Errors
    /// When the store rejects a row or a part. [`LargeValueError::Gone`] and [`LargeValueError::Interrupted`] as in
    /// [`add`](Self::add).
    pub async fn finish(mut self) -> Result<Large> {
        self.check_whole()?;
        if self.chunks == 0 && self.buffer.len() <= MAX_INLINE {
            return Ok(Large::from(self.buffer.freeze()));
        }
        if !self.buffer.is_empty() {
            self.flush().await?;
        }
        let in_blob = self.version.is_some();
        if let Some(version) = &self.version {
            let blob = self.client.blob(&self.id)?;
            match blob.commit(version, self.chunks, self.length).await {
                Err(LargeValueError::Blob(error)) if error.kind == BlobErrorKind::Changed => {
                    return Err(self.gone());
                }
                committed => committed?,
            }
        }
        let (id, length, sha256) = (self.id, self.length, self.digest.finish());
        Ok(Large::from(Reference { id, length, sha256, in_blob }))
    }

    /// Fails when bytes were lost, because a row was not written to its end, or a source not read to its end.
    fn check_whole(&self) -> Result<()> {
        let kept = u64::from(self.chunks) * self.part_bytes as u64 + self.buffer.len() as u64;
        if kept == self.length && !self.is_cut_off {
            Ok(())
        } else {
            Err(LargeValueError::Interrupted.into())
        }
    }

    async fn flush(&mut self) -> Result<()> {
        let data = self.buffer.split().freeze();
        if self.client.has_blobs() {
            self.stage(data).await?;
        } else if self.chunks == 0 {
            self.begin(|key, id| ValueRow::write(key, id, 0, &data)).await?;
        } else {
            let batch = ValueRow::write(&self.key, &self.id, u64::from(self.chunks), &data)?;
            self.client.send(batch).await?;
        }
        self.chunks += 1;
        Ok(())
    }

    /// Inserts the first row. One whose insert has no answer may be there, now or later: the next one has another id.
    async fn begin(&mut self, rows: impl Fn(&CanonicalKey, &str) -> Result<Batch>) -> Result<()> {
        let mut limits = RetryLimits::default();
        limits.set_attempts(IDS);
        let mut attempts = Attempts::begin(&self.client.connection, limits);
        loop {
            match self.client.send(rows(&self.key, &self.id)?).await {
                Err(error) if error.is_unanswered() && attempts.next().await => {
                    self.id = Reference::fresh_id(&self.key.partition_key, &self.key.row_key);
                }
                sent => return sent.map(drop),
            }
        }
    }

    /// Sends a part of the blob.
    async fn stage(&mut self, data: Bytes) -> Result<()> {
        if self.version.is_none() {
            self.version = Some(self.create_blob().await?);
        }
        Ok(self.client.blob(&self.id)?.stage(self.chunks, data).await?)
    }

    /// Creates the blob, after the rows that name it. Returns its version.
    async fn create_blob(&mut self) -> Result<String> {
        self.begin(ValueRow::write_of_blob).await?;
        let blob = self.client.blob(&self.id)?;
        let version = blob.create().await?;
        match self.client.send(ValueRow::touch(&self.key, &self.id)?).await {
            // Whoever deleted the row may have done so before there was a blob to delete.
            Err(error::Error::NotFound(_)) => {
                blob.delete().await?;
                Err(self.gone())
            }
            touched => touched.map(|_| version),
        }
    }

    /// The error of a value that was removed before its upload ended.
    fn gone(&self) -> error::Error {
        let (partition_key, row_key) = (self.key.partition_key.clone(), chunk_key(&self.id, 0));
        LargeValueError::Gone { partition_key, row_key }.into()
    }
}
