//! Reads the bytes of a large value.

use super::chunk_row::ChunkRow;
use crate::blobs::PART_BYTES;
use crate::entity::{TableEntity, canonical, partition_key, read_row, row_key};
use crate::error::{Error, LargeValueError, Result};
use crate::plan::{CanonicalKey, TableClient};
use crate::property::{Digest, Large, Overflowing, Reference, chunk_key};
use crate::repo::Repo;
use crate::repo::pages::RowStream;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use std::sync::Arc;

impl<E: TableEntity> Repo<E> {
    /// Reads the bytes of a large value of an entity that was read: one request for each 704 KiB, or for each 4 MiB of
    /// a blob, and none for a value of up to 64 KiB. Checks their length and their hash. Returns `None` when the field
    /// has no value.
    ///
    /// If the value was replaced since the entity was read, this reads the entity again, and returns the bytes of the
    /// new value; `None` when the entity was deleted.
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
    /// let film = Film { studio: "A24".into(), id: 1, trailer: upload.finish().await? };
    /// films.insert(&film).await?;
    /// let bytes = films.read_large(&film, |film| &film.trailer).await?;
    /// assert_eq!(bytes.map(|bytes| bytes.len()), Some(100_000));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`LargeValueError::Damaged`] when rows of the value are missing or have other bytes.
    pub async fn read_large<L: Overflowing>(
        &self,
        entity: &E,
        of: impl Fn(&E) -> &L + Send + Sync,
    ) -> Result<Option<Bytes>> {
        let mut reading = Reading::of(self.client.clone(), entity, &of)?;
        let mut bytes = BytesMut::new();
        loop {
            match reading.next().await {
                Ok(Next::Bytes(more)) => bytes.extend_from_slice(&more),
                Ok(Next::End) => return Ok(Some(bytes.freeze())),
                Ok(Next::Absent) => return Ok(None),
                Ok(Next::Missing(_)) => {
                    bytes.clear();
                    reading.start_again(&of).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The bytes of a large value, row by row, or part by part of a blob: the memory holds one, of 704 KiB or 4 MiB.
    /// Ends at once when the field has no value. The last item comes after the hash of all bytes was checked.
    ///
    /// If the value was replaced before the first item, this is the new value, as in [`read_large`](Self::read_large).
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
    /// let film = Film { studio: "A24".into(), id: 1, trailer: upload.finish().await? };
    /// films.insert(&film).await?;
    /// let mut pieces = films.stream_large(&film, |film| &film.trailer);
    /// let mut length = 0;
    /// while let Some(bytes) = pieces.next().await? {
    ///     length += bytes.len();
    /// }
    /// assert_eq!(length, 100_000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An item is an error when the value was replaced after the first item, [`LargeValueError::Replaced`], or is
    /// damaged, [`LargeValueError::Damaged`].
    pub fn stream_large<L: Overflowing>(
        &self,
        entity: &E,
        of: impl Fn(&E) -> &L + Send + Sync + 'static,
    ) -> RowStream<Bytes>
    where
        E: 'static,
    {
        let reading = Reading::of(self.client.clone(), entity, &of);
        let of = Arc::new(of);
        RowStream::new(stream::try_unfold(reading, move |reading| {
            let of = Arc::clone(&of);
            async move {
                let mut reading = reading?;
                loop {
                    match reading.next().await? {
                        Next::Bytes(bytes) => return Ok(Some((bytes, Ok(reading)))),
                        Next::End | Next::Absent => return Ok(None),
                        Next::Missing(row_key) => {
                            let started = reading.chunk > 0;
                            let partition_key = reading.key.partition_key.clone();
                            reading.start_again(&*of).await?;
                            if started {
                                let replaced = LargeValueError::Replaced { partition_key, row_key };
                                return Err(replaced.into());
                            }
                        }
                    }
                }
            }
        }))
    }
}

/// In how many requests a value is read.
const fn parts(reference: &Reference) -> u64 {
    if reference.in_blob { reference.length.div_ceil(PART_BYTES as u64) } else { reference.rows() }
}

/// A large value that is read.
struct Reading {
    client: TableClient,
    /// The key of its entity.
    key: CanonicalKey,
    large: Option<Large>,
    /// The number of the row, or of the part of a blob, that is read next.
    chunk: u64,
    digest: Digest,
    length: u64,
}

enum Next {
    Bytes(Bytes),
    End,
    /// There is no value.
    Absent,
    /// The row does not exist.
    Missing(String),
}

impl Reading {
    fn of<E: TableEntity, L: Overflowing>(
        client: TableClient,
        entity: &E,
        of: &impl Fn(&E) -> &L,
    ) -> Result<Self> {
        let row_key = row_key(entity, canonical::<E>())?.unwrap_or_default();
        let key = CanonicalKey { partition_key: partition_key(entity)?, row_key };
        let large = of(entity).large().cloned();
        Ok(Self { client, key, large, chunk: 0, digest: Digest::default(), length: 0 })
    }

    async fn next(&mut self) -> Result<Next> {
        let Some(large) = &self.large else { return Ok(Next::Absent) };
        let Some(reference) = large.reference() else {
            let bytes = large.inline().filter(|bytes| self.chunk == 0 && !bytes.is_empty());
            self.chunk = 1;
            return Ok(bytes.map_or(Next::End, |bytes| Next::Bytes(bytes.clone())));
        };
        let parts = parts(reference);
        if self.chunk == parts {
            return Ok(Next::End);
        }
        let reference = reference.clone();
        let row_key = self.row_key(&reference);
        let data = if reference.in_blob {
            self.client.blob(&reference.id)?.read(self.length, PART_BYTES).await?
        } else {
            self.row(&row_key).await?
        };
        let Some(data) = data else { return Ok(Next::Missing(row_key)) };
        self.chunk += 1;
        self.digest.add(&data);
        self.length += data.len() as u64;
        if self.chunk == parts && !self.is_whole(&reference) {
            return Err(self.damaged(row_key));
        }
        Ok(Next::Bytes(data))
    }

    /// The bytes in a row, if it is there.
    async fn row(&self, row_key: &str) -> Result<Option<Bytes>> {
        let (partition_key, row_key) = (self.key.partition_key.clone(), row_key.to_owned());
        let query = self.client.point(&CanonicalKey { partition_key, row_key });
        let Some(row) = self.client.row(&query).await? else { return Ok(None) };
        Ok(Some(read_row::<ChunkRow>(0, &row.body)?.data.unwrap_or_default()))
    }

    /// The RowKey of what is read next; of a blob, that of the first row.
    fn row_key(&self, reference: &Reference) -> String {
        chunk_key(&reference.id, if reference.in_blob { 0 } else { self.chunk })
    }

    fn is_whole(&self, reference: &Reference) -> bool {
        self.length == reference.length && self.digest.clone().finish() == reference.sha256
    }

    fn damaged(&self, row_key: String) -> Error {
        let partition_key = self.key.partition_key.clone();
        LargeValueError::Damaged { partition_key, row_key }.into()
    }

    /// Reads the entity again, for a value that took the place of the one with a missing row.
    async fn start_again<E: TableEntity, L: Overflowing>(
        &mut self,
        of: &impl Fn(&E) -> &L,
    ) -> Result<()> {
        let loaded = self.client.load::<E>(&self.key).await?;
        let large = loaded.and_then(|entity| of(&entity).large().cloned());
        if large == self.large {
            let own = self.large.as_ref().and_then(Large::reference);
            let row_key = own.map(|own| self.row_key(own)).unwrap_or_default();
            return Err(self.damaged(row_key));
        }
        (self.large, self.chunk, self.length) = (large, 0, 0);
        self.digest = Digest::default();
        Ok(())
    }
}
