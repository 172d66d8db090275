//! The keys of an entity, as the queries that name them.

use super::query::{Query, Row, RowOf, canonical_rows};
use super::{TableEntity, keys_of_rows, partition_key, row_key};
use crate::key::KeyError;
use crate::query::class::{Partition, Point};
use crate::query::{Below, KeyRange, Span};
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

/// The keys of an entity: what [`Repo::get`](crate::Repo::get), [`Repo::update`](crate::Repo::update) and
/// other calls take, made from the entity's own values.
///
/// Every [`TableEntity`] has them, so generic code can ask for them.
///
/// ```
/// # use table_orm::{ETag, EntityKeys, Error, Repo, TableEntity, Tables};
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "runners", partition = "{race}")]
/// #[row(by_bib, key = "BIB:{bib:05}")]
/// #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
/// struct Runner { race: String, bib: u32, age: u8 }
///
/// /// Inserts an entity of any type, or returns the stored one.
/// async fn get_or_insert<E: TableEntity + Clone + 'static>(repo: &Repo<E>, entity: E) -> table_orm::Result<E> {
///     match repo.insert(&entity).await {
///         Err(Error::AlreadyExists(_)) => Ok(repo.get(entity.key()).await?.unwrap_or(entity)),
///         inserted => inserted.map(|_| entity),
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// let runners = Tables::in_memory()?.repo::<Runner>();
/// runners.create_table().await?;
/// let ann = Runner { race: "Boston".into(), bib: 7, age: 55 };
/// get_or_insert(&runners, ann.clone()).await?;
/// let (partition_key, row_key) = ann.key().into_texts()?;
/// assert_eq!((partition_key.as_str(), row_key.as_str()), ("Boston", "BIB:00007"));
/// let by_age = ann.key_in::<RunnerByAge>().unwrap();
/// assert_eq!(runners.get(by_age).await?.as_ref(), Some(&ann));
/// assert_eq!(runners.list(ann.partition()).count().await?, 1);
/// # Ok(())
/// # }
/// ```
pub trait EntityKeys: TableEntity {
    /// The entity's partition. As a query, the canonical rows of the partition.
    fn partition(&self) -> EntityPartition<Self> {
        EntityPartition { partition_key: partition_key(self), entity: PhantomData }
    }

    /// The key of the entity's canonical row.
    fn key(&self) -> EntityKey<Self::Canonical> {
        let row = <Self::Canonical as Row>::INDEX;
        // Every entity has a canonical row.
        let row_key = row_key(self, row).map(Option::unwrap_or_default);
        EntityKey::new(partition_key(self), row_key)
    }

    /// The key of the entity's row of the kind `R`, such as `RunnerByAge`; `None` when the entity does not
    /// have this sparse row. Of a row for each element, the key for the first one.
    fn key_in<R: RowOf<Self>>(&self) -> Option<EntityKey<R>> {
        let keys = keys_of_rows(self, R::INDEX).next()?;
        Some(EntityKey { keys, row: PhantomData })
    }

    /// The keys of the entity's rows of the kind `R`: several for a row for each element, in the order of
    /// the elements. Elements that share a row give one key.
    fn keys_in<R: RowOf<Self>>(&self) -> Vec<EntityKey<R>> {
        let distinct = distinct(keys_of_rows(self, R::INDEX).collect());
        distinct.into_iter().map(|keys| EntityKey { keys, row: PhantomData }).collect()
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> EntityKeys for E {}

type Keys = Result<(String, String), KeyError>;

/// Each of these keys once, at the place of the first.
fn distinct(mut keys: Vec<Keys>) -> Vec<Keys> {
    let mut taken = HashSet::new();
    keys.retain(|keys| keys.as_ref().map_or(true, |keys| taken.insert(keys.clone())));
    keys
}

/// The complete key of a row of kind `R`: a point query. Keeps an error of a value that no key can hold,
/// which the call that sends the query returns.
pub struct EntityKey<R> {
    keys: Keys,
    row: PhantomData<fn() -> R>,
}

impl<R> EntityKey<R> {
    fn new(partition_key: Result<String, KeyError>, row_key: Result<String, KeyError>) -> Self {
        let keys = partition_key.and_then(|partition_key| Ok((partition_key, row_key?)));
        Self { keys, row: PhantomData }
    }

    /// The row and all rows of the partition whose keys continue its key, for a union: a row range query.
    ///
    /// Compiles for a canonical row whose key shows where it ends: with a component of fixed width, such as
    /// `{number:08}`, an enum, or a literal.
    ///
    /// ```
    /// use table_orm::{EntityKeys, TableEntity, TableUnion, Tables};
    ///
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{project}", row = "ISS:{number:08}")]
    /// struct Issue { project: String, number: u32 }
    ///
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{project}", row = "ISS:{number:08}__C:{comment:04}")]
    /// struct Comment { project: String, number: u32, comment: u32 }
    ///
    /// #[derive(Debug, PartialEq, TableUnion)]
    /// enum Thread { Issue(Issue), Comment(Comment) }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let tables = Tables::in_memory()?;
    /// tables.repo::<Issue>().create_table().await?;
    /// let issue = Issue { project: "tables".into(), number: 42 };
    /// let comment = Comment { project: "tables".into(), number: 42, comment: 1 };
    /// tables.transaction(issue.partition()).insert(&issue).insert(&comment).commit().await?;
    /// let thread = tables.union::<Thread>(issue.key().and_below()).collect().await?;
    /// assert_eq!(thread, [Thread::Issue(issue), Thread::Comment(comment)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Below `ISS:42` there would be `ISS:421`:
    ///
    /// ```compile_fail
    /// # use table_orm::{EntityKeys, TableEntity};
    /// #[derive(TableEntity)]
    /// #[table(name = "issues", partition = "{project}", row = "ISS:{number}")]
    /// struct Issue { project: String, number: u32 }
    ///
    /// # fn main() {
    /// let below = Issue { project: "tables".into(), number: 42 }.key().and_below();
    /// # }
    /// ```
    #[must_use]
    pub fn and_below(self) -> Below<R>
    where
        R: Row<Entity: TableEntity<Canonical = R>>,
    {
        const {
            assert!(
                <R::Entity as TableEntity>::ROWS[R::INDEX].has_end(),
                "`and_below` needs a key that shows where it ends, or keys of other rows can start as it \
                 does: end the canonical key with a component of fixed width, such as `{{f:0N}}` or an \
                 enum, or with a literal"
            );
        };
        Below::new(self.keys.map(|(partition_key, row_key)| KeyRange {
            partition: Span::Exact(partition_key),
            row: Span::prefix(row_key),
        }))
    }

    /// The PartitionKey and the RowKey, as they are stored.
    ///
    /// # Errors
    /// When a key cannot hold one of the entity's values.
    pub fn into_texts(self) -> Result<(String, String), KeyError> {
        self.keys
    }
}

impl<R> Clone for EntityKey<R> {
    fn clone(&self) -> Self {
        Self { keys: self.keys.clone(), row: PhantomData }
    }
}

impl<R> fmt::Debug for EntityKey<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EntityKey").field(&self.keys).finish()
    }
}

#[diagnostic::do_not_recommend]
impl<R: Row> Query for EntityKey<R> {
    type Row = R;
    type Class = Point;

    fn into_keys(self) -> Result<KeyRange, KeyError> {
        let (partition_key, row_key) = self.keys?;
        Ok(KeyRange { partition: Span::Exact(partition_key), row: Span::Exact(row_key) })
    }
}

/// The partition of an entity: a partition query. Keeps an error of a value that no key can hold, which
/// the call that sends the query returns.
pub struct EntityPartition<E> {
    partition_key: Result<String, KeyError>,
    entity: PhantomData<fn() -> E>,
}

impl<E> Clone for EntityPartition<E> {
    fn clone(&self) -> Self {
        Self { partition_key: self.partition_key.clone(), entity: PhantomData }
    }
}

impl<E> fmt::Debug for EntityPartition<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EntityPartition").field(&self.partition_key).finish()
    }
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> Query for EntityPartition<E> {
    type Row = E::Canonical;
    type Class = Partition;

    fn into_keys(self) -> Result<KeyRange, KeyError> {
        Ok(KeyRange { partition: Span::Exact(self.partition_key?), row: canonical_rows::<E>() })
    }
}
