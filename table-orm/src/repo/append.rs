//! Appends to the newest row of a kind, which go on in a new row.
//!
//! Invariant: a row is changed only in the version that `place` has seen, and a new row is inserted only where there
//! was none. So two writers never take the same place.

use super::Repo;
use crate::entity::{Loaded, Query, TableEntity, keys_of};
use crate::error::{Error, Result};
use crate::key::KeyError;
use crate::plan::{Attempts, CanonicalKey, RetryLimits};
use crate::query::{KeyRange, Span};
use futures_core::future::BoxFuture;
use std::fmt;
use std::time::Duration;

impl<E: TableEntity> Repo<E> {
    /// Appends to the newest of several rows: for example a value to a series that is spread over rows. `place`
    /// gets the first entity of the query, or `None` if there is no entity. If the entity has room, `place`
    /// puts the value into it and returns `None`. Otherwise it returns a new entity for the next row.
    ///
    /// The first row of the query must be the newest. Rows come in key order, so the key starts with `desc` of
    /// what grows.
    ///
    /// ```
    /// use table_orm::{TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "logs", partition = "{host}", row = "{newest}")]
    /// #[component(newest = desc(part))]
    /// struct Part {
    ///     host: String,
    ///     part: u32,
    ///     #[table(series)]
    ///     loads: Vec<f64>,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let logs = Tables::in_memory()?.repo::<Part>();
    /// logs.create_table().await?;
    /// let web = Part::partition("web-1");
    /// for load in [40.5, 41.0, 39.5] {
    ///     let append = logs.append(web.row(), |newest| match newest {
    ///         Some(last) if last.loads.len() < 2 => {
    ///             last.loads.push(load);
    ///             None
    ///         }
    ///         full => Some(Part {
    ///             host: "web-1".into(),
    ///             part: full.map_or(0, |last| last.part + 1),
    ///             loads: vec![load],
    ///         }),
    ///     });
    ///     append.await?;
    /// }
    /// let parts = logs.list(&web).collect().await?;
    /// assert_eq!(parts[0].loads, [39.5]);
    /// assert_eq!(parts[1].loads, [40.5, 41.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Two requests: a query of one row, and a write. When another writer comes in between, it reads and calls `place`
    /// again, for up to [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME). Appends of this `Tables` and its
    /// clones to one query take turns.
    ///
    /// Returns the row as it is stored now. Returns `None` if there was no entity and `place` returned `None`.
    ///
    /// # Errors
    /// - [`Error::Conflict`] or [`Error::AlreadyExists`] when other writers came first each time, or the key of the
    ///   new entity is not before that of the first. Nothing was appended.
    /// - [`Error::Ambiguous`] when the answer was lost: the value may have been appended. A repeated call may
    ///   append it twice.
    /// - As [`save`](Self::save) and [`insert`](Self::insert).
    pub fn append<'a, Q>(
        &self,
        rows: Q,
        place: impl FnMut(Option<&mut E>) -> Option<E> + Send + 'a,
    ) -> Append<'a, E>
    where
        Q: Query<Row = E::Canonical>,
    {
        let (repo, limits) = (self.clone(), RetryLimits::default());
        Append { repo, rows: keys_of(rows), place: Box::new(place), limits }
    }
}

/// Puts a value into an entity, or returns the next one.
type Placing<'a, E> = Box<dyn FnMut(Option<&mut E>) -> Option<E> + Send + 'a>;

/// An append: `.await` sends it.
#[must_use = "nothing is sent until this is awaited"]
pub struct Append<'a, E> {
    repo: Repo<E>,
    rows: Result<KeyRange, KeyError>,
    place: Placing<'a, E>,
    limits: RetryLimits,
}

impl<E> fmt::Debug for Append<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Append").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<E: TableEntity + 'static> Append<'_, E> {
    /// Sets how long it tries again when other writers come in between. With zero it makes one attempt.
    pub const fn retry_for(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    async fn run(mut self) -> Result<Option<Loaded<E>>> {
        let rows = self.rows.clone()?;
        let client = &self.repo.client;
        let _turn = client.connection.write_lock(&client.table, &turn(&rows)).await;
        let mut attempts = Attempts::begin(&client.connection, self.limits);
        loop {
            let query = self.repo.list_keys::<E::Canonical, ()>(Ok(rows.clone()));
            let newest = query.take(1).loaded().first().await?;
            let error = match append(&self.repo, newest, &mut self.place).await {
                Err(error) if is_overtaken(&error) => error,
                appended => return appended,
            };
            if !attempts.next().await {
                return Err(error);
            }
        }
    }
}

/// The lock of the appends to these rows. It is that of no entity: no RowKey contains a control character.
fn turn(rows: &KeyRange) -> CanonicalKey {
    let partition_key = match &rows.partition {
        Span::Exact(partition_key) => partition_key.clone(),
        _ => String::new(),
    };
    CanonicalKey { partition_key, row_key: format!("\n{:?}", rows.row) }
}

async fn append<E: TableEntity + 'static>(
    repo: &Repo<E>,
    newest: Option<Loaded<E>>,
    place: &mut Placing<'_, E>,
) -> Result<Option<Loaded<E>>> {
    let Some(mut newest) = newest else {
        return match place(None) {
            Some(first) => repo.insert_loaded(&first).await.map(Some),
            None => Ok(None),
        };
    };
    match place(Some(&mut newest)) {
        Some(next) => repo.insert_loaded(&next).await.map(Some),
        None => repo.save(newest).await.map(Some),
    }
}

/// Whether another writer came first: nothing was written.
const fn is_overtaken(error: &Error) -> bool {
    matches!(error, Error::Conflict(_) | Error::NotFound(_) | Error::AlreadyExists(_))
}

impl<'a, E: TableEntity + 'static> IntoFuture for Append<'a, E> {
    type Output = Result<Option<Loaded<E>>>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
