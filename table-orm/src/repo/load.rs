//! Reads of entities in order to change them.

use super::get::MAX_PARALLEL_GETS;
use super::{LoadedSet, Repo};
use crate::entity::{
    FromRow, Loaded, Query, ReadBackError, Row, RowOf, TableEntity, has_row, keys_of,
    partition_key, read_entity, row_key, split_page,
};
use crate::error::Result;
use crate::key::KeyError;
use crate::plan::{CanonicalKey, Plan, Step, TableClient};
use crate::query::{KeyRange, RowQuery, Span};
use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Reads the entities of a query with their versions, so that they can be changed and saved.
    ///
    /// One request for each 1000 rows. A query of an index row sends one more point query for each entity,
    /// because the ETag of the canonical row guards the entity. It leaves out an entity that no longer has
    /// the key of the index row: one that was deleted or moved in between, and one whose index row was left
    /// behind (see [`verify`](Repo::verify)). An entity that several of the rows belong to, because they are
    /// written for each element of a field, is loaded once.
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
    /// # for (bib, age) in [(7, 55), (8, 30)] {
    /// #     runners.insert(&Runner { race: "Boston".into(), bib, age, city: None }).await?;
    /// # }
    /// let boston = Runner::partition("Boston");
    /// for mut runner in runners.load(boston.by_age().age_in(50..)).await? {
    ///     runner.city = Some("Oslo".into());
    ///     runners.save(runner).await?;
    /// }
    /// let seven = runners.get(boston.by_bib().bib(7)).await?;
    /// assert_eq!(seven.and_then(|runner| runner.city).as_deref(), Some("Oslo"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`Error::KeyMismatch`](crate::Error::KeyMismatch) when the properties of a row make another key
    ///   than the row has: a save would go to that other key.
    /// - [`Error::Moved`](crate::Error::Moved) when the key of one row is given, and a later version of the
    ///   app moved the entity.
    /// - When a key cannot hold one of the values, the store rejects a request, or a row cannot be read.
    pub fn load<Q>(&self, query: Q) -> Load<Q::Row, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
        E: FromRow<Q::Row>,
    {
        Load { client: self.client.clone(), keys: keys_of(query), read: PhantomData }
    }
}

/// A load: `.await` sends it, `.plan()` shows it.
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
/// let boston = Runner::partition("Boston");
/// assert_eq!(runners.load(boston.by_bib().bib(7)).plan()?.steps.len(), 1);
/// // Through an index row, it also reads the canonical row of each entity.
/// assert_eq!(runners.load(boston.by_age().age(55)).plan()?.steps.len(), 2);
/// assert_eq!(runners.load(boston.by_age().age(55)).await?.len(), 0);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Load<R, E> {
    client: TableClient,
    keys: Result<KeyRange, KeyError>,
    read: PhantomData<fn() -> (R, E)>,
}

impl<E: TableEntity + FromRow<R>, R: Row<Entity = E>> Load<R, E> {
    const IS_CANONICAL: bool = R::INDEX == <E::Canonical as Row>::INDEX;

    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let table = self.client.table.clone();
        let canonical = (!Self::IS_CANONICAL).then_some(Step::ReadCanonical { table });
        Ok([Some(Step::read(self.query()?)), canonical].into_iter().map(Plan::from).collect())
    }

    fn query(&self) -> Result<RowQuery> {
        Ok(RowQuery { metadata: E::METADATA, ..self.client.query_of::<R>(self.keys.clone()?) })
    }

    async fn run(self) -> Result<LoadedSet<E>> {
        let query = self.query()?;
        let is_point = matches!(query.keys.row, Span::Exact(_));
        let mut loaded = Vec::new();
        let mut taken = BTreeSet::new();
        let mut pages = self.client.pages(query);
        while let Some(page) = pages.next().await? {
            if Self::IS_CANONICAL {
                for row in split_page(&page)? {
                    let stored = Bytes::copy_from_slice(row.get().as_bytes());
                    let read = Loaded::read(stored, None);
                    loaded.extend(if is_point { read? } else { listed(read)? });
                }
            } else {
                let found = canonical_rows::<R, E>(&self.client, &page, &taken).await?;
                for (key, entity) in found {
                    taken.insert(key);
                    loaded.push(entity);
                }
            }
        }
        Ok(LoadedSet(loaded))
    }
}

/// Reads the canonical rows of the entities whose index rows are in a page, each once, except those that
/// are `taken` already. Leaves out an entity that was deleted, or no longer has the key of any of these
/// index rows: a save would overwrite the move.
async fn canonical_rows<R, E>(
    client: &TableClient,
    page: &[u8],
    taken: &BTreeSet<CanonicalKey>,
) -> Result<Vec<(CanonicalKey, Loaded<E>)>>
where
    E: TableEntity + FromRow<R>,
    R: Row<Entity = E>,
{
    let found: Result<Vec<_>> = stream::iter(owners::<R, E>(page, taken)?)
        .map(|(key, index_keys)| async move {
            let query = RowQuery { metadata: E::METADATA, ..client.point(&key) };
            let Some(row) = client.row(&query).await? else { return Ok(None) };
            let Some(loaded) = listed(Loaded::<E>::read(row.body, row.header))? else {
                return Ok(None);
            };
            for (place, partition_key, row_key) in index_keys {
                if has_row(&*loaded, R::INDEX, (&partition_key, &row_key))? {
                    return Ok(Some((place, key, loaded)));
                }
            }
            Ok(None)
        })
        .buffered(MAX_PARALLEL_GETS)
        .try_filter_map(|loaded| async { Ok(loaded) })
        .try_collect()
        .await;
    let mut found = found?;
    // A row that was left behind has no place.
    found.sort_by_key(|(place, ..)| *place);
    Ok(found.into_iter().map(|(_, key, loaded)| (key, loaded)).collect())
}

/// The key of a canonical row, and the index rows of its entity: their places in a page and their keys.
type Owner = (CanonicalKey, Vec<(usize, String, String)>);

/// The entities whose index rows are in a page, in the order of their first rows. One has several where a
/// row is written for each element of a field.
fn owners<R, E>(page: &[u8], taken: &BTreeSet<CanonicalKey>) -> Result<Vec<Owner>>
where
    E: TableEntity + FromRow<R>,
    R: Row<Entity = E>,
{
    let mut owners: Vec<Owner> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for (place, row) in split_page(page)?.into_iter().enumerate() {
        let read = listed(read_entity::<R, E>(row.get().as_bytes(), None))?;
        let Some((entity, row)) = read else { continue };
        let key = CanonicalKey {
            row_key: row_key(&entity, <E::Canonical as Row>::INDEX)?.unwrap_or_default(),
            partition_key: partition_key(&entity)?,
        };
        if taken.contains(&key) {
            continue;
        }
        let index_row = (place, row.partition_key.into_owned(), row.row_key.into_owned());
        match known.entry(key) {
            Entry::Occupied(at) => owners[*at.get()].1.push(index_row),
            Entry::Vacant(at) => {
                owners.push((at.key().clone(), vec![index_row]));
                at.insert(owners.len() - 1);
            }
        }
    }
    Ok(owners)
}

/// What was read of a row; `None` also for one that was moved, which a list leaves out.
fn listed<T>(read: Result<Option<T>, ReadBackError>) -> Result<Option<T>> {
    match read {
        Err(ReadBackError::Moved(_)) => Ok(None),
        read => Ok(read?),
    }
}

impl<R, E> IntoFuture for Load<R, E>
where
    E: TableEntity + FromRow<R> + 'static,
    R: Row<Entity = E> + 'static,
{
    type Output = Result<LoadedSet<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
