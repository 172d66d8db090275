//! A store and the typed repositories of its tables.

use crate::entity::{DynamicEntity, MemberOf, Row, TableEntity, TableUnion, WholePartition};
use crate::error::{Result, rejected};
use crate::layer::Layer;
use crate::model::TableName;
use crate::plan::{Connection, TableClient};
use crate::query::ScanPermit;
use crate::repo::{Repo, Table, Transaction, UnionList};
use crate::scan::Scan;
use crate::store::Store;
use std::sync::Arc;

/// A connection to a store: where an app starts. Cheap to clone.
///
/// Make one for a store and clone it: writes that read first, of one entity and at once, such as
/// [`Repo::update`], take turns among all clones and their repositories, where those of others come
/// between each other and are tried again.
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
    /// Tables in a database file, created if it is not there. The file is locked while it is open.
    ///
    /// # Errors
    /// [`Error::Open`](crate::Error::Open) when the file is no database, is in use, or cannot be read and written.
    #[cfg(feature = "embedded")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        Ok(Self::new(crate::embedded::EmbeddedStore::open(path)?))
    }

    /// Tables in memory, gone with the last clone of this value.
    ///
    /// # Errors
    /// [`Error::Open`](crate::Error::Open) when the database engine cannot start.
    #[cfg(feature = "embedded")]
    pub fn in_memory() -> Result<Self> {
        Ok(Self::new(crate::embedded::EmbeddedStore::in_memory()?))
    }

    /// Tables of the account that a connection string names, as the Azure portal shows it, or of
    /// Azurite: `UseDevelopmentStorage=true`. Sends nothing yet.
    ///
    /// # Errors
    /// [`Error::Connect`](crate::Error::Connect), which never shows a key or signature.
    #[cfg(feature = "azure")]
    pub fn from_connection_string(text: &str) -> Result<Self> {
        Ok(Self::new(crate::azure::AzureStore::from_connection_string(text)?))
    }

    /// Tables of the account at `endpoint`, such as `https://account.table.core.windows.net`, with
    /// a key, a shared access signature, or a credential of Entra ID. Sends nothing yet.
    ///
    /// # Errors
    /// [`Error::Connect`](crate::Error::Connect).
    #[cfg(feature = "azure")]
    pub fn azure(endpoint: &str, credential: impl Into<crate::azure::Credential>) -> Result<Self> {
        Ok(Self::new(crate::azure::AzureStore::new(endpoint, credential)?))
    }

    /// Tables of any store.
    #[must_use]
    pub fn new(store: impl Store + 'static) -> Self {
        Self { connection: Arc::new(Connection::new(Arc::new(store))) }
    }

    /// The same tables through a [layer](crate::layer): every request passes it on its way to the
    /// layers and the store below. The first layer added stands next to the store.
    ///
    /// ```
    /// use table_orm::Tables;
    /// use table_orm::layer::{Limit, Rate, Retry};
    ///
    /// # fn run() -> table_orm::Result<()> {
    /// let tables = Tables::in_memory()?
    ///     .layer(Limit::default())?
    ///     .layer(Rate::default())?
    ///     .layer(Retry::interactive())?;
    /// # Ok(())
    /// # }
    /// # run().unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::Layer`](crate::Error::Layer) when its limits make no sense.
    pub fn layer(self, layer: impl Layer) -> Result<Self> {
        let store = layer.around(Arc::clone(&self.connection.store))?;
        // A layer may itself write through the tables below it, and must not wait for those above.
        Ok(Self { connection: Arc::new(Connection::new(store)) })
    }

    /// The entities of type `E`, in the table their derive names.
    #[must_use]
    pub fn repo<E: TableEntity>(&self) -> Repo<E> {
        self.repo_in(TableName::checked(E::TABLE))
    }

    /// The entities of type `E`, in a table of another name.
    #[must_use]
    pub fn repo_in<E: TableEntity>(&self, table: TableName) -> Repo<E> {
        Repo::new(Arc::clone(&self.connection), table)
    }

    /// The entities of one partition that are of one of the types of `U`, an enum with
    /// `#[derive(TableUnion)]`: one query, whatever the number of types. The partition is given as
    /// that of any of them. An enum of types whose rows would come in each other's queries does not
    /// compile.
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
    /// // A list of one type is not bothered by the other.
    /// assert_eq!(staff.list(Employee::partition("Marketing")).collect().await?, [ann]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn union<U: TableUnion>(
        &self,
        partition: impl WholePartition<Row: Row<Entity: MemberOf<U>>>,
    ) -> UnionList<U> {
        self.union_in(TableName::checked(U::TABLE), partition)
    }

    /// The same in a table of another name.
    pub fn union_in<U: TableUnion>(
        &self,
        table: TableName,
        partition: impl WholePartition<Row: Row<Entity: MemberOf<U>>>,
    ) -> UnionList<U> {
        UnionList::new(Arc::clone(&self.connection), table, partition)
    }

    /// Writes of several entities of one partition, of one type or more, in one transaction.
    pub fn transaction<'a, Q>(&self, partition: Q) -> Transaction<'a>
    where
        Q: WholePartition,
    {
        let table = TableName::checked(<Q::Row as Row>::Entity::TABLE);
        Transaction::new(
            TableClient::new::<<Q::Row as Row>::Entity>(Arc::clone(&self.connection), table),
            partition,
        )
    }

    /// The rows of a table, whatever they are: for tools that do not know its entities.
    #[must_use]
    pub fn table(&self, name: TableName) -> Table {
        Table::new(Arc::clone(&self.connection), name)
    }

    /// Every row of a table, whatever it is, read by many workers. Reads, and is billed for, every
    /// row.
    pub fn scan(&self, name: TableName, permit: ScanPermit) -> Scan<DynamicEntity> {
        Scan::untyped(Arc::clone(&self.connection.store), name, &permit)
    }

    /// The names of all tables, in order.
    ///
    /// # Errors
    /// When the store cannot be reached or read.
    pub async fn list(&self) -> Result<Vec<TableName>> {
        self.connection.store.list_tables().await.map_err(|cause| rejected("", cause))
    }

    /// Creates a table. Typed tables are created with [`Repo::create_table`].
    ///
    /// # Errors
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists); [`Error::TableBeingDeleted`](crate::Error::TableBeingDeleted) while one of that name is being deleted.
    pub async fn create(&self, table: &TableName) -> Result<()> {
        self.connection
            .store
            .create_table(table)
            .await
            .map_err(|cause| rejected(table.as_str(), cause))
    }

    /// Deletes a table with all its rows.
    ///
    /// # Errors
    /// [`Error::TableNotFound`](crate::Error::TableNotFound).
    pub async fn delete(&self, table: &TableName) -> Result<()> {
        self.connection
            .store
            .delete_table(table)
            .await
            .map_err(|cause| rejected(table.as_str(), cause))
    }
}
