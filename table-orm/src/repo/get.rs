//! Point queries: one row by its complete key.

use super::Repo;
use crate::entity::{
    CompleteKey, EventualHead, FromRow, OwnRows, Query, ReadRow, Row, RowHead, RowOf, TableEntity,
    has_own_table, read_own,
};
use crate::error::Result;
use crate::key::KeyError;
use crate::model::Metadata;
use crate::plan::{Plan, Step, TableClient};
use crate::query::{KeyRange, RowQuery};
use crate::sync::Concurrent;
use futures_core::future::BoxFuture;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The most requests that one `get_many`, `list_many`, `load`, `loaded` or `checked` has in
/// flight.
pub const MAX_PARALLEL_GETS: usize = 16;

impl<E: TableEntity> Repo<E> {
    /// Reads the entity in the row of a complete key. Returns `None` when the row does not exist. One
    /// request, one row.
    ///
    /// The key may be that of any row that stores the whole entity.
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
    /// # runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55, city: None }).await?;
    /// let boston = Runner::partition("Boston");
    /// let runner = runners.get(boston.by_bib().bib(7)).await?;
    /// assert_eq!(runner.map(|runner| runner.age), Some(55));
    /// // The copy that sorts by age stores the whole entity too.
    /// assert!(runners.get(boston.by_age().age(55).bib(7)).await?.is_some());
    /// assert!(runners.get(boston.by_bib().bib(8)).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `get` does not compare the row's properties with its key. If another program wrote a row whose
    /// properties make another key, `get` returns the entity of that other key. [`load`](Self::load)
    /// fails on such a row; see [rows that others
    /// wrote](crate::guide::run::out_of_step#a-key-that-the-properties-do-not-make).
    ///
    /// # Errors
    /// - [`Error::Moved`](crate::Error::Moved) when a later version of the app moved the entity.
    /// - When a key cannot hold one of the values, the store rejects the request, or the row cannot be
    ///   read as `E`.
    pub fn get<Q>(&self, key: Q) -> Get<Q::Row, E>
    where
        Q: CompleteKey,
        Q::Row: RowOf<E>,
    {
        Get::new(self.client.clone(), key.into_keys())
    }

    /// Reads the entities of many complete keys: one request for each key, at most 16 in flight. Returns
    /// the answers in the order of the keys, `None` for a row that does not exist.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// # tracks.insert(&Track { album: "Kind of Blue".into(), number: 1, title: "So What".into() }).await?;
    /// let keys = [1, 2].map(|number| Track::partition("Kind of Blue").row().number(number));
    /// let found = tracks.get_many(keys).await?;
    /// assert_eq!(found[0].as_ref().map(|track| track.title.as_str()), Some("So What"));
    /// assert_eq!(found[1], None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a key cannot hold one of the values; nothing is sent then. Fails with the first request that
    /// the store rejects, and the first row that cannot be read.
    pub fn get_many<Q>(&self, keys: impl IntoIterator<Item = Q>) -> GetMany<Q::Row, E>
    where
        Q: CompleteKey,
        Q::Row: RowOf<E>,
    {
        let keys = keys.into_iter().map(Query::into_keys).collect();
        GetMany::new(self.client.clone(), keys)
    }
}

/// A point query: `.await` sends it, `.plan()` shows it.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
/// # struct Track { album: String, number: u8, title: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tracks = Tables::in_memory()?.repo::<Track>();
/// # tracks.create_table().await?;
/// let get = tracks.get(Track::partition("Blue Train").row().number(1));
/// assert!(get.plan()?.to_string().contains(r#"RowKey        "01""#));
/// assert_eq!(get.await?, None);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct Get<R, T> {
    /// The request, until it is sent.
    query: Option<(TableClient, Result<KeyRange, KeyError>)>,
    row: PhantomData<fn() -> R>,
    answer: Answer<Option<T>>,
}

impl<R: Row, T> Get<R, T> {
    const fn new(client: TableClient, keys: Result<KeyRange, KeyError>) -> Self {
        Self { query: Some((client, keys)), row: PhantomData, answer: Answer(None) }
    }

    /// Reads only the fields of `P`, a struct with `#[derive(Projection)]`. Fields that the row stores
    /// come from its properties, the others from its keys.
    ///
    /// ```
    /// # use table_orm::{Projection, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[derive(Debug, PartialEq, Projection)]
    /// # #[projection(of = Track)]
    /// # struct Title { title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// # tracks.insert(&Track { album: "Blue Train".into(), number: 1, title: "Blue Train".into() }).await?;
    /// // `Title` is a projection of the field `title`.
    /// let get = tracks.get(Track::partition("Blue Train").row().number(1)).project::<Title>();
    /// assert_eq!(get.await?, Some(Title { title: "Blue Train".into() }));
    /// # Ok(())
    /// # }
    /// ```
    pub fn project<P: FromRow<R>>(self) -> Get<R, P> {
        Get { query: self.query, row: PhantomData, answer: Answer(None) }
    }
}

impl<R: Row, T: FromRow<R>> Get<R, T> {
    /// Returns the request that it will send, without sending it.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let Some((client, keys)) = &self.query else { return Ok(Plan::default()) };
        Ok(Step::read(reading::<T>(client.query_of::<R>(keys.clone()?), &OwnRows::of::<R>()))
            .into())
    }
}

// A future by itself: with `IntoFuture`, rustc would not report which field of `T` the row lacks.
impl<R: Row + 'static, T: FromRow<R> + 'static> Future for Get<R, T> {
    type Output = Result<Option<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { query, answer, row: _ } = self.get_mut();
        answer.poll(context, || {
            let query = query.take();
            Box::pin(async move {
                let Some((client, keys)) = query else { return Ok(None) };
                read_point::<R, T>(&client, keys?).await
            })
        })
    }
}

/// An answer whose request is sent at the first poll.
struct Answer<T>(Option<BoxFuture<'static, Result<T>>>);

impl<T> Answer<T> {
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        ask: impl FnOnce() -> BoxFuture<'static, Result<T>>,
    ) -> Poll<Result<T>> {
        self.0.get_or_insert_with(ask).as_mut().poll(context)
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "sent" } else { "not sent" })
    }
}

/// The query, limited to the properties that a `T` is read from, and those that show whether a row is the type's own.
pub(super) fn reading<T: ReadRow>(query: RowQuery, own: &OwnRows) -> RowQuery {
    selecting(query, T::select(), T::METADATA, own)
}

/// The query of rows in other partitions, limited to what [`EventualHead`] is read from. Rows in the table of
/// their entities do not say its name.
pub(super) fn reading_heads<R: Row>(query: RowQuery, own: &OwnRows) -> RowQuery {
    if const { has_own_table::<R::Entity>(R::INDEX) } {
        reading::<EventualHead>(query, own)
    } else {
        reading::<RowHead>(query, own)
    }
}

/// The query, limited to these properties and those that tell own rows.
pub(super) fn selecting(
    query: RowQuery,
    select: Option<Vec<Cow<'static, str>>>,
    metadata: Metadata,
    own: &OwnRows,
) -> RowQuery {
    let select = select.map(|mut names| {
        names.extend(own.beside(&names));
        names
    });
    RowQuery { select, metadata, ..query }
}

async fn read_point<R, T>(client: &TableClient, keys: KeyRange) -> Result<Option<T>>
where
    R: Row,
    T: FromRow<R>,
{
    let own = client.alive(const { OwnRows::of::<R>() });
    let mut query = reading::<T>(client.query_of::<R>(keys), &own);
    query.mark.may_be_old = true;
    let Some(row) = client.recent_row(&query).await? else {
        return Ok(None);
    };
    Ok(read_own::<T>(&own, &row.body, None)?.map(|(value, _)| value))
}

/// Many point queries: `.await` sends them, at most 16 at a time, `.plan()` shows them.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
/// # struct Track { album: String, number: u8, title: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tracks = Tables::in_memory()?.repo::<Track>();
/// # tracks.create_table().await?;
/// let keys = (1..=20).map(|number| Track::partition("Giant Steps").row().number(number));
/// let found = tracks.get_many(keys);
/// assert_eq!(found.plan()?.steps.len(), 20);
/// assert!(found.await?.iter().all(Option::is_none));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct GetMany<R, T> {
    client: TableClient,
    keys: Vec<Result<KeyRange, KeyError>>,
    row: PhantomData<fn() -> R>,
    answers: Answer<Vec<Option<T>>>,
}

impl<R: Row, T> GetMany<R, T> {
    const fn new(client: TableClient, keys: Vec<Result<KeyRange, KeyError>>) -> Self {
        Self { client, keys, row: PhantomData, answers: Answer(None) }
    }

    /// Reads only the fields of `P`, as [`Get::project`] does.
    ///
    /// ```
    /// # use table_orm::{Projection, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String, lyrics: String }
    /// #[derive(Debug, PartialEq, Projection)]
    /// #[projection(of = Track)]
    /// struct Title { title: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// # let track = Track { album: "Blue".into(), number: 1, title: "All I Want".into(), lyrics: "..".into() };
    /// # tracks.insert(&track).await?;
    /// let keys = [1, 2].map(|number| Track::partition("Blue").row().number(number));
    /// let titles = tracks.get_many(keys).project::<Title>().await?;
    /// assert_eq!(titles, [Some(Title { title: "All I Want".into() }), None]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn project<P: FromRow<R>>(self) -> GetMany<R, P> {
        GetMany::new(self.client, self.keys)
    }
}

impl<R: Row, T: FromRow<R>> GetMany<R, T> {
    /// Returns the requests that it will send, in the order of the keys, without sending them.
    ///
    /// # Errors
    /// When a key cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let get = |keys: &Result<_, _>| Get::<R, T>::new(self.client.clone(), keys.clone()).plan();
        self.keys.iter().map(get).collect()
    }
}

impl<R: Row + 'static, T: FromRow<R> + Send + 'static> Future for GetMany<R, T> {
    type Output = Result<Vec<Option<T>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { client, keys, answers, row: _ } = self.get_mut();
        answers.poll(context, || {
            let (client, keys) = (client.clone(), std::mem::take(keys));
            Box::pin(async move {
                // All keys first: an invalid key fails the call before anything is sent.
                let keys = keys.into_iter().collect::<Result<Vec<_>, _>>()?;
                let reading = keys.into_iter().map(|keys| read_point::<R, T>(&client, keys));
                Concurrent::in_order(reading, MAX_PARALLEL_GETS).try_all().await
            })
        })
    }
}
