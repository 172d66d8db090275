//! Inserts of an entity that is changed afterwards.

use super::Repo;
use crate::entity::{EntityRows, InvalidEntity, Loaded, TableEntity};
use crate::error::Result;
use crate::eventual::{Intents, Settling, settling_methods};
use crate::plan::{CanonicalKey, Plan, TableClient, insert_all};
use futures_core::future::BoxFuture;
use std::marker::PhantomData;

impl<E: TableEntity> Repo<E> {
    /// Inserts an entity as [`insert`](Self::insert) does: all of its rows in one request. Returns it as a
    /// [`Loaded`], to be changed and saved without a read.
    ///
    /// It returns what a read would: a `skip` field has its default.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// let note = Note { owner: "ann".into(), id: 1, text: "milk".into() };
    /// let mut note = notes.insert_loaded(&note).await?;
    /// note.text = "bread".into();
    /// notes.save(&mut note).await?;
    /// assert_eq!(notes.get(Note::partition("ann").row().id(1)).await?, Some(note.into_inner()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`insert`](Self::insert). [`Error::KeyMismatch`](crate::Error::KeyMismatch) when a property type of
    /// the app's own reads back as a value that makes another key. Nothing is written in either case.
    pub fn insert_loaded(&self, entity: &E) -> InsertLoaded<E> {
        let client = self.client.clone();
        let rows = EntityRows::of_in(entity, &client.table).and_then(|rows| {
            let mut intents = Intents::default();
            intents.add::<E>(&client, &rows.partition_key, None, rows.canonical())?;
            Ok((rows, intents))
        });
        InsertLoaded { client, rows, settling: Settling::default(), entity: PhantomData }
    }
}

/// An insert that returns a [`Loaded`]: `.await` sends it, `.plan()` shows it.
#[must_use = "nothing is sent until this is awaited"]
#[derive(Debug)]
pub struct InsertLoaded<E> {
    client: TableClient,
    rows: Result<(EntityRows, Intents), InvalidEntity>,
    settling: Settling,
    entity: PhantomData<fn() -> E>,
}

impl<E: TableEntity> InsertLoaded<E> {
    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// When the service would reject a key or property.
    pub fn plan(&self) -> Result<Plan> {
        let (rows, intents) = self.rows.clone()?;
        intents.plan(&self.client, insert_all(rows), &self.settling)
    }

    settling_methods!();

    async fn run(self) -> Result<Loaded<E>> {
        let (rows, mut intents) = self.rows?;
        let mut loaded = Loaded::<E>::of_rows(&rows)?;
        let row = rows.canonical().cloned();
        let row = row.ok_or_else(|| self.client.not_found(&rows.partition_key, ""))?;
        let key = CanonicalKey::in_partition(&rows.partition_key, &row);
        // The canonical row comes first.
        let etags = intents
            .send(&self.client, insert_all(rows), Some(&row.row_key), &self.settling)
            .await?;
        intents.settle(&self.client, &etags, &self.settling).await;
        loaded.written(row.body, self.client.version(&key, etags.into_iter().next().flatten())?);
        Ok(loaded)
    }
}

impl<E: TableEntity + 'static> IntoFuture for InsertLoaded<E> {
    type Output = Result<Loaded<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
