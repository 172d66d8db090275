//! Values of any size of entities whose keys change.
//!
//! The rows of a value, or its blob, belong to one key. So an entity moves with a copy of each: an upload for its new key.
//!
//! Invariants:
//! - No new row refers to a value of the old key. No old row refers to one of the new key.
//! - The transaction that makes a parcel refer to a value touches the first row of the value, as one does that writes an
//!   entity. Who removes unused values looks for parcels, too (`repo/large`).
//! - The transaction that replaces the old row deletes the first row of each value of the old key, as far as it has room.
//! - A copy is removed by the call that made it, if that was refused; else as any value is to which no entity refers.

use super::canonical::canonical_key;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_key;
use super::parcel::Parcel;
use super::stored_form::StoredForm;
use crate::codec::{members_by_name, write_object};
use crate::entity::{
    CanonicalKeyOf, CompleteKey, EntityRows, LargeType, TableEntity, canonical, has_large, keys_of,
    read_row,
};
use crate::error::{Error, LargeValueError, Result};
use crate::plan::{CanonicalKey, TableClient};
use crate::property::{Overflowing, Reference, chunk_key, chunk_of};
use crate::repo::{
    Again, Next, Reading, RowStream, Upload, has_first_row, remove_all_unused, remove_unused,
};
use crate::store::Operation;
use bytes::Bytes;
use futures_core::future::BoxFuture;
use std::borrow::Cow;
use std::sync::Arc;

/// Values of the old key, each with its copy.
pub(super) type Copies = Vec<(Reference, Reference)>;

/// An entity's rows with values of its own key, and those that were copied for it.
pub(super) struct OwnValues<'r> {
    pub rows: Cow<'r, EntityRows>,
    pub copied: Copied,
}

/// Copies of an entity's values, made or found.
#[derive(Default)]
pub(super) struct Copied {
    pub copies: Copies,
    /// The ids of those that this call made, each with the key of its entity.
    made: Vec<(CanonicalKey, String)>,
}

impl<E: Migrates> Migrating<E> {
    /// Starts the upload of a large value for the entity under that new key, as [`Repo::upload`](crate::Repo::upload) does.
    /// A client that inserts the old form uploads it for the old key.
    ///
    /// A value that was uploaded for the old key can be stored in the new form: it is copied then. The other way round, a
    /// write fails with [`LargeValueError::OfAnotherEntity`].
    ///
    /// ```
    /// # use table_orm::property::Large;
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "films", partition = "{studio}", row = "F:{n:03}")]
    /// # struct FilmV1 { studio: String, n: u32, #[table(overflow)] trailer: Large }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "films", partition = "{studio}", row = "FILM:{n:08}", migrate_from = FilmV1)]
    /// # struct Film { studio: String, n: u32, #[table(overflow)] trailer: Large }
    /// # impl From<FilmV1> for Film { fn from(FilmV1 { studio, n, trailer }: FilmV1) -> Self { Self { studio, n, trailer } } }
    /// # impl From<Film> for FilmV1 { fn from(Film { studio, n, trailer }: Film) -> Self { Self { studio, n, trailer } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.repo::<FilmV1>().create_table().await?;
    /// let films = tables.migrating::<Film>()?;
    /// let key = Film::partition("A24").row().n(1);
    /// let mut upload = films.upload(&key)?;
    /// upload.add(vec![7; 100_000]).await?;
    /// let trailer = upload.finish().await?;
    /// films.insert(&Film { studio: "A24".into(), n: 1, trailer }).await?;
    ///
    /// let film = films.get(&key).await?.expect("inserted above");
    /// let bytes = films.read_large(&film, |film| &film.trailer).await?;
    /// assert_eq!(bytes.map(|bytes| bytes.len()), Some(100_000));
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
        const { assert!(has_large::<E>(), "the type has no field with `#[table(overflow)]`") }
        let new = CanonicalKey::of(keys_of(key)?);
        let old =
            old_key::<E>(&new).filter(|_| self.form == StoredForm::Old && has_large::<E::Old>());
        Ok(match old {
            Some(old) => Upload::new(&self.old.client, old),
            None => Upload::new(&self.new.client, new),
        })
    }

    /// Reads the bytes of a large value of an entity that was read, in whatever form, as
    /// [`Repo::read_large`](crate::Repo::read_large) does. If the entity has moved since, or the value was replaced, it
    /// reads the entity again.
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

    /// The bytes of a large value, row by row, or part by part of a blob, as
    /// [`Repo::stream_large`](crate::Repo::stream_large) returns them.
    ///
    /// # Errors
    /// An item is an error:
    /// - [`LargeValueError::Replaced`] when the value was replaced, or the entity has moved, after the first item;
    /// - [`LargeValueError::Damaged`] when rows of the value are missing or have other bytes.
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

    /// Removes the large values of the entity under that new key to which it does not refer, of its old key, too, as
    /// [`Repo::remove_unused_values`](crate::Repo::remove_unused_values) does. Returns how many it removed.
    ///
    /// # Errors
    /// When the store rejects a request. Values may be left then; the same call goes on.
    pub async fn remove_unused_values<Q>(&self, key: Q) -> Result<usize>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let new = CanonicalKey::of(keys_of(key)?);
        let of_old = match old_key::<E>(&new) {
            Some(old) => remove_all_unused(&self.old.client, &old).await?,
            None => 0,
        };
        Ok(of_old + remove_all_unused(&self.new.client, &new).await?)
    }

    fn reading<'a, L: Overflowing>(
        &self,
        entity: &E,
        of: impl Fn(&E) -> &L + Send + Sync + 'a,
    ) -> Result<Reading<'a>>
    where
        E: 'a,
    {
        let new = canonical_key(&EntityRows::of(entity)?);
        let places = self.places(&new);
        let client = self.clone();
        let load = move || {
            let (client, new) = (client.clone(), new.clone());
            Box::pin(async move { client.entity(&new).await }) as BoxFuture<'a, _>
        };
        Ok(Reading::of_entity(entity, of, places, load))
    }

    /// Where the entity with that new key may be.
    fn places(&self, new: &CanonicalKey) -> Vec<(TableClient, CanonicalKey)> {
        let mut places = vec![(self.new.client.clone(), new.clone())];
        places.extend(old_key::<E>(new).map(|old| (self.old.client.clone(), old)));
        places
    }

    /// The rows with values of the new key: those of the old key are copied, unless the stored row of the new key refers to
    /// the same bytes.
    ///
    /// # Errors
    /// [`LargeValueError::Gone`] when a value is not there any more.
    pub(super) async fn own_values<'r>(
        &self,
        rows: Cow<'r, EntityRows>,
        stored: Option<&EntityRows>,
    ) -> Result<OwnValues<'r>> {
        let mut copied = Copied::default();
        if const { !has_large::<E>() } {
            return Ok(OwnValues { rows, copied });
        }
        let new = canonical_key(&rows);
        let stored = stored.map(references::<E>).unwrap_or_default();
        for value in values_of_old_key::<E>(&rows, &new) {
            if let Some(same) = stored.iter().find(|stored| have_same_bytes(stored, &value)) {
                if same.id != value.id {
                    copied.copies.push((value, same.clone()));
                }
                continue;
            }
            // Where both keys are one text, in two tables, the id does not tell.
            let is_shared = value.is_of(&new.partition_key, &new.row_key);
            let client = &self.new.client;
            if is_shared && has_first_row(client, &new.partition_key, &value.id).await? {
                continue;
            }
            match self.copy(&value, &new).await {
                Ok(copy) => {
                    copied.made.push((new.clone(), copy.id.clone()));
                    copied.copies.push((value, copy));
                }
                Err(error) => {
                    self.remove_copies(&copied).await;
                    return Err(error);
                }
            }
        }
        if copied.copies.is_empty() {
            return Ok(OwnValues { rows, copied });
        }
        let rows = EntityRows::of(&with_copies::<E>(&rows, &copied.copies)?)?;
        Ok(OwnValues { rows: Cow::Owned(rows), copied })
    }

    /// Copies a value of the old key to the new one.
    async fn copy(&self, value: &Reference, new: &CanonicalKey) -> Result<Reference> {
        let never: Again<'_> = Arc::new(|| Box::pin(async { Ok(None) }));
        let mut reading = Reading::new(Some(value.clone().into()), self.places(new), never);
        let mut upload = Upload::new(&self.new.client, new.clone());
        let whole = async {
            loop {
                match reading.next().await? {
                    Next::Bytes(bytes) => upload.add(bytes).await?,
                    Next::End | Next::Absent => return Ok(()),
                    Next::Missing { partition_key, row_key } => {
                        return Err(LargeValueError::Gone { partition_key, row_key }.into());
                    }
                }
            }
        };
        let whole: Result<()> = whole.await;
        if whole.is_err() {
            let _removed = remove_unused(&self.new.client, new, upload.id()).await;
        }
        whole?;
        let copy = upload.finish().await?.reference().cloned();
        // A value that is as short as that is in its entity: no upload has written such rows.
        copy.ok_or_else(|| {
            let (partition_key, row_key) = (new.partition_key.clone(), value.head());
            LargeValueError::Damaged { partition_key, row_key }.into()
        })
    }

    /// The answer to a write of an entity with these copies. Where it was rejected, they are removed; without an answer,
    /// the entity may refer to them. One that somebody removed is a conflict: another attempt copies again.
    pub(super) async fn copied<T>(&self, copied: &Copied, written: Result<T>) -> Result<T> {
        let Err(error) = &written else { return written };
        if !error.is_unanswered() {
            self.remove_copies(copied).await;
        }
        let Error::LargeValue(LargeValueError::Gone { row_key, .. }) = error else {
            return written;
        };
        match copied.made.iter().find(|(_, id)| chunk_key(id, 0) == *row_key) {
            Some((new, _)) => Err(self.changed(new)),
            None => written,
        }
    }

    /// Removes copies to which no entity refers, as far as the store answers.
    pub(super) async fn remove_copies(&self, copied: &Copied) {
        for (new, id) in &copied.made {
            let _removed = remove_unused(&self.new.client, new, id).await;
        }
    }

    /// Removes the large values of a parcel that was written or deleted, as far as the store answers. Those to which the
    /// entity refers stay.
    pub(super) async fn remove_values_of(&self, parcel: &Parcel<E>) {
        let new = parcel.new_key();
        for value in references::<E>(&parcel.rows) {
            let _removed = remove_unused(&self.new.client, &new, &value.id).await;
        }
    }

    /// The touches of the transaction that inserts the parcel of an entity with these rows.
    pub(super) fn touches(&self, rows: &EntityRows) -> Result<Vec<Operation>> {
        let touch = |value: Reference| self.new.client.touch(&rows.partition_key, &value);
        references::<E>(rows).into_iter().map(touch).collect()
    }

    /// The client of transactions that take entities out of their old form, and have their new rows.
    pub(super) fn with_values_of_both(&self, client: TableClient) -> TableClient {
        if !has_large::<E>() && !has_large::<E::Old>() {
            return client;
        }
        let large = LargeType::of::<E>().into_iter().chain(LargeType::of::<E::Old>()).collect();
        TableClient { large, ..client }
    }
}

/// Whether an entity with these old rows has large values: they are copied, or removed where the new type has none.
pub(super) fn has_values<E: Migrates>(old_rows: &EntityRows) -> bool {
    has_large::<E::Old>() && !references::<E::Old>(old_rows).is_empty()
}

/// The rows as a move will write them, with ids of copies that are not made.
pub(super) fn as_if_copied<E: Migrates>(rows: &EntityRows) -> Result<Cow<'_, EntityRows>> {
    let new = canonical_key(rows);
    let values = values_of_old_key::<E>(rows, &new).into_iter();
    let copies: Copies = values
        .map(|value| {
            let id = Reference::fresh_id(&new.partition_key, &new.row_key);
            (value.clone(), Reference { id, ..value })
        })
        .collect();
    if copies.is_empty() {
        return Ok(Cow::Borrowed(rows));
    }
    Ok(Cow::Owned(EntityRows::of(&with_copies::<E>(rows, &copies)?)?))
}

/// How many values of the old key the move of an entity copies, and their bytes.
pub(super) fn to_copy<E: Migrates>(rows: &EntityRows) -> (u64, u64) {
    let values = values_of_old_key::<E>(rows, &canonical_key(rows));
    (values.len() as u64, values.iter().map(|value| value.length).sum())
}

/// The entity with ids of copies that are not made.
pub(super) fn entity_as_if_copied<E: Migrates>(entity: &E) -> Result<E> {
    if !has_large::<E>() {
        return Ok(entity.clone());
    }
    let rows = EntityRows::of(entity)?;
    with_copies(&*as_if_copied::<E>(&rows)?, &Copies::new())
}

/// Whether a move writes the entity as it was read: the new rows differ by copies at most.
pub(super) fn is_as_read<E: TableEntity>(read: &EntityRows, rows: &EntityRows) -> Result<bool> {
    if !has_large::<E>() {
        return Ok(read == rows);
    }
    let both = references::<E>(read).into_iter().zip(references::<E>(rows));
    let copies: Copies = both.filter(|(one, other)| have_same_bytes(one, other)).collect();
    Ok(EntityRows::of(&with_copies::<E>(read, &copies)?)? == *rows)
}

fn have_same_bytes(one: &Reference, other: &Reference) -> bool {
    (one.length, &one.sha256) == (other.length, &other.sha256)
}

/// Whether the entity with these old rows refers to the value with that row.
pub(super) fn refers_to_row<E: TableEntity>(rows: &EntityRows, row_key: &str) -> bool {
    let id = chunk_of(row_key).map(|(id, _)| id);
    references::<E>(rows).iter().any(|value| Some(&*value.id) == id)
}

/// Whether the rows of a new key refer to values of the old one.
pub(super) fn has_values_of_old_key<E: Migrates>(rows: &EntityRows) -> bool {
    !values_of_old_key::<E>(rows, &canonical_key(rows)).is_empty()
}

/// The large values to which the rows refer.
fn references<E: TableEntity>(rows: &EntityRows) -> Vec<Reference> {
    let row = rows.canonical().map(|row| &*row.body).unwrap_or_default();
    LargeType::of::<E>().map(|large| large.references(row)).unwrap_or_default()
}

/// The values of the old key that the rows of a new one refer to.
fn values_of_old_key<E: Migrates>(rows: &EntityRows, new: &CanonicalKey) -> Vec<Reference> {
    if !has_large::<E>() {
        return Vec::new();
    }
    let Some(old) = old_key::<E>(new) else { return Vec::new() };
    let mut values = references::<E>(rows);
    values.retain(|value| value.is_of(&old.partition_key, &old.row_key));
    values
}

/// The entity of these rows, with the copies.
pub(super) fn with_copies<E: TableEntity>(rows: &EntityRows, copies: &Copies) -> Result<E> {
    let row = rows.canonical().map(|row| &*row.body).unwrap_or_default();
    let text = |value: &Reference| serde_json::Value::from(value.text()).to_string();
    let texts: Vec<_> = copies.iter().map(|(value, copy)| (text(value), text(copy))).collect();
    let mut members = members_by_name(row).unwrap_or_default();
    for member in members.values_mut() {
        if let Some((_, copy)) = texts.iter().find(|(value, _)| value == *member) {
            *member = copy;
        }
    }
    Ok(read_row(canonical::<E>(), &write_object(&members))?)
}
