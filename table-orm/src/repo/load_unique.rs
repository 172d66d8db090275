//! The entity that has a value which is unique over all partitions.

use super::Repo;
use crate::entity::{Loaded, TableEntity, UniqueKey};
use crate::error::{Error, Result};
use crate::eventual::{
    EventualType, GUARD_ROW, Guards, Home, MAX_GUARD_READS, UniqueValue, unique_values,
};
use crate::key::KeyError;
use crate::plan::{CanonicalKey, Found, Plan, Step, TableClient};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Reads the entity that has a value of a `unique(.., across)`, with its version, so that it can be changed
    /// and saved. `None` when no entity of the table has it.
    ///
    /// It reads the guard row of the value, then the entity that it names: 2 requests, and 1 if there is no guard.
    /// While markers of a migration are there, it takes up to 2 more.
    /// If that entity does not have the value, it reads the guard again: an ended process may have left it, or the
    /// value is just passing from one entity to another.
    ///
    /// ```
    /// use table_orm::{TableEntity, Tables};
    ///
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "users", partition = "{id}", row = "USER", unique(login, across))]
    /// struct User { id: String, login: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let users = Tables::in_memory()?.repo::<User>();
    /// users.create_table().await?;
    /// users.insert(&User { id: "1".into(), login: "ann".into() }).await?;
    /// let ann = users.load_unique(User::unique_login("ann")).await?;
    /// assert_eq!(ann.map(|ann| ann.id.clone()).as_deref(), Some("1"));
    /// assert!(users.load_unique(User::unique_login("bob")).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a key cannot hold the value, or a row cannot be read. [`Error::Conflict`] when
    /// the value went to another entity during each of 8 reads.
    pub fn load_unique(&self, value: UniqueKey<E>) -> LoadUnique<E> {
        let UniqueKey { name, guard, .. } = value;
        let value = guard.map(|key| EventualType::of::<E>().value(name, &key));
        LoadUnique { client: self.client.clone(), value, entity: PhantomData }
    }
}

/// A load of the entity that has a value: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct LoadUnique<E> {
    client: TableClient,
    value: Result<UniqueValue, KeyError>,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> LoadUnique<E> {
    /// Returns the query for the guard row, and that it reads the entity. Sends nothing.
    ///
    /// # Errors
    /// When a key cannot hold the value.
    pub fn plan(&self) -> Result<Plan> {
        let value = self.value.clone()?;
        let guards = Guards { home: self.client.clone(), kind: EventualType::of::<E>() };
        let key =
            CanonicalKey { partition_key: value.partition_key(), row_key: GUARD_ROW.to_owned() };
        let guard = Step::read(guards.client(&value).point(&key));
        let entity = Step::ReadCanonical { table: self.client.table.clone() };
        Ok([guard, entity].into_iter().map(Plan::from).collect())
    }

    async fn run(self) -> Result<Option<Loaded<E>>> {
        let (client, value) = (self.client, self.value?);
        let guards = Guards { home: client.clone(), kind: EventualType::of::<E>() };
        let mut guard = guards.get(&value).await?;
        for _ in 0..MAX_GUARD_READS {
            let Some(found) = guard else { return Ok(None) };
            let is_own = |home: &Home| {
                let CanonicalKey { partition_key, row_key } = &home.key;
                home.is(&guards.entity(partition_key, row_key))
            };
            let stored = match is_own(&found.home) {
                true => client.find::<E>(&client.point_of::<E>(&found.home.key)).await,
                false => Ok(Found::OtherType),
            };
            let loaded = match stored {
                Ok(Found::Entity(loaded)) => Some(loaded),
                Ok(Found::Nothing) => None,
                // It may be a key that the entity left.
                Ok(Found::OtherType) | Err(Error::Moved(_)) => {
                    match guards.left(&found.home).await? {
                        Some(home) if is_own(&home) => client.load::<E>(&home.key).await?,
                        _ => None,
                    }
                }
                Err(error) => return Err(error),
            };
            if let Some(loaded) = loaded
                && unique_values::<E>(&loaded)?.contains(&value)
            {
                return Ok(Some(loaded).filter(|loaded| client.is_alive(loaded)));
            }
            // If the guard is still the same, nobody had the value between its two readings.
            guard = guards.get(&value).await?;
            if guard.as_ref().is_some_and(|again| again.etag == found.etag) {
                return Ok(None);
            }
        }
        Err(guards.contended(&value))
    }
}

impl<E: TableEntity + 'static> IntoFuture for LoadUnique<E> {
    type Output = Result<Option<Loaded<E>>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
