//! Writes that keep what they do not name: a patch of a stored entity, and a change of it.

use super::patch::Patch;
use super::save::prepare;
use crate::codec::overlay;
use crate::entity::{EntityRows, Loaded, Row, TableEntity, read_row};
use crate::error::{Error, IncompleteEntity, Result};
use crate::key::KeyError;
use crate::model::ETag;
use crate::plan::{
    CanonicalKey, Decision, MAX_ATTEMPTS, Plan, TableClient, UpdateMode, changes, insert_all,
    retry_on_conflict,
};
use crate::query::KeyRange;
use crate::store::{Action, Batch, IfMatch, Operation};
use bytes::Bytes;
use futures_core::future::BoxFuture;
use std::fmt;

/// A merge of a patch: `.await` sends it and gives the new ETag, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Merge<E> {
    client: TableClient,
    keys: Result<KeyRange, KeyError>,
    patch: Patch<E>,
    insert: bool,
    attempts: usize,
}

impl<E: TableEntity> Merge<E> {
    pub(super) const fn new(
        client: TableClient,
        keys: Result<KeyRange, KeyError>,
        patch: Patch<E>,
    ) -> Self {
        Self { client, keys, patch, insert: false, attempts: MAX_ATTEMPTS }
    }

    /// Inserts the entity when it is not there: insert-or-merge, where update-only is the default.
    ///
    /// The key and the patch must tell the whole entity then: each field is in the patch, has a
    /// `default`, is an `Option` or a series, or is `key_only`. Where other fields are to be given,
    /// [`Repo::insert_or_merge`](crate::Repo::insert_or_merge) takes an entity.
    ///
    /// # Errors
    /// The call gives [`Error::IncompleteEntity`] where they do not.
    pub fn or_insert(mut self) -> Self {
        self.insert = true;
        self
    }

    /// Tries at most so often when other writers come between, instead of [`MAX_ATTEMPTS`] times;
    /// 0 counts as 1. Nothing changes where
    /// [`PATCHES_ONE_ROW`](TableEntity::PATCHES_ONE_ROW), which is sent once.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// What it will send.
    ///
    /// # Errors
    /// A value that the service would refuse; [`Error::IncompleteEntity`].
    pub fn plan(&self) -> Result<Plan> {
        let key = self.key()?;
        if E::PATCHES_ONE_ROW {
            return Ok(Plan::write(&self.client.table, self.one_row(&key)?));
        }
        let absent = if self.insert { Some(insert_all(self.whole(&key)?)) } else { None };
        Ok(key.plan(&self.client, absent, self.attempts))
    }

    pub(super) fn key(&self) -> Result<CanonicalKey> {
        Ok(CanonicalKey::of(self.keys.clone()?))
    }

    fn body(&self, key: &CanonicalKey) -> Result<Bytes> {
        self.patch.body(&key.partition_key, &key.row_key)
    }

    /// The only row's write.
    pub(super) fn one_row(&self, key: &CanonicalKey) -> Result<Batch> {
        let body = self.body(key)?;
        let action = if self.insert {
            self.whole(key)?;
            Action::InsertOrMerge(body)
        } else {
            Action::Merge(body, IfMatch::Any)
        };
        let operation = Operation { row_key: key.row_key.clone(), action };
        let partition_key = key.partition_key.clone();
        Ok(Batch { partition_key, operations: vec![operation] })
    }

    /// The rows of the entity that the key and the patch tell.
    fn whole(&self, key: &CanonicalKey) -> Result<EntityRows> {
        let body = self.body(key)?;
        let not_whole = |missing| {
            Error::IncompleteEntity(IncompleteEntity {
                entity: E::NAME,
                partition_key: key.partition_key.clone(),
                row_key: key.row_key.clone(),
                missing,
            })
        };
        let entity = read_row::<E>(<E::Canonical as Row>::INDEX, &body)
            .map_err(|error| not_whole(error.property))?;
        let rows = EntityRows::of(&entity)?;
        let canonical = <E::Canonical as Row>::INDEX;
        let same = rows.stands_at(canonical, &key.partition_key, &key.row_key);
        if same { Ok(rows) } else { Err(not_whole(String::new())) }
    }

    async fn run(self) -> Result<ETag> {
        let key = self.key()?;
        if E::PATCHES_ONE_ROW {
            let etags = self.client.send(self.one_row(&key)?).await?;
            return self.client.version(&key, etags.into_iter().next().flatten());
        }
        let patch = self.body(&key)?;
        let absent = if self.insert { Some(self.whole(&key)?) } else { None };
        merge_over::<E>(&self.client, &key, self.attempts, &patch, absent.as_ref()).await
    }
}

/// Sets the properties of a row's JSON object in the stored entity, and writes the rows that this
/// changes under its ETag. Where nothing is stored, `absent` is inserted.
pub(super) async fn merge_over<E: TableEntity>(
    client: &TableClient,
    key: &CanonicalKey,
    attempts: usize,
    set: &Bytes,
    absent: Option<&EntityRows>,
) -> Result<ETag> {
    let canonical = <E::Canonical as Row>::INDEX;
    let (_, written) = retry_on_conflict::<E, Error>(client, key, attempts, |stored| {
        let Some(loaded) = stored else {
            let rows = absent.cloned();
            let rows = rows.ok_or_else(|| client.not_found(&key.partition_key, &key.row_key))?;
            let row = rows.canonical().cloned();
            return Ok(Decision { transaction: insert_all(rows), canonical: row });
        };
        let merged = overlay(loaded.stored(), set)?;
        let new = EntityRows::of(&read_row::<E>(canonical, &merged)?)?;
        let stored = loaded.stored_rows()?;
        let transaction = changes(&stored, &new, canonical, loaded.etag(), UpdateMode::Merge);
        Ok(Decision { transaction, canonical: new.canonical().cloned() })
    })
    .await?;
    client.version(key, written.and_then(|(_, etag)| etag))
}

impl<E: TableEntity + 'static> IntoFuture for Merge<E> {
    type Output = Result<ETag>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// What becomes of a stored entity, or why nothing does.
pub(super) type Change<'a, E, X> = Box<dyn FnMut(&mut E) -> Result<(), X> + Send + 'a>;

/// A change of a stored entity: `.await` reads it, changes it and saves it, `.plan()` shows that.
#[must_use = "nothing is sent until this is awaited"]
pub struct Update<'a, E, X = Error> {
    pub(super) client: TableClient,
    pub(super) keys: Result<KeyRange, KeyError>,
    pub(super) change: Change<'a, E, X>,
    pub(super) attempts: usize,
}

impl<E, X> fmt::Debug for Update<'_, E, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Update").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl<E: TableEntity, X: From<Error>> Update<'_, E, X> {
    /// Tries at most so often when other writers come between, instead of [`MAX_ATTEMPTS`] times;
    /// 0 counts as 1.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.attempts = attempts.max(1);
        self
    }

    /// What it will send.
    ///
    /// # Errors
    /// A value that a key cannot hold.
    pub fn plan(&self) -> Result<Plan> {
        Ok(CanonicalKey::of(self.keys.clone()?).plan(&self.client, None, self.attempts))
    }

    /// Reads, changes and saves it.
    async fn run(self) -> Result<Loaded<E>, X> {
        let Self { client, keys, mut change, attempts } = self;
        let key = CanonicalKey::of(keys.map_err(Error::from)?);
        let absent = || client.not_found(&key.partition_key, &key.row_key);
        let (stored, written) = retry_on_conflict::<E, X>(&client, &key, attempts, |stored| {
            let loaded = stored.ok_or_else(absent)?;
            change(loaded)?;
            let (transaction, rows) = prepare(loaded)?;
            Ok(Decision { transaction, canonical: rows.canonical().cloned() })
        })
        .await?;
        let (mut loaded, (row, etag)) = stored.zip(written).ok_or_else(absent)?;
        loaded.written(row.body, client.version(&key, etag)?);
        Ok(loaded)
    }
}

impl<'a, E, X> IntoFuture for Update<'a, E, X>
where
    E: TableEntity + 'a,
    X: From<Error> + Send + 'a,
{
    type Output = Result<Loaded<E>, X>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
