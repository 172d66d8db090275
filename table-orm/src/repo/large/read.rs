//! Reads the bytes of a large value.

use super::value_row::ValueRow;
use crate::blobs::PART_BYTES;
use crate::entity::{Loaded, TableEntity, canonical, partition_key, read_row, row_key};
use crate::error::{LargeValueError, Result};
use crate::plan::{CanonicalKey, TableClient};
use crate::property::{Digest, Large, Overflowing, Reference, chunk_key};
use crate::repo::Repo;
use crate::repo::pages::RowStream;
use bytes::{Bytes, BytesMut};
use futures_core::future::BoxFuture;
use futures_util::stream;
use std::fmt;
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
        self.reading(entity, of)?.all().await
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
        RowStream::of_value(self.reading(entity, of))
    }

    fn reading<'a, L: Overflowing>(
        &self,
        entity: &E,
        of: impl Fn(&E) -> &L + Send + Sync + 'a,
    ) -> Result<Reading<'a>>
    where
        E: 'a,
    {
        let (client, key) = (self.client.clone(), key_of(entity)?);
        let places = vec![(client.clone(), key.clone())];
        let load = move || {
            let (client, key) = (client.clone(), key.clone());
            let entity = async move { Ok(client.load::<E>(&key).await?.map(Loaded::into_inner)) };
            Box::pin(entity) as BoxFuture<'a, _>
        };
        Ok(Reading::of_entity(entity, of, places, load))
    }
}

/// The key of an entity's canonical row.
fn key_of<E: TableEntity>(entity: &E) -> Result<CanonicalKey> {
    let row_key = row_key(entity, canonical::<E>())?.unwrap_or_default();
    Ok(CanonicalKey { partition_key: partition_key(entity)?, row_key })
}

/// In how many requests a value is read.
const fn parts(reference: &Reference) -> u64 {
    if reference.in_blob { reference.length.div_ceil(PART_BYTES as u64) } else { reference.rows() }
}

/// Reads the entity again, and returns its value.
pub(crate) type Again<'a> =
    Arc<dyn Fn() -> BoxFuture<'a, Result<Option<Large>>> + Send + Sync + 'a>;

/// A large value that is read.
pub(crate) struct Reading<'a> {
    large: Option<Large>,
    /// The keys that the entity may have, each with the client of its table. The value is of one of them.
    places: Vec<(TableClient, CanonicalKey)>,
    again: Again<'a>,
    /// How many of the places that may have the value have none.
    tried: usize,
    /// The number of the row, or of the part of a blob, that is read next.
    chunk: u64,
    digest: Digest,
    length: u64,
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("large", &self.large).finish_non_exhaustive()
    }
}

pub(crate) enum Next {
    Bytes(Bytes),
    End,
    /// There is no value.
    Absent,
    /// The row does not exist.
    Missing {
        partition_key: String,
        row_key: String,
    },
}

impl<'a> Reading<'a> {
    pub fn new(
        large: Option<Large>,
        places: Vec<(TableClient, CanonicalKey)>,
        again: Again<'a>,
    ) -> Self {
        Self { large, places, again, tried: 0, chunk: 0, digest: Digest::default(), length: 0 }
    }

    /// A value of an entity that is in one of these places, and that `load` reads again.
    pub fn of_entity<E: 'a, L: Overflowing>(
        entity: &E,
        of: impl Fn(&E) -> &L + Send + Sync + 'a,
        places: Vec<(TableClient, CanonicalKey)>,
        load: impl Fn() -> BoxFuture<'a, Result<Option<E>>> + Send + Sync + 'a,
    ) -> Self {
        let large = of(entity).large().cloned();
        let of = Arc::new(of);
        let again = move || {
            let (loaded, of) = (load(), Arc::clone(&of));
            let large =
                async move { Ok(loaded.await?.and_then(|entity| of(&entity).large().cloned())) };
            Box::pin(large) as BoxFuture<'a, _>
        };
        Self::new(large, places, Arc::new(again))
    }

    /// All bytes. `None` where there is no value.
    pub async fn all(mut self) -> Result<Option<Bytes>> {
        let mut bytes = BytesMut::new();
        loop {
            match self.next().await? {
                Next::Bytes(more) => bytes.extend_from_slice(&more),
                Next::End => return Ok(Some(bytes.freeze())),
                Next::Absent => return Ok(None),
                Next::Missing { .. } => {
                    bytes.clear();
                    self.start_again().await?;
                }
            }
        }
    }

    /// The bytes of a row or part. `None` at the end, and where there is no value.
    async fn piece(&mut self) -> Result<Option<Bytes>> {
        loop {
            match self.next().await? {
                Next::Bytes(bytes) => return Ok(Some(bytes)),
                Next::End | Next::Absent => return Ok(None),
                Next::Missing { partition_key, row_key } => {
                    let started = self.chunk > 0;
                    self.start_again().await?;
                    if started {
                        return Err(LargeValueError::Replaced { partition_key, row_key }.into());
                    }
                }
            }
        }
    }

    /// The bytes of the next row or part.
    pub async fn next(&mut self) -> Result<Next> {
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
        let Some((client, key)) = self.place(&reference).cloned() else { return Ok(Next::Absent) };
        let (partition_key, row_key) = (key.partition_key, self.row_key(&reference));
        let data = if reference.in_blob {
            client.blob(&reference.id)?.read(self.length, PART_BYTES).await?
        } else {
            row(&client, &partition_key, &row_key).await?
        };
        let Some(data) = data else {
            // Two keys of one text, in two tables: the value is of one of them.
            self.tried += 1;
            if self.chunk == 0 && self.tried < self.owners(&reference).count() {
                return Box::pin(self.next()).await;
            }
            return Ok(Next::Missing { partition_key, row_key });
        };
        self.chunk += 1;
        self.digest.add(&data);
        self.length += data.len() as u64;
        if self.chunk == parts && !self.is_whole(&reference) {
            return Err(LargeValueError::Damaged { partition_key, row_key }.into());
        }
        Ok(Next::Bytes(data))
    }

    /// Where the rows of a value are.
    fn place(&self, reference: &Reference) -> Option<&(TableClient, CanonicalKey)> {
        self.owners(reference).nth(self.tried).or_else(|| self.places.first())
    }

    fn owners(&self, reference: &Reference) -> impl Iterator<Item = &(TableClient, CanonicalKey)> {
        self.places.iter().filter(|(_, key)| reference.is_of(&key.partition_key, &key.row_key))
    }

    /// The RowKey of what is read next; of a blob, that of the first row.
    fn row_key(&self, reference: &Reference) -> String {
        chunk_key(&reference.id, if reference.in_blob { 0 } else { self.chunk })
    }

    fn is_whole(&self, reference: &Reference) -> bool {
        self.length == reference.length && self.digest.clone().finish() == reference.sha256
    }

    /// Reads the entity again, for a value that took the place of the one with a missing row.
    async fn start_again(&mut self) -> Result<()> {
        let large = (self.again)().await?;
        if large == self.large {
            let own = self.large.as_ref().and_then(Large::reference);
            let at = own.and_then(|own| Some((self.place(own)?, self.row_key(own))));
            let at = at.map(|((_, key), row_key)| (key.partition_key.clone(), row_key));
            let (partition_key, row_key) = at.unwrap_or_default();
            return Err(LargeValueError::Damaged { partition_key, row_key }.into());
        }
        (self.large, self.chunk, self.length, self.tried) = (large, 0, 0, 0);
        self.digest = Digest::default();
        Ok(())
    }
}

impl RowStream<Bytes> {
    /// The bytes of a value, as they are read.
    pub(crate) fn of_value(reading: Result<Reading<'static>>) -> Self {
        Self::new(stream::try_unfold(reading, async |reading| {
            let mut reading = reading?;
            let piece = reading.piece().await?;
            Ok(piece.map(|bytes| (bytes, Ok(reading))))
        }))
    }
}

/// The bytes in a row, if it is there.
async fn row(client: &TableClient, partition_key: &str, row_key: &str) -> Result<Option<Bytes>> {
    let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
    let query = client.point(&CanonicalKey { partition_key, row_key });
    let Some(row) = client.row(&query).await? else { return Ok(None) };
    Ok(Some(read_row::<ValueRow>(0, &row.body)?.data.unwrap_or_default()))
}
