//! Queries whose entities are read from their canonical rows.
//!
//! Invariant: an entity is yielded only as its canonical row has it, and only if that row says that the
//! entity has the row that was found.

mod confirm;
mod found_row;
mod other_rows;
mod pages;

pub use pages::CheckedPages;

use super::list::List;
use super::listing::{Listing, only};
use super::pages::RowStream;
use crate::entity::{FromRow, Loaded, Row, TableEntity, canonical, eventual_at};
use crate::error::{Error, Result};
use crate::plan::{Plan, Step};
use futures_util::{TryStreamExt as _, stream};
use pages::Source;
use std::convert::identity;
use std::fmt;

impl<R: Row, C, T> List<R, C, T> {
    /// Reads the entity itself for each row that the query finds in another partition.
    ///
    /// Rows in other partitions follow the entity, so a query of them may find an entity as it was. The
    /// checked query reads the canonical row of each hit: one more request, at most 16 in flight. It yields
    /// the entity as it is now. It leaves out an entity that was deleted, no longer has that row, or no
    /// longer meets the filter, and brings that row in step. It may still lack an entity whose row is not
    /// written yet.
    ///
    /// It compiles only for rows that are declared `eventual`. [`loaded`](Self::loaded) yields the versions
    /// of the entities too.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
    /// # #[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
    /// # struct Member { user: String, room: String, admin: bool }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let members = Tables::in_memory()?.repo::<Member>();
    /// # members.create_table().await?;
    /// let kitchen = members.list(Member::by_room("kitchen")).checked();
    /// assert_eq!(kitchen.plan()?.steps.len(), 2);
    /// let admins = kitchen.collect().await?.into_iter().filter(|member| member.admin);
    /// assert_eq!(admins.count(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn checked(self) -> Checked<R> {
        const {
            assert!(
                eventual_at::<R::Entity>(R::INDEX).is_some(),
                "`checked` is for rows in other partitions, declared `eventual`; rows of the entity's \
                 own partition are always in step with it"
            );
        }
        Checked { listing: self.listing, source: Source::checked_row, give: all_inner }
    }
}

impl<E: TableEntity, R: Row<Entity = E>, C> List<R, C, E> {
    /// Reads the entities with their versions, so that they can be changed and saved.
    ///
    /// A query of canonical rows sends no further request. A query of other rows reads the canonical row of
    /// each entity that it finds: one more request, at most 16 in flight. It yields the entity as it is now.
    /// It leaves out an entity that was deleted, no longer has the row that was found, or no longer meets the
    /// filter. An entity that several of the rows belong to comes once: the query holds the keys of those that
    /// it yielded.
    ///
    /// It compiles only for rows that store the whole entity; for others in another partition,
    /// [`checked`](Self::checked)`().loaded()` does. [`Repo::load`](super::Repo::load) reads all
    /// entities of a query at once.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8, paid: bool }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # for (bib, age) in [(7, 55), (8, 30), (9, 51)] {
    /// #     runners.insert(&Runner { race: "Boston".into(), bib, age, paid: bib == 9 }).await?;
    /// # }
    /// let boston = Runner::partition("Boston");
    /// let by_age = runners.list(boston.by_age().age_in(50..));
    /// let mut unpaid = by_age.filter(|row| row.paid.eq(false)).loaded().stream();
    /// while let Some(runner) = unpaid.next().await? {
    ///     runners.delete(runner).await?;
    /// }
    /// assert_eq!(runners.list(boston.by_bib()).count().await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The calls that send it fail as those of [`load`](super::Repo::load) do: with
    /// [`Error::KeyMismatch`] when the properties of a row make another key than the row has.
    pub fn loaded(self) -> Checked<R, Loaded<E>>
    where
        E: FromRow<R>,
    {
        self.by_canonical_rows()
    }

    /// The same. The rows store whole entities.
    pub(super) fn by_canonical_rows(self) -> Checked<R, Loaded<E>> {
        // Decided by the compiler, which builds only that one.
        let source = if const { Checked::<R>::IS_CANONICAL } {
            Source::canonical
        } else if const { eventual_at::<E>(R::INDEX).is_some() } {
            Source::eventual_entity
        } else {
            Source::entity
        };
        Checked { listing: self.listing, source, give: identity }
    }
}

/// A query of rows of kind `R`, which reads the entities from their canonical rows, as they are now. It
/// yields each as a `T`: the entity, or [`Loaded`] with its version. One of the last methods sends it.
#[must_use = "nothing is sent until `stream`, `pages`, `collect` or another last method"]
pub struct Checked<R: Row, T = <R as Row>::Entity> {
    pub(super) listing: Listing,
    source: fn(Listing, Option<usize>) -> Source<R>,
    give: fn(Vec<Loaded<R::Entity>>) -> Vec<T>,
}

impl<R: Row, T> fmt::Debug for Checked<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked").field("listing", &self.listing).finish_non_exhaustive()
    }
}

impl<R: Row, T> Clone for Checked<R, T> {
    fn clone(&self) -> Self {
        Self { listing: self.listing.clone(), ..*self }
    }
}

impl<R: Row> Checked<R> {
    const IS_CANONICAL: bool = R::INDEX == canonical::<R::Entity>();

    /// Yields the entities with their versions, so that they can be changed and saved: also those of rows
    /// that do not store the whole entity. An entity that several of the rows belong to comes once.
    pub fn loaded(self) -> Checked<R, Loaded<R::Entity>> {
        Checked { listing: self.listing, source: Source::checked_entity, give: identity }
    }
}

impl<E, R, T> Checked<R, T>
where
    E: TableEntity + 'static,
    R: Row<Entity = E> + 'static,
    T: Send + 'static,
{
    /// Yields at most that many entities.
    pub fn take(self, entities: usize) -> Self {
        Self { listing: self.listing.take(entities), ..self }
    }

    /// Returns the first request that it will send, and the read of canonical rows. Sends nothing.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let table = self.listing.client.table.clone();
        let canonical = (!Checked::<R>::IS_CANONICAL).then_some(Step::ReadCanonical { table });
        let mut plan = self.clone().ask(None).first_request()?;
        plan.steps.extend(canonical);
        Ok(plan)
    }

    /// Returns the answer in pages that a token resumes. Each page is one request of at most `size` rows, 1
    /// to 1000, and one for the entity of each row that is not canonical.
    pub fn pages(self, size: usize) -> CheckedPages<R, T> {
        self.ask(Some(size))
    }

    /// Returns the entities one after another.
    #[must_use]
    pub fn stream(self) -> RowStream<T> {
        let pages = stream::try_unfold(self.ask(None), |mut pages| async move {
            Ok::<_, Error>(pages.next().await?.map(|page| (page.items, pages)))
        });
        let items = |page: Vec<T>| stream::iter(page.into_iter().map(Ok));
        RowStream::new(pages.map_ok(items).try_flatten())
    }

    /// Reads all entities.
    ///
    /// # Errors
    /// When a key or filter cannot hold one of the values, the store rejects a request, or a canonical row
    /// cannot be read.
    pub async fn collect(self) -> Result<Vec<T>> {
        let (mut pages, mut entities) = (self.ask(None), Vec::new());
        while let Some(mut page) = pages.next().await? {
            entities.append(&mut page.items);
        }
        Ok(entities)
    }

    /// Reads the first entity in the order of the rows. Returns `None` when nothing matches.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub async fn first(self) -> Result<Option<T>> {
        Ok(self.take(1).collect().await?.pop())
    }

    /// Reads the only entity.
    ///
    /// # Errors
    /// [`Error::RowCount`] when nothing or more than one matches. Otherwise as
    /// [`collect`](Self::collect).
    pub async fn one(self) -> Result<T> {
        only(E::NAME, self.take(2).collect().await?)
    }

    /// Returns the number of entities. Reads the canonical row of each.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub async fn count(self) -> Result<usize> {
        let (mut pages, mut count) = (self.ask(None), 0);
        while let Some(page) = pages.next().await? {
            count += page.len();
        }
        Ok(count)
    }

    fn ask(self, size: Option<usize>) -> CheckedPages<R, T> {
        CheckedPages::new((self.source)(self.listing, size), self.give)
    }
}

fn all_inner<E: TableEntity>(loaded: Vec<Loaded<E>>) -> Vec<E> {
    loaded.into_iter().map(Loaded::into_inner).collect()
}
