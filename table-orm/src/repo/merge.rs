//! Sets the properties of a patch in a stored entity.

use super::Repo;
use super::patch::{EntityPatch, Patch};
use crate::codec::{has_former_names, overlay};
use crate::entity::{
    CanonicalKeyOf, CompleteKey, EntityRows, Loaded, Row, TableEntity, patches_blind, read_row,
};
use crate::error::{Error, IncompleteEntity, Result};
use crate::eventual::{Intents, Settling, change_and_settle, plan_with_settling, settling_methods};
use crate::key::KeyError;
use crate::model::ETag;
use crate::plan::{
    CanonicalKey, Decision, OptimisticWrite, Plan, RetryLimits, TableClient, UpdateMode, changes,
};
use crate::query::KeyRange;
use crate::store::{Action, Batch, IfMatch, Operation};
use bytes::Bytes;
use futures_core::future::BoxFuture;
use std::time::Duration;

impl<E: TableEntity> Repo<E> {
    /// Sets the properties of a patch in the entity under a canonical key. Returns its ETag.
    ///
    /// The entity must exist, unless [`or_insert`](Merge::or_insert) inserts a new one. All other
    /// properties keep their stored values, also those that `E` does not know. A merge cannot remove
    /// a property; [`update`](Self::update) and [`save`](Self::save) can.
    ///
    /// One request and no read where [`PATCHES_ONE_ROW`](TableEntity::PATCHES_ONE_ROW). Otherwise it
    /// reads the canonical row, and under its ETag writes that row and the index rows that store one
    /// of these properties. Calls run one at a time as [`update`](Self::update). It waits and starts
    /// again when another writer changed the entity in between, for up to
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME) or the time set by [`retry_for`](Merge::retry_for).
    ///
    /// ```
    /// use table_orm::{TableEntity, Tables};
    ///
    /// /// One row for each day, one property for each hour.
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "loads", partition = "{host}", row = "{day:05}")]
    /// struct Load {
    ///     #[table(key_only)]
    ///     host: String,
    ///     #[table(key_only)]
    ///     day: u32,
    ///     #[table(series)]
    ///     percent: [Option<f64>; 24],
    ///     note: Option<String>,
    /// }
    ///
    /// # async fn run() -> table_orm::Result<()> {
    /// let loads = Tables::in_memory()?.repo::<Load>();
    /// loads.create_table().await?;
    /// let day = Load::partition("web-1").row().day(20_778);
    /// // One hour of 24: one request, no read.
    /// let hour = LoadPatch::default().percent_at(13, 41.5);
    /// loads.merge(&day, hour).or_insert().await?;
    /// loads.merge(&day, LoadPatch::default().note("deploy")).await?;
    /// let stored = loads.get(&day).await?.unwrap();
    /// assert_eq!((stored.percent[13], stored.note.as_deref()), (Some(41.5), Some("deploy")));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// - [`Error::NotFound`] when the entity does not exist, without `or_insert`.
    /// - [`Error::IncompleteEntity`] when the key and the patch leave a field without a value, with
    ///   `or_insert`.
    /// - [`Error::Conflict`] and [`Error::KeyMismatch`], as [`update`](Self::update), if it reads first.
    ///
    /// Nothing is written in any of these cases.
    pub fn merge<Q>(&self, key: Q, patch: impl EntityPatch<E>) -> Merge<E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        self.merge_keys(key.into_keys(), patch.into_patch())
    }

    pub(crate) fn merge_keys(&self, keys: Result<KeyRange, KeyError>, patch: Patch<E>) -> Merge<E> {
        Merge::new(self.client.clone(), keys, patch)
    }
}

/// A merge of a patch: `.await` sends it and returns the new ETag, `.plan()` shows it.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "profiles", partition = "{team}", row = "{name}")]
/// # struct Profile { #[table(key_only)] team: String, #[table(key_only)] name: String, mail: Option<String>, city: Option<String> }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let profiles = Tables::in_memory()?.repo::<Profile>();
/// # profiles.create_table().await?;
/// let ann = Profile::partition("red").row().name("ann");
/// let merge = profiles.merge(&ann, ProfilePatch::default().city("Oslo".to_owned())).or_insert();
/// assert!(merge.plan()?.to_string().starts_with("insert-or-merge"));
/// merge.await?;
/// assert_eq!(profiles.get(&ann).await?.and_then(|ann| ann.city).as_deref(), Some("Oslo"));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Merge<E> {
    client: TableClient,
    keys: Result<KeyRange, KeyError>,
    patch: Patch<E>,
    insert: bool,
    if_match: Option<ETag>,
    limits: RetryLimits,
    settling: Settling,
}

impl<E: TableEntity> Merge<E> {
    fn new(client: TableClient, keys: Result<KeyRange, KeyError>, patch: Patch<E>) -> Self {
        let (limits, settling) = (RetryLimits::default(), Settling::default());
        Self { client, keys, patch, insert: false, if_match: None, limits, settling }
    }

    /// Inserts the entity when it does not exist.
    ///
    /// The key and the patch must then provide a value for every field: a field is in the patch, has a
    /// `default`, is an `Option` or a series, or is `key_only`. If other fields need values, use
    /// [`Repo::insert_or_merge`](crate::Repo::insert_or_merge), which takes an entity.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
    /// # struct Item { shop: String, sku: String, count: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let stock = Tables::in_memory()?.repo::<Item>();
    /// # stock.create_table().await?;
    /// let tea = Item::partition("north").row().sku("tea");
    /// // The row would lack `shop` and `sku`, which `Item` reads from properties.
    /// let patch = ItemPatch::default().count(3);
    /// let merge = stock.merge(&tea, patch).or_insert();
    /// assert!(matches!(merge.await, Err(Error::IncompleteEntity(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call fails with [`Error::IncompleteEntity`] when a field has no value.
    pub fn or_insert(mut self) -> Self {
        self.insert = true;
        self
    }

    /// Requires that the stored entity still has that version, such as one from the `If-Match` of an app's
    /// own client. The entity must exist then, also with [`or_insert`](Self::or_insert).
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "profiles", partition = "{team}", row = "{name}")]
    /// # struct Profile { #[table(key_only)] team: String, #[table(key_only)] name: String, mail: Option<String>, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let profiles = Tables::in_memory()?.repo::<Profile>();
    /// # profiles.create_table().await?;
    /// let ann = Profile { team: "red".into(), name: "ann".into(), mail: None, city: None };
    /// let etag = profiles.insert(&ann).await?;
    /// let key = Profile::partition("red").row().name("ann");
    /// let city = |city: &str| ProfilePatch::default().city(city.to_owned());
    /// profiles.merge(&key, city("Oslo")).if_match(&etag).await?;
    /// let stale = profiles.merge(&key, city("Rome")).if_match(&etag).await;
    /// assert!(matches!(stale, Err(Error::Conflict(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call fails with [`Error::Conflict`] when the stored entity has another version, and with
    /// [`Error::NotFound`] when it does not exist. Nothing is written then.
    pub fn if_match(mut self, etag: &ETag) -> Self {
        self.if_match = Some(etag.clone());
        self
    }

    /// Sets how long it tries again when other writers change the entity in between, instead of
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME). With zero it makes one attempt. A merge of an entity
    /// that [`PATCHES_ONE_ROW`](TableEntity::PATCHES_ONE_ROW) is sent once.
    pub const fn retry_for(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// Sets the most attempts within that time; 0 counts as 1. A merge of an entity that
    /// [`PATCHES_ONE_ROW`](TableEntity::PATCHES_ONE_ROW) is sent once.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// let key = Runner::partition("Boston").by_bib().bib(7);
    /// let merge = runners.merge(key, RunnerPatch::default().city("Oslo".to_owned())).attempts(2);
    /// assert!(merge.plan()?.to_string().contains("at most 2 attempts"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.limits.set_attempts(attempts);
        self
    }

    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// When the service would reject a value. [`Error::IncompleteEntity`] when an entity to insert has a
    /// field without a value.
    pub fn plan(&self) -> Result<Plan> {
        Ok(match self.prepare()? {
            Prepared::OneRow { batch, .. } => {
                Intents::default().plan(&self.client, batch, &self.settling)?
            }
            Prepared::OverStored { write, .. } => {
                plan_with_settling::<E>(&self.client, write.plan(), &self.settling)
            }
        })
    }

    settling_methods!();

    fn prepare(&self) -> Result<Prepared> {
        let key = self.key()?;
        if patches_blind::<E>() {
            let batch = self.one_row(&key)?;
            return Ok(Prepared::OneRow { key, batch });
        }
        let patch = self.body(&key)?;
        let inserts = self.insert && self.if_match.is_none();
        let absent = if inserts { Some(self.whole(&key)?.1) } else { None };
        let limits = if self.if_match.is_some() { RetryLimits::ONCE } else { self.limits };
        let write = OptimisticWrite::new::<E>(&self.client, key, absent, limits);
        Ok(Prepared::OverStored { patch, write: Box::new(write) })
    }

    fn key(&self) -> Result<CanonicalKey> {
        Ok(CanonicalKey::of(self.keys.clone()?))
    }

    fn body(&self, key: &CanonicalKey) -> Result<Bytes> {
        Ok(self.patch.body(&key.partition_key, &key.row_key)?)
    }

    /// The write of the only row.
    fn one_row(&self, key: &CanonicalKey) -> Result<Batch> {
        let body = self.body(key)?;
        let action = match &self.if_match {
            Some(etag) => Action::Merge(body, IfMatch::ETag(etag.clone())),
            None if self.insert => {
                self.whole(key)?;
                Action::InsertOrMerge(body)
            }
            None => Action::Merge(body, IfMatch::Any),
        };
        let operation = Operation { row_key: key.row_key.clone(), action };
        let partition_key = key.partition_key.clone();
        Ok(Batch { partition_key, operations: vec![operation] })
    }

    /// The entity that it would insert.
    ///
    /// # Errors
    /// [`Error::IncompleteEntity`] when a field has no value.
    pub(crate) fn inserted(&self) -> Result<E> {
        self.whole(&self.key()?).map(|(entity, _)| entity)
    }

    /// The entity that the key and the patch make, and its rows.
    fn whole(&self, key: &CanonicalKey) -> Result<(E, EntityRows)> {
        let body = self.body(key)?;
        let incomplete = |missing| {
            Error::IncompleteEntity(IncompleteEntity {
                entity: E::NAME,
                partition_key: key.partition_key.clone(),
                row_key: key.row_key.clone(),
                missing,
            })
        };
        let entity = read_row::<E>(<E::Canonical as Row>::INDEX, &body)
            .map_err(|error| incomplete(error.property))?;
        let rows = EntityRows::of_in(&entity, &self.client.table)?;
        let canonical = <E::Canonical as Row>::INDEX;
        let same = rows.stands_at(canonical, &key.partition_key, &key.row_key);
        if same { Ok((entity, rows)) } else { Err(incomplete(String::new())) }
    }

    async fn run(self) -> Result<ETag> {
        match self.prepare()? {
            Prepared::OneRow { key, batch } => {
                let sent = Intents::default()
                    .send(&self.client, batch, Some(&key.row_key), &self.settling)
                    .await;
                let etags = sent?;
                self.settling.done();
                self.client.version(&key, etags.into_iter().next().flatten())
            }
            Prepared::OverStored { patch, write } => {
                let mut decide = |loaded: &Loaded<E>| match &self.if_match {
                    Some(etag) if etag != loaded.etag() => {
                        let CanonicalKey { partition_key, row_key } = write.key();
                        Err(self.client.changed(partition_key, row_key))
                    }
                    None if !self.client.is_alive(loaded) => {
                        write.when_expired(&self.client, loaded)
                    }
                    _ => merge_into(loaded, &patch),
                };
                let outcome =
                    change_and_settle(&write, &self.client, &self.settling, &mut decide).await?;
                self.client.version(write.key(), outcome.etag)
            }
        }
    }
}

/// A merge as it is sent.
enum Prepared {
    OneRow { key: CanonicalKey, batch: Batch },
    OverStored { patch: Bytes, write: Box<OptimisticWrite> },
}

/// The operations that set the properties of a JSON object in a stored entity.
pub(super) fn merge_into<E: TableEntity>(loaded: &Loaded<E>, patch: &Bytes) -> Result<Decision> {
    let canonical = <E::Canonical as Row>::INDEX;
    let merged = overlay(loaded.stored(), patch, E::ALIASES)?;
    let new = EntityRows::of(&read_row::<E>(canonical, &merged)?)?;
    let stored = loaded.stored_rows()?;
    let mode = match E::ALIASES {
        [] => UpdateMode::Merge,
        // A merge would leave the value under the former name, which counts before that under the new one.
        aliases if has_former_names(loaded.stored(), aliases) => UpdateMode::Replace,
        _ => UpdateMode::MergeCanonical,
    };
    let batch = changes(&stored, &new, canonical, loaded.etag(), mode);
    Ok(Decision { batch, canonical: new.canonical().cloned() })
}

impl<E: TableEntity + 'static> IntoFuture for Merge<E> {
    type Output = Result<ETag>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
