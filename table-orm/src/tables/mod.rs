//! Where an app starts: the tables of one store, and the typed repositories of its entities.

mod builder;
#[cfg(feature = "cache")]
mod cached;
mod connect;
mod migrating;
mod periods;
mod untyped;

pub use builder::TablesBuilder;

use crate::entity::{
    MemberOf, Row, TableEntity, TableUnion, UnionMember, UnionScope, WholePartition, has_one_form,
};
use crate::error::{Error, Result, rejected};
use crate::model::TableName;
use crate::plan::{Connection, writing};
use crate::repo::{
    Repo, Sequence, Transaction, TransactionScope, TransactionWith, UnionList, unless_exists,
};
use crate::store::Store;
use std::sync::Arc;

/// The tables of one store. Cheap to clone.
///
/// Make one for each store and clone it. A call that reads before it writes, such as
/// [`Repo::update`], waits while a call through another clone writes the same entity. Two
/// connections to one store know nothing of each other: their calls conflict and retry.
///
/// ```
/// # async fn run() -> table_orm::Result<()> {
/// let tables = table_orm::Tables::in_memory()?;
/// assert!(tables.list().await?.is_empty());
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Tables {
    connection: Arc<Connection>,
}

impl Tables {
    /// Returns the repository of entity type `E`, in the table that its derive names.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{day:05}")]
    /// # struct Reading { sensor: String, day: u32, celsius: f64 }
    /// # async fn run() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// let readings = tables.repo::<Reading>(); // table `readings`
    /// readings.create_table().await?;
    /// let all = readings.list(Reading::partition("roof")).collect().await?;
    /// # assert_eq!(all, []);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    #[must_use]
    pub fn repo<E: TableEntity>(&self) -> Repo<E> {
        // Here, too, so that the compiler names the line of the app.
        const { has_one_form::<E>() };
        has_one_table::<E>();
        self.repo_in(TableName::checked(E::TABLE))
    }

    /// Returns the repository of entity type `E`, in a table of another name.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{day:05}")]
    /// # struct Reading { sensor: String, day: u32, celsius: f64 }
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// let readings = tables.repo_in::<Reading>("readings2024".parse()?);
    /// readings.create_table().await?;
    /// assert_eq!(tables.list().await?[0].as_str(), "readings2024");
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    #[must_use]
    pub fn repo_in<E: TableEntity>(&self, table: TableName) -> Repo<E> {
        const { has_one_form::<E>() };
        Repo::new(Arc::clone(&self.connection), table)
    }

    /// Queries the entities of one partition that are of one of the types of `U`, an enum with
    /// `#[derive(TableUnion)]`. This is one query, whatever the number of types. Pass the partition
    /// of any of the types. The enum does not compile if a row could be taken for one of either of two
    /// types.
    ///
    /// Pass a complete key and the rows below it to read a parent and its children: those whose keys
    /// continue its key.
    ///
    /// ```
    /// use table_orm::{TableEntity, TableUnion, Tables};
    ///
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{project}", row = "ISS:{number:08}")]
    /// struct Issue { project: String, number: u32, title: String }
    ///
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{project}", row = "ISS:{number:08}__C:{comment:04}")]
    /// struct Comment { project: String, number: u32, comment: u32, text: String }
    ///
    /// #[derive(Debug, PartialEq, TableUnion)]
    /// enum Thread { Issue(Issue), Comment(Comment) }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// let issues = tables.repo::<Issue>();
    /// issues.create_table().await?;
    /// let project = || "tables".to_owned();
    /// for number in [42, 43] {
    ///     issues.insert(&Issue { project: project(), number, title: "Slow".into() }).await?;
    /// }
    /// let first = Comment { project: project(), number: 42, comment: 1, text: "Here too".into() };
    /// tables.repo::<Comment>().insert(&first).await?;
    ///
    /// let issue = Issue::partition("tables").row().number(42);
    /// let thread = tables.union::<Thread>(issue.and_below()).collect().await?;
    /// assert!(matches!(&thread[0], Thread::Issue(issue) if issue.number == 42));
    /// assert_eq!(thread[1..], [Thread::Comment(first)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Or pass a partition:
    ///
    /// ```
    /// use table_orm::{TableEntity, TableUnion, Tables};
    ///
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "staff", partition = "{department}", row = "{number:05}")]
    /// struct Employee { department: String, number: u32, name: String }
    ///
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "staff", partition = "{name}", row = "Department")]
    /// struct Department { name: String, employees: u32 }
    ///
    /// #[derive(Debug, PartialEq, TableUnion)]
    /// enum Office { Employee(Employee), Department(Department) }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// let (staff, departments) = (tables.repo::<Employee>(), tables.repo::<Department>());
    /// staff.create_table().await?;
    /// let ann = Employee { department: "Marketing".into(), number: 1, name: "Ann".into() };
    /// staff.insert(&ann).await?;
    /// departments.insert(&Department { name: "Marketing".into(), employees: 1 }).await?;
    ///
    /// // RowKeys `00001` and `Department`, in one partition query.
    /// let office = tables.union::<Office>(Employee::partition("Marketing")).collect().await?;
    /// assert!(matches!(&office[0], Office::Employee(employee) if employee.name == "Ann"));
    /// assert!(matches!(&office[1], Office::Department(department) if department.employees == 1));
    /// // A list of one type does not read rows of the other.
    /// assert_eq!(staff.list(Employee::partition("Marketing")).collect().await?, [ann]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn union<U: TableUnion>(
        &self,
        partition: impl UnionScope<Row: Row<Entity: MemberOf<U>>>,
    ) -> UnionList<U> {
        scope_has_one_table(&partition);
        self.union_in(TableName::checked(U::TABLE), partition)
    }

    /// Queries the same in a table of another name.
    ///
    /// ```
    /// # use table_orm::{TableEntity, TableUnion, Tables};
    /// # #[derive(Debug, PartialEq, TableEntity)]
    /// # #[table(name = "staff", partition = "{department}", row = "{number:05}")]
    /// # struct Employee { department: String, number: u32 }
    /// # #[derive(Debug, PartialEq, TableUnion)]
    /// # enum Office { Employee(Employee) }
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create(&"archive".parse()?).await?;
    /// let marketing = Employee::partition("Marketing");
    /// let office = tables.union_in::<Office>("archive".parse()?, marketing).collect().await?;
    /// assert_eq!(office, []);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub fn union_in<U: TableUnion>(
        &self,
        table: TableName,
        partition: impl UnionScope<Row: Row<Entity: MemberOf<U>>>,
    ) -> UnionList<U> {
        const { UnionMember::have_one_form(U::MEMBERS) };
        UnionList::new(Arc::clone(&self.connection), table, partition)
    }

    /// Starts a transaction: writes of entities of one partition, of one or several types, which
    /// take effect all or not at all.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{day:05}")]
    /// # struct Reading { sensor: String, day: u32, celsius: f64 }
    /// # async fn run() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.repo::<Reading>().create_table().await?;
    /// let reading = |day| Reading { sensor: "roof".into(), day, celsius: 20.5 };
    /// let roof = tables.transaction(Reading::partition("roof"));
    /// roof.insert(&reading(1)).insert(&reading(2)).commit().await?;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub fn transaction<'a, Q>(&self, partition: Q) -> Transaction<'a>
    where
        Q: WholePartition,
    {
        Transaction::new(self.repo::<<Q::Row as Row>::Entity>().client, partition)
    }

    /// Starts a transaction that reads before it writes. `function` reads entities of one partition through
    /// the scope, and adds writes. One request sends them, and succeeds only if every entity that was read is
    /// unchanged.
    ///
    /// An entity that was read as absent is checked only if the transaction inserts it. An `upsert` or
    /// `insert_or_merge` of it is sent as an insert.
    ///
    /// When another writer changed such an entity in between, the call waits and calls `function` again, for up
    /// to [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME) or the time set by
    /// [`retry_for`](TransactionWith::retry_for). So `function` may run several times. It must do nothing that
    /// may happen only once, and must read every entity that it writes. It may borrow, but a counter that it
    /// changes needs an atomic. While one call repeats after a conflict, other calls of that partition wait, in
    /// this `Tables` and its clones.
    ///
    /// Cost: the reads of the function and one transaction, for each attempt. An entity that is read and not
    /// written takes one operation and gets a new version. Without writes, nothing is sent after the reads,
    /// which may then be of different moments.
    ///
    /// ```
    /// use table_orm::{Error, TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{team}", row = "ISSUE:{number:05}")]
    /// struct Issue { team: String, number: u32, comments: u32, closed: bool }
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{team}", row = "COMMENT:{number:05}__{id:05}")]
    /// struct Comment { team: String, number: u32, id: u32, text: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.repo::<Issue>().create_table().await?;
    /// # let issue = Issue { team: "core".into(), number: 1, comments: 0, closed: false };
    /// # tables.repo::<Issue>().insert(&issue).await?;
    /// let core = Issue::partition("core");
    /// let comment = tables.transaction_with(&core, async |tx| {
    ///     let Some(mut issue) = tx.load(core.row().number(1)).await? else { return Ok(None) };
    ///     issue.comments += 1;
    ///     let id = issue.comments;
    ///     tx.save(issue);
    ///     tx.insert(&Comment { team: "core".into(), number: 1, id, text: "Yes".into() });
    ///     Ok(Some(id))
    /// });
    /// assert_eq!(comment.await?, Some(1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction_with<'a, Q, T, F>(
        &self,
        partition: Q,
        function: impl FnMut(TransactionScope) -> F + Send + 'a,
    ) -> TransactionWith<'a, T>
    where
        Q: WholePartition,
        F: Future<Output = Result<T>> + Send + 'a,
    {
        self.try_transaction_with(partition, function)
    }

    /// Does the same as [`transaction_with`](Self::transaction_with), with a function that has an error type of
    /// the app's own. If the function fails, the call returns its error and writes nothing.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "accounts", partition = "{owner}", row = "{number:04}")]
    /// # struct Account { owner: String, number: u16, cents: i64 }
    /// #[derive(Debug, thiserror::Error)]
    /// enum TransferError {
    ///     #[error("there is no such account")]
    ///     NoAccount,
    ///     #[error("the account has not enough money")]
    ///     NotEnough,
    ///     #[error(transparent)]
    ///     Table(#[from] table_orm::Error),
    /// }
    ///
    /// async fn transfer(tables: &Tables, from: u16, to: u16, cents: i64) -> Result<(), TransferError> {
    ///     let ann = Account::partition("ann");
    ///     let transfer = tables.try_transaction_with(&ann, async |tx| {
    ///         let mut from = tx.load(ann.row().number(from)).await?.ok_or(TransferError::NoAccount)?;
    ///         let mut to = tx.load(ann.row().number(to)).await?.ok_or(TransferError::NoAccount)?;
    ///         from.cents -= cents;
    ///         to.cents += cents;
    ///         if from.cents < 0 {
    ///             return Err(TransferError::NotEnough);
    ///         }
    ///         tx.save(from);
    ///         tx.save(to);
    ///         Ok(())
    ///     });
    ///     transfer.await
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), TransferError> {
    /// # let tables = Tables::in_memory()?;
    /// # let accounts = tables.repo::<Account>();
    /// # accounts.create_table().await?;
    /// # for (number, cents) in [(1, 500), (2, 0)] {
    /// #     accounts.insert(&Account { owner: "ann".into(), number, cents }).await?;
    /// # }
    /// transfer(&tables, 1, 2, 200).await?;
    /// assert!(matches!(transfer(&tables, 1, 2, 301).await, Err(TransferError::NotEnough)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_transaction_with<'a, Q, T, X, F>(
        &self,
        partition: Q,
        function: impl FnMut(TransactionScope) -> F + Send + 'a,
    ) -> TransactionWith<'a, T, X>
    where
        Q: WholePartition,
        F: Future<Output = Result<T, X>> + Send + 'a,
        X: From<Error>,
    {
        TransactionWith::new(self.repo::<<Q::Row as Row>::Entity>().client, partition, function)
    }

    /// Returns the sequence of that name in a partition: numbers that are given once. Sends nothing.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{shop}", row = "{number:08}")]
    /// # struct Order { shop: String, number: u32, cents: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.repo::<Order>().create_table().await?;
    /// let numbers = tables.sequence(Order::partition("north"), "orders");
    /// let number = numbers.next().await? as u32;
    /// tables.repo().insert(&Order { shop: "north".into(), number, cents: 900 }).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn sequence<Q: WholePartition>(&self, partition: Q, name: impl Into<String>) -> Sequence {
        Sequence::of_partition(
            &self.repo::<<Q::Row as Row>::Entity>().client,
            partition,
            name.into(),
        )
    }

    /// Lists the names of all tables, in order.
    ///
    /// ```
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = table_orm::Tables::in_memory()?;
    /// tables.create(&"readings".parse()?).await?;
    /// let names = tables.list().await?;
    /// assert_eq!(names[0].as_str(), "readings");
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// When the store cannot be reached or read: such as
    /// [`Error::Unavailable`](crate::Error::Unavailable) or
    /// [`Error::Unauthorized`](crate::Error::Unauthorized).
    pub async fn list(&self) -> Result<Vec<TableName>> {
        self.connection.store.list_tables().await.map_err(|cause| rejected("", cause))
    }

    /// Creates a table. [`Repo::create_table`] does the same for the table of an entity type.
    ///
    /// ```
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = table_orm::Tables::in_memory()?;
    /// let readings = "readings".parse()?;
    /// tables.create(&readings).await?;
    /// let again = tables.create(&readings).await;
    /// assert!(matches!(again, Err(table_orm::Error::AlreadyExists(_))));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// When the table exists: [`Error::AlreadyExists`](crate::Error::AlreadyExists). While the
    /// service deletes a table of that name:
    /// [`Error::TableBeingDeleted`](crate::Error::TableBeingDeleted).
    pub async fn create(&self, table: &TableName) -> Result<()> {
        let request = self.connection.store.create_table(table);
        writing(request).await.map_err(|cause| rejected(table.as_str(), cause))
    }

    /// Creates a table unless it exists. Returns `true` if this call is known to have created it.
    ///
    /// # Errors
    /// When the store cannot be reached, or is still deleting a table of that name:
    /// [`Error::TableBeingDeleted`](crate::Error::TableBeingDeleted).
    ///
    /// ```
    /// # async fn run() -> table_orm::Result<()> {
    /// # let tables = table_orm::Tables::in_memory()?;
    /// let readings = "readings".parse()?;
    /// assert!(tables.create_if_not_exists(&readings).await?);
    /// assert!(!tables.create_if_not_exists(&readings).await?);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub async fn create_if_not_exists(&self, table: &TableName) -> Result<bool> {
        unless_exists(self.create(table).await)
    }

    /// Deletes a table with all its rows. The call does not know which types the table has. It leaves their
    /// rows in other tables, and does not report these rows. [`Repo::delete_table`] reports them.
    ///
    /// ```
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = table_orm::Tables::in_memory()?;
    /// let readings = "readings".parse()?;
    /// # tables.create(&readings).await?;
    /// tables.delete(&readings).await?;
    /// let again = tables.delete(&readings).await;
    /// assert!(matches!(again, Err(table_orm::Error::TableNotFound(_))));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// When the table does not exist: [`Error::TableNotFound`](crate::Error::TableNotFound).
    pub async fn delete(&self, table: &TableName) -> Result<()> {
        let deleted = self.connection.delete_table(table).await;
        deleted.map_err(|cause| rejected(table.as_str(), cause))
    }
}

/// Fails to compile for a query of a type with a table for each period.
const fn scope_has_one_table<S: UnionScope<Row: Row>>(_: &S) {
    has_one_table::<<S::Row as Row>::Entity>();
}

/// Fails to compile for a type with a table for each period.
const fn has_one_table<E: TableEntity>() {
    const {
        assert!(
            E::BUCKET.is_none(),
            "the type has `bucket`, so it has one table for each period, not one: use \
             `tables.periods::<T>()`, and `.at(time)` of that for the `Repo` of one period"
        );
    }
}
