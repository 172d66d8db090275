//! A transaction whose writes are known before it is sent.

use super::required::Required;
use super::writes::{Room, Writes};
use crate::entity::{
    AsLoaded, CanonicalKeyOf, CompleteKey, Loaded, RowOf, TableEntity, WholePartition, has_one_form,
};
use crate::error::Result;
#[cfg(doc)]
use crate::error::{Error, TransactionError};
use crate::eventual::{ReportSettled, Written, settling_methods};
use crate::model::ETag;
use crate::plan::{Plan, TableClient, insert_all, upsert_all};
use crate::repo::{EntityPatch, Repo};

impl<E: TableEntity> Repo<E> {
    /// Starts a transaction: writes of several entities of one partition, of any types stored in this table.
    ///
    /// [`Tables::transaction`](crate::Tables::transaction) does the same for the table that the derive names.
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
    /// let track = |number, title: &str| Track { album: "Blue".into(), number, title: title.into() };
    /// let blue = tracks.transaction(Track::partition("Blue"));
    /// let etags = blue.insert(&track(1, "All I Want")).insert(&track(2, "My Old Man")).commit().await?;
    /// assert_eq!(etags.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction<'a, Q>(&self, partition: Q) -> Transaction<'a>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        Transaction::new(self.client.clone(), partition)
    }
}

/// Writes of several entities that take effect together or not at all: one request.
///
/// Each call adds the rows of one entity. Two entities may exchange a key or a unique value: a row that one
/// deletes and the other inserts is replaced. If a call breaks a rule, [`commit`](Self::commit) and
/// [`plan`](Self::plan) fail with the first such error. The service takes at most 100 operations and
/// 4 MiB in one transaction; an entity needs one operation for each of its rows and guard rows.
///
/// ```
/// use table_orm::{TableEntity, Tables};
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "offices", partition = "{office}", row = "EMP:{id:05}")]
/// struct Employee { office: String, id: u32, name: String }
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "offices", partition = "{office}", row = "OFFICE")]
/// struct Office { office: String, employees: u32 }
///
/// # async fn run() -> table_orm::Result<()> {
/// let tables = Tables::in_memory()?;
/// let offices = tables.repo::<Office>();
/// offices.create_table().await?;
/// offices.insert(&Office { office: "Oslo".into(), employees: 0 }).await?;
///
/// let oslo = Office::partition("Oslo");
/// let mut office = offices.load(oslo.row()).await?.one()?;
/// let ann = Employee { office: "Oslo".into(), id: 1, name: "Ann".into() };
/// office.employees += 1;
/// let etags = tables.transaction(&oslo).insert(&ann).save(&mut office).commit().await?;
/// assert_eq!(etags[1].as_ref(), Some(office.etag()));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
/// ```
#[must_use = "nothing is sent until `commit`"]
#[derive(Debug)]
pub struct Transaction<'a>(Writes<'a>);

impl<'a> Transaction<'a> {
    /// An empty transaction of that partition.
    pub(crate) fn new<Q: WholePartition>(client: TableClient, partition: Q) -> Self {
        Self(Writes::new(client, partition))
    }

    /// Inserts an entity. No row of it may exist.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// let track = Track { album: "Blue".into(), number: 1, title: "All I Want".into() };
    /// let blue = Track::partition("Blue");
    /// tracks.transaction(&blue).insert(&track).commit().await?;
    /// let again = tracks.transaction(&blue).insert(&track).commit().await;
    /// assert!(matches!(again, Err(Error::AlreadyExists(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert<E: TableEntity>(mut self, entity: &E) -> Self {
        const { has_one_form::<E>() };
        self.0.rows(entity, insert_all);
        self
    }

    /// Inserts an entity, or replaces the one under its canonical key.
    ///
    /// The type must have [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL). Otherwise the
    /// transaction fails with [`TransactionError::NotBlind`], because the rows to remove are unknown without a
    /// read.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
    /// # struct Invoice { customer: String, number: u32, cents: u32, paid: bool }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let invoices = Tables::in_memory()?.repo::<Invoice>();
    /// # invoices.create_table().await?;
    /// let invoice = |number, paid| Invoice { customer: "acme".into(), number, cents: 900, paid };
    /// let acme = Invoice::partition("acme");
    /// invoices.insert(&invoice(1, false)).await?;
    /// let paid = invoices.transaction(&acme).upsert(&invoice(1, true)).upsert(&invoice(2, true));
    /// paid.commit().await?;
    /// assert_eq!(invoices.list(&acme).filter(|row| row.paid.eq(true)).count().await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn upsert<E: TableEntity>(mut self, entity: &E) -> Self {
        const { has_one_form::<E>() };
        self.0.blind(entity, upsert_all);
        self
    }

    /// Inserts an entity, or sets its properties in the one under its canonical key.
    ///
    /// The type must have [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL), and neither `expires`, nor a
    /// field with an `alias`, nor a sum `over_partitions`. Otherwise the transaction fails with
    /// [`TransactionError::NotBlind`], because the rows to remove are unknown without a read.
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
    /// let ann = Profile { team: "red".into(), name: "ann".into(), mail: None, city: Some("Oslo".into()) };
    /// let red = Profile::partition("red");
    /// profiles.insert(&Profile { mail: Some("ann@example.org".into()), ..ann.clone() }).await?;
    /// profiles.transaction(&red).insert_or_merge(&ann).commit().await?;
    /// assert!(profiles.list(&red).one().await?.mail.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_or_merge<E: TableEntity>(mut self, entity: &E) -> Self {
        const { has_one_form::<E>() };
        self.0.insert_or_merge(entity);
        self
    }

    /// Sets the properties of a patch in the entity under a canonical key. The entity must exist.
    ///
    /// The type must have [`PATCHES_ONE_ROW`](TableEntity::PATCHES_ONE_ROW), and neither `expires` nor a sum
    /// `over_partitions`. Otherwise the transaction fails with [`TransactionError::NotBlind`].
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
    /// let ann = Profile { team: "red".into(), name: "ann".into(), mail: None, city: None };
    /// profiles.insert(&ann).await?;
    /// let red = Profile::partition("red");
    /// let move_out = ProfilePatch::default().city("Rome".to_owned());
    /// profiles.transaction(&red).merge(red.row().name("ann"), move_out).commit().await?;
    /// assert_eq!(profiles.list(&red).one().await?.city.as_deref(), Some("Rome"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn merge<E, Q>(mut self, key: Q, patch: impl EntityPatch<E>) -> Self
    where
        E: TableEntity,
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        const { has_one_form::<E>() };
        self.0.merge(key.into_keys(), &patch.into_patch());
        self
    }

    /// Saves a loaded entity, or `&mut` of one, if nobody has written it since. An entity behind `&mut` gets
    /// its new version when the transaction is committed.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
    /// # struct Item { shop: String, sku: String, count: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let stock = Tables::in_memory()?.repo::<Item>();
    /// # stock.create_table().await?;
    /// # for (sku, count) in [("tea", 3), ("mint", 0)] {
    /// #     stock.insert(&Item { shop: "north".into(), sku: sku.into(), count }).await?;
    /// # }
    /// let north = Item::partition("north");
    /// let mut tea = stock.load(north.row().sku("tea")).await?.one()?;
    /// let mut mint = stock.load(north.row().sku("mint")).await?.one()?;
    /// (tea.count, mint.count) = (2, 1);
    /// stock.transaction(&north).save(&mut tea).save(&mut mint).commit().await?;
    /// assert_eq!(stock.get(north.row().sku("mint")).await?.map(|mint| mint.count), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn save<E: TableEntity + 'a>(mut self, loaded: impl AsLoaded<E> + Send + 'a) -> Self {
        const { has_one_form::<E>() };
        self.0.save(loaded);
        self
    }

    /// Deletes a loaded entity if nobody has written it since.
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
    /// # tracks.insert(&Track { album: "Blue".into(), number: 1, title: "Carey".into() }).await?;
    /// let blue = Track::partition("Blue");
    /// let track = tracks.load(&blue).await?.one()?;
    /// // Moves the track to another number: both writes, or no write.
    /// let moved = Track { number: 2, ..(*track).clone() };
    /// tracks.transaction(&blue).delete(track).insert(&moved).commit().await?;
    /// assert_eq!(tracks.list(&blue).one().await?, moved);
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete<E: TableEntity>(mut self, loaded: Loaded<E>) -> Self {
        const { has_one_form::<E>() };
        self.0.delete(&loaded);
        self
    }

    /// Requires that a loaded entity is unchanged, without a write of its own: a comment is written only
    /// while its issue is there as it was read.
    ///
    /// It costs one operation, a merge of no properties under the ETag: the service has no condition without
    /// a write. So the row gets a new version, and another writer that loaded the entity before has a
    /// conflict. The properties and the index rows do not change. `&mut` takes over the new version, with
    /// which the entity can be saved later; `&` does not. The entity may also be saved or deleted in the same
    /// transaction: that write is the only one, and the required entity keeps its old version.
    ///
    /// ```
    /// use table_orm::{Error, TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{team}", row = "ISSUE:{number:05}")]
    /// struct Issue { team: String, number: u32, title: String }
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{team}", row = "COMMENT:{number:05}__{id:05}")]
    /// struct Comment { team: String, number: u32, id: u32, text: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let tables = Tables::in_memory()?;
    /// let issues = tables.repo::<Issue>();
    /// issues.create_table().await?;
    /// let issue = Issue { team: "core".into(), number: 1, title: "Slow".into() };
    /// let mut issue = issues.insert_loaded(&issue).await?;
    /// let comment = |id| Comment { team: "core".into(), number: 1, id, text: "Yes".into() };
    /// let core = Issue::partition("core");
    /// tables.transaction(&core).require(&mut issue).insert(&comment(1)).commit().await?;
    ///
    /// issues.delete(issue.clone()).await?;
    /// let late = tables.transaction(&core).require(&issue).insert(&comment(2)).commit().await;
    /// assert!(matches!(late, Err(Error::NotFound(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn require<E: TableEntity>(mut self, loaded: impl Required<E> + Send + 'a) -> Self {
        const { has_one_form::<E>() };
        self.0.require(loaded);
        self
    }

    /// Returns the number of its operations: one for each row to write, at most 100.
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
    /// // Commits a transaction before it is full, and starts the next one.
    /// let ann = Note::partition("ann");
    /// let mut transaction = notes.transaction(&ann);
    /// for id in 0..250 {
    ///     if transaction.room().operations == 0 || transaction.room().bytes < 70_000 {
    ///         transaction.commit().await?;
    ///         transaction = notes.transaction(&ann);
    ///     }
    ///     transaction = transaction.insert(&Note { owner: "ann".into(), id, text: "milk".into() });
    /// }
    /// assert_eq!(transaction.len(), 50);
    /// transaction.commit().await?;
    /// assert_eq!(notes.list(&ann).count().await?, 250);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether it has no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what still fits: operations, and bytes of the request as bulk writes count them.
    #[must_use]
    pub fn room(&self) -> Room {
        self.0.room()
    }

    settling_methods!(0.settling);

    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// As [`commit`](Self::commit) before it sends anything, except for the size in bytes, which only the
    /// store knows.
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
    /// let note = |id| Note { owner: "ann".into(), id, text: "milk".into() };
    /// let ann = notes.transaction(Note::partition("ann")).insert(&note(1)).insert(&note(2));
    /// assert!(ann.plan()?.to_string().starts_with("entity group transaction on `notes`"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn plan(&self) -> Result<Plan> {
        self.0.plan()
    }

    /// Sends the transaction: one request, and more for types with `sums`, `eventual` rows or
    /// `unique(.., across)`. Returns the ETag of each entity in the order of the calls, `None`
    /// after a delete.
    ///
    /// # Errors
    /// - [`Error::Transaction`] when the calls break a rule, the error of a key or property that the service
    ///   would reject, and [`Error::TooLarge`] for more than 4 MiB. Nothing is sent.
    /// - The store's error, such as [`Error::Conflict`], [`Error::AlreadyExists`] or
    ///   [`Error::UniqueViolation`], with the entity, the row and the operation that failed. Nothing is
    ///   written, except that after [`Error::Ambiguous`], and without a retry layer after
    ///   [`Error::Unavailable`], it may have taken effect. It is not sent again.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// let note = |id| Note { owner: "ann".into(), id, text: "milk".into() };
    /// let ann = Note::partition("ann");
    /// notes.insert(&note(2)).await?;
    /// let both = notes.transaction(&ann).insert(&note(1)).insert(&note(2)).commit().await;
    /// assert!(matches!(both, Err(Error::AlreadyExists(_))));
    /// // The first note was not written either.
    /// assert_eq!(notes.list(&ann).count().await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn commit(self) -> Result<Vec<Option<ETag>>> {
        self.0.commit().await
    }
}

impl ReportSettled<Transaction<'_>> {
    /// Sends the transaction, as [`Transaction::commit`] does. Returns with the ETags whether the rows in other
    /// partitions are in step with what it wrote.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    pub async fn commit(self) -> Result<Written<Vec<Option<ETag>>>> {
        let (transaction, settled) = self.into_parts();
        Ok(Written { answer: transaction.commit().await?, settled })
    }
}
