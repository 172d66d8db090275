//! The entity that has a value which is unique over all partitions, in either form.

use super::loaded::MigratingLoaded;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::{AtOld, OldEntity};
use crate::entity::UniqueKey;
use crate::error::Result;
use crate::eventual::{EventualType, Guards, Home, MAX_GUARD_READS, unique_values};
use crate::plan::CanonicalKey;

impl<E: Migrates> Migrating<E> {
    /// Reads the entity that has a value of a `unique(.., across)`, with what `save` and `delete` need, as
    /// [`Repo::load_unique`](crate::Repo::load_unique) does. `None` when no entity has it.
    ///
    /// It reads the guard row of the value, then the entity: 2 requests for an entity that was inserted in its new form, 4
    /// for one that has not moved, and 3 for one that has.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "users", partition = "{id}", row = "USER", unique(login, across))]
    /// # struct UserV1 { id: String, login: String }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "users", partition = "U{id}", row = "PERSON", unique(login, across), migrate_from = UserV1)]
    /// # struct User { id: String, login: String }
    /// # impl From<UserV1> for User { fn from(UserV1 { id, login }: UserV1) -> Self { Self { id, login } } }
    /// # impl From<User> for UserV1 { fn from(User { id, login }: User) -> Self { Self { id, login } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<UserV1>();
    /// # old.create_table().await?;
    /// # old.insert(&UserV1 { id: "1".into(), login: "ann".into() }).await?;
    /// let users = tables.migrating::<User>()?;
    /// let mut ann = users.load_unique(User::unique_login("ann")).await?.expect("it is stored");
    /// ann.login = "anne".into();
    /// users.save(&mut ann).await?;
    /// assert!(users.load_unique(User::unique_login("ann")).await?.is_none());
    /// assert!(users.load_unique(User::unique_login("anne")).await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`load`](Self::load). [`Error::Conflict`](crate::Error::Conflict) when the value went to another entity during each
    /// of 8 reads.
    pub async fn load_unique(&self, value: UniqueKey<E>) -> Result<Option<MigratingLoaded<E>>> {
        let UniqueKey { name, guard, .. } = value;
        let guards = Guards { home: self.new.client.clone(), kind: EventualType::of::<E>() };
        let value = guards.kind.value(name, &guard?);
        let mut guard = guards.get(&value).await?;
        for _ in 0..MAX_GUARD_READS {
            let Some(found) = guard else { return Ok(None) };
            if let Some(key) = self.new_key_of(&guards, &found.home).await?
                && let Some(held) = self.hold(&key).await?
                && unique_values(&*held)?.contains(&value)
            {
                return Ok(Some(held));
            }
            // If the guard is still the same, nobody had the value between its two readings.
            guard = guards.get(&value).await?;
            if guard.as_ref().is_some_and(|again| again.etag == found.etag) {
                return Ok(None);
            }
        }
        Err(guards.contended(&value))
    }

    /// The new key of the entity that a guard names; `None` where there is none.
    async fn new_key_of(&self, guards: &Guards, named: &Home) -> Result<Option<CanonicalKey>> {
        if !guards.is_in_other_form(named) {
            return Ok(Some(named.key.clone()));
        }
        Ok(match AtOld::<E::Old>::read(&self.old.client, &named.key).await? {
            AtOld::Entity(stored) => Some(OldEntity::<E>::of(&stored)?.new_key()),
            AtOld::Marker(marker) => marker
                .row_key
                .map(|row_key| CanonicalKey { partition_key: marker.partition_key, row_key }),
            AtOld::Nothing => None,
        })
    }
}
